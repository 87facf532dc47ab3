//! How results are shown.

use std::time::Duration;

use clap::ValueEnum;
use paceline_report::outcome::Outcome;
use paceline_report::paths::Root;
use paceline_report::sarif::{self, Limits};
use paceline_report::{github, junit, text};

use crate::status::Status;

/// What came of a trace.
pub struct Done {
    pub outcome: Outcome,
    pub status: Status,
    pub took: Duration,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Shown {
    Text,
    /// One object on one line for each trace
    Json,
    /// SARIF 2.1.0, one document for all traces
    Sarif,
    /// Annotations for a GitHub workflow
    Github,
    /// JUnit XML, one document for all traces
    Junit,
}

impl Shown {
    /// Whether there is one document for all traces.
    pub fn is_one_document(self) -> bool {
        match self {
            Shown::Sarif | Shown::Junit => true,
            Shown::Text | Shown::Json | Shown::Github => false,
        }
    }

    /// These results as text. What kept a trace from being analysed is told as it happens, so
    /// that text for people need not repeat it. When quiet, people are told no notes either.
    pub fn show(self, done: &mut [Done], quiet: bool) -> anyhow::Result<String> {
        if quiet && self == Shown::Text {
            done.iter_mut().filter_map(|d| d.outcome.report_mut()).for_each(|r| r.notes.clear());
        }
        let outcomes = || done.iter().map(|d| d.outcome.clone()).collect::<Vec<_>>();
        match self {
            Shown::Text => Ok(done.iter().map(as_text).collect()),
            Shown::Json => done.iter().map(as_json).collect(),
            Shown::Github => {
                let root = root();
                Ok(done.iter().map(|d| github::annotations(&d.outcome, &root)).collect())
            }
            Shown::Sarif => Ok(sarif::document(&outcomes(), &root(), &Limits::GITHUB)),
            Shown::Junit => Ok(junit::document(&outcomes(), &root())),
        }
    }
}

fn as_text(done: &Done) -> String {
    match &done.outcome {
        Outcome::Report(report) => text::report(report, done.took),
        Outcome::Failure(_) => String::new(),
    }
}

fn as_json(done: &Done) -> anyhow::Result<String> {
    Ok(serde_json::to_string(&done.outcome)? + "\n")
}

/// Paths are shown as seen from where the command runs.
fn root() -> Root {
    let here = std::env::current_dir().unwrap_or_default();
    here.to_str().map(Root::new).unwrap_or_default()
}
