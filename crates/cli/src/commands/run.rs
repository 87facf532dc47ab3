//! `paceline run`: a program under observation, decided while it runs.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::bail;
use clap::ValueHint;
use paceline::Check;
use paceline::observe::{Ended, Observe, ObserveOptions, Observed, ProcessChecked};
use paceline::property::{Determinism, Property as _};
use paceline_report::compose;
use paceline_report::model::Shrunk;
use paceline_report::outcome::Outcome;

use crate::args::SelectArgs;
use crate::check_args::CheckArgs;
use crate::formats::Analysed;
use crate::observe_args::ObserveArgs;
use crate::results::{Destination, Ending, Results, ShowArgs};
use crate::status::{Status, complain, exit_code, note, warn};

/// Run a program under observation and decide while it runs
///
/// Observes `java` and everything that starts JVMs (`mvn`, `gradle`, scripts), and programs that
/// record themselves. The program's input, output and exit status are its own; the report comes
/// when it has ended, on standard error or in a file.
///
/// Exit status: that of the program, unless there are findings (1, or what --exitcode says). If the
/// program succeeded: 2 if the recording cannot be read, 3 if it is incomplete, 4 if nothing was
/// analysed.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  paceline run -- java -jar app.jar
  paceline run --atomic 'Account.*' --html report.html -- java -cp classes Bank
  paceline run --property race,atomicity --output report.txt -- mvn test
  paceline run --property determinism --deterministic Sorter.sort -- java Sorter
  paceline run --shrink -- java -jar app.jar      which methods are not atomic?

Options may also stand in a file paceline.toml where the command is run (docs/run.md).")]
pub struct Args {
    #[command(flatten)]
    check: CheckArgs,
    /// These methods are deterministic blocks (for --property determinism); may be repeated
    #[arg(long, value_name = "PATTERN")]
    deterministic: Vec<String>,
    /// Methods with this annotation are deterministic blocks; may be repeated
    #[arg(long, value_name = "NAME")]
    deterministic_annotation: Vec<String>,
    /// Skip malformed events, and count them
    #[arg(long)]
    lenient: bool,
    /// The exit status if there are findings
    #[arg(long, value_name = "N", default_value_t = 1)]
    exitcode: u8,
    /// Run again without the methods that were refuted, until none is; then list them all
    #[arg(long)]
    shrink: bool,
    #[command(flatten)]
    show: ShowArgs,
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    observe: ObserveArgs,
    /// The command, after `--`
    #[arg(last = true, required = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    command: Vec<OsString>,
}

pub fn run(args: &Args, quiet: bool) -> anyhow::Result<ExitCode> {
    let mut results =
        Results::new(&args.show, args.check.max_findings, Destination::Stderr, quiet)?;
    let observe = Observe::new(&args.command).options(observe_options(args)?);
    let mut check =
        with_patterns(args, args.check.check(results.findings_wanted()))?.lenient(args.lenient);
    let mut refuted = Refuted::default();
    loop {
        let Observed { ended, traces, hint } = observe.clone().check(check.clone()).run()?;
        let mut traces: Vec<Analysed> = traces.into_iter().map(done).collect();
        let new = if args.shrink { refuted.add(&traces) } else { Vec::new() };
        let is_last = new.is_empty();
        if args.shrink && is_last {
            refuted.put_into(&mut traces);
        }
        let nothing = show(traces, hint, &mut results, quiet)?;
        if is_last {
            let mut ending = results.finish()?;
            ending.status = ending.status.and(nothing);
            return Ok(exit(args.exitcode, ended, ending));
        }
        if !quiet {
            note(&format!("not atomic, and left out from now on: {}", new.join(", ")));
        }
        check = new.into_iter().fold(check, Check::except);
    }
}

/// Whether blocks are declared for determinism. Blocks are blocks: which of them are deterministic
/// and which atomic depends on what is to be decided.
fn is_deterministic(args: &Args) -> anyhow::Result<bool> {
    let given = !args.deterministic.is_empty() || !args.deterministic_annotation.is_empty();
    let names: Vec<&str> = args.check.properties().iter().map(|p| p.info().name).collect();
    if given && names != [Determinism.info().name] {
        bail!("--deterministic is for --property determinism, and for that alone");
    }
    Ok(given)
}

fn with_patterns(args: &Args, check: Check) -> anyhow::Result<Check> {
    let atomic = match is_deterministic(args)? {
        true => args.deterministic.iter().map(|p| p.clone().into_bytes()).collect(),
        false => args.select.atomic()?,
    };
    let check = atomic.into_iter().fold(check, Check::atomic);
    Ok(args.select.except()?.into_iter().fold(check, Check::except))
}

fn observe_options(args: &Args) -> anyhow::Result<ObserveOptions> {
    let mut options = args.observe.options();
    if is_deterministic(args)? {
        options.atomic_annotations.clone_from(&args.deterministic_annotation);
    }
    Ok(options)
}

/// What came of one process.
fn done(process: ProcessChecked) -> Analysed {
    let ProcessChecked { name, result, took } = process;
    let (outcome, status) = match result {
        Ok(checked) => (Outcome::Report(checked.report), checked.status),
        Err(error) => {
            let failure = compose::failure(name.clone(), &error);
            complain(&anyhow::Error::new(error).context(name));
            (Outcome::Failure(failure), Status::Error)
        }
    };
    Analysed { outcome, status, took }
}

/// Shows what came of each process. One of which nothing was analysed does not count if there is
/// another: scripts and build tools start many.
fn show(
    traces: Vec<Analysed>,
    hint: Option<String>,
    results: &mut Results,
    quiet: bool,
) -> anyhow::Result<Status> {
    let all_are_empty = traces.iter().all(|done| done.status == Status::Nothing);
    if traces.is_empty() {
        let why = hint.unwrap_or_else(|| "no process of the command was observed".to_owned());
        warn(&format!("nothing was analysed: {why}"));
    }
    for done in traces {
        if done.status == Status::Nothing && !all_are_empty {
            if !quiet {
                note(&nothing_in(&done.outcome));
            }
            continue;
        }
        results.add(done)?;
    }
    Ok(if all_are_empty { Status::Nothing } else { Status::Clean })
}

/// What to say about a process in which there was nothing to analyse. One that was left alone says
/// why.
fn nothing_in(outcome: &Outcome) -> String {
    let recording = outcome.report().and_then(|report| report.input.recording.as_ref());
    let alone = recording.filter(|it| it.observed.is_empty()).and_then(|it| it.remarks.first());
    match (alone, outcome) {
        (Some(why), _) => why.what.clone(),
        (None, Outcome::Report(report)) => format!("nothing to analyse in {}", report.input.path),
        (None, Outcome::Failure(failure)) => {
            format!("nothing to analyse in {}", failure.input.path)
        }
    }
}

/// What was refuted by the runs so far, all processes together.
#[derive(Default)]
struct Refuted {
    runs: u64,
    not_atomic: BTreeSet<String>,
    suspects: BTreeSet<String>,
}

impl Refuted {
    /// Adds what a run has refuted. Returns what of it is new.
    fn add(&mut self, traces: &[Analysed]) -> Vec<String> {
        self.runs += 1;
        let mut new = BTreeSet::new();
        for report in traces.iter().filter_map(|done| done.outcome.report()) {
            let is_certain = report.input.recording.as_ref().is_none_or(|r| r.inexact.is_empty());
            let known = if is_certain { &mut self.not_atomic } else { &mut self.suspects };
            let refuted = report.verdicts.atomicity().into_iter().flat_map(|it| &it.refuted);
            for label in refuted.filter_map(|block| block.label.text()) {
                if known.insert(label.to_owned()) {
                    new.insert(label.to_owned());
                }
            }
        }
        self.suspects.retain(|label| !self.not_atomic.contains(label));
        new.into_iter().collect()
    }

    /// Puts it into the reports of the last run.
    fn put_into(&self, traces: &mut [Analysed]) {
        let shrunk = Shrunk {
            runs: self.runs,
            not_atomic: self.not_atomic.iter().cloned().collect(),
            suspects: self.suspects.iter().cloned().collect(),
        };
        let reports = traces.iter_mut().filter_map(|done| done.outcome.report_mut());
        for atomicity in reports.filter_map(|report| report.verdicts.atomicity_mut()) {
            atomicity.shrunk = Some(shrunk.clone());
        }
    }
}

/// The program's own exit status, unless there is something worse to report.
fn exit(on_findings: u8, ended: Ended, ending: Ending) -> ExitCode {
    match (ending.status, ended.code()) {
        (Status::Findings, _) => on_findings.into(),
        (Status::Clean, code) => code.into(),
        (status, code) if code == 0 || ending.has_findings => exit_code(status),
        (Status::Nothing | Status::Incomplete | Status::Error, code) => code.into(),
    }
}
