//! The default engine: exact like Velodrome, linear like AeroDrome, cheaper than both. It updates
//! a graph of transactions with every conflict ([`crate::engine::frontier`]) and reports a cycle at
//! the very event that closes it. The graph is an ordered one ([`crate::engine::ordered`]) as long
//! as there is no cycle, and the running-ancestor graph ([`crate::engine::ancestors`]) while there
//! is one.
//!
//! A transaction is an outermost block, or a single event outside of every block. Each event
//! accesses the state of one variable, lock or thread. Nothing ever iterates over all of them,
//! except that nodes are renumbered once as many have been used up as the tables have entries.
//!
//! After a cycle, its last edge is kept, unlike in Velodrome, so that later cycles are seen too.

use std::ops::ControlFlow;

use paceline_trace::{Access, Batch, Event, EventNo, LabelId, Op, Site, ops};

use super::{Atomicity, Options};
use crate::engine::cycles::{Cycles, OutermostBlock};
use crate::engine::driver::{On, OrderedDriver, Property};
use crate::engine::edges::{Inside, Single};
use crate::engine::frontier::{Frontier, Standing, Visitor};
use crate::engine::precedence::{Full, Node, Precedence, Renumbering};
use crate::{Analysis, Cycle};

/// The engine.
pub struct Running(OrderedDriver<Blocks>);

impl Running {
    /// Starts the engine.
    pub fn new(options: Options) -> Running {
        Running(OrderedDriver::new(Blocks::new(options)))
    }

    /// The cycles so far, grouped.
    fn found(&self) -> &Cycles {
        &self.0.property().cycles
    }
}

impl Analysis for Running {
    fn events(&mut self, batch: &Batch) -> ControlFlow<()> {
        self.0.events(batch)
    }

    /// Open transactions need not be closed: a cycle is seen when its last edge is added.
    fn finish(&mut self) {
        self.0.finish();
    }
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
    /// How many blocks are open: a transaction runs if any is.
    depth: u32,
    block: OutermostBlock,
}

const IDLE: Thread = Thread {
    depth: 0,
    block: OutermostBlock { begin: 0, label: LabelId::UNNAMED, site: Site::UNKNOWN },
};

/// A thread's first event happens after the transaction that forked it, but does not belong to it:
/// edges back into that transaction count.
#[inline(always)]
fn leave_forker(standing: &mut Standing, graph: &mut impl Precedence) {
    if !standing.is_certain {
        standing.is_certain = true;
        standing.node = graph.shadow(standing.node);
    }
}

/// Transactions are the outermost blocks, and single events outside of every block.
struct Blocks {
    threads: Vec<Thread>,
    /// For each thread, its running transaction or else the last one; before its first event, the
    /// transaction that forked it. Separate from `threads`, because most accesses need no more.
    standings: Vec<Standing>,
    cycles: Cycles,
    first_only: bool,
}

impl Property for Blocks {
    fn reserve(&mut self, threads: usize) {
        if self.threads.len() < threads {
            self.standings.resize(threads, Standing { node: Node::DEAD, is_certain: false });
            self.threads.resize(threads, IDLE);
        }
    }

    fn renumber(&mut self, new: &Renumbering) {
        for standing in &mut self.standings {
            standing.node = new.of(standing.node);
        }
    }

    #[inline(always)]
    fn is_decided(&self) -> bool {
        self.first_only && self.cycles.total() > 0
    }
}

impl<G: Precedence> On<G> for Blocks {
    #[inline(always)]
    fn pass(&mut self, events: &[Event], graph: &G, frontier: &mut Frontier) -> usize {
        frontier.pass(events, graph, |by| self.standings[by.index()])
    }

    #[inline(never)]
    fn access(
        &mut self,
        number: EventNo,
        event: &Event,
        access: Access,
        graph: &mut G,
        frontier: &mut Frontier,
    ) -> Result<(), Full> {
        let mut update = BlocksUpdate { blocks: self, graph, frontier, number, event };
        update.access(access);
        Ok(())
    }

    #[inline(never)]
    fn event(
        &mut self,
        number: EventNo,
        event: &Event,
        graph: &mut G,
        frontier: &mut Frontier,
    ) -> Result<(), Full> {
        let mut update = BlocksUpdate { blocks: self, graph, frontier, number, event };
        match event.op {
            Op::Begin(label) => update.begin(label)?,
            Op::End(_) => update.end(),
            Op::Join(child) => {
                let node = update.blocks.standings[child.index()].node;
                update.conflict(node);
            }
            Op::Fork(child) => {
                let node = update.conflict(Node::DEAD);
                update.blocks.standings[child.index()].node = node;
            }
            ops!(Access | Lock | Semaphore | Barrier) | Op::Yield => {
                update.conflict(Node::DEAD);
            }
        }
        Ok(())
    }
}

impl Blocks {
    fn new(options: Options) -> Blocks {
        let Options { first_only } = options;
        Blocks { threads: Vec::new(), standings: Vec::new(), cycles: Cycles::default(), first_only }
    }
}

/// One event, and everything that it may change.
struct BlocksUpdate<'a, G> {
    blocks: &'a mut Blocks,
    graph: &'a mut G,
    frontier: &'a mut Frontier,
    number: EventNo,
    event: &'a Event,
}

impl<G: Precedence> BlocksUpdate<'_, G> {
    fn begin(&mut self, label: LabelId) -> Result<(), Full> {
        let index = self.event.thread.index();
        let thread = &mut self.blocks.threads[index];
        if thread.depth == 0 {
            let standing = &mut self.blocks.standings[index];
            leave_forker(standing, self.graph);
            standing.node = self.graph.begin(standing.node)?;
            let site = self.event.site;
            thread.block = OutermostBlock { begin: self.number, label, site };
        }
        thread.depth += 1;
        Ok(())
    }

    fn end(&mut self) {
        let index = self.event.thread.index();
        let thread = &mut self.blocks.threads[index];
        thread.depth -= 1;
        if thread.depth == 0 {
            self.graph.end(self.blocks.standings[index].node);
        }
    }

    fn access(&mut self, access: Access) {
        let Event { thread: id, site, .. } = *self.event;
        let thread = &self.blocks.threads[id.index()];
        let standing = &mut self.blocks.standings[id.index()];
        if thread.depth == 0 {
            leave_forker(standing, self.graph);
            let mut single = Single::new(self.graph, standing.node);
            standing.node = self.frontier.access(id, access, &mut single);
            return;
        }
        let mut inside = Inside::new(self.graph, standing.node);
        self.frontier.access(id, access, &mut inside);
        if inside.cycle {
            self.blocks.cycles.add(self.number, id, site, thread.block);
        }
    }

    /// Adds the edges into an event that is neither begin nor end, `also` among their sources.
    /// Returns the node that the event belongs to.
    fn conflict(&mut self, also: Node) -> Node {
        let Event { thread: id, op, site } = *self.event;
        let thread = &self.blocks.threads[id.index()];
        let standing = &mut self.blocks.standings[id.index()];
        if thread.depth == 0 {
            leave_forker(standing, self.graph);
            let mut single = Single::new(self.graph, standing.node);
            single.after(also);
            standing.node = self.frontier.event(id, op, &mut single);
            return standing.node;
        }
        let mut inside = Inside::new(self.graph, standing.node);
        inside.after(also);
        self.frontier.event(id, op, &mut inside);
        if inside.cycle {
            self.blocks.cycles.add(self.number, id, site, thread.block);
        }
        standing.node
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::atomicity::Engine;
    use crate::engine::driver::{Driver, ordered_under_stress, under_stress};
    use crate::testing::random;
    use paceline_trace::Trace;

    fn same(found: &Cycles, expected: &Cycles) -> Result<(), String> {
        let (found, expected) = (found.kept(), expected.kept());
        if found == expected { Ok(()) } else { Err(format!("{found:?} not {expected:?}")) }
    }

    #[test]
    fn housekeeping_changes_nothing() {
        random::check(3000, 100, |trace| {
            let mut reference = Engine::Reference.start(Options { first_only: true });
            let _ = reference.events(&trace.batch());
            let expected = reference.cycles().first().copied();
            let blocks = || Blocks::new(Options { first_only: true });
            let found = under_stress(blocks(), trace).cycles.kept().first().copied();
            let ordered = ordered_under_stress(blocks(), trace).cycles.kept().first().copied();
            let right = found == expected && ordered == expected;
            if right { Ok(()) } else { Err(format!("{found:?}, {ordered:?} not {expected:?}")) }
        });
    }

    /// Whatever the graph, and however often it is exchanged, the cycles after the first are the
    /// same as well.
    #[test]
    fn both_graphs_find_the_same_cycles() {
        random::check(3000, 200, |trace| {
            let mut ancestors = Driver::new(Blocks::new(Options::default()));
            let _ = ancestors.events(&trace.batch());
            let expected = &ancestors.property().cycles;
            let mut ordered = Running::new(Options::default());
            let _ = ordered.events(&trace.batch());
            same(ordered.found(), expected)?;
            let stressed = ordered_under_stress(Blocks::new(Options::default()), trace);
            same(&stressed.cycles, expected)
        });
    }

    /// More transactions at once than fit into the widest fixed set.
    #[test]
    fn thousands_of_transactions_at_once() {
        let threads = 3000;
        let mut line = String::new();
        (0..threads).for_each(|t| line += &format!("{t}:begin(m) {t}:w(x{t}) "));
        // Each reads what the next one wrote: a chain, until the last one closes the cycle.
        (0..threads).for_each(|t| line += &format!("{t}:r(x{}) ", (t + 1) % threads));
        let trace = Trace::parse(&line).unwrap();
        let mut engine = Running::new(Options::default());
        let _ = engine.events(&trace.batch());
        let events: Vec<_> = engine.cycles().iter().map(|c| c.event).collect();
        assert_eq!(events, [3 * threads]);
    }

    /// More threads than 16 bits can number: they must not be confused.
    #[test]
    fn threads_with_large_numbers_are_not_confused() {
        let mut line = String::new();
        (0..65_600).for_each(|t| line += &format!("{t}:r(y) "));
        for (a, b) in [(65_535, 65_536), (65_536, 65_535), (3, 65_535), (65_599, 3)] {
            let blocks = format!("{a}:begin(m) {a}:r(x) {a}:w(x) {a}:end(m) {b}:r(x) ");
            let cycle = format!("{a}:begin(m) {a}:r(x) {b}:w(x) {a}:r(x) {a}:end(m)");
            let trace = Trace::parse(&format!("{line}{blocks}{cycle}")).unwrap();
            let mut engine = Running::new(Options::default());
            let _ = engine.events(&trace.batch());
            let events: Vec<_> = engine.cycles().iter().map(|c| c.event).collect();
            assert_eq!(events, [65_600 + 9], "{a} {b}");
        }
    }
}
