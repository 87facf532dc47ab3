//! Flags and sub-commands.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use paceline_trace::format::Format;

/// Finds thread-interference bugs: code that is not atomic although it was meant to be.
#[derive(Parser)]
#[command(name = "paceline", version, after_help = EXAMPLES, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    /// Show no progress and no notes, only results and errors
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// When to use colour
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub color: Color,
}

const EXAMPLES: &str = "\
Examples:
  paceline demo                              an embedded example, explained
  paceline check trace.std                   is it atomic? if not, why?
  paceline convert log.rr.gz trace.pace      keep a trace in the compact format

Exit status: 0 clean, 1 findings, 2 usage or input error, 3 incomplete, 4 nothing was analysed.";

#[derive(Subcommand)]
pub enum Command {
    Check(crate::commands::check::Args),
    Convert(crate::commands::convert::Args),
    Completions(crate::commands::completions::Args),
    Man(crate::commands::man::Args),
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On terminals
    Auto,
    Always,
    Never,
}

impl Color {
    pub fn apply(self) {
        let choice = match self {
            Color::Auto => anstream::ColorChoice::Auto,
            Color::Always => anstream::ColorChoice::Always,
            Color::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
    }
}

/// How traces are read.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Reading")]
pub struct ReadArgs {
    /// The format of the input, when it cannot be told from its content
    #[arg(long, value_name = "FORMAT", value_parser = parse_format)]
    pub from: Option<Format>,
    /// Skip malformed lines and events, and count them
    #[arg(long)]
    pub lenient: bool,
}

pub fn parse_format(name: &str) -> Result<Format, String> {
    Format::from_name(name).ok_or_else(|| {
        let known: Vec<&str> = Format::ALL.iter().map(|f| f.name()).collect();
        format!("known formats are {}", known.join(", "))
    })
}

/// A trace on the command line.
#[derive(Args, Clone)]
pub struct OneTrace {
    /// The trace; `-` reads standard input
    #[arg(value_name = "TRACE", value_hint = ValueHint::FilePath)]
    pub trace: PathBuf,
}
