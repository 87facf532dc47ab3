//! Would the property tests notice if an analysis were wrong? A fault is seeded into each of them:
//! it ignores one kind of operation, as if a line of its code were missing. On the same traces that
//! compare the analysis with its definition, the faulty one must give another result. If it did
//! not, these traces would not test that line.
//!
//! An operation that is ignored is exchanged for an access to a variable of the thread's own, which
//! means nothing to any analysis; so the numbers of events stay the same.

use std::cell::Cell;
use std::fmt::Debug;

use paceline_trace::{Event, EventNo, Op, Trace};

use crate::Analysis;
use crate::atomicity::{Atomicity as _, Options, Running};
use crate::cooperability::{self, Cooperability};
use crate::determinism::conflict_freedom::ConflictFreedom;
use crate::determinism::external::{self, External};
use crate::race::RaceDetector;
use crate::reduction::atomizer::Atomizer;
use crate::testing::random::{self, EVERYTHING, FORK_JOIN, Mix};

/// What a faulty analysis ignores.
struct Fault {
    name: &'static str,
    ignores: fn(Op) -> bool,
}

macro_rules! faults {
    ($($name:literal: $pattern:pat,)*) => {
        &[$(Fault { name: $name, ignores: |op| matches!(op, $pattern) },)*]
    };
}

/// Operations that order events, or are ordered, in every analysis with a graph or clocks.
const ORDER: &[Fault] = faults! {
    "reads": Op::Read(_),
    "writes": Op::Write(_),
    "atomic reads": Op::AtomicRead(_),
    "atomic writes": Op::AtomicWrite(_),
    "atomic updates": Op::AtomicUpdate(_),
    "acquires": Op::Acquire(_),
    "releases": Op::Release(_),
    "shared acquires": Op::AcquireShared(_),
    "shared releases": Op::ReleaseShared(_),
    "releases by waits": Op::PreWait(_),
    "forks": Op::Fork(_),
    "joins": Op::Join(_),
    "posts": Op::Post(_),
    "takes": Op::Take(_),
    "barrier exits": Op::BarrierExit(_),
};

/// In a deterministic block this changes nothing: a thread that acquires the lock in the meantime
/// has already conflicted with the wait.
const WAITS: &[Fault] = faults! {
    "acquires by waits": Op::PostWait(_),
};

const BLOCKS: &[Fault] = faults! {
    "blocks": Op::Begin(_) | Op::End(_),
};

const YIELDS: &[Fault] = faults! {
    "yields": Op::Yield,
};

/// Operations that matter to locksets.
const LOCKS: &[Fault] = faults! {
    "reads": Op::Read(_),
    "writes": Op::Write(_),
    "acquires": Op::Acquire(_),
    "releases": Op::Release(_),
    "shared acquires": Op::AcquireShared(_),
    "shared releases": Op::ReleaseShared(_),
};

/// The trace as a faulty analysis sees it.
fn seen_by(fault: &Fault, trace: &Trace) -> Trace {
    let mut seen = trace.clone();
    for Event { thread, op, .. } in &mut seen.events {
        if (fault.ignores)(*op) {
            *op = Op::Read(seen.symbols.var(format!("own {}", thread.0).as_bytes()));
        }
    }
    seen
}

/// Whether the faulty analysis differs from the right one on some random trace.
fn is_noticed<R: PartialEq + Debug>(
    fault: &Fault,
    (mix, cases, most): (Mix, u32, usize),
    result: &impl Fn(&Trace) -> R,
) -> bool {
    let noticed = Cell::new(false);
    random::check_mix(mix, cases, most, |trace| {
        if !noticed.get() && trace.events.iter().any(|e| (fault.ignores)(e.op)) {
            noticed.set(result(trace) != result(&seen_by(fault, trace)));
        }
        Ok(())
    });
    noticed.get()
}

#[track_caller]
fn all_are_noticed<R: PartialEq + Debug>(
    faults: &[&[Fault]],
    traces: (Mix, u32, usize),
    result: impl Fn(&Trace) -> R,
) {
    let each = faults.iter().copied().flatten();
    let missed = each.filter(|fault| !is_noticed(fault, traces, &result));
    let missed: Vec<&str> = missed.map(|fault| fault.name).collect();
    assert!(missed.is_empty(), "no test would notice that the analysis ignores {missed:?}");
}

fn run<A: Analysis>(mut analysis: A, trace: &Trace) -> A {
    let _ = analysis.events(&trace.batch());
    analysis.finish();
    analysis
}

#[test]
fn faults_of_atomicity_are_noticed() {
    all_are_noticed(&[ORDER, WAITS, BLOCKS], (EVERYTHING, 3000, 100), |trace| {
        run(Running::new(Options::default()), trace).cycles().first().map(|c| c.event)
    });
}

#[test]
fn faults_of_cooperability_are_noticed() {
    all_are_noticed(&[ORDER, WAITS, YIELDS], (FORK_JOIN, 3000, 100), |trace| {
        let analysis = run(Cooperability::new(cooperability::Options::default()), trace);
        analysis.inferred().positions().to_vec()
    });
}

#[test]
fn faults_of_external_serializability_are_noticed() {
    all_are_noticed(&[ORDER, WAITS, BLOCKS], (EVERYTHING, 3000, 100), |trace| {
        let analysis = run(External::new(external::Options::default()), trace);
        analysis.cycles().first().map(|c| c.event)
    });
}

#[test]
fn faults_of_conflict_freedom_are_noticed() {
    all_are_noticed(&[ORDER, BLOCKS], (FORK_JOIN, 6000, 120), |trace| {
        let analysis = run(ConflictFreedom::default(), trace);
        let pairs = analysis.conflicts().iter().map(|c| (c.first.event, c.second.event));
        pairs.collect::<Vec<(EventNo, EventNo)>>()
    });
}

#[test]
fn faults_of_race_detection_are_noticed() {
    all_are_noticed(&[ORDER, WAITS], (EVERYTHING, 5000, 80), |trace| {
        let analysis = run(RaceDetector::default(), trace);
        let pairs = analysis.races().iter().map(|r| (r.first.event, r.second.event));
        pairs.collect::<Vec<(EventNo, EventNo)>>()
    });
}

#[test]
fn faults_of_reduction_are_noticed() {
    all_are_noticed(&[LOCKS, BLOCKS], (EVERYTHING, 3000, 80), |trace| {
        let analysis = run(Atomizer::default(), trace);
        let broken = analysis.warnings().iter().map(|w| w.breaker.event);
        let unprotected = analysis.eraser().warnings().iter().map(|w| w.access.event);
        broken.chain(unprotected).collect::<Vec<EventNo>>()
    });
}

/// The check itself reports nothing where nothing is wrong.
#[test]
fn no_fault_is_no_difference() {
    let harmless = Fault { name: "notifies", ignores: |op| matches!(op, Op::Notify(_)) };
    let first = |trace: &Trace| {
        run(Running::new(Options::default()), trace).cycles().first().map(|c| c.event)
    };
    assert!(!is_noticed(&harmless, (EVERYTHING, 500, 100), &first));
}
