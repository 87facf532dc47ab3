//! `paceline explain`: one finding in full, and the smallest trace that shows it.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use clap::ValueHint;
use paceline_analysis::Analysis as _;
use paceline_analysis::atomicity::{Atomicity as _, Options, Running};
use paceline_analysis::explain::explain;
use paceline_analysis::finding::{Rule, Story, group};
use paceline_analysis::minimize::minimize;
use paceline_report::{compose, outcome, text};
use paceline_trace::format::Format;
use paceline_trace::input;
use paceline_trace::{Blocks, Source as _, Trace as InMemory};

use crate::args::{ReadArgs, show};
use crate::filters::saved;
use crate::output::{Output, cannot_write, print};
use crate::status::Status;
use crate::traces::Trace;

/// Show one finding in full, or the smallest trace that still shows it
///
/// The trace is kept in memory. Without --finding, the first violation is shown. A JSON report
/// that `check` wrote can be given instead of the trace.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  paceline explain trace.std
  paceline explain trace.std --finding 3f9a52c81b0e44d7 --minimize small.std
  paceline explain report.json --all")]
pub struct Args {
    /// The trace, or a saved JSON report; `-` reads a trace from standard input
    #[arg(value_name = "TRACE|REPORT", value_hint = ValueHint::FilePath)]
    trace: PathBuf,
    /// The id of the finding
    #[arg(long, value_name = "ID")]
    finding: Option<String>,
    /// Show all findings of a report
    #[arg(long, conflicts_with = "finding")]
    all: bool,
    /// Write the smallest part of the trace that still shows the violation
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    minimize: Option<PathBuf>,
    #[command(flatten)]
    read: ReadArgs,
}

pub fn run(args: &Args, quiet: bool) -> anyhow::Result<Status> {
    let name = || show(&args.trace);
    if is_report(&args.trace)? {
        return from_report(args);
    }
    if args.all {
        bail!("{}: --all is for reports; `check` shows all findings of a trace", name());
    }
    let trace = load(args, quiet).with_context(name)?;
    let mut engine = Running::new(Options::default());
    let batch = trace.batch();
    let _ = engine.events(&batch);
    engine.finish();
    if engine.cycles().is_empty() {
        bail!("{}: the trace is atomic, there is nothing to explain", name());
    }
    let told = explain(&batch, engine.cycles()).into_iter().enumerate();
    let counted = told.filter_map(|(i, story)| Some((story?, engine.stands_for(i))));
    let mut findings = group(Rule::Atomicity, counted).into_iter();
    let finding = findings
        .find(|f| args.finding.as_ref().is_none_or(|id| *id == f.id(&trace.symbols)))
        .ok_or_else(|| anyhow!("{}: no violation has this id; `check` lists them", name()))?;
    let shown = text::finding(&compose::finding(&finding, &trace.symbols));
    print(&shown)?;
    if let (Some(path), Story::Cycle(explanation)) = (&args.minimize, &finding.story) {
        let small = minimize(&trace, explanation);
        write(&small, path)?;
        let (events, line) = (small.events.len(), small.to_line());
        print(&format!("\nminimal trace ({events} events):\n  {line}\n"))?;
    }
    Ok(Status::Findings)
}

/// Whether the file is a report. Standard input cannot be looked at twice: it is a trace.
fn is_report(path: &Path) -> anyhow::Result<bool> {
    if path == Path::new("-") {
        return Ok(false);
    }
    let input = input::open(path).with_context(|| show(path))?;
    Ok(outcome::is_saved(&input.head))
}

/// Shows findings of a saved report.
fn from_report(args: &Args) -> anyhow::Result<Status> {
    let name = || show(&args.trace);
    if args.minimize.is_some() {
        bail!("{}: --minimize needs the trace, not a report", name());
    }
    let outcomes = saved(&args.trace)?;
    let findings = outcomes.iter().flat_map(|o| o.findings().iter().map(move |f| (o.path(), f)));
    let wanted = |id: &str| args.finding.as_ref().is_none_or(|wanted| *wanted == *id);
    let mut found = findings.filter(|(_, f)| wanted(&f.id)).peekable();
    if found.peek().is_none() {
        bail!("{}: there is no such finding in the report", name());
    }
    for (path, finding) in found.take(if args.all { usize::MAX } else { 1 }) {
        print(&format!("{}in {path}\n\n", text::finding(finding)))?;
    }
    Ok(Status::Findings)
}

fn load(args: &Args, quiet: bool) -> anyhow::Result<InMemory> {
    let trace = Trace::new(&args.trace, &args.read, quiet)?;
    let mut open = trace.open()?;
    let mut events = Vec::new();
    let (_, outcome) = trace.read(&mut open, |batch| {
        events.extend_from_slice(&batch.events);
        std::ops::ControlFlow::Continue(())
    });
    outcome?;
    Ok(InMemory { events, symbols: open.symbols().clone() })
}

fn write(trace: &InMemory, path: &Path) -> anyhow::Result<()> {
    let format = Format::from_path(path).unwrap_or(Format::Std);
    let name = || cannot_write(path);
    let mut output = Output::create(path)?;
    let mut writer = format.writer(&mut output, Blocks::Declared).with_context(name)?;
    writer.write(&trace.batch(), &trace.symbols).with_context(name)?;
    writer.finish(&trace.symbols).with_context(name)?;
    drop(writer);
    output.commit()
}
