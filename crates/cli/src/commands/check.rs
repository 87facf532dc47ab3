//! `paceline check`: is it atomic, and if not, why?

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::ValueHint;
use clap::builder::TypedValueParser;
use paceline_analysis::Analysis as _;
use paceline_analysis::atomicity::Engine;
use paceline_analysis::witness::Witness;
use paceline_report::compose;
use paceline_report::outcome::Outcome;
use paceline_trace::format::Format;
use paceline_trace::{BATCH, Batch, Blocks, Error, Source as _};

use crate::args::{ReadArgs, one_of, show};
use crate::checking::{Property, Question, check};
use crate::filters::{FilterArgs, Filters};
use crate::output::{Output, cannot_write, print};
use crate::outputs::{OutputArgs, Outputs};
use crate::picture;
use crate::showing::{Done, Shown};
use crate::status::{Status, complain, warn};
use crate::traces::Trace;

/// Decide whether traces are atomic, and explain what is not
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  paceline check trace.std
  paceline check --property all --format json *.pace > reports.jsonl
  paceline check log.rr.gz --except-file not-atomic.txt --first
  paceline check trace.std --witness serial.std
  paceline check trace.std --html report.html --source src
  paceline check trace.std --perfetto picture.json.gz
  paceline check --format sarif -o paceline.sarif *.pace
  paceline check trace.std --suppress known.txt --baseline last-week.json")]
pub struct Args {
    /// The traces; `-` reads standard input
    #[arg(value_name = "TRACE", required = true, value_hint = ValueHint::FilePath)]
    traces: Vec<PathBuf>,
    /// What to decide; several with commas
    #[arg(long, value_enum, value_delimiter = ',', default_value = "atomicity")]
    property: Vec<Property>,
    /// How to decide atomicity
    #[arg(long, value_name = "ENGINE", value_parser = engine_parser(), default_value = "auto")]
    engine: Engine,
    /// Stop at the first violation
    #[arg(long)]
    first: bool,
    /// Also list every transaction that is part of some cycle
    #[arg(long)]
    all: bool,
    /// Count the nodes of Velodrome's graph, with and without merging
    #[arg(long)]
    stats: bool,
    /// For cooperability: a join yields to the joined thread only
    #[arg(long)]
    join_yields_to_child: bool,
    /// Leave accesses of race-free variables out of the atomicity check (one more pass)
    #[arg(long)]
    filter_race_free: bool,
    /// Show at most this many findings for a trace
    #[arg(long, value_name = "N", default_value_t = 100)]
    max_findings: usize,
    /// How to show the result
    #[arg(long, value_enum, default_value_t = Shown::Text)]
    format: Shown,
    /// Write the result to a file
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
    /// If the trace is serializable, write an equivalent serial trace
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    witness: Option<PathBuf>,
    /// Also write a picture of the trace for ui.perfetto.dev
    ///
    /// Threads with their blocks and locks, and arrows for the conflicts of findings. One event is
    /// one microsecond. A name that ends in `.gz` makes it smaller.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    perfetto: Option<PathBuf>,
    #[command(flatten)]
    more: OutputArgs,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    read: ReadArgs,
}

fn engine_parser() -> impl TypedValueParser<Value = Engine> {
    one_of(Engine::ALL.iter().map(|e| e.name()), Engine::from_name)
}

pub fn run(args: &Args, quiet: bool) -> anyhow::Result<Status> {
    let mut filters = Filters::load(&args.filter, args.max_findings)?;
    let question = Question {
        properties: args.property.clone(),
        engine: args.engine,
        first_only: args.first,
        all_transactions: args.all,
        node_counts: args.stats,
        join_yields_to_child: args.join_yields_to_child,
        filter_race_free: args.filter_race_free,
        max_findings: filters.findings_wanted(),
    };
    refuse_impossible(args)?;
    let mut output = args.output.as_deref().map(Output::create).transpose()?;
    let mut outputs = Outputs::new(&args.more);
    let mut status = Status::Clean;
    let mut has_something = false;
    let all_at_once = args.format.is_one_document() || filters.need_all();
    let mut done = Vec::new();
    for (path, left) in args.traces.iter().zip((0..args.traces.len()).rev()) {
        let (trace, came) = one(path, &question, args, quiet)?;
        done.push(came);
        if all_at_once && left > 0 {
            continue;
        }
        filters.apply(&mut done)?;
        draw(&trace, &done, args)?;
        done.iter().for_each(|d| outputs.add(&d.outcome));
        status = done.iter().fold(status, |status, d| status.and(d.status));
        let text = args.format.show(&mut done, quiet)?;
        has_something |= !text.is_empty();
        put(&text, output.as_mut())?;
        done.clear();
    }
    // An empty result must not take the place of an earlier one.
    if let Some(output) = output.filter(|_| has_something) {
        output.commit()?;
    }
    outputs.write()?;
    Ok(status)
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

fn put(text: &str, output: Option<&mut Output>) -> anyhow::Result<()> {
    match output {
        Some(file) => {
            let plain = anstream::adapter::strip_str(text).to_string();
            Ok(file.write_all(plain.as_bytes())?)
        }
        None => print(text),
    }
}

/// Checks one trace.
fn one(
    path: &Path,
    question: &Question,
    args: &Args,
    quiet: bool,
) -> anyhow::Result<(Trace, Done)> {
    let started = Instant::now();
    let mut trace = Trace::new(path, &args.read, quiet)?;
    let checked = match check(&mut trace, question) {
        Ok(checked) => checked,
        Err(error) => {
            let done = failed(&trace.name(), path, error);
            return Ok((trace, done));
        }
    };
    if let Some(witness) = &args.witness {
        write_witness(&trace, witness)?;
    }
    let outcome = Outcome::Report(checked.report);
    let done = Done { outcome, status: checked.status, took: started.elapsed() };
    Ok((trace, done))
}

/// Draws the trace, of which there is only one, with the findings that are left.
fn draw(trace: &Trace, done: &[Done], args: &Args) -> anyhow::Result<()> {
    let Some(picture) = &args.perfetto else { return Ok(()) };
    match done.first().map(|d| &d.outcome) {
        Some(Outcome::Report(report)) => picture::draw(trace, report, picture),
        Some(Outcome::Failure(_)) | None => Ok(()),
    }
}

fn failed(name: &str, path: &Path, error: Error) -> Done {
    let outcome = Outcome::Failure(compose::failure(name.to_owned(), &error));
    complain(&anyhow::Error::new(error).context(show(path)));
    Done { outcome, status: Status::Error, took: Duration::ZERO }
}

fn write_witness(trace: &Trace, path: &Path) -> anyhow::Result<()> {
    let mut open = trace.open().with_context(|| trace.name())?;
    let mut witness = Witness::default();
    let (_, outcome) = trace.read(&mut open, |batch| witness.events(batch));
    outcome.with_context(|| trace.name())?;
    witness.finish();
    let Some(serial) = witness.serial() else {
        warn("no serial witness is written: the trace is not serializable");
        return Ok(());
    };
    let format = Format::from_path(path).unwrap_or(Format::Std);
    let name = || cannot_write(path);
    let mut output = Output::create(path)?;
    let mut writer = format.writer(&mut output, Blocks::Declared).with_context(name)?;
    for (i, events) in serial.chunks(BATCH).enumerate() {
        let batch = Batch {
            first: (i * BATCH) as u64 + 1,
            events: events.to_vec(),
            counts: open.symbols().counts(),
            lines: Default::default(),
        };
        writer.write(&batch, open.symbols()).with_context(name)?;
    }
    writer.finish(open.symbols()).with_context(name)?;
    drop(writer);
    output.commit()
}
