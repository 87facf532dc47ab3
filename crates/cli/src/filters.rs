//! What is known already and need not be shown: suppressions and baselines. Both look at all
//! traces together, so that they can say what was not needed and what has gone.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::ValueHint;
use paceline_report::baseline::{self, Baseline};
use paceline_report::model::{Filter, Note};
use paceline_report::outcome::{self, Outcome};
use paceline_report::suppress::{self, Suppressions};
use paceline_trace::input;

use crate::args::show;
use crate::formats::Analysed;
use crate::output::Output;
use crate::status::Status;

/// Which findings are not shown.
#[derive(clap::Args, Clone, Default)]
#[command(next_help_heading = "Known findings")]
pub struct FilterArgs {
    /// Do not report findings that match an entry of this file; may be repeated
    ///
    /// One entry a line: `violation:PATTERN`, `warning:PATTERN`, `race:PATTERN` or another rule.
    /// The pattern is looked for in the label and the site of the block to blame, for a race in
    /// the variable and the sites. `*` is any text, `^` and `$` are the beginning and the end.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    suppress: Vec<PathBuf>,
    /// Write a file that suppresses all findings of this run
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    write_suppressions: Option<PathBuf>,
    /// Report only what is not in this earlier JSON report, and what has gone; may be repeated
    #[arg(long, value_name = "REPORT", value_hint = ValueHint::FilePath)]
    baseline: Vec<PathBuf>,
}

/// The filters that were asked for.
pub struct Filters {
    suppressions: Suppressions,
    baseline: Option<Baseline>,
    write_to: Option<PathBuf>,
    /// What was asked for, for the reports to say so.
    asked: Vec<Filter>,
    active: bool,
    max_findings: usize,
}

impl Filters {
    /// Reads the files. At most `max_findings` are left of each report.
    pub fn load(args: &FilterArgs, max_findings: usize) -> anyhow::Result<Filters> {
        let mut suppressions = Suppressions::default();
        for path in &args.suppress {
            let text = String::from_utf8_lossy(&read(path)?).into_owned();
            suppressions.add(&show(path), &text).map_err(|why| anyhow!(why))?;
        }
        let mut baseline = None;
        for path in &args.baseline {
            baseline.get_or_insert_with(Baseline::default).add(&saved(path)?);
        }
        let write_to = args.write_suppressions.clone();
        let suppress = args.suppress.iter().map(|path| Filter::Suppress { file: show(path) });
        let known = args.baseline.iter().map(|path| Filter::Baseline { file: show(path) });
        let asked: Vec<Filter> = suppress.chain(known).collect();
        let active = !asked.is_empty() || write_to.is_some();
        Ok(Filters { suppressions, baseline, write_to, asked, active, max_findings })
    }

    /// Whether every trace must be known before the first can be shown.
    pub fn need_all(&self) -> bool {
        self.active
    }

    /// How many findings to look for: all, if some of them are not to be shown.
    pub fn findings_wanted(&self) -> usize {
        if self.active { usize::MAX } else { self.max_findings }
    }

    /// Takes out of the reports what is not to be shown, and says so in them. A trace of which
    /// no finding is left counts as clean.
    pub fn apply(&mut self, analysed: &mut [Analysed]) -> anyhow::Result<()> {
        if !self.active {
            return Ok(());
        }
        for report in reports(analysed) {
            report.scope.filters.extend(self.asked.iter().cloned());
            self.suppressions.apply(report);
        }
        let gone = self.baseline.as_ref().map(|baseline| baseline.apply(reports(analysed)));
        let mut notes = self.suppressions.unused();
        notes.extend(gone.into_iter().flatten().map(baseline::gone));
        if let Some(last) = reports(analysed).last() {
            last.notes.extend(notes);
        }
        if let Some(path) = &self.write_to {
            let text = suppress::write(analysed.iter().flat_map(|d| d.outcome.findings()));
            let mut output = Output::create(path)?;
            output.write_all(text.as_bytes())?;
            output.commit()?;
        }
        analysed.iter_mut().for_each(|d| self.settle(d));
        Ok(())
    }

    fn settle(&self, analysed: &mut Analysed) {
        if analysed.status == Status::Findings && analysed.outcome.findings().is_empty() {
            analysed.status = Status::Clean;
        }
        if let Some(report) = analysed.outcome.report_mut()
            && report.findings.len() > self.max_findings
        {
            report.findings.truncate(self.max_findings);
            report.notes.push(Note::MoreFindings);
        }
    }
}

fn reports(analysed: &mut [Analysed]) -> impl Iterator<Item = &mut paceline_report::model::Report> {
    analysed.iter_mut().filter_map(|d| d.outcome.report_mut())
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let cannot = || format!("cannot read {}", show(path));
    let mut text = Vec::new();
    input::open(path).and_then(|mut i| i.bytes.read_to_end(&mut text)).with_context(cannot)?;
    Ok(text)
}

/// The reports in a file, which may be compressed.
pub fn saved(path: &Path) -> anyhow::Result<Vec<Outcome>> {
    outcome::parse(&read(path)?).map_err(|why| anyhow!("{}: {why}", show(path)))
}
