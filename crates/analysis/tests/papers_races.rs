//! Worked examples of the papers on races, reduction and conflict freedom.

use paceline_analysis::Analysis;
use paceline_analysis::atomicity::{Engine, Options};
use paceline_analysis::determinism::conflict_freedom::{Conflict, ConflictFreedom};
use paceline_analysis::occurrence::Target;
use paceline_analysis::race::RaceDetector;
use paceline_analysis::reduction::atomizer::Atomizer;
use paceline_trace::{EventNo, Kind, Trace};

fn trace(lines: &[&str]) -> Trace {
    Trace::parse(&lines.join(" ")).expect("the notation")
}

fn run<A: Analysis + Default>(trace: &Trace) -> A {
    let mut analysis = A::default();
    let _ = analysis.events(&trace.batch());
    analysis.finish();
    analysis
}

fn is_serializable(trace: &Trace) -> bool {
    let mut engine = Engine::Reference.start(Options::default());
    let _ = engine.events(&trace.batch());
    engine.finish();
    engine.cycles().is_empty()
}

fn conflicts(trace: &Trace) -> Vec<Conflict> {
    run::<ConflictFreedom>(trace).conflicts().to_vec()
}

fn events(conflicts: &[Conflict]) -> Vec<(EventNo, EventNo)> {
    conflicts.iter().map(|c| (c.first.event, c.second.event)).collect()
}

/// Velodrome, section 2: a volatile variable hands `x` over from one thread to the other. Every
/// trace of the program is serializable and free of races, but Atomizer knows locks only: `x` has
/// none, so its accesses do not move.
#[test]
fn volatile_hand_over_is_flagged_by_atomizer_only() {
    let hand_over = trace(&[
        "1:ar(b) 1:begin(inc) 1:r(x) 1:w(x) 1:aw(b) 1:end(inc)",
        "2:ar(b) 2:begin(inc) 2:r(x) 2:w(x) 2:aw(b) 2:end(inc)",
        "1:ar(b) 1:begin(inc) 1:r(x) 1:w(x) 1:aw(b) 1:end(inc)",
    ]);
    assert!(is_serializable(&hand_over));
    assert_eq!(run::<RaceDetector>(&hand_over).races(), []);
    let atomizer = run::<Atomizer>(&hand_over);
    let breakers: Vec<EventNo> = atomizer.warnings().iter().map(|w| w.breaker.event).collect();
    assert_eq!(breakers, [11, 16], "the store to b in the second run, the store to x in the third");
    assert!(atomizer.warnings().iter().all(|w| !w.confirmed));
    let eraser: Vec<EventNo> =
        atomizer.eraser().warnings().iter().map(|w| w.access.event).collect();
    assert_eq!(eraser, [10], "x has two writers and no lock");
}

/// Velodrome, section 1: `Set.add` is free of races, because each call locks the vector; it is not
/// atomic, because it locks twice. Reduction sees this in a serial run already, and the interleaved
/// run confirms it.
#[test]
fn set_add_is_warned_about_before_it_goes_wrong() {
    let call = |t: u32| {
        format!(
            "{t}:begin(add) {t}:acq(v) {t}:r(elems) {t}:rel(v) {t}:acq(v) {t}:w(elems) {t}:rel(v) {t}:end(add)"
        )
    };
    let serial = trace(&[&call(1), &call(2)]);
    assert!(is_serializable(&serial));
    let atomizer = run::<Atomizer>(&serial);
    assert_eq!(atomizer.warnings()[0].breaker.kind, Kind::Acquire);
    let interleaved = trace(&[
        "1:begin(add) 1:acq(v) 1:r(elems) 1:rel(v)",
        &call(2),
        "1:acq(v) 1:w(elems) 1:rel(v) 1:end(add)",
    ]);
    assert_eq!(run::<RaceDetector>(&interleaved).races(), []);
    assert!(!is_serializable(&interleaved));
    let mut atomizer = run::<Atomizer>(&interleaved);
    let violated = atomizer.warnings()[0].block.name();
    atomizer.confirm([violated]);
    assert!(atomizer.warnings().iter().all(|w| w.confirmed));
}

/// SingleTrack, Figure 1: `quicksort` locks the array and forks a thread for each half, which fork
/// in turn. The halves are disjoint, and the joins order them before the lock is released.
fn quicksort(main: u32, threads: [u32; 4]) -> String {
    let [left, right, low, high] = threads;
    [
        format!("{main}:begin(quicksort) {main}:acq(a)"),
        format!("{main}:r(a0) {main}:w(a1) {main}:r(a2) {main}:fork({left}) {main}:fork({right})"),
        format!("{left}:r(a0) {left}:w(a0) {left}:fork({low}) {left}:fork({high})"),
        format!("{right}:r(a2) {low}:w(a0) {right}:w(a2) {high}:r(a3)"),
        format!("{left}:join({low}) {left}:join({high}) {left}:r(a0)"),
        format!("{main}:join({left}) {main}:join({right}) {main}:r(a0) {main}:r(a2)"),
        format!("{main}:rel(a) {main}:end(quicksort)"),
    ]
    .join(" ")
}

#[test]
fn quicksort_under_a_lock_is_conflict_free() {
    let two_calls = trace(&[&quicksort(1, [3, 4, 5, 6]), &quicksort(2, [7, 8, 9, 10])]);
    assert_eq!(conflicts(&two_calls), []);
}

#[test]
fn quicksort_without_joins_is_not() {
    let hasty = quicksort(1, [3, 4, 5, 6]).replace(" 1:join(3) 1:join(4)", "");
    let found = conflicts(&trace(&[&hasty]));
    assert_eq!(events(&found)[0], (13, 19), "the low part is written, the caller reads it");
}

/// SingleTrack, Figure 2 (a): three workers read all of `a`, meet at a barrier, write their own
/// part and meet again.
fn workers(rounds: usize, second_barrier: bool) -> Trace {
    let all = |what: &dyn Fn(u32) -> String| (1..=3).map(what).collect::<Vec<_>>().join(" ");
    let meet =
        format!("{} {}", all(&|t| format!("{t}:enter(b)")), all(&|t| format!("{t}:exit(b)")));
    let mut lines = vec!["1:begin(main) 1:fork(2) 1:fork(3)".to_owned()];
    for _ in 0..rounds {
        lines.push(all(&|t| format!("{t}:r(a1) {t}:r(a2) {t}:r(a3)")));
        lines.push(meet.clone());
        lines.push(all(&|t| format!("{t}:w(a{t})")));
        if second_barrier {
            lines.push(meet.clone());
        }
    }
    lines.push("1:end(main)".to_owned());
    trace(&lines.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn barrier_workers_are_conflict_free() {
    assert_eq!(conflicts(&workers(4, true)), []);
}

#[test]
fn workers_with_one_barrier_are_not() {
    let found = conflicts(&workers(2, false));
    assert_eq!(found[0].first.kind, Kind::Write);
    assert_eq!(found[0].second.kind, Kind::Read);
    assert_eq!(found[0].transaction.begin, 1);
}

/// SingleTrack, Figure 2 (b): the scheduler decides which thread takes which task from the pool's
/// queue, but no block covers that; each task is deterministic, though it forks.
const TASKS: [&str; 3] = [
    "1:fork(2) 1:fork(3) 1:post(q) 1:post(q) 3:take(q) 2:take(q)",
    "2:begin(run) 2:fork(4) 3:begin(run) 3:fork(5) 4:w(x) 5:w(y) 2:w(z2) 3:w(z3)",
    "2:join(4) 2:r(x) 2:end(run) 3:join(5) 3:r(y) 3:end(run)",
];

#[test]
fn tasks_of_a_thread_pool_are_conflict_free() {
    assert_eq!(conflicts(&trace(&TASKS)), []);
}

#[test]
fn the_thread_pool_as_a_whole_is_not() {
    let whole = trace(&["1:begin(main)", TASKS[0], TASKS[1], TASKS[2], "1:end(main)"]);
    let found = conflicts(&whole);
    assert!(matches!(found[0].target, Target::Semaphore(_)));
    assert_eq!(events(&found), [(6, 7)], "two threads take from the queue");
}
