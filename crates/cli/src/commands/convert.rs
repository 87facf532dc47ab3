//! `paceline convert`: from one format to another.

use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use clap::ValueHint;
use paceline_trace::format::{self, Format};
use paceline_trace::validate::Validator;
use paceline_trace::{Batch, Source as _};

use crate::args::{OneTrace, ReadArgs, parse_format};
use crate::output::Output;
use crate::progress::Bar;
use crate::status::Status;
use crate::traces;

/// Convert a trace into another format
///
/// The formats are told by the content of the input and by the name of the output, which may end
/// in .gz or .zst besides.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  paceline convert log.rr.gz trace.pace
  zcat log.std.gz | paceline convert - trace.std.zst")]
pub struct Args {
    #[command(flatten)]
    input: OneTrace,
    /// The file to write; `-` writes to standard output
    #[arg(value_name = "OUT", value_hint = ValueHint::FilePath)]
    output: PathBuf,
    /// The format of the output, when its name does not tell
    #[arg(long, value_name = "FORMAT", value_parser = parse_format)]
    to: Option<Format>,
    #[command(flatten)]
    read: ReadArgs,
}

pub fn run(args: &Args, quiet: bool) -> anyhow::Result<Status> {
    let name = args.input.trace.display();
    let mut trace =
        traces::open(&args.input.trace, &args.read).with_context(|| name.to_string())?;
    let format = args.to.or_else(|| Format::from_path(&args.output)).ok_or_else(|| {
        anyhow!("{}: cannot tell the format to write; use --to", args.output.display())
    })?;
    let mut output = Output::create(&args.output)?;
    let _ = (&mut trace, format, &mut output, Validator::default(), Batch::default(), quiet);
    Ok(Status::Clean)
}
