//! External serializability, one half of determinism (SingleTrack): no thread outside of a
//! deterministic block interferes with the threads inside.
//!
//! A transaction is an outermost block together with all events of the threads that were forked
//! inside of it, transitively, even after the block's end; `begin` and `end` of those threads do
//! not matter. Every other event is a transaction by itself; a fork outside of every block
//! precedes the child. The trace is externally serializable when there is no cycle between these
//! transactions.
//!
//! The engine is that of atomicity (an ordered graph, sets of running ancestors while there is a
//! cycle), with nodes that several threads share. A node runs until its block has ended and every
//! thread that was forked inside has been joined: from then on nothing can enter it. If the block's
//! own thread goes on while others still run inside, its next event happens after the transaction
//! but is not part of it.

#[cfg(test)]
mod tests;

use std::ops::ControlFlow;

use paceline_trace::{Batch, Event, EventNo, LabelId, Op, Site, ThreadId, ops};

use crate::engine::cycles::{Cycles, OutermostBlock};
use crate::engine::driver::{On, OrderedDriver, Property};
use crate::engine::edges::{Inside, Single};
use crate::engine::frontier::{Frontier, Standing, Visitor};
use crate::engine::precedence::{Full, Node, Precedence, Renumbering};
use crate::{Analysis, Cycle};

/// How to judge.
#[derive(Clone, Copy, Default, Debug)]
pub struct Options {
    /// Break at the first cycle.
    pub first_only: bool,
}

/// The analysis.
pub struct External(OrderedDriver<Deterministic>);

impl External {
    /// Starts the analysis.
    pub fn new(options: Options) -> External {
        External(OrderedDriver::new(Deterministic::new(options)))
    }

    /// The cycles found so far, in the order of events; the first is exact. Without any, the trace
    /// is externally serializable. Of cycles that are equivalent, only some are kept.
    pub fn cycles(&self) -> &[Cycle] {
        self.found().kept()
    }

    /// How many transactions the cycle at this index of [`External::cycles`] stands for.
    pub fn stands_for(&self, index: usize) -> u64 {
        self.found().stands_for(index)
    }

    /// The cycles so far, grouped.
    fn found(&self) -> &Cycles {
        &self.0.property().cycles
    }
}

impl Analysis for External {
    fn events(&mut self, batch: &Batch) -> ControlFlow<()> {
        self.0.events(batch)
    }

    /// Open transactions need not be closed: a cycle is seen when its last edge is added.
    fn finish(&mut self) {}
}

/// An outermost block and the threads that were forked inside.
#[derive(Clone, Copy)]
struct Transaction {
    node: Node,
    block: OutermostBlock,
    /// Whether the block has not ended.
    open: bool,
    /// How many threads that were forked inside have not been joined.
    members: u32,
}

const UNUSED: Transaction = Transaction {
    node: Node::DEAD,
    block: OutermostBlock { begin: 0, label: LabelId::UNNAMED, site: Site::UNKNOWN },
    open: false,
    members: 0,
};

/// The index of a transaction that has not ended.
type Index = u32;

const NONE: Index = Index::MAX;

#[derive(Clone, Copy)]
struct Thread {
    /// The transaction that the thread is inside of, or `NONE`.
    inside: Index,
    /// Its node. It is kept after the thread has been joined, in case it is joined again.
    current: Node,
    /// The transaction before it; before the thread's first event, the one that forked it.
    last: Node,
    depth: u32,
    /// Whether `last` may still run: the next event happens after it, but is not part of it.
    leaves_last: bool,
    /// Whether the thread was forked inside of a transaction, so that it never leaves it.
    member: bool,
}

const IDLE: Thread = Thread {
    inside: NONE,
    current: Node::DEAD,
    last: Node::DEAD,
    depth: 0,
    leaves_last: true,
    member: false,
};

/// Transactions are outermost blocks with the threads forked inside, and single events.
struct Deterministic {
    threads: Vec<Thread>,
    transactions: Vec<Transaction>,
    free: Vec<Index>,
    cycles: Cycles,
    first_only: bool,
}

impl Property for Deterministic {
    fn reserve(&mut self, threads: usize) {
        if self.threads.len() < threads {
            self.threads.resize(threads, IDLE);
        }
    }

    fn renumber(&mut self, new: &Renumbering) {
        for thread in &mut self.threads {
            thread.current = new.of(thread.current);
            thread.last = new.of(thread.last);
        }
        for transaction in &mut self.transactions {
            transaction.node = new.of(transaction.node);
        }
    }

    #[inline(always)]
    fn is_decided(&self) -> bool {
        self.first_only && self.cycles.total() > 0
    }
}

impl<G: Precedence> On<G> for Deterministic {
    #[inline(always)]
    fn pass(&mut self, events: &[Event], graph: &G, frontier: &mut Frontier) -> usize {
        frontier.pass(events, graph, |by| {
            let Thread { inside, current, last, leaves_last, .. } = self.threads[by.index()];
            let (node, is_certain) =
                if inside == NONE { (last, !leaves_last) } else { (current, true) };
            Standing { node, is_certain }
        })
    }

    #[inline(always)]
    fn event(
        &mut self,
        number: EventNo,
        event: &Event,
        graph: &mut G,
        frontier: &mut Frontier,
    ) -> Result<(), Full> {
        let mut update = MembershipUpdate { state: self, graph, frontier, number, event };
        match event.op {
            Op::Begin(label) => update.begin(label)?,
            Op::End(_) => update.end(),
            Op::Fork(child) => update.fork(child),
            Op::Join(child) => update.join(child),
            ops!(Access | Lock | Semaphore | Barrier) | Op::Yield => {
                update.conflict(Node::DEAD);
            }
        }
        Ok(())
    }
}

impl Deterministic {
    fn new(options: Options) -> Deterministic {
        Deterministic {
            threads: Vec::new(),
            transactions: Vec::new(),
            free: Vec::new(),
            cycles: Cycles::default(),
            first_only: options.first_only,
        }
    }

    fn add(&mut self, transaction: Transaction) -> Index {
        let index = self.free.pop().unwrap_or(self.transactions.len() as Index);
        if index as usize == self.transactions.len() {
            self.transactions.push(UNUSED);
        }
        self.transactions[index as usize] = transaction;
        index
    }

    /// Ends a transaction that no thread is inside of any more. Returns whether it has ended.
    fn end_if_left(&mut self, index: Index, graph: &mut impl Precedence) -> bool {
        let Transaction { node, open, members, .. } = self.transactions[index as usize];
        let left = !open && members == 0;
        if left {
            graph.end(node);
            self.transactions[index as usize] = UNUSED;
            self.free.push(index);
        }
        left
    }
}

/// One event, and everything that it may change.
struct MembershipUpdate<'a, G> {
    state: &'a mut Deterministic,
    graph: &'a mut G,
    frontier: &'a mut Frontier,
    number: EventNo,
    event: &'a Event,
}

impl<G: Precedence> MembershipUpdate<'_, G> {
    fn thread(&mut self) -> &mut Thread {
        &mut self.state.threads[self.event.thread.index()]
    }

    fn begin(&mut self, label: LabelId) -> Result<(), Full> {
        if self.thread().inside == NONE {
            self.leave_last();
            let last = self.thread().last;
            let node = self.graph.begin(last)?;
            let site = self.event.site;
            let block = OutermostBlock { begin: self.number, label, site };
            let inside = self.state.add(Transaction { node, block, open: true, members: 0 });
            *self.thread() = Thread { inside, current: node, ..*self.thread() };
        }
        self.thread().depth += 1;
        Ok(())
    }

    fn end(&mut self) {
        self.thread().depth -= 1;
        if self.thread().depth == 0 && !self.thread().member {
            self.leave_block();
        }
    }

    fn leave_block(&mut self) {
        let Thread { inside, current, .. } = *self.thread();
        self.state.transactions[inside as usize].open = false;
        let leaves_last = !self.state.end_if_left(inside, self.graph);
        let (inside, last) = (NONE, current);
        let before = *self.thread();
        *self.thread() = Thread { inside, current: Node::DEAD, last, leaves_last, ..before };
    }

    fn fork(&mut self, child: ThreadId) {
        let node = self.conflict(Node::DEAD);
        let inside = self.thread().inside;
        let child = &mut self.state.threads[child.index()];
        if inside == NONE {
            child.last = node;
        } else {
            *child = Thread { inside, current: node, member: true, ..*child };
            self.state.transactions[inside as usize].members += 1;
        }
    }

    fn join(&mut self, child: ThreadId) {
        let Thread { current, last, .. } = self.state.threads[child.index()];
        self.conflict(if current == Node::DEAD { last } else { current });
        let thread = &mut self.state.threads[child.index()];
        let inside = thread.inside;
        if thread.member && inside != NONE {
            thread.inside = NONE;
            self.state.transactions[inside as usize].members -= 1;
            self.state.end_if_left(inside, self.graph);
        }
    }

    /// The thread acts outside of the transaction that forked it, or that it was in.
    #[inline(always)]
    fn leave_last(&mut self) {
        if self.thread().leaves_last {
            let last = self.thread().last;
            let last = self.graph.shadow(last);
            *self.thread() = Thread { leaves_last: false, last, ..*self.thread() };
        }
    }

    /// Adds the edges into an event that is neither begin nor end, `also` among their sources.
    /// Returns the node that the event belongs to.
    #[inline(always)]
    fn conflict(&mut self, also: Node) -> Node {
        let Event { thread: id, op, site } = *self.event;
        let Thread { inside, current, .. } = *self.thread();
        if inside == NONE {
            self.leave_last();
            let last = self.thread().last;
            let mut single = Single::new(self.graph, last);
            single.after(also);
            let node = self.frontier.event(id, op, &mut single);
            self.thread().last = node;
            return node;
        }
        let mut edges = Inside::new(self.graph, current);
        edges.after(also);
        self.frontier.event(id, op, &mut edges);
        if edges.cycle {
            let block = self.state.transactions[inside as usize].block;
            self.state.cycles.add(self.number, id, site, block);
        }
        current
    }
}
