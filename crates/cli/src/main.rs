//! The `paceline` command: flags, files, exit status. What it does is in the libraries.

mod args;
mod asking;
mod checking;
mod commands;
mod config;
mod filters;
mod merging;
mod observe;
mod output;
mod outputs;
mod picture;
mod progress;
mod scanning;
mod showing;
mod sources;
mod spool;
mod stacks;
mod status;
mod traces;
mod verdict;

use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};
use paceline_trace::{Error, ErrorKind};

use crate::args::{Cli, Command};
use crate::status::Status;

fn main() -> ExitCode {
    let folder = Path::new(".");
    let cli = match config::arguments(&Cli::command(), std::env::args_os().collect(), folder) {
        Ok(arguments) => Cli::parse_from(arguments),
        Err(error) => {
            status::complain(&error);
            return Status::Error.into();
        }
    };
    cli.color.apply();
    match run(&cli) {
        Ok(code) => code,
        Err(error) if is_closed_pipe(&error) => unheard(&cli.command).into(),
        Err(error) => {
            status::complain(&error);
            Status::Error.into()
        }
    }
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
        Command::Completions(args) => commands::completions::run(args),
        Command::Man(args) => commands::man::run(args),
    };
    status.map(ExitCode::from)
}

/// The status of a command whose output nobody wanted to the end. A verdict that was not given is
/// no green.
fn unheard(command: &Command) -> Status {
    match command {
        Command::Check(_)
        | Command::Run(_)
        | Command::Record(_)
        | Command::Explain(_)
        | Command::Yields(_)
        | Command::Scan(_)
        | Command::Demo(_) => Status::Incomplete,
        Command::Stats(_)
        | Command::Convert(_)
        | Command::Generate(_)
        | Command::Completions(_)
        | Command::Man(_) => Status::Clean,
    }
}

/// Somebody who reads only the first lines of our output (`paceline … | head`) has done no wrong.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().filter_map(io_error).any(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
}

fn io_error<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a std::io::Error> {
    match error.downcast_ref::<Error>() {
        Some(Error { kind: ErrorKind::Io(io), .. }) => Some(io),
        _ => error.downcast_ref(),
    }
}
