//! The definition of a race, and nothing else: every event carries the set of all events that
//! happened before it, and every access is compared with every earlier one.

use std::collections::BTreeMap;

use paceline_trace::{EventNo, Op, Trace, VarId};

use crate::definition::conflict::Conflicts;

/// For each racy variable, the second event of its first race and all events that it races with.
pub(crate) type Races = BTreeMap<VarId, (EventNo, Vec<EventNo>)>;

/// Whether `e` and `f` are ordered directly. Plain accesses conflict, but order nothing across
/// threads, neither with each other nor with atomic ones.
fn orders(trace: &Trace, conflicts: &Conflicts, e: usize, f: usize) -> bool {
    let plain = |i: usize| matches!(trace.events[i].op, Op::Read(_) | Op::Write(_));
    let access = |i: usize| trace.events[i].op.variable().is_some();
    let data = access(e) && access(f) && (plain(e) || plain(f));
    // An access is still ordered with its own thread, its fork and its join.
    trace.events[e].thread == trace.events[f].thread || !data && conflicts.interfere(e, f)
}

/// For each event, which events happened before it: by synchronization only.
pub(crate) fn happened_before(trace: &Trace) -> Vec<Vec<bool>> {
    let mut conflicts = Conflicts::default();
    let mut before: Vec<Vec<bool>> = Vec::new();
    for &event in &trace.events {
        let f = conflicts.push(event);
        let mut mine = vec![false; f];
        for e in (0..f).rev().filter(|&e| orders(trace, &conflicts, e, f)) {
            mine[e] = true;
            for (m, &b) in mine.iter_mut().zip(&before[e]) {
                *m |= b;
            }
        }
        before.push(mine);
    }
    before
}

/// All first races.
pub(crate) fn races(trace: &Trace) -> Races {
    let before = happened_before(trace);
    let mut races = Races::new();
    for (f, event) in trace.events.iter().enumerate() {
        let (Op::Read(var) | Op::Write(var)) = event.op else { continue };
        let racing = |&e: &usize| {
            let first = trace.events[e].op;
            let conflict =
                first == Op::Write(var) || first == Op::Read(var) && event.op == Op::Write(var);
            conflict && !before[f][e]
        };
        let firsts: Vec<EventNo> = (0..f).filter(racing).map(|e| e as EventNo + 1).collect();
        if !firsts.is_empty() && !races.contains_key(&var) {
            races.insert(var, (f as EventNo + 1, firsts));
        }
    }
    races
}
