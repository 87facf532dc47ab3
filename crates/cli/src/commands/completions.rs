//! `paceline completions`: a completion script for the shell.

use std::io;

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::args::Cli;
use crate::status::Status;

/// Write a completion script for a shell
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  paceline completions bash > ~/.local/share/bash-completion/completions/paceline")]
pub struct Args {
    /// The shell
    shell: Shell,
}

pub fn run(args: &Args) -> anyhow::Result<Status> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "paceline", &mut script);
    io::Write::write_all(&mut io::stdout(), &script)?;
    Ok(Status::Clean)
}
