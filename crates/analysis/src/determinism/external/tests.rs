//! The engine against the definition, on random traces with every operation.

use std::cell::Cell;

use hashbrown::HashMap;
use paceline_trace::{Event, EventNo, Op, ThreadId, Trace};

use super::{Deterministic, External, Options};
use crate::definition::plain::{PlainGraph, Txn};
use crate::engine::driver::under_stress;
use crate::testing::random::{self, EVERYTHING, FORK_JOIN, Mix};
use crate::{Analysis, Cycle};

/// External serializability by its definition.
#[derive(Default)]
struct Reference {
    graph: PlainGraph,
    begins: Vec<EventNo>,
    /// The transaction of each thread that was forked inside of one.
    member_of: HashMap<ThreadId, Txn>,
    /// The outermost block of every other thread, and the depth of blocks.
    block_of: HashMap<ThreadId, (Txn, usize)>,
}

impl Reference {
    fn first_cycle(trace: &Trace) -> Option<Cycle> {
        let mut reference = Reference::default();
        (1..).zip(&trace.events).find_map(|(number, event)| reference.event(number, event))
    }

    fn event(&mut self, number: EventNo, event: &Event) -> Option<Cycle> {
        let predecessors = self.graph.predecessors(*event);
        let txn = self.transaction(number, event);
        let closes = self.graph.assign(txn, &predecessors);
        closes.then(|| Cycle { event: number, thread: event.thread, begin: self.begins[txn] })
    }

    fn transaction(&mut self, number: EventNo, event: &Event) -> Txn {
        let thread = event.thread;
        if let Some(&txn) = self.member_of.get(&thread) {
            if let Op::Fork(child) = event.op {
                self.member_of.insert(child, txn);
            }
            return txn;
        }
        let (txn, mut depth) = self.block_of.remove(&thread).unwrap_or_else(|| {
            self.begins.push(number);
            (self.graph.start(), 0)
        });
        if let Op::Begin(_) = event.op {
            depth += 1;
        } else if let Op::End(_) = event.op {
            depth -= 1;
            if depth == 0 {
                return txn;
            }
        } else if let Op::Fork(child) = event.op
            && depth > 0
        {
            self.member_of.insert(child, txn);
        }
        if depth > 0 {
            self.block_of.insert(thread, (txn, depth));
        }
        txn
    }
}

/// Mixes of events, and how long their traces are made so that both verdicts are frequent.
const MIXES: [(Mix, usize); 2] = [(EVERYTHING, 100), (FORK_JOIN, 250)];

fn first_cycle(trace: &Trace) -> Option<Cycle> {
    let mut analysis = External::new(Options { first_only: true });
    if analysis.events(&trace.batch()).is_continue() {
        analysis.finish();
    }
    analysis.cycles().first().copied()
}

fn check_all(cases: u32, found: impl Fn(&Trace) -> Option<Cycle>) {
    for (mix, most) in MIXES {
        random::check_mix(mix, cases, most, |trace| {
            let (found, expected) = (found(trace), Reference::first_cycle(trace));
            if found == expected { Ok(()) } else { Err(format!("{found:?} not {expected:?}")) }
        });
    }
}

#[test]
fn the_first_cycle_is_that_of_the_definition() {
    check_all(3000, first_cycle);
}

#[test]
fn housekeeping_changes_nothing() {
    check_all(1500, |trace| {
        let property = Deterministic::new(Options { first_only: true });
        under_stress(property, trace).cycles.kept().first().copied()
    });
}

#[test]
fn both_verdicts_are_frequent() {
    for (mix, most) in MIXES {
        let counts = Cell::new((0, 0));
        random::check_mix(mix, 1000, most, |trace| {
            let (all, bad) = counts.get();
            let is_bad = Reference::first_cycle(trace).is_some();
            counts.set((all + 1, bad + usize::from(is_bad)));
            Ok(())
        });
        let (all, bad) = counts.get();
        assert!(bad * 4 > all && bad * 4 < all * 3, "{bad} of {all} are not serializable");
    }
}
