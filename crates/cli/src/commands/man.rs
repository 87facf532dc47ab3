//! `paceline man`: the manual pages.

use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::Context as _;
use clap::CommandFactory as _;

use crate::args::Cli;
use crate::output::{Output, cannot_write};
use crate::status::Status;

/// Write the manual page
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  paceline man | man -l -
  paceline man --dir ~/.local/share/man/man1")]
pub struct Args {
    /// Write one page for each sub-command into this folder
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub fn run(args: &Args) -> anyhow::Result<Status> {
    let command = Cli::command();
    let Some(dir) = &args.dir else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page)?;
        io::stdout().write_all(&page)?;
        return Ok(Status::Clean);
    };
    std::fs::create_dir_all(dir).with_context(|| cannot_write(dir))?;
    write_page(dir, "paceline", command.clone())?;
    for sub in command.get_subcommands() {
        let name = format!("paceline-{}", sub.get_name());
        write_page(dir, &name, sub.clone().name(name.clone()))?;
    }
    Ok(Status::Clean)
}

fn write_page(dir: &std::path::Path, name: &str, command: clap::Command) -> anyhow::Result<()> {
    let mut page = Output::create(&dir.join(format!("{name}.1")))?;
    clap_mangen::Man::new(command).render(&mut page)?;
    page.commit()
}
