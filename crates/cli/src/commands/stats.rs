//! `paceline stats`: what is in a trace?

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{ValueEnum, ValueHint};
use paceline::trace_input::{is_incomplete, notes};
use paceline_analysis::Analysis as _;
use paceline_analysis::stats::Stats;
use paceline_report::stats;
use paceline_trace::Source as _;

use crate::args::{ReadArgs, show};
use crate::output::print;
use crate::status::{Status, note};

/// Count what is in a trace: events, threads, variables, locks, transactions
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  paceline stats trace.std.gz
  paceline stats --format json trace.pace | jq .variables")]
pub struct Args {
    /// The trace; `-` reads standard input
    #[arg(value_name = "TRACE", value_hint = ValueHint::FilePath)]
    trace: PathBuf,
    /// How to show it
    #[arg(long, value_enum, default_value_t = StatsFormat::Text)]
    format: StatsFormat,
    #[command(flatten)]
    read: ReadArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum StatsFormat {
    Text,
    Json,
}

pub fn run(args: &Args, quiet: bool) -> anyhow::Result<Status> {
    let trace = args.read.trace(&args.trace, quiet)?;
    let name = || show(&args.trace);
    let mut open = trace.open().with_context(name)?;
    let mut counts = Stats::default();
    let (reading, outcome) = trace.read(&mut open, |batch| counts.events(batch));
    outcome.with_context(name)?;
    counts.finish();
    let report = counts.report();
    let text = match args.format {
        StatsFormat::Text => stats::text(&report, open.symbols()),
        StatsFormat::Json => serde_json::to_string(&stats::json(&report, open.symbols()))? + "\n",
    };
    print(&text)?;
    if !quiet {
        notes(&open, &reading).iter().for_each(|said| note(&said.to_string()));
    }
    Ok(match reading.events {
        0 => Status::Nothing,
        _ if is_incomplete(&open, &reading) => Status::Incomplete,
        _ => Status::Clean,
    })
}
