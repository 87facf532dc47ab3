//! Cooperability and the missing yields by their definition, on the plain graph.

use hashbrown::HashSet;
use paceline_trace::{Event, EventNo, Op, ThreadId, Trace};

use super::Options;
use crate::definition::plain::{PlainGraph, Txn};

/// A missing yield by definition.
pub struct Missing {
    /// The event before which it is missing.
    pub event: EventNo,
    /// The events of other threads that it conflicts with, and that are part of a cycle without
    /// the yield.
    pub causes: Vec<EventNo>,
}

struct Reference {
    graph: PlainGraph,
    /// The thread of each transaction.
    owner: Vec<ThreadId>,
    /// Per thread: its transaction, unless the next event starts one.
    open: Vec<Option<Txn>>,
    joined: Vec<Vec<ThreadId>>,
    join_yields_to_child: bool,
    /// The events so far that are neither begin nor end.
    numbers: Vec<EventNo>,
}

/// The events before which a yield is missing.
pub fn missing_yields(trace: &Trace, options: Options) -> Vec<EventNo> {
    explained_yields(trace, options).iter().map(|missing| missing.event).collect()
}

/// The same, with their causes.
pub fn explained_yields(trace: &Trace, options: Options) -> Vec<Missing> {
    let threads = trace.symbols.counts().threads;
    let mut reference = Reference {
        graph: PlainGraph::default(),
        owner: Vec::new(),
        open: vec![None; threads],
        joined: vec![Vec::new(); threads],
        join_yields_to_child: options.join_yields_to_child,
        numbers: Vec::new(),
    };
    (1..).zip(&trace.events).filter_map(|(number, event)| reference.event(number, event)).collect()
}

impl Reference {
    /// Adds an event, with a yield before it if it needs one.
    fn event(&mut self, number: EventNo, event: &Event) -> Option<Missing> {
        let thread = event.thread.index();
        let kind = event.op;
        if matches!(kind, Op::Begin(_) | Op::End(_)) {
            return None;
        }
        if let Op::Join(child) = kind {
            self.joined[thread].push(child);
        }
        if kind == Op::Yield || (matches!(kind, Op::Join(_)) && !self.join_yields_to_child) {
            self.open[thread] = None;
        }
        let predecessors = self.graph.predecessors(*event);
        self.numbers.push(number);
        let mut txn = self.open[thread].unwrap_or_else(|| self.start(event.thread));
        let mut missing = None;
        if self.closes_a_cycle(event.thread, txn, &predecessors) {
            missing = Some(Missing { event: number, causes: self.causes(event.thread, txn) });
            txn = self.start(event.thread);
        }
        self.graph.assign(txn, &predecessors);
        self.open[thread] = (!matches!(kind, Op::PreWait(_))).then_some(txn);
        missing
    }

    fn causes(&self, thread: ThreadId, txn: Txn) -> Vec<EventNo> {
        let conflicting = self.graph.conflicting();
        let bad = conflicting.filter(|&(_, e)| {
            self.owner[e] != thread && self.closes_a_cycle(thread, txn, &HashSet::from([e]))
        });
        bad.map(|(e, _)| self.numbers[e]).collect()
    }

    fn start(&mut self, thread: ThreadId) -> Txn {
        self.owner.push(thread);
        self.graph.start()
    }

    /// Whether a stranger is on a path from the transaction to a predecessor of the event.
    fn closes_a_cycle(&self, thread: ThreadId, txn: Txn, predecessors: &HashSet<Txn>) -> bool {
        let mut family = HashSet::new();
        if self.join_yields_to_child {
            self.add_family(thread, &mut family);
        }
        let strangers = (0..self.graph.transactions())
            .filter(|&x| x != txn && !family.contains(&self.owner[x]));
        let after = self.graph.reached_from(txn);
        strangers
            .filter(|x| after.contains(x))
            .any(|x| !self.graph.reached_from(x).is_disjoint(predecessors))
    }

    fn add_family(&self, thread: ThreadId, family: &mut HashSet<ThreadId>) {
        for &child in &self.joined[thread.index()] {
            if family.insert(child) {
                self.add_family(child, family);
            }
        }
    }
}
