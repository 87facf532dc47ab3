//! Markdown, for the summary of a job and for comments on pull requests: a table of all findings,
//! each in full below it, and what was analysed.
//!
//! GitHub takes comments of 65,536 characters and GitLab more: what does not fit is left out, and
//! the text says how much.

use std::fmt::Write as _;

use crate::model::{Finding, Report, RuleHelp, Severity};
use crate::outcome::Outcome;
use crate::paths::{self, Root};
use crate::{compose, scope, text};

/// The longest text, in bytes: some are left for what the caller adds around it.
const LONGEST: usize = 60_000;
/// So many findings have a row in the table; the rest are counted.
const MOST_ROWS: usize = 100;

/// The text for all traces.
pub fn document(outcomes: &[Outcome], root: &Root) -> String {
    let findings: Vec<&Finding> = outcomes.iter().flat_map(Outcome::findings).collect();
    let mut out = format!("## Paceline: {}\n\n", found(&findings));
    table(&mut out, &findings, root);
    let ends: String = outcomes.iter().map(ending).collect();
    let mut left_out = 0;
    let with_advice = outcomes.iter().flat_map(|o| o.findings().iter().map(|f| (f, advice(o, f))));
    for (finding, advice) in with_advice {
        let details = details(finding, advice);
        match out.len() + details.len() + ends.len() <= LONGEST {
            true => out += &details,
            false => left_out += 1,
        }
    }
    if left_out > 0 {
        let _ = writeln!(out, "{left_out} findings are not shown in full: there is no room.\n");
    }
    out + &ends
}

/// What was found, in numbers.
fn found(findings: &[&Finding]) -> String {
    let of = |severity| findings.iter().filter(|f| f.severity == severity).count() as u64;
    let counts = [(of(Severity::Violation), "violation"), (of(Severity::Warning), "warning")];
    let some = counts.iter().filter(|(number, _)| *number > 0);
    let some: Vec<String> = some.map(|&(number, what)| scope::count(number, what)).collect();
    if some.is_empty() { "nothing found".to_owned() } else { some.join(", ") }
}

fn table(out: &mut String, findings: &[&Finding], root: &Root) {
    if findings.is_empty() {
        return;
    }
    out.push_str("| | finding | where | seen | id |\n|---|---|---|---|---|\n");
    for finding in findings.iter().take(MOST_ROWS) {
        let place = paths::of_finding(finding, root).map(|place| match place.line {
            Some(line) => code(&format!("{}:{line}", place.file)),
            None => code(place.file),
        });
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} |",
            finding.severity,
            cell(&finding.title),
            place.unwrap_or_default(),
            finding.count,
            code(&finding.id),
        );
    }
    if findings.len() > MOST_ROWS {
        let _ = writeln!(out, "\n{} more are not in the table.", findings.len() - MOST_ROWS);
    }
    out.push('\n');
}

/// What to do about a finding.
fn advice<'a>(outcome: &'a Outcome, finding: &Finding) -> Option<&'a RuleHelp> {
    outcome.rules().iter().find(|rule| rule.id == finding.rule)
}

/// A finding in full, folded.
fn details(finding: &Finding, advice: Option<&RuleHelp>) -> String {
    let summary = html(&finding.title);
    let text = text::plain(finding, advice);
    // A fence that is longer than any in the text cannot be closed by it.
    let fence = "`".repeat(longest_run(&text).max(2) + 1);
    let severity = finding.severity;
    format!(
        "<details><summary>{severity}: {summary}</summary>\n\n{fence}text\n{}\n{fence}\n\n</details>\n\n",
        text.trim_end()
    )
}

/// What was analysed of a trace, and what there is to say about that.
fn ending(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Report(report) => analysed(report),
        Outcome::Failure(failure) => {
            let message = cell(&failure.error.message);
            format!("**{}** could not be analysed: {message}\n\n", cell(&failure.input.path))
        }
    }
}

fn analysed(report: &Report) -> String {
    let mut out = format!("**{}**: {}\n", cell(&report.input.path), cell(&scope::line(report)));
    for note in &report.notes {
        let _ = writeln!(out, "- {}", cell(&note.to_string()));
    }
    out.push('\n');
    out
}

/// Text between the bars of a table: no name can end the cell, start a tag, or mean something.
fn cell(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in html(text).chars() {
        if "\\`*_[]|~#@".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Text on one line that is no tag.
fn html(text: &str) -> String {
    let line = compose::name(text.as_bytes());
    line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Text as code in a cell.
fn code(text: &str) -> String {
    format!("<code>{}</code>", html(text).replace('|', "&#124;"))
}

/// The longest run of backquotes.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_names() {
        assert_eq!(cell("a|b *c* <img> `d`\n@all"), "a\\|b \\*c\\* &lt;img&gt; \\`d\\`\\n\\@all");
        assert_eq!(code("A|B<T>.java:3"), "<code>A&#124;B&lt;T&gt;.java:3</code>");
        assert_eq!(longest_run("a ``` b ``"), 3);
    }
}
