//! `paceline scan`: static analysis of Java class files.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context as _;
use clap::{ValueEnum, ValueHint};
use indicatif::{ProgressBar, ProgressStyle};
use paceline::scan::{Scan, Scanned};
use paceline::sources::Sources;
use paceline_report::html::{self, Page, Snippets};
use paceline_report::model::Failure;
use paceline_report::outcome::Outcome;
use paceline_scan::{Confidence, Options, Progress, Rule, Suppressions};

use crate::filters::{FilterArgs, Filters};
use crate::formats::{Analysed, ReportFormat};
use crate::output::{Output, cannot_write, print};
use crate::status::{Status, complain, warn};

/// Find code in Java class files that is meant to be atomic and is not, without running it
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  paceline scan target/classes --lib ~/libs        a project, with the libraries it calls
  paceline scan app.jar --pairs --confidence low   all there is to know
  paceline scan jrt:/java.base                     a module of the JDK that `java` belongs to
  paceline scan --explain stale-read               what a rule means
  paceline scan app.jar --format sarif --source .  for GitHub code scanning
  paceline scan app.jar --confirm trace.pace       which warnings were seen to happen?

Files that cannot be read are named; the others are scanned, and the exit status is 3.")]
pub struct Args {
    /// Class files, jars, jmods, JDK images, directories of such, or `jrt:/MODULE`
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath, required_unless_present = "explain")]
    paths: Vec<PathBuf>,
    /// Say what a rule means and how to fix what it finds, without scanning
    #[arg(long, value_name = "RULE", value_parser = rule)]
    explain: Option<Rule>,
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
    /// Where the source is: paths are then those of the files found there
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    source: Option<PathBuf>,
    /// How to show the result
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
    /// Write the result to a file
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
    /// Also write a page for the browser: one file that needs no network
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    html: Option<PathBuf>,
    #[command(flatten)]
    filter: FilterArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Level {
    Low,
    Medium,
    High,
}

/// The rule with this name.
fn rule(id: &str) -> Result<Rule, String> {
    let all = || Rule::ALL.iter().map(|rule| rule.id()).collect::<Vec<_>>().join(", ");
    Rule::find(id).ok_or_else(|| format!("there is no such rule; the rules are {}", all()))
}

fn explanation(rule: Rule) -> String {
    let (meaning, fix) = rule.help();
    format!("{}: {}.\n\n{meaning}\n\n{fix}\n", rule.id(), rule.title())
}

pub fn run(args: &Args, quiet: bool) -> anyhow::Result<Status> {
    if let Some(rule) = args.explain {
        print(&explanation(rule))?;
        return Ok(Status::Clean);
    }
    let started = Instant::now();
    let mut filters = Filters::load(&args.filter, usize::MAX)?;
    let sources = args.source.as_deref().map(Sources::find).transpose()?;
    let bar = Bar::new(quiet);
    let scanned = scan(args, sources.clone())?.run_with(&mut |p| bar.show(p));
    bar.finish();
    let Scanned { outcomes, read, confirmed_nothing, cut } = scanned?;
    if cut > 0 && !quiet {
        warn(&format!(
            "{cut} pairs of locks were not followed further, to end in reasonable time: there may be \
             more warnings of the rule locked-in-turn"
        ));
    }
    report_problems(&outcomes, &confirmed_nothing, quiet);
    let took = started.elapsed();
    let mut done: Vec<Analysed> = outcomes
        .into_iter()
        .map(|outcome| Analysed { status: found_in(&outcome), outcome, took })
        .collect();
    filters.apply(&mut done)?;
    let text = args.format.show(&mut done, quiet)?;
    match &args.output {
        Some(path) => write_file(path, &anstream::adapter::strip_str(&text).to_string())?,
        None => print(&text)?,
    }
    if let Some(path) = &args.html {
        let outcomes: Vec<Outcome> = done.iter().map(|d| d.outcome.clone()).collect();
        write_file(path, &page(&outcomes, sources.as_ref())?)?;
    }
    Ok(done.iter().fold(read, |status, d| status.and(d.status)))
}

/// What could not be read, and which traces confirm nothing.
fn report_problems(outcomes: &[Outcome], confirmed_nothing: &[PathBuf], quiet: bool) {
    for outcome in outcomes {
        if let Outcome::Failure(Failure { input, error, .. }) = outcome {
            complain(&anyhow::anyhow!("{}: {}", input.path, error.message));
        }
    }
    if outcomes.is_empty() {
        warn("there is no class file in what was given");
    }
    for trace in confirmed_nothing.iter().filter(|_| !quiet) {
        warn(&format!("{} confirms no warning", trace.display()));
    }
}

fn found_in(outcome: &Outcome) -> Status {
    if outcome.findings().is_empty() { Status::Clean } else { Status::Findings }
}

/// What to scan, and how.
fn scan(args: &Args, sources: Option<Sources>) -> anyhow::Result<Scan> {
    let mut scan = Scan::new().options(options(args));
    for path in &args.paths {
        scan = match module(path) {
            Some(name) => scan.module(jdk_image()?, name),
            None => scan.path(path),
        };
    }
    for path in &args.lib {
        scan = match module(path) {
            Some(name) => scan.library_module(jdk_image()?, name),
            None => scan.library(path),
        };
    }
    let scan = args.confirm.iter().fold(scan, Scan::confirm);
    Ok(match sources {
        Some(sources) => scan.sources(sources),
        None => scan,
    })
}

/// The page for the browser, with the source around every step that is known.
fn page(outcomes: &[Outcome], sources: Option<&Sources>) -> anyhow::Result<String> {
    let (mut reports, mut failures) = (Vec::new(), Vec::new());
    for outcome in outcomes {
        match outcome {
            Outcome::Report(report) => reports.push(report.clone()),
            Outcome::Failure(failure) => failures.push(failure.clone()),
        }
    }
    let code = reports.iter().flat_map(|r| &r.findings).filter_map(|f| f.code.as_ref());
    let sites = code.flat_map(|c| &c.steps).map(|step| &step.site);
    let snippets = sources.map_or_else(Snippets::new, |s| s.around(sites));
    Ok(html::page(&Page { reports: &reports, failures: &failures, snippets: &snippets })?)
}

fn write_file(path: &Path, text: &str) -> anyhow::Result<()> {
    let mut output = Output::create(path)?;
    output.write_all(text.as_bytes()).with_context(|| cannot_write(path))?;
    output.commit()
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

/// `jrt:/java.base` is how Java itself writes the address of a module.
fn module(path: &Path) -> Option<&str> {
    path.to_str().and_then(|p| p.strip_prefix("jrt:/"))
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

/// A bar on terminals: classes while they are read, methods while they are analysed.
struct Bar(ProgressBar);

impl Bar {
    fn new(quiet: bool) -> Bar {
        let bar = if quiet { ProgressBar::hidden() } else { ProgressBar::new(0) };
        let template =
            "{prefix:.dim} {wide_bar} {percent}% {human_pos}/{human_len} {msg}, {eta} left";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Bar(bar)
    }

    fn show(&self, progress: Progress) {
        match progress {
            Progress::Reading { done, total } => self.at("reading", "classes", done, total),
            Progress::Linking => self.0.set_prefix("following calls"),
            Progress::Analysing { done, total } => self.at("analysing", "methods", done, total),
        }
        self.0.tick();
    }

    fn at(&self, doing: &'static str, what: &'static str, done: usize, total: usize) {
        if self.0.prefix() != doing {
            self.0.set_prefix(doing);
            self.0.set_message(what);
            self.0.reset();
        }
        self.0.set_length(total as u64);
        self.0.set_position(done as u64);
    }

    fn finish(&self) {
        self.0.finish_and_clear();
    }
}
