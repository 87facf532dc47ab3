//! `paceline record`: a program under observation, its trace kept for later.

use std::ffi::OsString;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, bail};
use clap::ValueHint;
use paceline::observe::{Observed, RecorderOptions, observe, redundant_for};
use paceline::property::RedundantAccesses;
use paceline_trace::format::Format;
use paceline_trace::record::StreamReader;
use paceline_trace::validate::Validator;
use paceline_trace::{Batch, Source as _};

use crate::args::SelectArgs;
use crate::asking::{Wanted, property_parser};
use crate::observing::ObserveArgs;
use crate::output::{Output, cannot_write};
use crate::status::{Status, complain, exit_code, note, warn};

/// Run a program under observation and keep its trace
///
/// What `paceline run` with the same options would decide about is recorded. With --complete it is
/// everything: all methods, so that `paceline check` can select those that are atomic, and accesses
/// that a block repeats, which only reduction and cooperability need. A command that starts
/// several processes makes several files: `%p` in the name is the process id, otherwise the second
/// is numbered 2 and so on.
///
/// Exit status: that of the program; if it succeeded: 2 if a recording cannot be read or written,
/// 3 if it is incomplete, 4 if nothing was recorded.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  paceline record -o trace.pace -- java -jar app.jar
  paceline record --property race -o trace.pace -- java -jar app.jar
  paceline record --complete -o tests-%p.pace -- mvn test
  paceline check trace.pace")]
pub struct Args {
    /// Where to keep the trace; the ending tells the format
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: PathBuf,
    /// What is to be decided later; several with commas
    ///
    /// Less has to be recorded for atomicity alone than for races, too.
    #[arg(long, value_delimiter = ',', value_parser = property_parser(), default_value = "atomicity")]
    property: Vec<Wanted>,
    /// Leave nothing out: all methods, to be selected later, and all accesses that may matter
    #[arg(long)]
    complete: bool,
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    observe: ObserveArgs,
    /// The command, after `--`
    #[arg(last = true, required = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    command: Vec<OsString>,
}

/// What came of a process.
struct Kept {
    path: PathBuf,
    events: u64,
    is_incomplete: bool,
}

pub fn run(args: &Args, quiet: bool) -> anyhow::Result<ExitCode> {
    let (atomic, except) = (args.select.atomic()?, args.select.except()?);
    let observe_options = args.observe.options();
    let options = RecorderOptions {
        all_methods: args.complete && atomic.is_empty() && except.is_empty(),
        redundant: if args.complete {
            RedundantAccesses::Keep
        } else {
            redundant_for(args.property.iter().flat_map(|wanted| wanted.each()))
        },
        atomic,
        except,
        atomic_annotations: observe_options.atomic_annotations.clone(),
        observe: observe_options,
    };
    let format = Format::from_path(&args.output).unwrap_or(Format::Pace);
    if matches!(format, Format::Rr | Format::Stream) {
        bail!("a recording is written as pace, std or csv, not as {}", format.name());
    }
    let count = AtomicUsize::new(0);
    let Observed { ended, traces, hint } =
        observe(&args.command, &options.observe, &options, |stream| {
            keep(stream, &args.output, format, &count)
        })?;
    if traces.is_empty() {
        let why = hint.unwrap_or_else(|| "no process of the command was observed".to_owned());
        warn(&format!("nothing was recorded: {why}"));
    }
    let statuses: Vec<Status> = traces.iter().map(|kept| tell(kept, quiet)).collect();
    // A process without an event does not count if there is another: build tools start many.
    let counted = statuses.iter().copied().filter(|&status| status != Status::Nothing);
    let status = counted.max().unwrap_or(Status::Nothing);
    Ok(match (ended.code(), status) {
        (0, status) => exit_code(status),
        (code, _) => code.into(),
    })
}

fn tell(kept: &anyhow::Result<Kept>, quiet: bool) -> Status {
    match kept {
        Err(error) => {
            complain(error);
            Status::Error
        }
        Ok(kept) => {
            if !quiet {
                note(&format!("{}: {} events", kept.path.display(), kept.events));
            }
            match kept {
                Kept { is_incomplete: true, .. } => Status::Incomplete,
                Kept { events: 0, .. } => Status::Nothing,
                Kept { .. } => Status::Clean,
            }
        }
    }
}

/// The file of a process: the first has the name that was given.
fn file_of(given: &Path, pid: u32, number: usize) -> PathBuf {
    let text = given.to_string_lossy();
    if text.contains("%p") {
        return PathBuf::from(text.replace("%p", &pid.to_string()));
    }
    match (number, text.rsplit_once('.')) {
        (0, _) => given.to_owned(),
        (n, Some((stem, ending))) => PathBuf::from(format!("{stem}-{}.{ending}", n + 1)),
        (n, None) => PathBuf::from(format!("{text}-{}", n + 1)),
    }
}

fn keep(
    stream: UnixStream,
    given: &Path,
    format: Format,
    count: &AtomicUsize,
) -> anyhow::Result<Kept> {
    let mut program = StreamReader::new(Box::new(stream));
    let path = file_of(given, program.recording().pid, count.fetch_add(1, Ordering::Relaxed));
    let mut output = Output::create(&path)?;
    let mut writer = format.writer(&mut output, program.blocks())?;
    let mut validator = Validator::default();
    let mut batch = Batch { first: 1, ..Batch::default() };
    let mut malformed = None;
    loop {
        program.read(&mut batch).with_context(|| path.display().to_string())?;
        if batch.events.is_empty() {
            break;
        }
        writer.write(&batch, program.symbols()).with_context(|| cannot_write(&path))?;
        let next = batch.first + batch.events.len() as u64;
        if malformed.is_none() {
            malformed = validator.check(&mut batch).err();
        }
        batch.first = next;
    }
    program.skipped().recording.iter().for_each(|recording| writer.recording(recording));
    writer.finish(program.symbols()).with_context(|| cannot_write(&path))?;
    drop(writer);
    output.commit()?;
    // It is kept all the same: somebody will want to see why.
    if let Some(malformed) = malformed {
        let error = malformed.explain(program.symbols());
        return Err(anyhow::Error::new(error).context(path.display().to_string()));
    }
    let is_incomplete = program.skipped().cut_off.is_some();
    Ok(Kept { path, events: batch.first - 1, is_incomplete })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_process_has_a_file() {
        let name = |given, number| file_of(Path::new(given), 42, number).display().to_string();
        assert_eq!(name("t.pace", 0), "t.pace");
        assert_eq!(name("a.b/t.pace", 1), "a.b/t-2.pace");
        assert_eq!(name("t", 2), "t-3");
        assert_eq!(name("t-%p.pace", 5), "t-42.pace");
    }
}
