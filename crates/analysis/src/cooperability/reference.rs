//! Cooperability and the missing yields by their definition, on the plain graph.

use hashbrown::HashSet;
use paceline_trace::{Event, EventNo, Op, ThreadId, Trace};

use super::Options;
use crate::plain::{PlainGraph, Txn};

struct Reference {
    graph: PlainGraph,
    /// The thread of each transaction.
    owner: Vec<ThreadId>,
    /// Per thread: its transaction, unless the next event starts one.
    open: Vec<Option<Txn>>,
    joined: Vec<Vec<ThreadId>>,
    join_yields_to_child: bool,
}

/// The events before which a yield is missing.
pub fn missing_yields(trace: &Trace, options: Options) -> Vec<EventNo> {
    let threads = trace.symbols.counts().threads;
    let mut reference = Reference {
        graph: PlainGraph::default(),
        owner: Vec::new(),
        open: vec![None; threads],
        joined: vec![Vec::new(); threads],
        join_yields_to_child: options.join_yields_to_child,
    };
    let numbered = (1..).zip(&trace.events);
    numbered.filter(|(_, event)| reference.needs_yield(event)).map(|(number, _)| number).collect()
}

impl Reference {
    /// Adds an event, and returns whether that took a yield before it.
    fn needs_yield(&mut self, event: &Event) -> bool {
        let thread = event.thread.index();
        let kind = event.op;
        if matches!(kind, Op::Begin(_) | Op::End(_)) {
            return false;
        }
        if let Op::Join(child) = kind {
            self.joined[thread].push(child);
        }
        if kind == Op::Yield || (matches!(kind, Op::Join(_)) && !self.join_yields_to_child) {
            self.open[thread] = None;
        }
        let predecessors = self.graph.predecessors(*event);
        let mut txn = self.open[thread].unwrap_or_else(|| self.start(event.thread));
        let needed = self.closes_a_cycle(event.thread, txn, &predecessors);
        if needed {
            txn = self.start(event.thread);
        }
        self.graph.assign(txn, &predecessors);
        self.open[thread] = (!matches!(kind, Op::PreWait(_))).then_some(txn);
        needed
    }

    fn start(&mut self, thread: ThreadId) -> Txn {
        self.owner.push(thread);
        self.graph.start()
    }

    /// Whether a stranger is between the transaction and what the event comes after.
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
