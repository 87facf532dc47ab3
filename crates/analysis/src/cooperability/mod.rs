//! Cooperability (COPPER) and the inference of yields (SILVER): does every interference between
//! threads happen at a documented `yield`, and if not, where are yields missing?
//!
//! A thread's whole run is a chain of transactions. It is split at a `yield` (which belongs to the
//! new one), after a `prewait` and before a `join`; `begin` and `end` do not matter. The trace is
//! cooperable when there is no cycle between its transactions.
//!
//! COPPER reports an event that would close a cycle, and leaves its edge out. SILVER puts a yield
//! just before it. Here both are one analysis: the first missing yield is the first violation, and
//! what follows is judged as if that yield had been there. So no violation is reported only because
//! of an earlier one. As in the paper, the edge that would close the cycle enters a fresh
//! transaction; unlike in its Figure 6 taken literally, so do all other edges of the event:
//! otherwise those added first could be left behind in the old transaction.
//!
//! The engine is the running-ancestor graph (`engine::ancestors`) with other boundaries: nearly
//! every event belongs to a running transaction here, and a cycle never stays in the graph. A
//! thread's transaction starts with the first event after a split, and it is over when the thread
//! is joined, since nothing can enter it any more.
//!
//! With [`Options::join_yields_to_child`], a join splits nothing, see [`family`].

mod blocks;
pub mod family;
pub mod inferred;
pub mod reasons;

#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;

use paceline_trace::{Batch, Event, EventNo, Op, ThreadId, ops};

pub use blocks::{YieldInBlock, YieldKind};
pub use inferred::{Inferred, InferredYield, Merged, MergedSite, NamedSite, YieldSite, merge};
pub use reasons::{Reason, Reasons};

use crate::Analysis;
use crate::engine::ancestors::Ancestors;
use crate::engine::driver::{Driver, On, Property};
use crate::engine::frontier::{Frontier, Visitor};
use crate::engine::precedence::{Full, Node, Precedence, Relevance, Renumbering};
use crate::engine::slots::{SlotSet, SlotWords};
use blocks::OpenBlocks;
use family::Family;

/// How to judge.
#[derive(Clone, Copy, Default, Debug)]
pub struct Options {
    /// Break at the first violation.
    pub first_only: bool,
    /// A join yields only to the joined thread, and to those that it has joined.
    pub join_yields_to_child: bool,
}

/// The analysis.
pub struct Cooperability(Driver<Yields>);

impl Cooperability {
    /// Starts the analysis.
    pub fn new(options: Options) -> Cooperability {
        Cooperability(Driver::new(Yields::new(options)))
    }

    /// Where yields are missing. Empty: cooperable.
    pub fn inferred(&self) -> &Inferred {
        &self.0.property().inferred
    }

    /// The first event whose prefix is not cooperable.
    pub fn first_event(&self) -> Option<EventNo> {
        self.inferred().positions().first().copied()
    }

    /// The yields inside of blocks declared atomic, whether written, implied or missing.
    pub fn yields_in_blocks(&self) -> &[YieldInBlock] {
        self.0.property().blocks.found()
    }
}

impl Analysis for Cooperability {
    fn events(&mut self, batch: &Batch) -> ControlFlow<()> {
        self.0.events(batch)
    }

    /// Nothing has to be closed: a cycle is seen when its last edge is added.
    fn finish(&mut self) {}
}

#[derive(Clone, Copy)]
struct Thread {
    /// The transaction that runs, if any.
    current: Node,
    /// The transaction before it; before the thread's first event, the one that forked it.
    last: Node,
    /// The first event of the transaction that runs or comes next; 0 if there is none yet.
    begin: EventNo,
}

const IDLE: Thread = Thread { current: Node::DEAD, last: Node::DEAD, begin: 0 };

/// A transaction is what a thread does between two yields.
struct Yields {
    threads: Vec<Thread>,
    blocks: OpenBlocks,
    family: Option<Family>,
    inferred: Inferred,
    first_only: bool,
}

impl Property for Yields {
    fn reserve(&mut self, threads: usize) {
        if self.threads.len() < threads {
            self.threads.resize(threads, IDLE);
            self.blocks.reserve(threads);
            self.family.iter_mut().for_each(|family| family.reserve(threads));
        }
    }

    fn renumber(&mut self, new: &Renumbering) {
        for thread in &mut self.threads {
            thread.current = new.of(thread.current);
            thread.last = new.of(thread.last);
        }
        self.family.iter_mut().for_each(|family| family.renumber(new));
    }

    #[inline(always)]
    fn is_decided(&self) -> bool {
        self.first_only && !self.inferred.is_empty()
    }
}

impl<W: SlotWords> On<Ancestors<W>> for Yields {
    #[inline(always)]
    fn event(
        &mut self,
        number: EventNo,
        event: &Event,
        graph: &mut Ancestors<W>,
        frontier: &mut Frontier,
    ) -> Result<(), Full> {
        // At most one transaction begins at an event.
        graph.ensure_room()?;
        let mut update = YieldsUpdate { yields: self, graph, frontier, number, event };
        match event.op {
            Op::Begin(label) => update.yields.blocks.begin(event, label),
            Op::End(_) => update.yields.blocks.end(event.thread),
            Op::Yield => {
                update.end_transaction(YieldKind::Written);
                // It belongs to the new transaction, which has no edges before the next event.
                update.yields.threads[event.thread.index()].begin = number;
            }
            Op::PreWait(_) => {
                update.conflict(Node::DEAD);
                update.end_transaction(YieldKind::Wait);
            }
            Op::Join(child) => update.join(child),
            Op::Fork(child) => {
                let node = update.conflict(Node::DEAD);
                update.yields.threads[child.index()].last = node;
            }
            ops!(Access | Semaphore | Barrier)
            | Op::Acquire(_)
            | Op::Release(_)
            | Op::AcquireShared(_)
            | Op::ReleaseShared(_)
            | Op::PostWait(_)
            | Op::Notify(_) => {
                update.conflict(Node::DEAD);
            }
        }
        Ok(())
    }
}

impl Yields {
    fn new(options: Options) -> Yields {
        Yields {
            threads: Vec::new(),
            blocks: OpenBlocks::default(),
            family: options.join_yields_to_child.then(Family::default),
            inferred: Inferred::default(),
            first_only: options.first_only,
        }
    }

    /// The transaction that the next event of a thread happens after: the running one, or else the
    /// last one.
    fn node_of(&self, thread: ThreadId) -> Node {
        let Thread { current, last, .. } = self.threads[thread.index()];
        if current == Node::DEAD { last } else { current }
    }

    /// Whether it is a violation that `set`, which is closed, precedes `current`, which is a
    /// transaction of `thread` and a member of that set.
    fn closes_cycle<W: SlotWords>(
        &self,
        thread: ThreadId,
        current: Node,
        set: &SlotSet<W>,
        graph: &Ancestors<W>,
    ) -> bool {
        let Yields { threads, family, .. } = self;
        let interfered = |f: &Family| f.is_interfered(thread, current, set, threads, graph);
        family.as_ref().is_none_or(interfered)
    }

    /// Retires a transaction of `thread` that is no longer its current one: nothing can enter it.
    fn retire<W: SlotWords>(&mut self, thread: ThreadId, node: Node, graph: &mut Ancestors<W>) {
        match &mut self.family {
            None => graph.end(node),
            Some(family) => {
                family.pin(thread, node);
                if family.has_many_pinned() {
                    family.prune(&self.threads, graph);
                }
            }
        }
    }
}

/// One event, and everything that it may change.
struct YieldsUpdate<'a, W> {
    yields: &'a mut Yields,
    graph: &'a mut Ancestors<W>,
    frontier: &'a mut Frontier,
    number: EventNo,
    event: &'a Event,
}

impl<W: SlotWords> YieldsUpdate<'_, W> {
    /// The thread yields: the next event starts a transaction.
    fn end_transaction(&mut self, kind: YieldKind) {
        self.yields.blocks.yields(kind, self.number, self.event);
        let id = self.event.thread;
        let thread = &mut self.yields.threads[id.index()];
        if thread.current != Node::DEAD {
            let ended = thread.current;
            *thread = Thread { current: Node::DEAD, last: ended, begin: 0 };
            self.yields.retire(id, ended, self.graph);
        }
    }

    fn join(&mut self, child: ThreadId) {
        match &mut self.yields.family {
            None => self.end_transaction(YieldKind::Join),
            Some(family) => family.join(self.event.thread, child),
        }
        let node = self.yields.node_of(child);
        let current = self.conflict(node);
        self.joined(child, current);
    }

    /// The child will never act again.
    fn joined(&mut self, child: ThreadId, joiner: Node) {
        if let Some(family) = &mut self.yields.family {
            family.release(child, joiner, self.graph);
        }
        let thread = &mut self.yields.threads[child.index()];
        if thread.current == Node::DEAD {
            return;
        }
        thread.last = std::mem::replace(&mut thread.current, Node::DEAD);
        let ended = thread.last;
        let joiner_slot = self.graph.slot_of(joiner);
        if self.yields.family.is_some() && self.graph.before(ended).contains(joiner_slot) {
            self.graph.end(ended);
        } else {
            self.yields.retire(child, ended, self.graph);
        }
    }

    /// Adds the edges into an event, `also` among their sources, with a yield before it if they
    /// would close a cycle. Returns the transaction that the event belongs to.
    #[inline(always)]
    fn conflict(&mut self, also: Node) -> Node {
        let id = self.event.thread;
        if self.yields.threads[id.index()].current == Node::DEAD {
            self.begin();
        }
        let before = self.yields.threads[id.index()].current;
        let yields = &*self.yields;
        let mut split = Split { yields, graph: self.graph, id, current: before, set: None };
        split.after(also);
        let current = self.frontier.event(id, self.event.op, &mut split);
        if current != before {
            self.infer(before, current);
        }
        current
    }

    #[cold]
    fn begin(&mut self) {
        let thread = &mut self.yields.threads[self.event.thread.index()];
        thread.current = begin(self.graph, thread.last);
        if thread.begin == 0 {
            thread.begin = self.number;
        }
    }

    /// A yield was needed before this event: `new` goes on where `old` stopped.
    #[cold]
    fn infer(&mut self, old: Node, new: Node) {
        let Event { thread: id, op, site } = *self.event;
        self.yields.blocks.yields(YieldKind::Inferred, self.number, self.event);
        let thread = &mut self.yields.threads[id.index()];
        let begin = thread.begin;
        *thread = Thread { current: new, last: old, begin: self.number };
        let event = self.number;
        self.yields.inferred.add(InferredYield { event, thread: id, op, site, begin });
        self.yields.retire(id, old, self.graph);
    }
}

fn begin<W: SlotWords>(graph: &mut Ancestors<W>, last: Node) -> Node {
    graph.begin(last).expect("`ensure_room` was called before the event")
}

/// Collects the edges of an event. They enter the thread's transaction, or, if that would close a
/// cycle, a fresh one: all of them.
struct Split<'a, W> {
    yields: &'a Yields,
    graph: &'a mut Ancestors<W>,
    id: ThreadId,
    current: Node,
    set: Option<SlotSet<W>>,
}

impl<W: SlotWords> Split<'_, W> {
    #[inline(never)]
    fn add(&mut self, node: Node) {
        let reach = self.graph.reach(node);
        match &mut self.set {
            Some(set) => set.add(&reach),
            None => self.set = Some(reach),
        }
    }

    #[inline(never)]
    fn enter(&mut self, set: &SlotSet<W>) -> Node {
        let slot = self.graph.slot_of(self.current);
        if set.contains(slot) && self.yields.closes_cycle(self.id, self.current, set, self.graph) {
            self.current = begin(self.graph, self.current);
        }
        self.graph.put_before(set, self.current);
        self.current
    }
}

impl<W: SlotWords> Visitor for Split<'_, W> {
    type Graph = Ancestors<W>;

    #[inline(always)]
    fn graph(&self) -> &Ancestors<W> {
        self.graph
    }

    #[inline(always)]
    fn matters(&self, node: Node) -> bool {
        !self.graph.is_dead(node)
    }

    #[inline(always)]
    fn after(&mut self, node: Node) {
        if self.graph.is_dead(node)
            || node == self.current
            || self.graph.is_known(node, self.current)
        {
            return;
        }
        self.add(node);
    }

    #[inline(always)]
    fn finish(&mut self) -> Node {
        match self.set.take() {
            None => self.current,
            Some(set) => self.enter(&set),
        }
    }
}
