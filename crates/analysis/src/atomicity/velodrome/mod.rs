//! Velodrome (Flanagan, Freund, Yi, PLDI 2008): the happens-before graph of the transactions, with
//! the optimised rules of the paper's Figure 4. Exact, and reports at the very event.
//!
//! The state has the paper's components: C (the open blocks of each thread), L (the last step of
//! each thread), U (of each lock, its last release), W and R (of each variable, the last write, and
//! the last read of each thread), H (the graph). The steps they hold are weak references: once the
//! graph has collected the node, they stand for nothing. Following the same pattern we add the
//! shared releases of a lock since the last exclusive acquire, the posts of a semaphore, and the
//! arrivals of a barrier round, each with one step per thread. `fork` sets L of the child, and
//! `join` reads it.
//!
//! Where we deviate:
//! - `merge` gives a unary operation the node of a predecessor that all others precede. Figure 4
//!   lets that be a running transaction, and then misses cycles: in
//!   `1:begin 1:w(x) 2:r(x) 2:w(y) 1:r(y)` both operations of thread 2 would become part of the
//!   open block, and the edge back into it a self-edge. We merge into finished nodes only.
//! - A merged operation keeps the time of the predecessor's step. Figure 4 increments it, which
//!   gives a later time of a transaction that may belong to another thread.
//! - Times are event numbers, not counters that start again in every transaction.
//! - R of a variable is cleared by a write, and the shared releases of a lock by an exclusive
//!   acquire: later conflicts are ordered through it.
//!
//! As in the paper, an edge that would close a cycle is reported and dropped, so that the graph
//! stays without cycles; after the first violation others can therefore be missed. The same edge
//! between two transactions is reported once.

mod blame;
mod graph;

use std::ops::ControlFlow;

use paceline_trace::{
    BarrierId, Batch, Event, EventNo, IdCounts, LabelId, LockId, Op, ThreadId, VarId,
};

pub use graph::Stats;
use graph::{Graph, Step};

use super::{Atomicity, Options, each_event};
use crate::engine::by_thread::ByThread;
use crate::engine::rounds::{Round, Rounds};
use crate::{Analysis, Cycle};

/// One run of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockRun {
    /// Its label.
    pub label: LabelId,
    /// Its `begin` event.
    pub begin: EventNo,
}

/// An edge of a cycle: two conflicting events. For a unary operation that was merged, the event of
/// the transaction that it was merged into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CycleEdge {
    /// The earlier event.
    pub tail: EventNo,
    /// The later event.
    pub head: EventNo,
}

/// A cycle, and which transaction is to blame for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Warning {
    /// Where it closed, and in which transaction.
    pub cycle: Cycle,
    /// Its edges, from that transaction and back to it.
    pub edges: Vec<CycleEdge>,
    /// Whether that transaction is to blame. If not, no transaction is known to be.
    pub increasing: bool,
    /// The blocks of the blamed transaction that are refuted, outermost first. Other blocks that
    /// are open at this event are not.
    pub refuted: Vec<BlockRun>,
}

#[derive(Clone)]
struct Thread {
    last: Step,
    blocks: Vec<BlockRun>,
}

#[derive(Clone)]
struct Var {
    written: Step,
    read: ByThread<Step>,
}

#[derive(Clone)]
struct Lock {
    released: Step,
    released_shared: ByThread<Step>,
}

/// The Velodrome engine.
pub struct Velodrome {
    options: Options,
    merge: bool,
    graph: Graph,
    threads: Vec<Thread>,
    vars: Vec<Var>,
    locks: Vec<Lock>,
    posts: Vec<ByThread<Step>>,
    rounds: Rounds,
    /// Per round slot.
    entered: Vec<ByThread<Step>>,
    /// The live steps that the current event follows.
    before: Vec<Step>,
    /// Edges into running transactions that were reported and dropped.
    dropped: Vec<(Step, Step)>,
    cycles: Vec<Cycle>,
    warnings: Vec<Warning>,
}

impl Velodrome {
    /// Starts the engine, with `merge`.
    pub fn new(options: Options) -> Velodrome {
        Velodrome {
            options,
            merge: true,
            graph: Graph::default(),
            threads: Vec::new(),
            vars: Vec::new(),
            locks: Vec::new(),
            posts: Vec::new(),
            rounds: Rounds::default(),
            entered: Vec::new(),
            before: Vec::new(),
            dropped: Vec::new(),
            cycles: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Starts an engine that gives every unary operation a node of its own, for comparison.
    pub fn without_merge(options: Options) -> Velodrome {
        Velodrome { merge: false, ..Velodrome::new(options) }
    }

    /// Every cycle with its blame; an event may close several.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// How many nodes the graph needed.
    pub fn stats(&self) -> Stats {
        self.graph.stats
    }

    fn reserve(&mut self, counts: &IdCounts) {
        self.graph.reserve_threads(counts.threads);
        let thread = Thread { last: Step::NOTHING, blocks: Vec::new() };
        grow(&mut self.threads, counts.threads, &thread);
        let var = Var { written: Step::NOTHING, read: ByThread::default() };
        grow(&mut self.vars, counts.vars, &var);
        let lock = Lock { released: Step::NOTHING, released_shared: ByThread::default() };
        grow(&mut self.locks, counts.locks, &lock);
        grow(&mut self.posts, counts.semaphores, &ByThread::default());
    }

    fn event(&mut self, event: &Event, at: EventNo) {
        let t = event.thread;
        match event.op {
            Op::Read(x) | Op::AtomicRead(x) => self.read(t, x, at),
            Op::Write(x) | Op::AtomicWrite(x) | Op::AtomicUpdate(x) => self.write(t, x, at),
            Op::Acquire(l) | Op::PostWait(l) => self.acquire(t, l, at),
            Op::Release(l) | Op::PreWait(l) => self.locks[l.index()].released = self.step(t, at),
            Op::AcquireShared(l) => {
                self.follow(self.locks[l.index()].released);
                self.step(t, at);
            }
            Op::ReleaseShared(l) => {
                let step = self.step(t, at);
                record(&self.graph, &mut self.locks[l.index()].released_shared, t, step);
            }
            Op::Fork(child) => self.threads[child.index()].last = self.step(t, at),
            Op::Join(child) => {
                self.follow(self.threads[child.index()].last);
                self.step(t, at);
            }
            Op::Begin(label) => self.begin(t, label, at),
            Op::End(_) => self.end(t, at),
            Op::Yield | Op::Notify(_) => {
                self.step(t, at);
            }
            Op::Post(s) => {
                let step = self.step(t, at);
                record(&self.graph, &mut self.posts[s.index()], t, step);
            }
            Op::Take(s) => {
                self.before.extend(live(&self.graph, &self.posts[s.index()]));
                self.step(t, at);
            }
            Op::BarrierEnter(b) => self.enter(t, b, at),
            Op::BarrierExit(b) => self.exit(t, b, at),
        }
    }

    fn read(&mut self, t: ThreadId, x: VarId, at: EventNo) {
        self.follow(self.vars[x.index()].written);
        let step = self.step(t, at);
        record(&self.graph, &mut self.vars[x.index()].read, t, step);
    }

    fn write(&mut self, t: ThreadId, x: VarId, at: EventNo) {
        self.follow(self.vars[x.index()].written);
        self.before.extend(live(&self.graph, &self.vars[x.index()].read));
        let step = self.step(t, at);
        let var = &mut self.vars[x.index()];
        var.written = step;
        var.read.clear();
    }

    fn acquire(&mut self, t: ThreadId, l: LockId, at: EventNo) {
        self.follow(self.locks[l.index()].released);
        self.before.extend(live(&self.graph, &self.locks[l.index()].released_shared));
        self.step(t, at);
        self.locks[l.index()].released_shared.clear();
    }

    fn enter(&mut self, t: ThreadId, b: BarrierId, at: EventNo) {
        let step = self.step(t, at);
        let round = self.rounds.enter(b, t);
        self.entered_by(round).set(t, step);
    }

    fn exit(&mut self, t: ThreadId, b: BarrierId, at: EventNo) {
        let round = self.rounds.exit(b, t);
        self.entered_by(round);
        self.before.extend(live(&self.graph, &self.entered[round.slot]));
        self.step(t, at);
    }

    fn entered_by(&mut self, round: Round) -> &mut ByThread<Step> {
        grow(&mut self.entered, round.slot + 1, &ByThread::default());
        let entered = &mut self.entered[round.slot];
        if round.fresh {
            entered.clear();
        }
        entered
    }

    fn begin(&mut self, t: ThreadId, label: LabelId, at: EventNo) {
        let thread = &mut self.threads[t.index()];
        if thread.blocks.is_empty() {
            let before = std::mem::replace(&mut thread.last, self.graph.allocate(t, at));
            self.follow(before);
        }
        self.threads[t.index()].blocks.push(BlockRun { label, begin: at });
        self.step(t, at);
    }

    fn end(&mut self, t: ThreadId, at: EventNo) {
        let step = self.step(t, at);
        let blocks = &mut self.threads[t.index()].blocks;
        blocks.pop();
        if blocks.is_empty() {
            self.dropped.retain(|(_, into)| !into.same_node(step));
            self.graph.finish(step.slot);
        }
    }

    /// The current event follows this step, if it still stands for something.
    #[inline]
    fn follow(&mut self, step: Step) {
        if self.graph.is_alive(step) {
            self.before.push(step);
        }
    }

    /// The current event, after all steps that it follows.
    #[inline]
    fn step(&mut self, t: ThreadId, at: EventNo) -> Step {
        let thread = &self.threads[t.index()];
        let step = if thread.blocks.is_empty() {
            self.follow(thread.last);
            self.outside(t, at)
        } else {
            let step = thread.last.later(at);
            self.inside(t, step);
            step
        };
        self.before.clear();
        self.threads[t.index()].last = step;
        step
    }

    fn inside(&mut self, t: ThreadId, step: Step) {
        for i in 0..self.before.len() {
            let before = self.before[i];
            if before.same_node(step) {
                continue;
            }
            if self.graph.reaches(step.slot, before.slot) {
                self.report(t, before, step);
            } else {
                self.graph.add_edge(before, step);
            }
        }
    }

    /// A unary transaction: `merge` of Figure 4, or a node of its own.
    fn outside(&mut self, t: ThreadId, at: EventNo) -> Step {
        if self.merge {
            if self.before.is_empty() {
                return Step::NOTHING;
            }
            if let Some(step) = self.last_of_before() {
                return step;
            }
        }
        let step = self.graph.allocate(t, at);
        for &before in &self.before {
            self.graph.add_edge(before, step);
        }
        self.graph.finish(step.slot);
        step
    }

    /// The finished one among the preceding steps that all others precede.
    fn last_of_before(&self) -> Option<Step> {
        let is_last = |s: &&Step| {
            !self.graph.is_running(s.slot)
                && self.before.iter().all(|b| self.graph.reaches(b.slot, s.slot))
        };
        self.before.iter().find(is_last).copied()
    }

    #[cold]
    fn report(&mut self, t: ThreadId, before: Step, step: Step) {
        let same = |(b, s): &(Step, Step)| b.same_node(before) && s.same_node(step);
        if self.dropped.iter().any(same) {
            return;
        }
        self.dropped.push((before, step));
        let cycle = Cycle { event: step.at, thread: t, begin: self.graph.begin(step.slot) };
        let found = blame::find(&self.graph, before, step);
        let root = found.edges[0].tail;
        let blocks = self.threads[t.index()].blocks.iter().copied();
        let refuted = blocks.filter(|b| found.increasing && b.begin <= root).collect();
        let edges = found.edges.iter().map(|e| CycleEdge { tail: e.tail, head: e.head }).collect();
        self.warnings.push(Warning { cycle, edges, increasing: found.increasing, refuted });
        if self.cycles.last().is_none_or(|last| last.event != step.at) {
            self.cycles.push(cycle);
        }
    }
}

fn grow<T: Clone>(state: &mut Vec<T>, len: usize, empty: &T) {
    if state.len() < len {
        state.resize(len, empty.clone());
    }
}

fn live<'a>(graph: &'a Graph, steps: &'a ByThread<Step>) -> impl Iterator<Item = Step> + 'a {
    steps.iter().map(|(_, step)| *step).filter(|step| graph.is_alive(*step))
}

/// Records the thread's step. If it is dead, the earlier ones are, too.
#[inline]
fn record(graph: &Graph, steps: &mut ByThread<Step>, t: ThreadId, step: Step) {
    if graph.is_alive(step) {
        steps.set(t, step);
    } else {
        steps.remove(t);
    }
}

impl Analysis for Velodrome {
    fn events(&mut self, batch: &Batch) -> ControlFlow<()> {
        self.reserve(&batch.counts);
        each_event(self, self.options, batch, |engine, number, event| engine.event(event, number))
    }

    fn finish(&mut self) {}
}

impl Atomicity for Velodrome {
    fn cycles(&self) -> &[Cycle] {
        &self.cycles
    }
}
