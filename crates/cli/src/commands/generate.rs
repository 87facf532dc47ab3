//! `paceline generate`: synthetic traces.

use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use clap::ValueHint;
use paceline_trace::format::Format;
use paceline_trace::generate::{Generator, Shape};
use paceline_trace::{Batch, Blocks, Source as _};

use crate::args::{format_parser, show};
use crate::output::{Output, cannot_write};
use crate::progress::Bar;
use crate::status::Status;

/// Make a synthetic trace of chosen size and shape
///
/// The trace is serializable by construction although its transactions overlap in time; or one
/// violation is planted in it, at a chosen event.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  paceline generate trace.std --events 10000000 --threads 64
  paceline generate bad.pace --events 1000 --violation-at 700 --seed 7")]
pub struct Args {
    /// The file to write; `-` writes to standard output
    #[arg(value_name = "OUT", value_hint = ValueHint::FilePath)]
    output: PathBuf,
    /// The format of the output, when its name does not say it
    #[arg(long, value_name = "FORMAT", value_parser = format_parser())]
    to: Option<Format>,
    /// How many events
    #[arg(long, value_name = "N", default_value_t = Shape::default().events)]
    events: u64,
    /// How many threads
    #[arg(long, value_name = "N", default_value_t = Shape::default().threads)]
    threads: u32,
    /// How many variables
    #[arg(long, value_name = "N", default_value_t = Shape::default().variables)]
    variables: u32,
    /// How many locks
    #[arg(long, value_name = "N", default_value_t = Shape::default().locks)]
    locks: u32,
    /// The mean number of events of a transaction
    #[arg(long, value_name = "N", default_value_t = Shape::default().transaction_length)]
    transaction_length: u32,
    /// The share of events in transactions, 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = Shape::default().in_transactions)]
    in_transactions: f64,
    /// How deep blocks nest
    #[arg(long, value_name = "DEPTH", default_value_t = Shape::default().nesting)]
    nesting: u32,
    /// One transaction lasts from the beginning to the end
    #[arg(long)]
    long_transaction: bool,
    /// Threads wait and notify
    #[arg(long)]
    waits: bool,
    /// Threads meet at barriers
    #[arg(long)]
    barriers: bool,
    /// Some variables are volatile
    #[arg(long)]
    volatiles: bool,
    /// Threads post and take semaphores
    #[arg(long)]
    semaphores: bool,
    /// Half of the acquires are shared
    #[arg(long)]
    shared_locks: bool,
    /// Threads are neither forked nor joined
    #[arg(long)]
    no_fork_join: bool,
    /// Another seed makes another trace of the same shape
    #[arg(long, value_name = "SEED", default_value_t = Shape::default().seed)]
    seed: u64,
    /// Plant one violation: the trace stops being serializable with exactly this event
    #[arg(long, value_name = "EVENT")]
    violation_at: Option<u64>,
}

impl Args {
    fn shape(&self) -> Shape {
        Shape {
            events: self.events,
            threads: self.threads,
            variables: self.variables,
            locks: self.locks,
            transaction_length: self.transaction_length,
            in_transactions: self.in_transactions,
            nesting: self.nesting,
            long_transaction: self.long_transaction,
            waits: self.waits,
            barriers: self.barriers,
            volatiles: self.volatiles,
            semaphores: self.semaphores,
            shared_locks: self.shared_locks,
            fork_join: !self.no_fork_join,
            seed: self.seed,
            violation_at: self.violation_at,
        }
    }
}

pub fn run(args: &Args, quiet: bool) -> anyhow::Result<Status> {
    let to = args.to.or_else(|| Format::from_path(&args.output)).ok_or_else(|| {
        anyhow!("{}: its ending names no format (std, csv, pace); use --to", show(&args.output))
    })?;
    let mut generator = Generator::new(args.shape())?;
    let name = || cannot_write(&args.output);
    let mut output = Output::create(&args.output)?;
    let mut writer = to.writer(&mut output, Blocks::Declared).with_context(name)?;
    let mut batch = Batch::default();
    let bar = Bar::counting(args.events, quiet);
    let mut events = 0;
    loop {
        batch.first = events + 1;
        generator.read(&mut batch)?;
        if batch.events.is_empty() {
            break;
        }
        writer.write(&batch, generator.symbols()).with_context(name)?;
        events += batch.events.len() as u64;
        bar.update(events, events);
    }
    writer.finish(generator.symbols()).with_context(name)?;
    drop(writer);
    bar.finish();
    output.commit()?;
    Ok(Status::Clean)
}
