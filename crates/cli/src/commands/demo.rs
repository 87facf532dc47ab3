//! `paceline demo`: a small program with a check-then-act bug, run here and now, recorded,
//! checked and explained. Nothing is needed but this binary.
//!
//! The program is a set of numbers. Its methods `contains` and `insert` lock properly, there is no
//! data race; but `add` uses one after the other and gives up the lock in between, so two threads
//! can both find the number missing.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Barrier, Mutex, PoisonError};
use std::time::Instant;

use anyhow::Context as _;
use paceline_analysis::Analysis as _;
use paceline_analysis::atomicity::{Atomicity as _, Options, Running};
use paceline_analysis::explain::explain;
use paceline_analysis::finding::{RuleId, group};
use paceline_report::model::RuleHelp;
use paceline_report::{compose, rules, text};
use paceline_trace::validate::Validator;
use paceline_trace::{Event, Kind, Op, SiteInfo, Trace};

use crate::output::cannot_write;
use crate::status::Status;

/// Run an embedded program with a bug, from recording to explained finding
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  paceline demo
  paceline demo --write Bank.java && paceline run -- java Bank.java")]
pub struct Args {
    /// Write a Java program with a bug instead, to try `paceline run` on
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    write: Option<PathBuf>,
}

/// A small Java program whose every access holds the lock, and which loses money all the same.
const BANK: &str = include_str!("demo/Bank.java");

/// Writes the Java program. It never takes the place of a file that is there.
fn write_program(path: &Path) -> anyhow::Result<Status> {
    let mut file = std::fs::File::create_new(path).with_context(|| cannot_write(path))?;
    file.write_all(BANK.as_bytes()).with_context(|| cannot_write(path))?;
    let mut out = anstream::stdout();
    writeln!(out, "Next: paceline run -- java {}", path.display())?;
    Ok(Status::Clean)
}

/// Writes down what the threads do, in the order in which they do it.
#[derive(Default)]
struct Recorder(Mutex<Trace>);

impl Recorder {
    fn note(&self, thread: &str, kind: Kind, target: &str, method: &str, line: u32) {
        let mut trace = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let symbols = &mut trace.symbols;
        let thread = symbols.thread(thread.as_bytes());
        let id = symbols.name_space(kind).map_or(0, |names| names.intern(target.as_bytes()));
        let (file, method) = (symbols.text(b"demo.rs"), symbols.text(method.as_bytes()));
        let site = symbols.site(SiteInfo { file, method, line, column: 0 });
        trace.events.push(Event { thread, op: Op::new(kind, id), site });
    }
}

/// The program under test.
struct Set<'a> {
    numbers: Mutex<Vec<u32>>,
    recorder: &'a Recorder,
    /// Makes the unlucky moment happen every time: both threads have looked before one inserts.
    both_have_looked: Barrier,
}

impl Set<'_> {
    fn locked<R>(
        &self,
        me: &str,
        method: &str,
        line: u32,
        body: impl FnOnce(&mut Vec<u32>) -> R,
    ) -> R {
        let mut numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        self.recorder.note(me, Kind::Acquire, "lock", method, line);
        let result = body(&mut numbers);
        self.recorder.note(me, Kind::Release, "lock", method, line);
        result
    }

    fn contains(&self, me: &str, number: u32) -> bool {
        self.locked(me, "contains", line!(), |numbers| {
            self.recorder.note(me, Kind::Read, "numbers", "contains", line!());
            numbers.contains(&number)
        })
    }

    fn insert(&self, me: &str, number: u32) {
        self.locked(me, "insert", line!(), |numbers| {
            self.recorder.note(me, Kind::Write, "numbers", "insert", line!());
            numbers.push(number);
        });
    }

    /// Meant to be atomic: adds the number unless it is there.
    fn add(&self, me: &str, number: u32) {
        self.recorder.note(me, Kind::Begin, "Set.add", "add", line!());
        if !self.contains(me, number) {
            self.both_have_looked.wait();
            self.insert(me, number);
        }
        self.recorder.note(me, Kind::End, "Set.add", "add", line!());
    }
}

/// Two threads add the same number to an empty set.
fn run_program(recorder: &Recorder) -> Vec<u32> {
    let both_have_looked = Barrier::new(2);
    let set = Set { numbers: Mutex::default(), recorder, both_have_looked };
    std::thread::scope(|scope| {
        for thread in ["one", "two"] {
            recorder.note("main", Kind::Fork, thread, "main", line!());
            let set = &set;
            scope.spawn(move || set.add(thread, 42));
        }
    });
    for thread in ["one", "two"] {
        recorder.note("main", Kind::Join, thread, "main", line!());
    }
    set.numbers.into_inner().unwrap_or_else(PoisonError::into_inner)
}

pub fn run(args: &Args) -> anyhow::Result<Status> {
    if let Some(path) = &args.write {
        return write_program(path);
    }
    let started = Instant::now();
    let recorder = Recorder::default();
    let numbers = run_program(&recorder);
    let trace = recorder.0.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut out = anstream::stdout();
    writeln!(
        out,
        "Two threads call Set.add(42) on an empty set. contains and insert hold the lock;"
    )?;
    writeln!(out, "add calls one after the other:\n")?;
    writeln!(out, "    fn add(&self, number) {{")?;
    writeln!(out, "        if !self.contains(number) {{")?;
    writeln!(out, "            self.insert(number);")?;
    writeln!(out, "        }}")?;
    writeln!(out, "    }}\n")?;
    writeln!(out, "The set now holds {numbers:?}. Recorded {} events:\n", trace.events.len())?;

    let mut batch = trace.batch();
    if let Err(malformed) = Validator::default().check(&mut batch) {
        return Err(malformed.explain(&trace.symbols).into());
    }
    let mut engine = Running::new(Options::default());
    let _ = engine.events(&batch);
    engine.finish();
    let explained = explain(&batch, engine.cycles()).into_iter().flatten().map(|e| (e, 1));
    let findings = group(&RuleId::ATOMICITY, explained);
    let advice = RuleHelp::from(&rules::ATOMICITY);
    for finding in &findings {
        let finding = compose::finding(finding, &rules::ATOMICITY, &trace.symbols);
        writeln!(out, "{}", text::finding(&finding, Some(&advice)))?;
    }
    let seconds = started.elapsed().as_secs_f64();
    writeln!(out, "The cure: hold the lock from the look to the insertion. ({seconds:.2} s)")?;
    writeln!(out, "Next: `paceline check TRACE` does this for a trace of your own.")?;
    Ok(if findings.is_empty() { Status::Clean } else { Status::Findings })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever the scheduler does, the bug happens and is found.
    #[test]
    fn the_bug_is_found_every_time() {
        for _ in 0..50 {
            let recorder = Recorder::default();
            assert_eq!(run_program(&recorder), [42, 42]);
            let trace = recorder.0.into_inner().unwrap();
            let mut batch = trace.batch();
            assert!(Validator::default().check(&mut batch).is_ok());
            let mut engine = Running::new(Options::default());
            let _ = engine.events(&batch);
            let explained = explain(&batch, engine.cycles());
            let blamed = explained[0].as_ref().unwrap().blame.unwrap();
            assert_eq!(blamed, 0);
        }
    }
}
