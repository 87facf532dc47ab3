//! `paceline check`: is it atomic, and if not, why?

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::ValueHint;
use paceline::Check;
use paceline::trace_input::TraceInput;
use paceline_analysis::Analysis as _;
use paceline_analysis::explain::witness::Witness as Serial;
use paceline_report::compose;
use paceline_report::model::Witness;
use paceline_report::outcome::Outcome;
use paceline_trace::format::Format;
use paceline_trace::{
    BATCH, Batch, Blocks, Error, Event, Op, Site, Source as _, Symbols, ThreadId,
};

use crate::args::{ReadArgs, show};
use crate::check_args::CheckArgs;
use crate::formats::Analysed;
use crate::output::{Output, cannot_write};
use crate::perfetto;
use crate::results::{Destination, Results, ShowArgs};
use crate::status::{Status, complain, warn};

/// Decide whether traces are atomic, and explain what is not
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  paceline check trace.std
  paceline check --property all --format json *.pace > reports.jsonl
  paceline check log.rr.gz --except-file not-atomic.txt --first
  paceline check trace.std --witness serial.std
  paceline check --predict trace.std --witness could-have.std
  paceline check trace.std --html report.html --source src
  paceline check trace.std --perfetto picture.json.gz
  paceline check --format sarif -o paceline.sarif *.pace
  paceline check trace.std --suppress known.txt --baseline last-week.json")]
pub struct Args {
    /// The traces; `-` reads standard input
    #[arg(value_name = "TRACE", required = true, value_hint = ValueHint::FilePath)]
    traces: Vec<PathBuf>,
    #[command(flatten)]
    check: CheckArgs,
    /// Leave accesses of race-free variables out of the atomicity check (one more pass)
    #[arg(long)]
    filter_race_free: bool,
    /// If the trace is serializable, write an equivalent serial trace
    ///
    /// With --predict, if another order refutes a block: write that order, as a trace that `check`
    /// refutes.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    witness: Option<PathBuf>,
    /// Also write a picture of the trace for ui.perfetto.dev
    ///
    /// Threads with their blocks and locks, and arrows for the conflicts of findings. One event is
    /// one microsecond. A name that ends in `.gz` makes it smaller.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    perfetto: Option<PathBuf>,
    #[command(flatten)]
    show: ShowArgs,
    #[command(flatten)]
    read: ReadArgs,
}

pub fn run(args: &Args, quiet: bool) -> anyhow::Result<Status> {
    let mut results =
        Results::new(&args.show, args.check.max_findings, Destination::Stdout, quiet)?;
    let check = args.check.check(results.findings_wanted()).filter_race_free(args.filter_race_free);
    refuse_impossible(args)?;
    for path in &args.traces {
        let (trace, done) = one(path, &check, args, quiet)?;
        results.add_and(done, move |outcome| draw(&trace, outcome, args))?;
    }
    Ok(results.finish()?.status)
}

fn refuse_impossible(args: &Args) -> anyhow::Result<()> {
    let single = [("--witness", &args.witness), ("--perfetto", &args.perfetto)];
    for (name, _) in single.iter().filter(|(_, file)| file.is_some()) {
        if args.traces.len() > 1 {
            anyhow::bail!("{name} takes one trace at a time");
        }
    }
    if args.filter_race_free && args.traces.iter().any(|path| path == Path::new("-")) {
        anyhow::bail!("--filter-race-free reads a trace twice: give it a file, not standard input");
    }
    Ok(())
}

/// Checks one trace.
fn one(
    path: &Path,
    check: &Check,
    args: &Args,
    quiet: bool,
) -> anyhow::Result<(TraceInput, Analysed)> {
    let started = Instant::now();
    let mut trace = args.read.trace(path, quiet)?;
    let checked = match check.decide(&mut trace) {
        Ok(checked) => checked,
        Err(error) => {
            let done = failed(&trace.name(), path, error);
            return Ok((trace, done));
        }
    };
    if let Some(witness) = &args.witness {
        let predicted = checked.report.verdicts.atomicity().and_then(|it| it.predicted.as_ref());
        match predicted.and_then(|blocks| blocks.first()) {
            Some(block) => write_new_order(&trace, &block.order, witness)?,
            None => write_witness(&trace, witness)?,
        }
    }
    let outcome = Outcome::Report(checked.report);
    let done = Analysed { outcome, status: checked.status, took: started.elapsed() };
    Ok((trace, done))
}

/// Draws the trace, of which there is only one, with the findings that are left.
fn draw(trace: &TraceInput, outcome: &Outcome, args: &Args) -> anyhow::Result<()> {
    match (outcome, &args.perfetto) {
        (Outcome::Report(report), Some(picture)) => perfetto::draw(trace, report, picture),
        (Outcome::Report(_) | Outcome::Failure(_), _) => Ok(()),
    }
}

fn failed(name: &str, path: &Path, error: Error) -> Analysed {
    let outcome = Outcome::Failure(compose::failure(name.to_owned(), &error));
    complain(&anyhow::Error::new(error).context(show(path)));
    Analysed { outcome, status: Status::Error, took: Duration::ZERO }
}

fn write_witness(trace: &TraceInput, path: &Path) -> anyhow::Result<()> {
    let mut open = trace.open().with_context(|| trace.name())?;
    let mut witness = Serial::default();
    let (_, outcome) = trace.read(&mut open, |batch| witness.events(batch));
    outcome.with_context(|| trace.name())?;
    witness.finish();
    let Some(serial) = witness.serial() else {
        warn("no serial witness is written: the trace is not serializable");
        return Ok(());
    };
    write_events(serial, open.symbols(), path)
}

/// Writes the order that a prediction found: what comes first as observed, then the witness. An
/// update that sees another value may fail, so it is written as a read.
fn write_new_order(trace: &TraceInput, order: &Witness, path: &Path) -> anyhow::Result<()> {
    let mut open = trace.open().with_context(|| trace.name())?;
    let mut events = Vec::new();
    let mut later: HashMap<u64, Event> =
        order.witness.iter().map(|&number| (number, NONE)).collect();
    let (_, outcome) = trace.read(&mut open, |batch| {
        for (number, event) in (batch.first..).zip(&batch.events) {
            if number <= order.after {
                events.push(*event);
            } else if let Some(kept) = later.get_mut(&number) {
                *kept = *event;
            }
        }
        ControlFlow::Continue(())
    });
    outcome.with_context(|| trace.name())?;
    let in_order = order.witness.iter().map(|number| {
        let event = later[number];
        match event.op.variable().filter(|_| order.how.diverging.contains(number)) {
            Some(x) if event.op == Op::AtomicUpdate(x) => Event { op: Op::AtomicRead(x), ..event },
            Some(_) | None => event,
        }
    });
    events.extend(in_order);
    write_events(&events, open.symbols(), path)
}

/// An event that has not been read yet.
const NONE: Event = Event { thread: ThreadId(0), op: Op::Yield, site: Site::UNKNOWN };

fn write_events(events: &[Event], symbols: &Symbols, path: &Path) -> anyhow::Result<()> {
    let format = Format::from_path(path).unwrap_or(Format::Std);
    let name = || cannot_write(path);
    let mut output = Output::create(path)?;
    let mut writer = format.writer(&mut output, Blocks::Declared).with_context(name)?;
    for (i, events) in events.chunks(BATCH).enumerate() {
        let batch = Batch {
            first: (i * BATCH) as u64 + 1,
            events: events.to_vec(),
            counts: symbols.counts(),
            lines: Default::default(),
        };
        writer.write(&batch, symbols).with_context(name)?;
    }
    writer.finish(symbols).with_context(name)?;
    drop(writer);
    output.commit()
}
