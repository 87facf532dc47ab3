//! GitHub workflow commands: printed in a job, they become annotations of the source.
//!
//! GitHub shows the first ten errors and the first ten warnings of a step as annotations; all of
//! them stand in its log, and SARIF has no such limit.
//!
//! One command a line, all on one line: no name can end the line and start a command of its own.

use std::fmt::Write as _;

use crate::model::{Failure, Finding, Report, Severity};
use crate::outcome::Outcome;
use crate::paths::{self, FileLine, Root};
use crate::{code, compose, scope, text};

/// The annotations for one trace.
pub fn annotations(outcome: &Outcome, root: &Root) -> String {
    match outcome {
        Outcome::Report(report) => annotated(report, root),
        Outcome::Failure(failure) => failed(failure, root),
    }
}

fn annotated(report: &Report, root: &Root) -> String {
    let mut out = String::new();
    for finding in &report.findings {
        out += &annotation(finding, root);
    }
    for note in &report.notes {
        let note = format!("{}: {note}", report.input.path);
        out += &command("notice", None, "paceline", &note);
    }
    let found = match &report.code {
        Some(_) => code::verdict(report),
        None => scope::count(report.findings.len() as u64, "finding"),
    };
    let summary = format!("{}: {found}; {}", report.input.path, scope::line(report));
    out + &command("notice", None, "paceline", &summary)
}

fn annotation(finding: &Finding, root: &Root) -> String {
    let kind = match finding.severity {
        Severity::Violation => "error",
        Severity::Warning => "warning",
    };
    command(kind, paths::of_finding(finding, root), &finding.title, &text::brief(finding))
}

fn failed(failure: &Failure, root: &Root) -> String {
    let place = FileLine { file: root.relative(&failure.input.path), line: failure.error.line };
    let message = format!("{}: {}", failure.input.path, failure.error.message);
    command("error", Some(place), failure.error.rule.name(), &message)
}

fn command(kind: &str, place: Option<FileLine>, title: &str, message: &str) -> String {
    let mut out = format!("::{kind} ");
    if let Some(place) = place {
        let _ = write!(out, "file={},", property(place.file));
        if let Some(line) = place.line {
            let _ = write!(out, "line={line},");
        }
    }
    let _ = writeln!(out, "title={}::{}", property(title), data(message));
    out
}

/// The text of a command: its lines are kept, other control characters are shown as such.
fn data(text: &str) -> String {
    let lines: Vec<String> =
        text.split('\n').map(|line| compose::name(line.as_bytes()).replace('%', "%25")).collect();
    lines.join("%0A")
}

/// A property of a command; it ends with a comma or a colon.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_ends_its_part_of_the_command() {
        assert_eq!(data("100%\n::error::x\r"), "100%25%0A::error::x\\r");
        assert_eq!(property("a,b::c"), "a%2Cb%3A%3Ac");
    }
}
