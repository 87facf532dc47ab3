//! Flags and sub-commands.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
pub use paceline::trace_input::show_path as show;
use paceline::trace_input::{ReadOptions, TraceInput};
use paceline_trace::format::Format;
use paceline_trace::select::{Selection, patterns_in};

use crate::commands;
use crate::progress::bars;

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
  paceline run -- java -jar app.jar          run a program and decide
  paceline record -o t.pace -- mvn test      run a program and keep its trace
  paceline stats trace.rr.gz                 what is in it?
  paceline convert log.rr.gz trace.pace      keep a trace in the compact format

Exit status: 0 clean, 1 findings, 2 usage or input error, 3 incomplete, 4 nothing was analysed.";

#[derive(Subcommand)]
pub enum Command {
    Check(commands::check::Args),
    Run(Box<commands::run::Args>),
    Record(commands::record::Args),
    Explain(commands::explain::Args),
    Yields(commands::yields::Args),
    Scan(commands::scan::Args),
    Stats(commands::stats::Args),
    Convert(commands::convert::Args),
    Generate(commands::generate::Args),
    Demo(commands::demo::Args),
    Doctor(commands::doctor::Args),
    Completions(commands::completions::Args),
    Man(commands::man::Args),
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
    /// The format of the input, when neither its content nor its name says it
    #[arg(long, value_name = "FORMAT", value_parser = format_parser())]
    pub from: Option<Format>,
    /// Skip malformed lines and events, and count them
    #[arg(long)]
    pub lenient: bool,
    #[command(flatten)]
    pub select: SelectArgs,
}

impl ReadArgs {
    /// The same for the library.
    pub fn options(&self) -> anyhow::Result<ReadOptions> {
        let ReadArgs { from, lenient, select } = self;
        Ok(ReadOptions { from: *from, lenient: *lenient, selection: select.selection()? })
    }

    /// The trace at `path`, with progress on the terminal unless quiet.
    pub fn trace(&self, path: &Path, quiet: bool) -> anyhow::Result<TraceInput> {
        let trace = TraceInput::new(path, self.options()?);
        Ok(if quiet { trace } else { trace.on_progress(bars()) })
    }
}

/// Which methods are atomic.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Which methods are atomic")]
pub struct SelectArgs {
    /// Only methods that match are atomic (`Set.add`, `Account.*`); may be repeated
    ///
    /// Default for traces of method calls: all methods but `main` and `run`. `*` stands for any
    /// text; a pattern with `(` must match the whole signature.
    #[arg(long, value_name = "PATTERN")]
    pub atomic: Vec<String>,
    /// Methods that match are not atomic; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub except: Vec<String>,
    /// A file of patterns for --atomic, one a line
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub atomic_file: Vec<PathBuf>,
    /// A file of patterns for --except, one a line
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub except_file: Vec<PathBuf>,
}

impl SelectArgs {
    /// Which methods are atomic.
    pub fn selection(&self) -> anyhow::Result<Selection> {
        Ok(Selection::new(self.atomic()?, self.except()?))
    }

    /// The patterns for atomic methods.
    pub fn atomic(&self) -> anyhow::Result<Vec<Vec<u8>>> {
        patterns(&self.atomic, &self.atomic_file)
    }

    /// The patterns for exceptions.
    pub fn except(&self) -> anyhow::Result<Vec<Vec<u8>>> {
        patterns(&self.except, &self.except_file)
    }
}

fn patterns(given: &[String], files: &[PathBuf]) -> anyhow::Result<Vec<Vec<u8>>> {
    let mut patterns: Vec<Vec<u8>> = given.iter().map(|p| p.clone().into_bytes()).collect();
    for file in files {
        let text = std::fs::read(file).with_context(|| format!("cannot read {}", show(file)))?;
        patterns.extend(patterns_in(&text));
    }
    Ok(patterns)
}

/// The formats by name, so that help and completion know them.
pub fn format_parser() -> impl TypedValueParser<Value = Format> {
    one_of(Format::ALL.iter().map(|f| f.name()), Format::from_name)
}

/// One of a few things that have names.
pub fn one_of<T: Clone + Send + Sync + 'static>(
    names: impl Iterator<Item = &'static str>,
    from_name: fn(&str) -> Option<T>,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(names).try_map(move |name| from_name(&name).ok_or("not known"))
}
