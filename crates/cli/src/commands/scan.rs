//! `paceline scan`: static analysis of Java class files.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{ValueEnum, ValueHint};
use indicatif::{ProgressBar, ProgressStyle};
use paceline_scan::{Confidence, Input, Options, Progress, Report, Suppressions, confirm, scan};

use crate::args::ReadArgs;
use crate::status::{Status, complain, warn};
use crate::traces::Trace;

/// Find code in Java class files that is meant to be atomic and is not, without running it
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  paceline scan target/classes --lib ~/libs        a project, with the libraries it calls
  paceline scan app.jar --pairs --confidence low   all there is to know
  paceline scan jrt:/java.base                     a module of the JDK that `java` belongs to
  paceline scan app.jar --confirm trace.pace       which warnings were seen to happen?

Files that cannot be read are named; the others are scanned, and the exit status is 3.")]
pub struct Args {
    /// Class files, jars, jmods, JDK images, directories of such, or `jrt:/MODULE`
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath, required = true)]
    paths: Vec<PathBuf>,
    /// Code that is called but not reported; may be repeated
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    lib: Vec<PathBuf>,
    /// Also report two different locks that are taken in turn
    #[arg(long)]
    pairs: bool,
    /// Report only what is at least this sure [default: medium; low without default suppressions]
    #[arg(long, value_enum, value_name = "LEVEL")]
    confidence: Option<Level>,
    /// Also report locks of JDK classes that are mostly used by one thread (Vector, StringBuffer)
    #[arg(long)]
    no_default_suppressions: bool,
    /// Hide locks taken in a class (`pkg/Class`) or written like this (`this.mutex`); may be repeated
    #[arg(long, value_name = "PATTERN")]
    suppress_lock: Vec<String>,
    /// Hide warnings in methods that match (`pkg/Class.method*`); may be repeated
    #[arg(long, value_name = "PATTERN")]
    suppress_method: Vec<String>,
    /// An annotation that marks what is not meant to be atomic, by simple name; may be repeated
    #[arg(long, value_name = "NAME")]
    benign_annotation: Vec<String>,
    /// Mark warnings whose locks another thread took in between in this trace; may be repeated
    #[arg(long, value_name = "TRACE", value_hint = ValueHint::FilePath)]
    confirm: Vec<PathBuf>,
    /// How to show it
    #[arg(long, value_enum, default_value_t = Shown::Text)]
    format: Shown,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Shown {
    Text,
    Json,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Level {
    Low,
    Medium,
    High,
}

pub fn run(args: &Args, quiet: bool) -> anyhow::Result<Status> {
    let scanned = inputs(&args.paths)?;
    let libraries = inputs(&args.lib)?;
    let bar = Bar::new(quiet);
    let mut report = scan(&scanned, &libraries, &options(args), &mut |p| bar.show(p));
    bar.finish();
    for trace in &args.confirm {
        confirm_with(&mut report, trace, quiet)?;
    }
    let text = match args.format {
        Shown::Text => report.to_string(),
        Shown::Json => serde_json::to_string(&report)? + "\n",
    };
    anstream::stdout().write_all(text.as_bytes())?;
    for error in &report.errors {
        complain(&anyhow::anyhow!("{}: {}", error.path, error.message));
    }
    Ok(status(&report))
}

fn status(report: &Report) -> Status {
    let found = if report.warnings.is_empty() { Status::Clean } else { Status::Findings };
    let read = match (report.counts.classes, report.errors.is_empty()) {
        (0, true) => Status::Nothing,
        (0, false) => Status::Error,
        (_, true) => Status::Clean,
        (_, false) => Status::Incomplete,
    };
    found.and(read)
}

fn options(args: &Args) -> Options {
    let default = if args.no_default_suppressions { Level::Low } else { Level::Medium };
    Options {
        pairs: args.pairs,
        min_confidence: match args.confidence.unwrap_or(default) {
            Level::Low => Confidence::Low,
            Level::Medium => Confidence::Medium,
            Level::High => Confidence::High,
        },
        suppressions: Suppressions {
            library_locks: !args.no_default_suppressions,
            locks: args.suppress_lock.clone(),
            methods: args.suppress_method.clone(),
            annotations: args.benign_annotation.clone(),
        },
        ..Options::default()
    }
}

fn confirm_with(report: &mut Report, path: &Path, quiet: bool) -> anyhow::Result<()> {
    let name = path.display().to_string();
    let trace = Trace::new(path, &ReadArgs::default(), quiet)?;
    let mut open = trace.open_unselected().with_context(|| name.clone())?;
    let confirmed =
        confirm(&mut report.warnings, &name, &mut open).with_context(|| name.clone())?;
    if confirmed == 0 && !quiet {
        warn(&format!("{name} confirms no warning"));
    }
    Ok(())
}

fn inputs(paths: &[PathBuf]) -> anyhow::Result<Vec<Input>> {
    paths.iter().map(|path| input(path)).collect()
}

/// `jrt:/java.base` is how Java itself writes the address of a module.
fn input(path: &Path) -> anyhow::Result<Input> {
    match path.to_str().and_then(|p| p.strip_prefix("jrt:/")) {
        Some(module) => Ok(Input::Module { image: jdk_image()?, name: module.to_owned() }),
        None => Ok(Input::Path(path.to_owned())),
    }
}

/// The image of the JDK in JAVA_HOME, or of the `java` on the path.
fn jdk_image() -> anyhow::Result<PathBuf> {
    let home = std::env::var_os("JAVA_HOME").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let java = std::env::split_paths(&path).map(|folder| folder.join("java")).find(|j| j.is_file());
    let beside = java
        .and_then(|j| j.canonicalize().ok())
        .and_then(|j| Some(j.parent()?.parent()?.to_owned()));
    let images = home.into_iter().chain(beside).map(|home| home.join("lib/modules"));
    images.into_iter().find(|image| image.is_file()).context("no JDK with an image: set JAVA_HOME")
}

/// Counts on terminals.
struct Bar(ProgressBar);

impl Bar {
    fn new(quiet: bool) -> Bar {
        let bar = if quiet { ProgressBar::hidden() } else { ProgressBar::no_length() };
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
            bar.set_style(style);
        }
        Bar(bar)
    }

    fn show(&self, progress: Progress) {
        self.0.set_message(match progress {
            Progress::Reading(classes) => format!("reading: {classes} classes"),
            Progress::Linking => "following calls".to_owned(),
            Progress::Analysing { done, total } => format!("analysing: {done} of {total} methods"),
        });
        self.0.tick();
    }

    fn finish(&self) {
        self.0.finish_and_clear();
    }
}
