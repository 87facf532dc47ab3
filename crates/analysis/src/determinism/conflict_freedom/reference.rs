//! The definition of conflict freedom, and nothing else: every event carries the set of all events
//! of its transaction that are ordered before it, and is compared with all of them.

use paceline_trace::{EventNo, Op, Trace};

use crate::definition::conflict::Conflicts;

/// A transaction, by its outermost `begin` event; none for unary ones, which have one event.
type TxnBegin = Option<EventNo>;

/// The transaction of each event.
fn transactions(trace: &Trace) -> Vec<TxnBegin> {
    let threads = trace.symbols.counts().threads;
    let (mut inside, mut forked, mut depth) =
        (vec![None; threads], vec![false; threads], vec![0; threads]);
    let mut result = Vec::new();
    for (number, event) in (1..).zip(&trace.events) {
        let t = event.thread.index();
        if let Op::Begin(_) = event.op {
            depth[t] += 1;
            inside[t] = inside[t].or(Some(number));
        }
        result.push(inside[t]);
        if let Op::End(_) = event.op {
            depth[t] -= 1;
            if depth[t] == 0 && !forked[t] {
                inside[t] = None;
            }
        }
        if let Op::Fork(child) = event.op
            && inside[t].is_some()
        {
            inside[child.index()] = inside[t];
            forked[child.index()] = true;
        }
    }
    result
}

/// Fork, join, barriers and posts before takes order; locks and accesses do not.
fn is_deterministic(op: Op) -> bool {
    op.variable().is_none() && op.lock().is_none()
}

/// Whether two events of different threads must be ordered.
fn must_be_ordered(first: Op, second: Op) -> bool {
    let writes = |op: Op| matches!(op, Op::Write(_) | Op::AtomicWrite(_) | Op::AtomicUpdate(_));
    if let (Some(x), Some(y)) = (first.variable(), second.variable()) {
        return x == y && (writes(first) || writes(second));
    }
    if let (Some(l), Some(m)) = (first.lock(), second.lock()) {
        let notify = matches!(first, Op::Notify(_)) || matches!(second, Op::Notify(_));
        let shared = |op: Op| matches!(op, Op::AcquireShared(_) | Op::ReleaseShared(_));
        let acquires = matches!(second, Op::Acquire(_) | Op::AcquireShared(_) | Op::PostWait(_));
        return l == m && !notify && acquires && !(shared(first) && shared(second));
    }
    match (first, second) {
        (Op::Post(a), Op::Post(b)) | (Op::Take(a), Op::Take(b)) => a == b,
        (_, _) => false,
    }
}

/// The second event of each transaction's first conflict, with all events that it conflicts with;
/// in the order of the trace.
pub(super) fn conflicts(trace: &Trace) -> Vec<(EventNo, Vec<EventNo>)> {
    let transactions = transactions(trace);
    let mut conflicts = Conflicts::default();
    let mut before: Vec<Vec<bool>> = Vec::new();
    let (mut found, mut violated) = (Vec::new(), Vec::new());
    for (f, &event) in trace.events.iter().enumerate() {
        conflicts.push(event);
        let txn = transactions[f];
        let inside: Vec<usize> =
            (0..f).filter(|&e| txn.is_some() && transactions[e] == txn).collect();
        let mut mine = vec![false; f];
        for &e in &inside {
            let first = trace.events[e];
            let deterministic = is_deterministic(first.op) || is_deterministic(event.op);
            if first.thread == event.thread || deterministic && conflicts.interfere(e, f) {
                mine[e] = true;
                mine.iter_mut().zip(&before[e]).for_each(|(m, &b)| *m |= b);
            }
        }
        let unordered = |&e: &usize| must_be_ordered(trace.events[e].op, event.op) && !mine[e];
        let firsts: Vec<EventNo> =
            inside.iter().copied().filter(unordered).map(|e| e as EventNo + 1).collect();
        if !firsts.is_empty() && !violated.contains(&txn) {
            violated.push(txn);
            found.push((f as EventNo + 1, firsts));
        }
        before.push(mine);
    }
    found
}

/// For each event the blocks that hold it, outermost first, by their `begin` events.
pub(super) fn blocks(trace: &Trace) -> Vec<Vec<EventNo>> {
    let mut inside: Vec<Vec<EventNo>> = vec![Vec::new(); trace.symbols.counts().threads];
    let mut result = Vec::new();
    for (number, event) in (1..).zip(&trace.events) {
        let t = event.thread.index();
        if let Op::Begin(_) = event.op {
            inside[t].push(number);
        }
        result.push(inside[t].clone());
        if let Op::End(_) = event.op {
            inside[t].pop();
        }
        if let Op::Fork(child) = event.op {
            inside[child.index()] = inside[t].clone();
        }
    }
    result
}
