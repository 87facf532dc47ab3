//! `paceline record`: a program under observation, its trace kept for later.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueHint;
use paceline::observe::{Observe, Observed, Recorded};
use paceline::{Check, Error};

use crate::args::SelectArgs;
use crate::check_args::{Wanted, property_parser};
use crate::observe_args::ObserveArgs;
use crate::status::{Status, complain, exit_code, note, warn};

/// Run a program under observation and keep its trace
///
/// What `paceline run` with the same options would decide about is recorded. With --complete it is
/// everything: all methods, so that `paceline check` can select those that are atomic, and
/// redundant accesses, which only reduction and cooperability need. A command that starts several
/// processes makes several files: `%p` in the name is the process id, otherwise the second is
/// numbered 2 and so on.
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
    /// Where to keep the trace; the ending says the format
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

pub fn run(args: &Args, quiet: bool) -> anyhow::Result<ExitCode> {
    let properties = args.property.iter().flat_map(|wanted| wanted.each());
    let check = properties.fold(Check::new(), Check::property);
    let check = args.select.atomic()?.into_iter().fold(check, Check::atomic);
    let check = args.select.except()?.into_iter().fold(check, Check::except);
    let observe = Observe::new(&args.command).options(args.observe.options());
    let observe = observe.check(check).complete(args.complete);
    let Observed { ended, traces, hint } = observe.record(&args.output)?;
    if traces.is_empty() {
        let why = hint.unwrap_or_else(|| "no process of the command was observed".to_owned());
        warn(&format!("nothing was recorded: {why}"));
    }
    let statuses: Vec<Status> =
        traces.into_iter().map(|recorded| status_of(recorded, quiet)).collect();
    // A process without an event does not count if there is another: build tools start many.
    let counted = statuses.iter().copied().filter(|&status| status != Status::Nothing);
    let status = counted.max().unwrap_or(Status::Nothing);
    Ok(match (ended.code(), status) {
        (0, status) => exit_code(status),
        (code, _) => code.into(),
    })
}

/// Says what came of a process, and what that means for the exit status.
fn status_of(recorded: Result<Recorded, Error>, quiet: bool) -> Status {
    let recorded = match recorded {
        Ok(recorded) => recorded,
        Err(error) => {
            complain(&error.into());
            return Status::Error;
        }
    };
    if !quiet {
        note(&format!("{}: {} events", recorded.path.display(), recorded.events));
    }
    match recorded {
        Recorded { is_incomplete: true, .. } => Status::Incomplete,
        Recorded { events: 0, .. } => Status::Nothing,
        Recorded { .. } => Status::Clean,
    }
}
