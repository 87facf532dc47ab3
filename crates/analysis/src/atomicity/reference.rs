//! The definition, and nothing else: every event is compared with every earlier one, and the graph
//! of transactions keeps all edges. Quadratic in the length of the trace, and obviously right: the
//! other engines are tested against it.

use std::ops::ControlFlow;

use hashbrown::HashSet;
use paceline_trace::{Batch, Event, EventNo, Op};

use super::{Atomicity, Options};
use crate::conflict::Conflicts;
use crate::{Analysis, Cycle};

/// A transaction, numbered in the order of first events.
type Txn = usize;

/// The outermost block that a thread is in.
#[derive(Clone, Copy)]
struct Open {
    txn: Txn,
    depth: usize,
}

/// The reference engine.
pub struct Reference {
    options: Options,
    conflicts: Conflicts,
    /// The transaction of each event.
    txn_of: Vec<Txn>,
    /// The first event of each transaction.
    begins: Vec<EventNo>,
    successors: Vec<HashSet<Txn>>,
    /// Per thread.
    open: Vec<Option<Open>>,
    cycles: Vec<Cycle>,
}

impl Reference {
    /// A fresh one.
    pub fn new(options: Options) -> Reference {
        Reference {
            options,
            conflicts: Conflicts::default(),
            txn_of: Vec::new(),
            begins: Vec::new(),
            successors: Vec::new(),
            open: Vec::new(),
            cycles: Vec::new(),
        }
    }

    fn event(&mut self, event: Event) {
        let at = self.conflicts.push(event);
        let txn = self.transaction(&event, at as EventNo + 1);
        self.txn_of.push(txn);
        let predecessors: HashSet<Txn> =
            (0..at).filter(|&e| self.conflicts.conflict(e, at)).map(|e| self.txn_of[e]).collect();
        let mut closes = false;
        for before in predecessors {
            if before != txn && self.successors[before].insert(txn) {
                closes |= self.reaches(txn, before);
            }
        }
        if closes {
            let event_no = at as EventNo + 1;
            let begin = self.begins[txn];
            self.cycles.push(Cycle { event: event_no, thread: event.thread, begin });
        }
    }

    /// The transaction that the event belongs to; an outermost `begin` starts one, and so does an
    /// event outside every block.
    fn transaction(&mut self, event: &Event, number: EventNo) -> Txn {
        let open = self.open[event.thread.index()];
        let txn = open.map_or_else(|| self.fresh(number), |o| o.txn);
        let mut depth = open.map_or(0, |o| o.depth);
        if let Op::Begin(_) = event.op {
            depth += 1;
        }
        if let Op::End(_) = event.op {
            depth -= 1;
        }
        self.open[event.thread.index()] = (depth > 0).then_some(Open { txn, depth });
        txn
    }

    fn fresh(&mut self, number: EventNo) -> Txn {
        self.begins.push(number);
        self.successors.push(HashSet::new());
        self.begins.len() - 1
    }

    fn reaches(&self, from: Txn, to: Txn) -> bool {
        let mut seen: HashSet<Txn> = HashSet::from([from]);
        let mut todo = vec![from];
        while let Some(txn) = todo.pop() {
            if txn == to {
                return true;
            }
            todo.extend(self.successors[txn].iter().filter(|&&next| seen.insert(next)));
        }
        false
    }
}

impl Analysis for Reference {
    fn events(&mut self, batch: &Batch) -> ControlFlow<()> {
        self.open.resize(batch.counts.threads.max(self.open.len()), None);
        for &event in &batch.events {
            self.event(event);
            if self.options.first_only && !self.cycles.is_empty() {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }

    fn finish(&mut self) {}
}

impl Atomicity for Reference {
    fn cycles(&self) -> &[Cycle] {
        &self.cycles
    }
}
