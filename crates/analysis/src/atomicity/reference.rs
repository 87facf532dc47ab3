//! The definition, and nothing else, on the plain graph. Quadratic in the length of the trace, and
//! obviously right: the other engines are tested against it.

use std::ops::ControlFlow;

use paceline_trace::{Batch, Event, EventNo, Op};

use super::{Atomicity, Options, each_event};
use crate::definition::plain::{PlainGraph, Txn};
use crate::{Analysis, Cycle};

/// The outermost block that a thread is in.
#[derive(Clone, Copy)]
struct Open {
    txn: Txn,
    depth: usize,
}

/// The reference engine.
pub struct Reference {
    options: Options,
    graph: PlainGraph,
    /// How many events there were.
    events: EventNo,
    /// The first event of each transaction.
    begins: Vec<EventNo>,
    /// Per thread.
    open: Vec<Option<Open>>,
    cycles: Vec<Cycle>,
}

impl Reference {
    /// Starts the engine.
    pub fn new(options: Options) -> Reference {
        Reference {
            options,
            graph: PlainGraph::default(),
            events: 0,
            begins: Vec::new(),
            open: Vec::new(),
            cycles: Vec::new(),
        }
    }

    fn event(&mut self, event: Event) {
        self.events += 1;
        let predecessors = self.graph.predecessors(event);
        let txn = self.transaction(&event, self.events);
        if self.graph.assign(txn, &predecessors) {
            let begin = self.begins[txn];
            self.cycles.push(Cycle { event: self.events, thread: event.thread, begin });
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
        self.graph.start()
    }
}

impl Analysis for Reference {
    fn events(&mut self, batch: &Batch) -> ControlFlow<()> {
        self.open.resize(batch.counts.threads.max(self.open.len()), None);
        each_event(self, self.options, batch, |engine, _, &event| engine.event(event))
    }

    fn finish(&mut self) {}
}

impl Atomicity for Reference {
    fn cycles(&self) -> &[Cycle] {
        &self.cycles
    }
}
