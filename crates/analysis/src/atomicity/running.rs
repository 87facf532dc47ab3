//! The default engine: exact like Velodrome, linear like AeroDrome, cheaper than both. It keeps
//! the running-ancestor graph ([`crate::ancestors`]) up to date with every conflict
//! ([`crate::frontier`]) and reports a cycle at the very event that closes it.
//!
//! A transaction is an outermost block, or a single event outside of every block. Each event
//! costs a look at one variable, lock or thread; nothing ever goes over all of them, except that
//! nodes are renumbered once as many have been used up as there are objects to look through.
//!
//! After a cycle, its last edge is kept, unlike in Velodrome, so that later cycles are seen too.

use std::ops::ControlFlow;

use paceline_trace::{Batch, Event, EventNo, IdCounts, LabelId, Op, Site, ThreadId};

use super::{Atomicity, Options};
use crate::ancestors::{Ancestors, Full, Node};
use crate::cycles::{Block, Cycles};
use crate::frontier::{Frontier, Visitor};
use crate::slots::{SlotSet, Unlimited, Words};
use crate::{Analysis, Cycle};

/// The engine. It starts with room for sixty-four transactions at once and grows when needed.
pub struct Running {
    width: Width,
    first_only: bool,
}

enum Width {
    One(Box<Core<Words<1>>>),
    Few(Box<Core<Words<4>>>),
    Many(Box<Core<Words<16>>>),
    Unlimited(Box<Core<Unlimited>>),
}

/// Calls the same code for every width.
macro_rules! each_width {
    ($width:expr, $core:ident => $result:expr) => {
        match $width {
            Width::One($core) => $result,
            Width::Few($core) => $result,
            Width::Many($core) => $result,
            Width::Unlimited($core) => $result,
        }
    };
}

impl Running {
    /// An engine that stops at the first cycle, or goes on after it.
    pub fn new(options: Options) -> Running {
        Running { width: Width::One(Box::default()), first_only: options.first_only }
    }

    /// The cycles so far, grouped.
    pub fn found(&self) -> &Cycles {
        each_width!(&self.width, core => &core.cycles)
    }

    fn widen(&mut self) {
        let narrow = std::mem::replace(&mut self.width, Width::One(Box::default()));
        self.width = match narrow {
            Width::One(core) => Width::Few(Box::new(core.widen())),
            Width::Few(core) => Width::Many(Box::new(core.widen())),
            Width::Many(core) => Width::Unlimited(Box::new(core.widen())),
            Width::Unlimited(core) => Width::Unlimited(core),
        };
    }
}

impl Analysis for Running {
    fn events(&mut self, batch: &Batch) -> ControlFlow<()> {
        let mut done = 0;
        while done < batch.events.len() {
            let events = &batch.events[done..];
            let first = batch.first + done as u64;
            let stop = self.first_only;
            done +=
                each_width!(&mut self.width, core => core.run(events, first, &batch.counts, stop));
            if self.first_only && self.found().total() > 0 {
                return ControlFlow::Break(());
            }
            if done < batch.events.len() {
                self.widen();
            }
        }
        ControlFlow::Continue(())
    }

    /// Open transactions need not be closed: a cycle is seen when its last edge is added.
    fn finish(&mut self) {}
}

impl Atomicity for Running {
    fn cycles(&self) -> &[Cycle] {
        self.found().kept()
    }

    fn stands_for(&self, index: usize) -> u64 {
        self.found().stands_for(index)
    }
}

#[derive(Clone, Copy)]
struct Thread {
    /// The transaction that runs, if any.
    current: Node,
    /// The transaction before it; of a thread that has not acted yet, the one that forked it.
    last: Node,
    depth: u32,
    acted: bool,
    block: Block,
}

const IDLE: Thread = Thread {
    current: Node::DEAD,
    last: Node::DEAD,
    depth: 0,
    acted: false,
    block: Block { begin: 0, label: LabelId::UNNAMED, site: Site::UNKNOWN },
};

impl Thread {
    /// The thread's first event comes after the transaction that forked it, but does not belong
    /// to it: edges back into that transaction count.
    #[inline(always)]
    fn acts<S: SlotSet>(&mut self, graph: &mut Ancestors<S>) {
        if !self.acted {
            self.acted = true;
            self.last = graph.shadow(self.last);
        }
    }
}

struct Core<S> {
    graph: Ancestors<S>,
    frontier: Frontier,
    threads: Vec<Thread>,
    cycles: Cycles,
    /// Nodes are renumbered when there are that many.
    compact_at: usize,
}

impl<S: SlotSet> Default for Core<S> {
    fn default() -> Self {
        Core {
            graph: Ancestors::default(),
            frontier: Frontier::default(),
            threads: Vec::new(),
            cycles: Cycles::default(),
            compact_at: FEWEST_NODES,
        }
    }
}

/// Renumbering is not worth while for fewer nodes.
const FEWEST_NODES: usize = 1 << 16;

/// How many events' variables are touched ahead of their use, and from how many variables on it
/// pays: fewer than that fit into the cache anyway.
const AHEAD: usize = 32;
const FEW_VARIABLES: usize = 1 << 15;

impl<S: SlotSet> Core<S> {
    fn widen<T: SlotSet>(self) -> Core<T> {
        Core {
            graph: self.graph.widen(),
            frontier: self.frontier,
            threads: self.threads,
            cycles: self.cycles,
            compact_at: self.compact_at,
        }
    }

    /// Takes events until there are no more, or no slot is left, or a cycle is found and that is
    /// enough. Returns how many were taken.
    fn run(&mut self, events: &[Event], first: EventNo, counts: &IdCounts, stop: bool) -> usize {
        self.reserve(counts);
        let warm = counts.vars > FEW_VARIABLES;
        for (chunk_index, chunk) in events.chunks(AHEAD).enumerate() {
            let start = chunk_index * AHEAD;
            if warm {
                std::hint::black_box(chunk.iter().fold(0, |sum, e| sum ^ self.frontier.warm(e.op)));
            }
            for (i, event) in chunk.iter().enumerate() {
                if self.event(first + (start + i) as u64, event).is_err() {
                    return start + i;
                }
                if stop && self.cycles.total() > 0 {
                    return start + i + 1;
                }
            }
        }
        events.len()
    }

    fn reserve(&mut self, counts: &IdCounts) {
        self.frontier.reserve(counts);
        if self.threads.len() < counts.threads {
            self.threads.resize(counts.threads, IDLE);
        }
        if self.graph.nodes() >= self.compact_at {
            self.compact();
        }
    }

    fn compact(&mut self) {
        let new = self.graph.compact();
        self.frontier.renumber(&new);
        for thread in &mut self.threads {
            thread.current = new.of(thread.current);
            thread.last = new.of(thread.last);
        }
        self.compact_at = self.graph.nodes() + FEWEST_NODES.max(self.frontier.size());
    }

    #[inline(always)]
    fn event(&mut self, number: EventNo, event: &Event) -> Result<(), Full> {
        match event.op {
            Op::Begin(label) => self.begin(number, event, label)?,
            Op::End(_) => self.end(event.thread),
            Op::Join(child) => {
                let Thread { current, last, .. } = self.threads[child.index()];
                let node = if current == Node::DEAD { last } else { current };
                self.conflict(number, event, node);
            }
            Op::Fork(child) => {
                self.threads[child.index()].last = self.conflict(number, event, Node::DEAD);
            }
            Op::Read(_)
            | Op::Write(_)
            | Op::Acquire(_)
            | Op::Release(_)
            | Op::AcquireShared(_)
            | Op::ReleaseShared(_)
            | Op::Yield
            | Op::PreWait(_)
            | Op::PostWait(_)
            | Op::Notify(_)
            | Op::AtomicRead(_)
            | Op::AtomicWrite(_)
            | Op::AtomicUpdate(_)
            | Op::Post(_)
            | Op::Take(_)
            | Op::BarrierEnter(_)
            | Op::BarrierExit(_) => {
                self.conflict(number, event, Node::DEAD);
            }
        }
        Ok(())
    }

    fn begin(&mut self, number: EventNo, event: &Event, label: LabelId) -> Result<(), Full> {
        let thread = &mut self.threads[event.thread.index()];
        if thread.depth == 0 {
            thread.acts(&mut self.graph);
            thread.current = self.graph.begin(thread.last)?;
            thread.block = Block { begin: number, label, site: event.site };
        }
        thread.depth += 1;
        Ok(())
    }

    fn end(&mut self, thread: ThreadId) {
        let thread = &mut self.threads[thread.index()];
        thread.depth -= 1;
        if thread.depth == 0 {
            self.graph.end(thread.current);
            thread.last = std::mem::replace(&mut thread.current, Node::DEAD);
        }
    }

    /// Adds the edges into an event that is neither begin nor end, `also` among their sources.
    /// Returns the node that the event belongs to.
    #[inline(always)]
    fn conflict(&mut self, number: EventNo, event: &Event, also: Node) -> Node {
        let thread = &mut self.threads[event.thread.index()];
        if thread.current == Node::DEAD {
            thread.acts(&mut self.graph);
            let mut single = Single { graph: &mut self.graph, last: thread.last, set: None };
            single.after(also);
            thread.last = self.frontier.step(event.thread, event.op, &mut single);
            return thread.last;
        }
        let current = thread.current;
        let mut inside = Inside { graph: &mut self.graph, current, cycle: false };
        inside.after(also);
        self.frontier.step(event.thread, event.op, &mut inside);
        if inside.cycle {
            self.cycles.add(number, event.thread, event.site, thread.block);
        }
        current
    }
}

/// An event of a running transaction.
struct Inside<'a, S> {
    graph: &'a mut Ancestors<S>,
    current: Node,
    cycle: bool,
}

impl<S: SlotSet> Visitor for Inside<'_, S> {
    #[inline(always)]
    fn after(&mut self, node: Node) {
        if !self.graph.is_dead(node) && node != self.current {
            self.cycle |= self.graph.edge(node, self.current);
        }
    }

    #[inline(always)]
    fn settle(&mut self) -> Node {
        self.current
    }

    #[inline(always)]
    fn is_dead(&self, node: Node) -> bool {
        self.graph.is_dead(node)
    }
}

/// An event that is a transaction by itself. No edge leaves it before all have come in, so it
/// cannot close a cycle.
struct Single<'a, S> {
    graph: &'a mut Ancestors<S>,
    last: Node,
    /// The running transactions that come before the event, besides those before `last`.
    set: Option<S>,
}

impl<S: SlotSet> Visitor for Single<'_, S> {
    #[inline(always)]
    fn after(&mut self, node: Node) {
        if self.graph.is_dead(node) {
            return;
        }
        let reach = self.graph.reach(node);
        match &mut self.set {
            Some(set) => set.add(&reach),
            None => self.set = Some(reach),
        }
    }

    #[inline(always)]
    fn settle(&mut self) -> Node {
        match &self.set {
            None if self.graph.is_dead(self.last) => Node::DEAD,
            None => self.last,
            Some(set) => self.graph.single(self.last, set),
        }
    }

    #[inline(always)]
    fn is_dead(&self, node: Node) -> bool {
        self.graph.is_dead(node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::atomicity::Engine;
    use crate::random;
    use paceline_trace::Trace;

    /// Room for two transactions only, so that slots run out all the time.
    #[derive(Clone, Copy, PartialEq, Eq, Hash)]
    struct Two([u64; 1]);

    impl SlotSet for Two {
        const CAPACITY: usize = 2;

        fn empty() -> Self {
            Two([0])
        }

        fn words(&self) -> &[u64] {
            &self.0
        }

        fn words_for(&mut self, _slot: usize) -> &mut [u64] {
            &mut self.0
        }

        fn from_words(words: &[u64]) -> Self {
            Two([words[0]])
        }
    }

    /// Runs the engine with as many renumberings, sweeps and changes of width as can be.
    fn first_cycle_under_stress(trace: &Trace) -> Option<Cycle> {
        let mut narrow: Option<Core<Two>> = Some(Core::default());
        let mut wide: Option<Core<Words<1>>> = None;
        let counts = trace.symbols.counts();
        let mut done = 0;
        while done < trace.events.len() {
            let events = &trace.events[done..(done + 3).min(trace.events.len())];
            let first = done as u64 + 1;
            if let Some(core) = &mut narrow {
                core.compact_at = 1;
                let taken = core.run(events, first, &counts, true);
                done += taken;
                if taken < events.len() && core.cycles.total() == 0 {
                    wide = narrow.take().map(Core::widen);
                }
            } else if let Some(core) = &mut wide {
                core.compact_at = 1;
                done += core.run(events, first, &counts, true);
            }
            let cycles = narrow.as_ref().map(|c| &c.cycles).or(wide.as_ref().map(|c| &c.cycles));
            if let Some(first) = cycles.and_then(|c| c.kept().first()) {
                return Some(*first);
            }
        }
        None
    }

    #[test]
    fn housekeeping_changes_nothing() {
        random::check(3000, 100, |trace| {
            let mut reference = Engine::Reference.start(Options { first_only: true });
            let _ = reference.events(&trace.batch());
            let expected = reference.cycles().first().copied();
            let found = first_cycle_under_stress(trace);
            if found == expected { Ok(()) } else { Err(format!("{found:?} not {expected:?}")) }
        });
    }

    /// More transactions at once than fit into the widest fixed set.
    #[test]
    fn thousands_of_transactions_at_once() {
        let threads = 3000;
        let mut line = String::new();
        (0..threads).for_each(|t| line += &format!("{t}:begin(m) {t}:w(x{t}) "));
        // Each reads what the next one wrote: a chain, until the last closes it.
        (0..threads).for_each(|t| line += &format!("{t}:r(x{}) ", (t + 1) % threads));
        let trace = Trace::parse(&line).unwrap();
        let mut engine = Running::new(Options::default());
        let _ = engine.events(&trace.batch());
        let events: Vec<_> = engine.cycles().iter().map(|c| c.event).collect();
        assert_eq!(events, [3 * threads]);
    }
}
