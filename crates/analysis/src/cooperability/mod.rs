//! Cooperability (COPPER) and the inference of yields (SILVER): does every interference between
//! threads happen at a documented `yield`, and if not, where are yields missing?
//!
//! A thread's whole run is a chain of transactions. It is split at a `yield` (which belongs to the
//! new one), after a `prewait` and before a `join`; `begin` and `end` do not matter. The trace is
//! cooperable when there is no cycle between its transactions.
//!
//! COPPER reports an event that would close a cycle, and leaves its edge out. SILVER puts a yield
//! just before it. Here both are one: the first missing yield is the first violation, and what
//! follows is judged as if that yield had been there. So no violation is reported for the only
//! reason that an earlier one was. As in the paper, the edge that would close the cycle enters a
//! fresh transaction; unlike in its Figure 6 taken literally, so do all other edges of the event:
//! otherwise those added first could be left behind in the old transaction.
//!
//! The engine is the running-ancestor graph with other boundaries. A thread's transaction starts
//! with the first event after a split, and it is over when the thread is joined, since nothing can
//! enter it any more.
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

use paceline_trace::{Batch, Event, EventNo, Op, ThreadId};

pub use blocks::{YieldInBlock, YieldKind};
pub use inferred::{Inferred, InferredYield, Merged, MergedSite, NamedSite, YieldSite, merge};
pub use reasons::{Reason, Reasons};

use crate::Analysis;
use crate::engine::ancestors::{Ancestors, Full, Node, Renumbering};
use crate::engine::driver::{Driver, On, Property};
use crate::engine::frontier::{Frontier, Visitor};
use crate::engine::precedence::Precedence;
use crate::engine::slots::SlotSet;
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
    /// A fresh one.
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

    /// Which yields, written, implied or missing, are inside of blocks declared atomic.
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
    /// The transaction before it; of a thread that has not acted yet, the one that forked it.
    last: Node,
    /// The first event of the transaction that runs or comes next; 0 if there is none yet.
    begin: EventNo,
}

const IDLE: Thread = Thread { current: Node::DEAD, last: Node::DEAD, begin: 0 };

/// Transactions are what is between two yields.
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
    fn is_settled(&self) -> bool {
        self.first_only && !self.inferred.is_empty()
    }
}

impl<S: SlotSet> On<Ancestors<S>> for Yields {
    #[inline(always)]
    fn event(
        &mut self,
        number: EventNo,
        event: &Event,
        graph: &mut Ancestors<S>,
        frontier: &mut Frontier,
    ) -> Result<(), Full> {
        // At most one transaction begins at an event.
        graph.ensure_room()?;
        let mut step = Step { yields: self, graph, frontier, number, event };
        match event.op {
            Op::Begin(label) => step.yields.blocks.begin(event, label),
            Op::End(_) => step.yields.blocks.end(event.thread),
            Op::Yield => {
                step.end_transaction(YieldKind::Written);
                // It belongs to the new transaction, which has no edges before the next event.
                step.yields.threads[event.thread.index()].begin = number;
            }
            Op::PreWait(_) => {
                step.conflict(Node::DEAD);
                step.end_transaction(YieldKind::Wait);
            }
            Op::Join(child) => step.join(child),
            Op::Fork(child) => {
                let node = step.conflict(Node::DEAD);
                step.yields.threads[child.index()].last = node;
            }
            Op::Read(_)
            | Op::Write(_)
            | Op::Acquire(_)
            | Op::Release(_)
            | Op::AcquireShared(_)
            | Op::ReleaseShared(_)
            | Op::PostWait(_)
            | Op::Notify(_)
            | Op::AtomicRead(_)
            | Op::AtomicWrite(_)
            | Op::AtomicUpdate(_)
            | Op::Post(_)
            | Op::Take(_)
            | Op::BarrierEnter(_)
            | Op::BarrierExit(_) => {
                step.conflict(Node::DEAD);
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

    /// The transaction that the next event of a thread comes after: the one that runs, or the
    /// last one.
    fn node_of(&self, thread: ThreadId) -> Node {
        let Thread { current, last, .. } = self.threads[thread.index()];
        if current == Node::DEAD { last } else { current }
    }

    /// Whether there is a cycle when `set`, which is closed, comes before `current`, which is a
    /// transaction of `thread` and in that set.
    fn closes_cycle<S: SlotSet>(
        &self,
        thread: ThreadId,
        current: Node,
        set: &S,
        graph: &Ancestors<S>,
    ) -> bool {
        let Yields { threads, family, .. } = self;
        let interfered = |f: &Family| f.is_interfered(thread, current, set, threads, graph);
        family.as_ref().is_none_or(interfered)
    }

    /// A transaction of `thread`, that is not its current one any more, can change no more.
    fn over<S: SlotSet>(&mut self, thread: ThreadId, node: Node, graph: &mut Ancestors<S>) {
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
struct Step<'a, S> {
    yields: &'a mut Yields,
    graph: &'a mut Ancestors<S>,
    frontier: &'a mut Frontier,
    number: EventNo,
    event: &'a Event,
}

impl<S: SlotSet> Step<'_, S> {
    /// The thread yields: the next event starts a transaction.
    fn end_transaction(&mut self, kind: YieldKind) {
        self.yields.blocks.yields(kind, self.number, self.event);
        let id = self.event.thread;
        let thread = &mut self.yields.threads[id.index()];
        if thread.current != Node::DEAD {
            let ended = thread.current;
            *thread = Thread { current: Node::DEAD, last: ended, begin: 0 };
            self.yields.over(id, ended, self.graph);
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
            self.yields.over(child, ended, self.graph);
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
        let current = self.frontier.step(id, self.event.op, &mut split);
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
        self.yields.over(id, old, self.graph);
    }
}

fn begin<S: SlotSet>(graph: &mut Ancestors<S>, last: Node) -> Node {
    graph.begin(last).expect("room has been made before the event")
}

/// Collects the edges of an event. They enter the thread's transaction, or, if that would close a
/// cycle, a fresh one: all of them.
struct Split<'a, S> {
    yields: &'a Yields,
    graph: &'a mut Ancestors<S>,
    id: ThreadId,
    current: Node,
    set: Option<S>,
}

impl<S: SlotSet> Split<'_, S> {
    #[inline(never)]
    fn add(&mut self, node: Node) {
        let reach = self.graph.reach(node);
        match &mut self.set {
            Some(set) => set.add(&reach),
            None => self.set = Some(reach),
        }
    }

    #[inline(never)]
    fn enter(&mut self, set: &S) -> Node {
        let slot = self.graph.slot_of(self.current);
        if set.contains(slot) && self.yields.closes_cycle(self.id, self.current, set, self.graph) {
            self.current = begin(self.graph, self.current);
        }
        self.graph.put_before(set, self.current);
        self.current
    }
}

impl<S: SlotSet> Visitor for Split<'_, S> {
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
    fn settle(&mut self) -> Node {
        match self.set.take() {
            None => self.current,
            Some(set) => self.enter(&set),
        }
    }

    #[inline(always)]
    fn is_dead(&self, node: Node) -> bool {
        self.graph.is_dead(node)
    }

    fn implies(&self, newer: Node, older: Node) -> bool {
        self.graph.implies(newer, older)
    }

    #[inline(always)]
    fn horizon(&self, newer: Node) -> Node {
        self.graph.horizon(newer)
    }
}
