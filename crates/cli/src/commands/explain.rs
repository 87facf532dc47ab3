//! `paceline explain`: one finding in full, and the smallest trace that shows it.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use clap::ValueHint;
use paceline::Check;
use paceline_analysis::Analysis as _;
use paceline_analysis::atomicity::{Atomicity as _, Options, Running};
use paceline_analysis::explain::explain;
use paceline_analysis::explain::minimize::minimize;
use paceline_analysis::finding::{Grounds, RuleId, group};
use paceline_report::outcome::{self, Outcome};
use paceline_report::text;
use paceline_trace::format::Format;
use paceline_trace::input;
use paceline_trace::{Blocks, Source as _, Trace as InMemory};

use crate::args::{ReadArgs, show};
use crate::check_args::PredictArgs;
use crate::extra_files::{ExtraFiles, ExtraFilesArgs};
use crate::filters::saved;
use crate::output::{Output, cannot_write, print};
use crate::status::Status;

/// Show one finding in full, or the smallest trace that still shows it
///
/// Without --finding, the first violation of atomicity is shown. A JSON report that `check` wrote
/// can be given instead of the trace.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  paceline explain trace.std
  paceline explain trace.std --finding 3f9a52c81b0e44d7 --minimize small.std
  paceline explain trace.std --finding 3f9a52c81b0e44d7 --dot graphs --html finding.html
  paceline explain trace.std --predict            what did not happen, but could have
  paceline explain report.json --all")]
pub struct Args {
    /// The trace, or a saved JSON report; `-` reads a trace from standard input
    #[arg(value_name = "TRACE|REPORT", value_hint = ValueHint::FilePath)]
    trace: PathBuf,
    /// The id of the finding, of whatever property
    #[arg(long, value_name = "ID")]
    finding: Option<String>,
    /// Show all findings of a report
    #[arg(long, conflicts_with = "finding")]
    all: bool,
    /// Write the smallest part of the trace that still shows the violation of atomicity
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    minimize: Option<PathBuf>,
    #[command(flatten)]
    predict: PredictArgs,
    #[command(flatten)]
    more: ExtraFilesArgs,
    #[command(flatten)]
    read: ReadArgs,
}

pub fn run(args: &Args, quiet: bool) -> anyhow::Result<Status> {
    let name = || show(&args.trace);
    if is_report(&args.trace)? {
        let predicts = args.predict.options().map(|_| "--predict");
        if let Some(option) = args.minimize.as_ref().map(|_| "--minimize").or(predicts) {
            bail!("{}: {option} needs the trace, not a report", name());
        }
        return show_findings(args, saved(&args.trace)?);
    }
    if args.all {
        bail!("{}: --all is for reports; `check` shows all findings of a trace", name());
    }
    let checked = checked(args, quiet).with_context(name)?;
    let status = show_findings(args, vec![checked])?;
    if let Some(path) = &args.minimize {
        minimized(args, path, quiet)?;
    }
    Ok(status)
}

/// The report of a trace: of one property, or if the reader knows which finding, of all.
fn checked(args: &Args, quiet: bool) -> anyhow::Result<Outcome> {
    let check = Check::new().max_findings(usize::MAX);
    let check = if args.finding.is_some() { check.all_properties() } else { check };
    let predict = args.predict.options();
    let predicts = predict.is_some();
    let check = predict.into_iter().fold(check, Check::predict);
    let mut trace = args.read.trace(&args.trace, quiet)?;
    let report = check.decide(&mut trace)?.report;
    if report.findings.is_empty() && args.finding.is_none() {
        let in_any = if predicts { " in every order that was tried" } else { "" };
        bail!("the trace is atomic{in_any}, there is nothing to explain");
    }
    Ok(Outcome::Report(report))
}

/// Shows what was asked for.
fn show_findings(args: &Args, mut outcomes: Vec<Outcome>) -> anyhow::Result<Status> {
    let mut left = if args.all { usize::MAX } else { 1 };
    let wanted = |id: &str| args.finding.as_ref().is_none_or(|wanted| *wanted == *id);
    let mut outputs = ExtraFiles::new(&args.more);
    let mut shown = String::new();
    for outcome in &mut outcomes {
        let Some(report) = outcome.report_mut() else { continue };
        report.findings.retain(|f| wanted(&f.id));
        report.findings.truncate(left);
        left = left.saturating_sub(report.findings.len());
        for finding in &report.findings {
            shown += &text::finding(finding, report.rule(&finding.rule));
            // A report may be about several traces.
            if report.input.path != args.trace.to_string_lossy() {
                shown += &format!("in {}\n", report.input.path);
            }
            shown.push('\n');
        }
        if !report.findings.is_empty() {
            outputs.add(outcome);
        }
    }
    if shown.is_empty() {
        let predicted = match args.predict.options() {
            None if !is_report(&args.trace)? => ", and `--predict` looks for those of other orders",
            None | Some(_) => "",
        };
        bail!("{}: no finding has this id; `check` lists them{predicted}", show(&args.trace));
    }
    print(&shown)?;
    outputs.write()?;
    Ok(Status::Findings)
}

/// Writes the smallest trace with the finding. The trace is kept in memory.
fn minimized(args: &Args, path: &Path, quiet: bool) -> anyhow::Result<()> {
    let name = || show(&args.trace);
    let trace = load(args, quiet).with_context(name)?;
    let mut engine = Running::new(Options::default());
    let batch = trace.batch();
    let _ = engine.events(&batch);
    engine.finish();
    let explained = explain(&batch, engine.cycles()).into_iter().flatten().map(|e| (e, 1));
    let mut findings = group(&RuleId::ATOMICITY, explained).into_iter();
    let finding = findings
        .find(|f| args.finding.as_ref().is_none_or(|id| *id == f.id(&trace.symbols)))
        .ok_or_else(|| anyhow!("{}: --minimize is for violations of atomicity", name()))?;
    if let Grounds::Cycle(explanation) = &finding.grounds {
        let small = minimize(&trace, explanation);
        write(&small, path)?;
        let (events, line) = (small.events.len(), small.to_line());
        print(&format!("minimal trace ({events} events):\n  {line}\n"))?;
    }
    Ok(())
}

/// Whether the file is a report. Standard input cannot be looked at twice: it is a trace.
fn is_report(path: &Path) -> anyhow::Result<bool> {
    if path == Path::new("-") {
        return Ok(false);
    }
    let input = input::open(path).with_context(|| show(path))?;
    Ok(outcome::is_saved(&input.head))
}

fn load(args: &Args, quiet: bool) -> anyhow::Result<InMemory> {
    let trace = args.read.trace(&args.trace, quiet)?;
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
