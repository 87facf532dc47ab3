//! Generated traces keep their promises. Serializability is decided here by the definition, pair
//! of events by pair of events, and shares nothing with the generator's own reasoning.

use std::collections::HashMap;

use paceline_trace::generate::{Generator, Shape, ShapeError};
use paceline_trace::validate::Validator;
use paceline_trace::{BarrierId, Event, Kind, Op, ThreadId, Trace};

fn generate(shape: &Shape) -> Trace {
    let mut generator = Generator::new(shape.clone()).expect("a shape that works");
    Trace::collect(&mut generator).expect("no input, no error")
}

/// Which transaction each event belongs to.
fn transactions(events: &[Event]) -> Vec<usize> {
    let mut open: HashMap<ThreadId, (usize, u32)> = HashMap::new();
    let mut next = 0;
    let mut of_event = Vec::new();
    for event in events {
        let (id, depth) = open.get(&event.thread).copied().unwrap_or((next, 0));
        next += usize::from(depth == 0);
        of_event.push(id);
        let opened = depth + u32::from(event.op.kind() == Kind::Begin);
        let depth = opened - u32::from(event.op.kind() == Kind::End);
        if depth == 0 {
            open.remove(&event.thread);
        } else {
            open.insert(event.thread, (id, depth));
        }
    }
    of_event
}

/// The round of each barrier event; 0 for all others.
fn rounds(events: &[Event]) -> Vec<u32> {
    let mut state: HashMap<BarrierId, (u32, bool)> = HashMap::new();
    let mut rounds = vec![0; events.len()];
    for (i, event) in events.iter().enumerate() {
        if let Op::BarrierEnter(b) = event.op {
            let (round, leaving) = state.entry(b).or_insert((1, false));
            *round += u32::from(std::mem::replace(leaving, false));
            rounds[i] = *round;
        }
        if let Op::BarrierExit(b) = event.op {
            let (round, leaving) = state.get_mut(&b).expect("entered before");
            *leaving = true;
            rounds[i] = *round;
        }
    }
    rounds
}

fn reads_only(op: Op) -> bool {
    matches!(op, Op::Read(_) | Op::AtomicRead(_))
}

fn conflict(e: &Event, f: &Event, same_round: bool) -> bool {
    use Op::{Acquire, AcquireShared, Fork, Join, PostWait, PreWait, Release, ReleaseShared};
    if let (Some(x), Some(y)) = (e.op.variable(), f.op.variable()) {
        return e.thread == f.thread || x == y && !(reads_only(e.op) && reads_only(f.op));
    }
    e.thread == f.thread
        || matches!((e.op, f.op), (Fork(u), Join(v)) if u == v)
        || matches!(e.op, Fork(u) if u == f.thread)
        || matches!(f.op, Join(u) if u == e.thread)
        || matches!((e.op, f.op), (Release(l) | PreWait(l), Acquire(m) | PostWait(m) | AcquireShared(m)) if l == m)
        || matches!((e.op, f.op), (ReleaseShared(l), Acquire(m) | PostWait(m)) if l == m)
        || matches!((e.op, f.op), (Op::BarrierEnter(b), Op::BarrierExit(c)) if b == c && same_round)
        || matches!((e.op, f.op), (Op::Post(s), Op::Take(t)) if s == t)
}

struct Verdict {
    /// The first event whose prefix is not serializable, from 1.
    violation: Option<u64>,
    /// How many edges join transactions of different threads.
    edges_between_threads: usize,
}

fn verdict(events: &[Event]) -> Verdict {
    let (of_event, rounds) = (transactions(events), rounds(events));
    let count = of_event.iter().max().map_or(0, |m| m + 1);
    let mut successors = vec![Vec::new(); count];
    let mut found = Verdict { violation: None, edges_between_threads: 0 };
    for (j, f) in events.iter().enumerate() {
        let to = of_event[j];
        for (i, e) in events[..j].iter().enumerate() {
            let from = of_event[i];
            let edge = from != to && conflict(e, f, rounds[i] == rounds[j]);
            if edge && !successors[from].contains(&to) {
                successors[from].push(to);
                found.edges_between_threads += usize::from(e.thread != f.thread);
            }
        }
        if reaches(&successors, to, to) {
            found.violation = Some(j as u64 + 1);
            return found;
        }
    }
    found
}

/// Whether a path of at least one edge leads from one transaction to another.
fn reaches(successors: &[Vec<usize>], from: usize, to: usize) -> bool {
    let mut seen = vec![false; successors.len()];
    let mut agenda = vec![from];
    while let Some(node) = agenda.pop() {
        for &next in &successors[node] {
            if next == to {
                return true;
            }
            if !std::mem::replace(&mut seen[next], true) {
                agenda.push(next);
            }
        }
    }
    false
}

fn assert_valid(trace: &Trace, shape: &Shape) {
    let mut batch = trace.batch();
    if let Err(malformed) = Validator::default().check(&mut batch) {
        panic!("{}\n{shape:?}", malformed.explain(&trace.symbols));
    }
    assert_eq!(trace.events.len() as u64, shape.events, "{shape:?}");
}

/// Shapes of all sorts, small enough to be decided by the definition.
fn shapes() -> impl Iterator<Item = Shape> {
    (0..400u64).map(|i| {
        let bits = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        let bit = |n: u64| bits >> n & 1 == 1;
        let waits = bit(0);
        Shape {
            events: 120 + 60 * (i % 4),
            threads: 2 + (i % 5) as u32,
            variables: [1, 3, 8, 20, 100][(i / 2 % 5) as usize],
            locks: if waits || bit(2) { 1 + (i % 4) as u32 } else { 0 },
            transaction_length: [2, 5, 12, 30][(i / 5 % 4) as usize],
            in_transactions: [0.0, 0.3, 0.7, 0.95][(i / 7 % 4) as usize],
            nesting: 1 + (i / 3 % 4) as u32,
            long_transaction: bit(3),
            waits,
            barriers: bit(1),
            volatiles: bit(4),
            semaphores: bit(5),
            shared_locks: bit(6) && waits,
            fork_join: bit(7),
            seed: i,
            violation_at: None,
        }
    })
}

#[test]
fn every_shape_gives_a_valid_serializable_trace_of_exact_length() {
    for shape in shapes() {
        let trace = generate(&shape);
        assert_valid(&trace, &shape);
        assert_eq!(verdict(&trace.events).violation, None, "{shape:?}\n{}", trace.to_line());
    }
}

#[test]
fn a_planted_violation_is_found_at_its_event_and_not_before() {
    for shape in shapes() {
        let joins = if shape.fork_join { u64::from(shape.threads) - 1 } else { 0 };
        let around = joins + u64::from(shape.long_transaction);
        let (first, last) = (around + 4, shape.events - around - 1);
        for at in [first, first + (last - first) * (shape.seed % 7) / 7, last] {
            let shape = Shape { violation_at: Some(at), ..shape.clone() };
            let trace = generate(&shape);
            assert_valid(&trace, &shape);
            let found = verdict(&trace.events).violation;
            assert_eq!(found, Some(at), "{shape:?}\n{}", trace.to_line());
        }
    }
}

#[test]
fn without_the_planted_variable_the_rest_is_serializable() {
    for shape in shapes().step_by(5) {
        let shape = Shape { violation_at: Some(shape.events / 2), ..shape };
        let mut trace = generate(&shape);
        let planted = trace.symbols.vars.get(b"planted").unwrap();
        trace.events.retain(|e| e.op.variable().is_none_or(|x| x.0 != planted));
        assert_eq!(trace.events.len() as u64, shape.events - 3);
        assert_eq!(verdict(&trace.events).violation, None, "{shape:?}");
    }
}

/// How many outermost blocks there are, and how many of them another thread's block overlaps.
fn overlaps(events: &[Event]) -> (usize, usize) {
    let of_event = transactions(events);
    let mut spans: HashMap<usize, (usize, usize, ThreadId)> = HashMap::new();
    for (i, event) in events.iter().enumerate() {
        spans.entry(of_event[i]).or_insert((i, i, event.thread)).1 = i;
    }
    let blocks: Vec<_> = spans.into_values().filter(|(from, to, _)| from < to).collect();
    let overlaps =
        |a: &&(usize, usize, ThreadId)| blocks.iter().any(|b| a.2 != b.2 && a.0 < b.1 && b.0 < a.1);
    (blocks.len(), blocks.iter().filter(overlaps).count())
}

#[test]
fn transactions_overlap_and_conflict() {
    for seed in 0..10 {
        let shape = Shape { events: 1500, threads: 4, variables: 60, seed, ..Shape::default() };
        let trace = generate(&shape);
        let (blocks, overlapping) = overlaps(&trace.events);
        assert!(blocks > 40, "{blocks} blocks");
        assert!(overlapping * 10 > blocks * 9, "{overlapping} of {blocks} blocks overlap");
        let edges = verdict(&trace.events).edges_between_threads;
        assert!(edges > 5 * blocks, "{edges} edges between threads, {blocks} blocks");
    }
}

fn count(trace: &Trace, kind: Kind) -> usize {
    trace.events.iter().filter(|e| e.op.kind() == kind).count()
}

#[test]
fn what_the_shape_asks_for_is_there() {
    let all = Shape {
        events: 60_000,
        nesting: 3,
        waits: true,
        barriers: true,
        volatiles: true,
        semaphores: true,
        shared_locks: true,
        in_transactions: 0.5,
        ..Shape::default()
    };
    let trace = generate(&all);
    for &kind in Kind::ALL.iter().filter(|&&k| k != Kind::Yield) {
        assert!(count(&trace, kind) >= 5, "{} is rare", kind.name());
    }
    let plain = generate(&Shape { events: 60_000, ..Shape::default() });
    let kinds = [Kind::PreWait, Kind::BarrierEnter, Kind::AtomicRead, Kind::Post];
    assert!(kinds.iter().all(|&k| count(&plain, k) == 0));
}

#[test]
fn share_and_length_of_transactions_are_as_asked() {
    for (share, length) in [(0.2, 10), (0.5, 40), (0.8, 20), (1.0, 6)] {
        let shape = Shape {
            events: 200_000,
            in_transactions: share,
            transaction_length: length,
            ..Shape::default()
        };
        let (inside, blocks) = events_in_blocks(&generate(&shape));
        let real_share = inside / shape.events as f64;
        let real_length = inside / blocks;
        assert!((real_share - share).abs() < 0.03, "share {real_share} for {share}");
        assert!((real_length / f64::from(length) - 1.0).abs() < 0.05, "length {real_length}");
    }
}

/// How many events are in blocks, and how many blocks there are; for traces without nesting.
fn events_in_blocks(trace: &Trace) -> (f64, f64) {
    let mut open = vec![false; trace.symbols.counts().threads];
    let mut inside = 0;
    for event in &trace.events {
        let open = &mut open[event.thread.index()];
        *open |= event.op.kind() == Kind::Begin;
        inside += usize::from(*open);
        *open &= event.op.kind() != Kind::End;
    }
    (inside as f64, count(trace, Kind::Begin) as f64)
}

#[test]
fn a_long_transaction_lasts_the_whole_trace_and_comes_before_others() {
    let shape = Shape {
        events: 3000,
        threads: 4,
        variables: 40,
        long_transaction: true,
        ..Shape::default()
    };
    let events = generate(&shape).events;
    let long = ThreadId(3);
    let own: Vec<usize> = (0..events.len()).filter(|&i| events[i].thread == long).collect();
    assert_eq!(own.first(), Some(&3), "right after the forks");
    assert_eq!(own.last(), Some(&(3000 - 4)), "right before the joins");
    assert!(own.len() > 500, "it has many events");
    let is_read_late = |x| events[2500..].iter().any(|f| f.thread != long && f.op == Op::Read(x));
    let written = |i: &usize| matches!(events[*i].op, Op::Write(x) if is_read_late(x));
    assert!(own.iter().any(written), "its writes are read to the end");
}

#[test]
fn the_seed_decides() {
    let shape = Shape { events: 5000, ..Shape::default() };
    assert_eq!(generate(&shape).events, generate(&shape).events);
    let first = generate(&shape).events;
    assert_ne!(first, generate(&Shape { seed: 2, ..shape }).events);
}

/// A change of this line changes every bench that was ever run: think twice.
#[test]
fn the_beginning_of_a_trace_never_changes() {
    let shape = Shape { events: 24, threads: 2, variables: 9, locks: 2, ..Shape::default() };
    insta::assert_snapshot!(generate(&shape).to_line(), @"T1:fork(T2) T1:w(v9) T1:r(v7) T1:r(v3) T1:begin(m9) T1:r(v6) T1:acq(l2) T1:r(v5) T1:r(v1) T1:r(v1) T2:r(v6) T1:acq(l1) T1:r(v7) T2:r(v8) T2:r(v6) T2:begin(m15) T1:r(v2) T2:r(v4) T2:r(v2) T2:end(m15) T1:rel(l1) T1:rel(l2) T1:end(m9) T1:join(T2)");
}

#[test]
fn the_shortest_traces_of_a_shape_work_too() {
    for threads in 1..6 {
        for long_transaction in [false, true] {
            let mut shape = Shape { events: 0, threads, long_transaction, ..Shape::default() };
            if let Err(ShapeError::TooFewEvents { needed, .. }) = shape.check() {
                shape.events = needed;
            }
            for events in shape.events..shape.events + 12 {
                let shape = Shape { events, ..shape.clone() };
                assert_valid(&generate(&shape), &shape);
            }
        }
    }
}
