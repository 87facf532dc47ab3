//! `paceline convert`: from one format to another.

use std::io;
use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use clap::ValueHint;
use paceline::trace_input::{OpenTrace, TraceInput, is_incomplete, notes};
use paceline_trace::format::{Format, Writer};
use paceline_trace::pipeline::Reading;
use paceline_trace::{Blocks, Error, Site, SiteKind, Source as _};

use crate::args::{ReadArgs, format_parser, show};
use crate::output::{Output, cannot_write};
use crate::status::{Status, note};

/// Convert a trace into another format
///
/// The format to read is detected from the content, the format to write from the name of the
/// output, which may end in .gz or .zst besides. In traces of method calls, only the methods that
/// are atomic become blocks; `pace` keeps all methods, to be selected later, unless some are
/// selected here.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  paceline convert log.rr.gz trace.pace
  paceline convert log.rr.gz trace.std.gz --except-file not-atomic.txt
  zcat log.std.gz | paceline convert - trace.pace.zst")]
pub struct Args {
    /// The trace; `-` reads standard input
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath)]
    input: PathBuf,
    /// The file to write; `-` writes to standard output
    #[arg(value_name = "OUT", value_hint = ValueHint::FilePath)]
    output: PathBuf,
    /// The format of the output, when its name does not say it
    #[arg(long, value_name = "FORMAT", value_parser = format_parser())]
    to: Option<Format>,
    #[command(flatten)]
    read: ReadArgs,
}

pub fn run(args: &Args, quiet: bool) -> anyhow::Result<Status> {
    let to = args.to.or_else(|| Format::from_path(&args.output)).ok_or_else(|| {
        let known: Vec<&str> = Format::ALL.iter().map(|f| f.name()).collect();
        let (name, known) = (show(&args.output), known.join(", "));
        anyhow!("{name}: its ending names no format ({known}); use --to")
    })?;
    let trace = args.read.trace(&args.input, quiet)?;
    let name = || show(&args.input);
    let keeps_methods = to == Format::Pace && !args.read.select.selection()?.is_given();
    let open = if keeps_methods { trace.open_unselected() } else { trace.open() };
    let mut open = open.with_context(name)?;
    let blocks = if keeps_methods { open.blocks() } else { Blocks::Declared };
    let mut output = Output::create(&args.output)?;
    let writer = to.writer(&mut output, blocks).with_context(|| cannot_write(&args.output))?;
    let copied = copy(&trace, &mut open, writer).map_err(|fault| match fault {
        Fault::Reading(error) => anyhow::Error::new(error).context(name()),
        Fault::Writing(error) => anyhow::Error::new(error).context(cannot_write(&args.output)),
    })?;
    output.commit()?;
    show_notes(&copied, &open, to, quiet);
    Ok(match copied.reading.events {
        0 => Status::Nothing,
        _ if is_incomplete(&open, &copied.reading) => Status::Incomplete,
        _ => Status::Clean,
    })
}

/// What went wrong: the two files have different names.
enum Fault {
    Reading(Error),
    Writing(io::Error),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault::Reading(error)
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Fault {
        Fault::Writing(error)
    }
}

struct Copied {
    reading: Reading,
    has_sites: bool,
}

/// What the user should know about the result.
fn show_notes(copied: &Copied, open: &OpenTrace, to: Format, quiet: bool) {
    if quiet {
        return;
    }
    notes(open, &copied.reading).iter().for_each(|said| note(&said.to_string()));
    if copied.has_sites && to != Format::Pace {
        note(&format!("{} has no room for source locations: they became numbers", to.name()));
    }
}

fn is_entry(site: Site) -> bool {
    matches!(site.kind(), SiteKind::Entry(_))
}

fn copy(
    trace: &TraceInput,
    open: &mut OpenTrace,
    mut writer: Box<dyn Writer + '_>,
) -> Result<Copied, Fault> {
    let mut has_sites = false;
    let reading = trace.read_named("converting", open, |batch, symbols| {
        has_sites |= batch.events.iter().any(|e| is_entry(e.site));
        writer.write(batch, symbols).map_err(Fault::Writing)
    })?;
    open.skipped().recording.iter().for_each(|recording| writer.recording(recording));
    writer.finish(open.symbols())?;
    Ok(Copied { reading, has_sites })
}
