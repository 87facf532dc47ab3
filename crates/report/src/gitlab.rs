//! GitLab's code quality report: one array for all traces, shown in merge requests.
//!
//! Each entry needs a file and a line. A finding whose site names no file of the source is located
//! in the trace, at line 1.

use serde::Serialize;

use crate::model::{Failure, Finding, Severity};
use crate::outcome::Outcome;
use crate::paths::{self, FileLine, Root};

#[derive(Serialize)]
struct Entry<'a> {
    description: &'a str,
    check_name: String,
    fingerprint: String,
    severity: &'static str,
    location: Location<'a>,
}

#[derive(Serialize)]
struct Location<'a> {
    path: &'a str,
    lines: Lines,
}

#[derive(Serialize)]
struct Lines {
    begin: u64,
}

/// The document.
pub fn document(outcomes: &[Outcome], root: &Root) -> String {
    let entries: Vec<Entry> = outcomes.iter().flat_map(|outcome| entries(outcome, root)).collect();
    // Texts and numbers under names: there is nothing that JSON cannot hold.
    serde_json::to_string(&entries).unwrap_or_default() + "\n"
}

fn entries<'a>(outcome: &'a Outcome, root: &Root) -> Vec<Entry<'a>> {
    match outcome {
        Outcome::Report(report) => {
            report.findings.iter().map(|f| entry(&report.input.path, f, root)).collect()
        }
        Outcome::Failure(failure) => vec![failed(failure, root)],
    }
}

fn entry<'a>(trace: &'a str, finding: &'a Finding, root: &Root) -> Entry<'a> {
    let trace = FileLine { file: root.relative(trace), line: None };
    Entry {
        description: &finding.title,
        check_name: finding.rule.to_string(),
        fingerprint: finding.id.clone(),
        severity: match finding.severity {
            Severity::Violation => "major",
            Severity::Warning => "minor",
        },
        location: location(paths::of_finding(finding, root).unwrap_or(trace)),
    }
}

/// A trace that could not be analysed: a merge request must not look clean because of that.
fn failed<'a>(failure: &'a Failure, root: &Root) -> Entry<'a> {
    let file = root.relative(&failure.input.path);
    Entry {
        description: &failure.error.message,
        check_name: failure.error.rule.name().to_owned(),
        fingerprint: format!("{}:{file}", failure.error.rule.name()),
        severity: "blocker",
        location: location(FileLine { file, line: failure.error.line }),
    }
}

fn location(place: FileLine<'_>) -> Location<'_> {
    Location { path: place.file, lines: Lines { begin: place.line.unwrap_or(1) } }
}
