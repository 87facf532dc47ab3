//! The `paceline` command: flags, files, exit status. What it does is in the libraries.

mod also;
mod args;
mod cache;
mod check_args;
mod commands;
mod config;
mod extra_files;
mod filters;
mod formats;
mod missing_dashes;
mod observe_args;
mod output;
mod perfetto;
mod progress;
mod results;
mod source_folders;
mod status;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};
use paceline_trace::{Error, ErrorKind};

use crate::args::{Cli, Command};
use crate::status::{Status, exit_code};

fn main() -> ExitCode {
    let folder = Path::new(".");
    let cli = match config::arguments(&Cli::command(), std::env::args_os().collect(), folder) {
        Ok(arguments) => parse(&arguments),
        Err(error) => {
            status::complain(&error);
            return exit_code(Status::Error);
        }
    };
    cli.color.apply();
    match run(&cli) {
        Ok(code) => code,
        Err(error) if is_closed_pipe(&error) => exit_code(when_closed(&cli.command)),
        Err(error) => {
            status::complain(&error);
            exit_code(Status::Error)
        }
    }
}

/// The command line. What is wrong with it is said, and is the end.
fn parse(arguments: &[OsString]) -> Cli {
    Cli::try_parse_from(arguments).unwrap_or_else(|error| {
        missing_dashes::explain(error, arguments, &mut Cli::command()).exit()
    })
}

fn run(cli: &Cli) -> anyhow::Result<ExitCode> {
    let status = match &cli.command {
        // These end as the program does that they run.
        Command::Run(args) => return commands::run::run(args, cli.quiet),
        Command::Record(args) => return commands::record::run(args, cli.quiet),
        Command::Check(args) => commands::check::run(args, cli.quiet),
        Command::Explain(args) => commands::explain::run(args, cli.quiet),
        Command::Yields(args) => commands::yields::run(args, cli.quiet),
        Command::Scan(args) => commands::scan::run(args, cli.quiet),
        Command::Stats(args) => commands::stats::run(args, cli.quiet),
        Command::Convert(args) => commands::convert::run(args, cli.quiet),
        Command::Generate(args) => commands::generate::run(args, cli.quiet),
        Command::Demo(args) => commands::demo::run(args),
        Command::Doctor(args) => commands::doctor::run(args),
        Command::Completions(args) => commands::completions::run(args),
        Command::Man(args) => commands::man::run(args),
    };
    status.map(exit_code)
}

/// The status of a command whose output was closed before the end. A verdict that was not given
/// is no green.
fn when_closed(command: &Command) -> Status {
    match command {
        Command::Check(_)
        | Command::Run(_)
        | Command::Record(_)
        | Command::Explain(_)
        | Command::Yields(_)
        | Command::Scan(_)
        | Command::Demo(_)
        | Command::Doctor(_) => Status::Incomplete,
        Command::Stats(_)
        | Command::Convert(_)
        | Command::Generate(_)
        | Command::Completions(_)
        | Command::Man(_) => Status::Clean,
    }
}

/// A reader that wants only the first lines of our output (`paceline … | head`) is no error.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().filter_map(io_error).any(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
}

fn io_error<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a std::io::Error> {
    let trace = match error.downcast_ref::<paceline::Error>() {
        Some(paceline::Error::Trace(trace)) => Some(trace),
        _ => error.downcast_ref::<Error>(),
    };
    match trace {
        Some(Error { kind: ErrorKind::Io(io), .. }) => Some(io),
        _ => error.downcast_ref(),
    }
}
