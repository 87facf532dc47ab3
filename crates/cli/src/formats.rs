//! How results are shown.

use std::time::Duration;

use clap::ValueEnum;
use paceline_report::outcome::Outcome;
use paceline_report::paths::Root;
use paceline_report::sarif::{self, Limits};
use paceline_report::{github, gitlab, junit, markdown, text};

use crate::status::Status;

/// What came of a trace.
#[derive(Clone)]
pub struct Analysed {
    pub outcome: Outcome,
    pub status: Status,
    pub took: Duration,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    Text,
    /// One object on one line for each trace
    Json,
    /// SARIF 2.1.0, one document for all traces
    Sarif,
    /// Annotations for a GitHub workflow
    Github,
    /// GitLab's code quality report, one document for all traces
    Gitlab,
    /// JUnit XML, one document for all traces
    Junit,
    /// For summaries and comments, one document for all traces
    Markdown,
}

impl ReportFormat {
    /// Whether there is one document for all traces.
    pub fn is_one_document(self) -> bool {
        match self {
            ReportFormat::Sarif
            | ReportFormat::Gitlab
            | ReportFormat::Junit
            | ReportFormat::Markdown => true,
            ReportFormat::Text | ReportFormat::Json | ReportFormat::Github => false,
        }
    }

    /// Whether it leads its reader to files of a repository. The others name files as the trace does.
    pub fn has_paths(self) -> bool {
        match self {
            ReportFormat::Text | ReportFormat::Json => false,
            ReportFormat::Sarif
            | ReportFormat::Github
            | ReportFormat::Gitlab
            | ReportFormat::Junit
            | ReportFormat::Markdown => true,
        }
    }

    /// These results as text. What kept a trace from being analysed is reported as it happens, so
    /// that text for people need not repeat it. When quiet, there are no notes for people either.
    pub fn show(self, analysed: &mut [Analysed], quiet: bool) -> anyhow::Result<String> {
        if quiet && self == ReportFormat::Text {
            analysed
                .iter_mut()
                .filter_map(|d| d.outcome.report_mut())
                .for_each(|r| r.notes.clear());
        }
        let outcomes = || analysed.iter().map(|d| d.outcome.clone()).collect::<Vec<_>>();
        match self {
            ReportFormat::Text => Ok(analysed.iter().map(as_text).collect()),
            ReportFormat::Json => analysed.iter().map(as_json).collect(),
            ReportFormat::Github => {
                let root = root();
                Ok(analysed.iter().map(|d| github::annotations(&d.outcome, &root)).collect())
            }
            ReportFormat::Sarif => Ok(sarif::document(&outcomes(), &root(), &Limits::GITHUB)),
            ReportFormat::Gitlab => Ok(gitlab::document(&outcomes(), &root())),
            ReportFormat::Junit => Ok(junit::document(&outcomes(), &root())),
            ReportFormat::Markdown => Ok(markdown::document(&outcomes(), &root())),
        }
    }
}

fn as_text(analysed: &Analysed) -> String {
    match &analysed.outcome {
        Outcome::Report(report) => text::report(report, analysed.took),
        Outcome::Failure(_) => String::new(),
    }
}

fn as_json(analysed: &Analysed) -> anyhow::Result<String> {
    Ok(serde_json::to_string(&analysed.outcome)? + "\n")
}

/// Paths are shown as seen from where the command runs.
fn root() -> Root {
    let here = std::env::current_dir().unwrap_or_default();
    here.to_str().map(Root::new).unwrap_or_default()
}
