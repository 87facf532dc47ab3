//! Each rule by hand, the two traps of the paper's Figure 4, then the analysis against the
//! definition.

use std::cell::Cell;

use super::*;
use crate::testing::random;
use paceline_trace::validate::Validator;
use paceline_trace::{LabelId, Site, Trace};

fn check(trace: &Trace) -> ConflictFreedom {
    let mut analysis = ConflictFreedom::default();
    let _ = analysis.events(&trace.batch());
    analysis.finish();
    analysis
}

/// First and second event of each conflict.
fn conflicts(line: &str) -> Vec<(EventNo, EventNo)> {
    let analysis = check(&Trace::parse(line).unwrap());
    analysis.conflicts().iter().map(|c| (c.first.event, c.second.event)).collect()
}

/// A block of thread 1 that forks threads 2 and 3, which then do what `rest` says.
fn in_block(rest: &str) -> Vec<(EventNo, EventNo)> {
    conflicts(&format!("1:begin(m) 1:fork(2) 1:fork(3) {rest}"))
}

#[test]
fn what_the_scheduler_decides_is_a_conflict() {
    for (line, conflict) in [
        ("2:w(x) 3:w(x)", (4, 5)),
        ("2:w(x) 3:r(x)", (4, 5)),
        ("2:r(x) 3:w(x)", (4, 5)),
        ("2:aw(x) 3:ar(x)", (4, 5)),
        ("2:arw(x) 3:arw(x)", (4, 5)),
        ("2:w(x) 3:ar(x)", (4, 5)),
        ("2:acq(l) 2:rel(l) 3:acq(l)", (4, 6)),
        ("2:racq(l) 2:rrel(l) 3:acq(l)", (4, 6)),
        ("2:acq(l) 2:rel(l) 3:racq(l)", (4, 6)),
        ("2:acq(l) 2:prewait(l) 3:acq(l)", (4, 6)),
        ("2:post(s) 3:post(s)", (4, 5)),
        ("2:take(s) 3:take(s)", (4, 5)),
        // The other thread's round uses the memory of the first round.
        ("2:w(x) 2:enter(b) 2:exit(b) 2:enter(b) 2:exit(b) 3:enter(b) 3:exit(b) 3:w(x)", (4, 11)),
        ("2:w(x) 1:r(x)", (4, 5)),
        ("1:end(m) 2:w(x) 3:w(x)", (5, 6)),
        ("2:fork(4) 4:w(x) 3:w(x)", (5, 6)),
    ] {
        assert_eq!(in_block(line), [conflict], "{line}");
    }
}

#[test]
fn what_is_ordered_or_does_not_matter_is_none() {
    for line in [
        "2:r(x) 3:r(x)",
        "2:ar(x) 3:r(x)",
        "2:w(x) 3:w(y)",
        "2:racq(l) 2:rrel(l) 3:racq(l)",
        "2:notify(l) 3:notify(l)",
        "2:yield 3:yield",
        "2:post(s) 3:take(s)",
        "2:take(s) 3:post(s)",
        "2:take(s) 2:post(s) 3:take(s)",
        "2:post(s) 3:take(s) 3:post(s)",
        "2:w(x) 2:post(s) 3:take(s) 3:w(x)",
        "2:w(x) 1:join(2) 1:w(x)",
        "2:w(x) 2:enter(b) 3:enter(b) 3:exit(b) 3:w(x)",
        "1:end(m) 1:w(x) 2:w(x)",
        "1:w(x) 1:end(m) 2:join(1) 2:w(x)",
        "1:w(x) 1:end(m) 1:begin(m) 1:fork(4) 2:join(1) 2:w(x)",
        "4:w(x) 2:w(x)",
        "4:acq(l) 4:rel(l) 2:acq(l) 2:rel(l) 4:acq(l)",
    ] {
        assert_eq!(in_block(line), [], "{line}");
    }
    assert_eq!(conflicts("1:begin(m) 1:w(x) 1:acq(l) 1:fork(2) 2:w(x)"), []);
    assert_eq!(conflicts("1:fork(2) 1:fork(3) 2:w(x) 3:w(x)"), []);
}

#[test]
fn a_release_counts_without_its_acquire() {
    assert_eq!(conflicts("1:acq(l) 1:begin(m) 1:fork(2) 1:rel(l) 2:acq(l)"), [(4, 5)]);
    assert_eq!(conflicts("1:begin(m) 1:fork(2) 1:acq(l) 1:end(m) 1:rel(l) 2:acq(l)"), [(3, 6)]);
}

#[test]
fn locks_and_atomics_order_nothing() {
    let under_lock = "2:acq(l) 2:w(x) 2:rel(l) 3:acq(l) 3:w(x)";
    let found =
        check(&Trace::parse(&format!("1:begin(m) 1:fork(2) 1:fork(3) {under_lock}")).unwrap());
    assert_eq!(found.conflicts()[0].target, Target::Lock(LockId(0)));
    assert_eq!(in_block("2:w(x) 2:aw(v) 3:ar(v) 3:w(x)"), [(5, 6)]);
}

/// In the paper, a thread's clock starts again at its next `begin`. A thread that joins one of the
/// earlier transaction then seems to know events that have not even happened.
#[test]
fn the_clock_of_an_earlier_transaction_means_nothing() {
    let earlier = "1:begin(m) 1:fork(2) 1:fork(4) 1:end(m) 1:begin(m) 1:fork(3)";
    assert_eq!(conflicts(&format!("{earlier} 1:w(x) 3:join(4) 3:r(x)")), [(7, 9)]);
    assert_eq!(conflicts(&format!("{earlier} 3:w(x) 1:join(2) 1:r(x)")), [(7, 9)]);
}

#[test]
fn order_through_a_thread_outside_does_not_count() {
    for line in [
        "2:w(x) 2:post(s) 4:take(s) 4:post(t) 3:take(t) 3:w(x)",
        "2:w(x) 2:enter(b) 4:enter(b) 4:exit(b) 4:enter(c) 3:enter(c) 3:exit(c) 3:w(x)",
        "2:w(x) 4:join(2) 4:post(t) 3:take(t) 3:w(x)",
    ] {
        let last = 3 + line.split_whitespace().count() as EventNo;
        assert_eq!(in_block(line), [(4, last)], "{line}");
    }
}

#[test]
fn transactions_do_not_disturb_each_other() {
    let line =
        "1:begin(m) 1:fork(2) 3:begin(m) 3:fork(4) 2:w(x) 4:w(x) 1:end(m) 3:r(x) 2:r(x) 2:w(x)";
    assert_eq!(conflicts(line), [(6, 8)]);
}

#[test]
fn a_block_does_not_hold_what_its_thread_does_later() {
    let line = "1:begin(p) 1:begin(q) 1:fork(2) 1:w(x) 1:end(q) 1:w(y) 2:r(y) 2:r(x)";
    let found = check(&Trace::parse(line).unwrap());
    let begins: Vec<Vec<EventNo>> =
        found.conflicts().iter().map(|c| c.blocks.iter().map(|b| b.begin).collect()).collect();
    assert_eq!(begins, [[1], [2]]);
}

#[test]
fn nested_blocks_that_hold_both_are_named() {
    let line = "1:begin(p) 1:begin(q) 1:fork(2) 1:end(q) 1:begin(r) 2:begin(s) 2:w(x) 1:r(x) \
                2:fork(3) 3:w(y) 2:w(y)";
    let found = check(&Trace::parse(line).unwrap());
    let begins: Vec<Vec<EventNo>> =
        found.conflicts().iter().map(|c| c.blocks.iter().map(|b| b.begin).collect()).collect();
    assert_eq!(begins, [vec![1], vec![2, 6]]);
    assert!(found.conflicts().iter().all(|c| c.transaction.begin == 1));
}

/// Random traces hardly ever fork in a block, so the forks come first: one transaction of three
/// threads, or two of two threads. Some blocks end in the middle, instead of an event.
fn with_forks(trace: &Trace) -> Trace {
    let id = ThreadId;
    let [begin, end] = [Op::Begin(LabelId(0)), Op::End(LabelId::UNNAMED)];
    let three = [(0, begin), (0, begin), (0, Op::Fork(id(1))), (0, end), (0, Op::Fork(id(2)))];
    let twos = [(0, begin), (0, Op::Fork(id(1))), (2, begin), (2, Op::Fork(id(3)))];
    let start = if trace.events.len().is_multiple_of(2) { &three[..] } else { &twos[..] };
    let event = |&(t, op): &(u32, Op)| Event { thread: id(t), op, site: Site::UNKNOWN };
    let mut wishes: Vec<Event> = start.iter().map(event).chain(trace.events.clone()).collect();
    if trace.events.len().is_multiple_of(3) {
        let middle = wishes.len() / 2;
        wishes[middle] = event(&(0, end));
    }
    let mut validator = Validator::default();
    validator.reserve(&trace.symbols.counts());
    wishes.retain(|e| validator.event(e).is_ok());
    Trace { events: wishes, symbols: trace.symbols.clone() }
}

fn agrees(trace: &Trace, analysis: &ConflictFreedom) -> Result<(), String> {
    let expected = reference::conflicts(trace);
    let found = analysis.conflicts();
    let firsts: Vec<&Conflict> =
        found.iter().filter(|c| c.blocks.first() == Some(&c.transaction)).collect();
    let same = |(c, (second, firsts)): (&&Conflict, &(EventNo, Vec<EventNo>))| {
        c.second.event == *second && firsts.contains(&c.first.event)
    };
    let good = firsts.len() == expected.len() && firsts.iter().zip(&expected).all(same);
    if good { Ok(()) } else { Err(format!("{found:?} instead of {expected:?}")) }
}

fn names_the_right_blocks(trace: &Trace, analysis: &ConflictFreedom) -> Result<(), String> {
    let blocks = reference::blocks(trace);
    let mut violated = HashSet::new();
    for c in analysis.conflicts() {
        let (first, second) =
            (&blocks[c.first.event as usize - 1], &blocks[c.second.event as usize - 1]);
        let fresh = |b: &EventNo| first.contains(b) && violated.insert(*b);
        let expected: Vec<EventNo> = second.iter().copied().filter(fresh).collect();
        let named: Vec<EventNo> = c.blocks.iter().map(|b| b.begin).collect();
        if named != expected {
            return Err(format!("{named:?} instead of {expected:?}"));
        }
    }
    Ok(())
}

/// Short enough for conflict-free traces to be frequent.
const EVENTS: usize = 40;

#[test]
fn the_analysis_agrees_with_the_definition() {
    for (cases, events) in [(5000, EVENTS), (2000, 3 * EVENTS)] {
        random::check(cases, events, |trace| {
            let trace = with_forks(trace);
            let analysis = check(&trace);
            agrees(&trace, &analysis).map_err(|e| format!("{}: {e}", trace.to_line()))?;
            names_the_right_blocks(&trace, &analysis)
        });
    }
}

#[test]
fn batches_make_no_difference() {
    random::check(500, EVENTS, |trace| {
        let trace = with_forks(trace);
        let mut analysis = ConflictFreedom::default();
        let mut batch = trace.batch();
        for events in trace.events.chunks(3) {
            batch.events = events.to_vec();
            let _ = analysis.events(&batch);
            batch.first += events.len() as u64;
        }
        agrees(&trace, &analysis)
    });
}

#[test]
fn both_verdicts_are_frequent() {
    let (all, bad) = (Cell::new(0), Cell::new(0));
    random::check(2000, EVENTS, |trace| {
        all.set(all.get() + 1);
        bad.set(bad.get() + usize::from(!check(&with_forks(trace)).conflicts().is_empty()));
        Ok(())
    });
    let (all, bad) = (all.get(), bad.get());
    assert!(bad * 4 > all && bad * 4 < all * 3, "{bad} of {all} have a conflict");
}
