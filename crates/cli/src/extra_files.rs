//! The files that `check` writes besides its result: a page for the browser, and graphs.

use std::collections::HashSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::ValueHint;
use paceline::sources::Sources;
use paceline_report::html::{self, Page, Snippets};
use paceline_report::model::{Failure, Finding, Report, Site};
use paceline_report::outcome::Outcome;
use paceline_report::{dot, svg};

use crate::output::{Output, cannot_write};

/// Which files to write.
#[derive(clap::Args, Clone, Default)]
#[command(next_help_heading = "More outputs")]
pub struct ExtraFilesArgs {
    /// Also write a page for the browser: one file that needs no network
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    html: Option<PathBuf>,
    /// Also write the graph of each finding, as `ID.dot` for Graphviz and as `ID.svg`
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    dot: Option<PathBuf>,
    /// Where the source is: it is shown in the page, and reports for build servers name files by
    /// their paths there; may be repeated
    ///
    /// Without it, the page shows no source, and paths are looked for under the current folder.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub source: Vec<PathBuf>,
}

/// What is kept of each trace until the files are written.
pub struct ExtraFiles<'a> {
    args: &'a ExtraFilesArgs,
    reports: Vec<Report>,
    failures: Vec<Failure>,
}

impl ExtraFiles<'_> {
    /// Nothing yet.
    pub fn new(args: &ExtraFilesArgs) -> ExtraFiles<'_> {
        ExtraFiles { args, reports: Vec::new(), failures: Vec::new() }
    }

    fn are_wanted(&self) -> bool {
        self.args.html.is_some() || self.args.dot.is_some()
    }

    /// What came of a trace.
    pub fn add(&mut self, outcome: &Outcome) {
        match outcome {
            _ if !self.are_wanted() => {}
            Outcome::Report(report) => self.reports.push(report.clone()),
            Outcome::Failure(failure) => self.failures.push(failure.clone()),
        }
    }

    /// Writes what was asked for.
    pub fn write(&self) -> anyhow::Result<()> {
        if let Some(file) = &self.args.html {
            self.write_page(file, &self.args.source)?;
        }
        if let Some(dir) = &self.args.dot {
            self.write_graphs(dir)?;
        }
        Ok(())
    }

    fn write_page(&self, file: &Path, source: &[PathBuf]) -> anyhow::Result<()> {
        let snippets = match source {
            [] => Snippets::new(),
            folders => Sources::find_all(folders)?.around(self.sites()),
        };
        let (reports, failures) = (&self.reports, &self.failures);
        let page = html::page(&Page { reports, failures, snippets: &snippets })?;
        write(file, &page)
    }

    fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.reports.iter().flat_map(|r| &r.findings)
    }

    /// Every site that the findings name.
    fn sites(&self) -> impl Iterator<Item = &Site> {
        let events = self.findings().flat_map(|f| f.threads.iter().map(|e| &e.site));
        let blames = self.findings().filter_map(|f| f.blame.as_ref().map(|b| &b.site));
        events.chain(blames)
    }

    /// The same finding in several traces has one graph: the first.
    fn write_graphs(&self, dir: &Path) -> anyhow::Result<()> {
        std::fs::create_dir_all(dir).with_context(|| cannot_write(dir))?;
        let mut written = HashSet::new();
        for finding in self.findings().filter(|f| written.insert(f.id.as_str())) {
            write_graph(&dir.join(format!("{}.dot", finding.id)), &dot::dot(finding))?;
            write_graph(&dir.join(format!("{}.svg", finding.id)), &svg::svg(finding))?;
        }
        Ok(())
    }
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    start(path, text)?.commit()
}

fn write_graph(path: &Path, text: &str) -> anyhow::Result<()> {
    start(path, text)?.commit_one_of_many()
}

fn start(path: &Path, text: &str) -> anyhow::Result<Output> {
    let mut output = Output::create(path)?;
    output.write_all(text.as_bytes()).with_context(|| cannot_write(path))?;
    Ok(output)
}
