//! Refuted blocks against their definition.

use super::*;
use crate::definition::conflict::Conflicts;
use crate::explain::contested::Touches;
use crate::testing::random;
use paceline_trace::Trace;

fn refuted(trace: &Trace, sweep_at: usize) -> Vec<EventNo> {
    refuted_by(Blame { sweep_at, ..Blame::default() }, trace)
}

/// The same without the variables that cannot be part of a conflict.
fn refuted_among_contested(trace: &Trace) -> Vec<EventNo> {
    let mut touches = Touches::default();
    touches.events(&trace.batch());
    refuted_by(Blame::among(Some(Arc::new(touches.contested()))), trace)
}

fn refuted_by(mut blame: Blame, trace: &Trace) -> Vec<EventNo> {
    let sweep_at = blame.sweep_at;
    let mut batch = trace.batch();
    for &event in &trace.events {
        batch.events = vec![event];
        blame.sweep_at = blame.sweep_at.min(sweep_at);
        let _ = blame.events(&batch);
        batch.first += 1;
    }
    blame.finish();
    blame.refuted().iter().map(|b| b.begin_event).collect()
}

fn of(line: &str) -> Vec<EventNo> {
    refuted(&Trace::parse(line).unwrap(), FEWEST_KEPT)
}

#[test]
fn the_blocks_around_both_ends_are_refuted() {
    assert_eq!(of("1:begin(p) 1:begin(q) 1:r(x) 2:w(x) 1:begin(r) 1:w(x)"), [1, 2]);
    assert_eq!(of("1:begin(p) 1:r(x) 1:begin(q) 2:w(x) 1:w(x) 1:end(q) 1:end(p)"), [1]);
}

#[test]
fn what_a_thread_receives_from_itself_proves_nothing() {
    for line in [
        "2:w(x) 1:begin(p) 1:w(x) 1:r(x)",
        "1:begin(p) 1:post(s) 2:post(s) 1:take(s)",
        "2:begin(q) 2:r(x) 1:begin(p) 1:r(x) 1:w(x)",
        "2:racq(l) 1:begin(p) 1:racq(l) 1:rrel(l) 2:rrel(l) 1:acq(l)",
    ] {
        assert_eq!(of(line), [0; 0], "{line}");
    }
}

#[test]
fn a_cycle_need_not_refute_a_block() {
    assert_eq!(of("2:begin(e) 2:w(y) 1:begin(d) 1:w(x) 2:r(x) 1:r(y)"), [0; 0]);
}

#[test]
fn fork_join_and_barriers_refute() {
    assert_eq!(of("1:begin(p) 1:fork(2) 1:begin(q) 1:join(2)"), [0; 0]);
    assert_eq!(of("1:begin(p) 1:fork(2) 2:yield 1:begin(q) 1:join(2)"), [1]);
    let twice = "1:enter(b) 2:enter(b) 1:exit(b) 2:exit(b) 2:enter(b) 1:enter(b) 1:exit(b)";
    assert_eq!(of(&format!("1:begin(p) {twice}")), [1]);
}

/// `before[f][e]` when event e happens before event f.
fn happens_before(trace: &Trace) -> Vec<Vec<bool>> {
    let mut conflicts = Conflicts::default();
    let mut before: Vec<Vec<bool>> = Vec::new();
    for &event in &trace.events {
        let at = conflicts.push(event);
        let direct: Vec<bool> = (0..at).map(|e| conflicts.conflict(e, at)).collect();
        let all = (0..at).map(|e| direct[e] || (e + 1..at).any(|f| before[f][e] && direct[f]));
        let all = all.collect();
        before.push(all);
    }
    before
}

/// Each block: the index of its `begin`, that of its transaction, and its last event.
fn blocks(trace: &Trace) -> Vec<(usize, usize, usize)> {
    let (mut open, mut found) = (HashMap::<ThreadId, Vec<usize>>::new(), Vec::new());
    let mut last = HashMap::new();
    for (i, event) in trace.events.iter().enumerate() {
        last.insert(event.thread, i);
        let stack = open.entry(event.thread).or_default();
        if let Op::Begin(_) = event.op {
            stack.push(i);
        } else if let Op::End(_) = event.op {
            found.push((stack[stack.len() - 1], stack[0], i));
            stack.pop();
        }
    }
    for (thread, stack) in open {
        found.extend(stack.iter().map(|&b| (b, stack[0], last[&thread])));
    }
    found.sort_unstable();
    found
}

fn refuted_by_definition(trace: &Trace) -> Vec<EventNo> {
    let before = happens_before(trace);
    let blocks = blocks(trace);
    let thread = |i: usize| trace.events[i].thread;
    let end_of = |txn| blocks.iter().find(|b| b.0 == txn).map_or(txn, |b| b.2);
    let refuted = blocks.iter().filter(|&&(begin, txn, end)| {
        let inside = |i: &usize| thread(*i) == thread(begin);
        let of_txn = |i: usize| thread(i) == thread(begin) && (txn..=end_of(txn)).contains(&i);
        (begin..=end).filter(inside).any(|d| {
            (begin..d)
                .filter(|&e| !of_txn(e) && before[d][e])
                .any(|e| (begin..e).filter(inside).any(|first| before[e][first]))
        })
    });
    refuted.map(|b| b.0 as u64 + 1).collect()
}

#[test]
fn refuted_blocks_are_those_of_the_definition() {
    let kinds = std::cell::RefCell::new((0, 0));
    random::check(3000, 100, |trace| {
        let expected = refuted_by_definition(trace);
        kinds.borrow_mut().0 += expected.len();
        kinds.borrow_mut().1 += blocks(trace).len() - expected.len();
        let all = [0, FEWEST_KEPT].map(|sweep_at| refuted(trace, sweep_at));
        for found in all.into_iter().chain([refuted_among_contested(trace)]) {
            if found != expected {
                return Err(format!("{found:?}, not {expected:?}"));
            }
        }
        Ok(())
    });
    let (refuted, not) = kinds.into_inner();
    assert!(refuted > 1000 && not > 1000, "{refuted} refuted, {not} not");
}
