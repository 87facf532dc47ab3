//! Runs a property over a trace on a graph of transactions: an ordered one ([`super::ordered`])
//! while there is no cycle, or sets of running ancestors ([`super::ancestors`]). The graph, the
//! tables of conflicts ([`super::frontier`]), their growth and the renumbering of nodes are the
//! same for atomicity, cooperability and determinism: a [`Property`] only says what a transaction
//! is, and what a cycle means.
//!
//! Sets of ancestors start with room for sixty-four transactions at once and are widened when
//! needed. Nodes are renumbered once as many have been used up as the tables have entries.

use std::ops::ControlFlow;

use paceline_trace::{Access, Batch, Event, EventNo, IdCounts};

use super::ancestors::Ancestors;
use super::frontier::{Frontier, MOST_NODES};
use super::ordered::Ordered;
use super::precedence::{Full, Precedence, Renumbering};
use super::slots::{Unlimited, Words};

/// What a transaction is, and what a cycle means: the part that does not depend on the graph.
pub trait Property: Send {
    /// Makes room for this many threads.
    fn reserve(&mut self, threads: usize);

    /// Exchanges every node that the property keeps.
    fn renumber(&mut self, new: &Renumbering);

    /// Whether no further event can change the result.
    fn is_decided(&self) -> bool;
}

/// A property that can be decided on graphs of one kind.
///
/// Events come in the order of the trace. Each is taken by exactly one of the three methods: as
/// many as possible by [`pass`](On::pass), then one by [`access`](On::access) or
/// [`event`](On::event). Only the last method has to be written; the others are fast paths.
pub trait On<G>: Property {
    /// Takes events as long as they are accesses that change nothing in the graph, as most do not.
    /// Returns how many it took.
    #[inline(always)]
    fn pass(&mut self, _: &[Event], _: &G, _: &mut Frontier) -> usize {
        0
    }

    /// Takes an access that `pass` has refused. It is separate from other events because the
    /// caller already knows that it is an access.
    fn access(
        &mut self,
        number: EventNo,
        event: &Event,
        _: Access,
        graph: &mut G,
        frontier: &mut Frontier,
    ) -> Result<(), Full> {
        self.event(number, event, graph, frontier)
    }

    /// Takes an event. If there is no room left in the graph, it must not have changed anything:
    /// the event comes again, with a wider graph.
    fn event(
        &mut self,
        number: EventNo,
        event: &Event,
        graph: &mut G,
        frontier: &mut Frontier,
    ) -> Result<(), Full>;
}

/// A property that can be decided on sets of ancestors of every width.
pub trait OnAncestors:
    On<Ancestors<Words<1>>>
    + On<Ancestors<Words<4>>>
    + On<Ancestors<Words<16>>>
    + On<Ancestors<Unlimited>>
{
}

impl<P> OnAncestors for P where
    P: On<Ancestors<Words<1>>>
        + On<Ancestors<Words<4>>>
        + On<Ancestors<Words<16>>>
        + On<Ancestors<Unlimited>>
{
}

enum Width {
    One(Box<Ancestors<Words<1>>>),
    Few(Box<Ancestors<Words<4>>>),
    Many(Box<Ancestors<Words<16>>>),
    Unlimited(Box<Ancestors<Unlimited>>),
}

/// Expands to the same code for every width.
macro_rules! each_width {
    ($width:expr, $graph:ident => $result:expr) => {
        match $width {
            Width::One($graph) => $result,
            Width::Few($graph) => $result,
            Width::Many($graph) => $result,
            Width::Unlimited($graph) => $result,
        }
    };
}

impl Default for Width {
    fn default() -> Self {
        Width::One(Box::default())
    }
}

impl Width {
    /// The same graph as sets of ancestors, with the edges that broke the order.
    fn of(mut graph: Box<Ordered>) -> Width {
        let edges = graph.take_cycle();
        let parts = graph.take_apart();
        let mut width = match parts.running.len() {
            0..=64 => Width::One(Box::new(Ancestors::assemble(&parts))),
            65..=256 => Width::Few(Box::new(Ancestors::assemble(&parts))),
            257..=1024 => Width::Many(Box::new(Ancestors::assemble(&parts))),
            _ => Width::Unlimited(Box::new(Ancestors::assemble(&parts))),
        };
        for (from, into) in edges {
            each_width!(&mut width, graph => {
                graph.edge(from, into);
                graph.commit_edges(into);
            });
        }
        width
    }

    fn wider(self) -> Width {
        match self {
            Width::One(graph) => Width::Few(Box::new(graph.widen())),
            Width::Few(graph) => Width::Many(Box::new(graph.widen())),
            Width::Many(graph) => Width::Unlimited(Box::new(graph.widen())),
            Width::Unlimited(graph) => Width::Unlimited(graph),
        }
    }
}

/// Runs a property on sets of ancestors.
pub struct Driver<P> {
    width: Width,
    tables: Tables<P>,
}

impl<P: OnAncestors> Driver<P> {
    /// Starts at the beginning of a trace.
    pub fn new(property: P) -> Driver<P> {
        Driver { width: Width::default(), tables: Tables::new(property) }
    }

    /// The property, with what it has found so far.
    pub fn property(&self) -> &P {
        &self.tables.property
    }

    /// Takes the next events. Breaks when no further event can change the result.
    pub fn events(&mut self, batch: &Batch) -> ControlFlow<()> {
        let mut done = 0;
        while done < batch.events.len() {
            done += self.tables.run_on_width(&mut self.width, batch, done);
            if self.property().is_decided() {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }
}

/// Runs a property on an ordered graph, and on sets of ancestors while there is a cycle.
pub struct OrderedDriver<P> {
    graph: CurrentGraph,
    tables: Tables<P>,
}

enum CurrentGraph {
    Ordered(Box<Ordered>),
    /// There is a cycle through running transactions, or was at the last batch.
    Cyclic(Width),
}

impl Default for CurrentGraph {
    fn default() -> Self {
        CurrentGraph::Ordered(Box::default())
    }
}

impl<P: OnAncestors + On<Ordered>> OrderedDriver<P> {
    /// Starts at the beginning of a trace.
    pub fn new(property: P) -> OrderedDriver<P> {
        OrderedDriver { graph: CurrentGraph::default(), tables: Tables::new(property) }
    }

    /// The property, with what it has found so far.
    pub fn property(&self) -> &P {
        &self.tables.property
    }

    /// Takes the next events. Breaks when no further event can change the result.
    pub fn events(&mut self, batch: &Batch) -> ControlFlow<()> {
        self.graph.order_if_acyclic();
        let mut done = 0;
        while done < batch.events.len() {
            done += match &mut self.graph {
                CurrentGraph::Ordered(graph) => self.tables.run(&mut **graph, batch, done),
                CurrentGraph::Cyclic(width) => self.tables.run_on_width(width, batch, done),
            };
            if self.property().is_decided() {
                return ControlFlow::Break(());
            }
            self.graph.exchange_if_broken();
        }
        ControlFlow::Continue(())
    }

    /// No events follow: frees the memory, which the passes that explain the result may need.
    pub fn finish(&mut self) {
        self.graph = CurrentGraph::default();
        self.tables.frontier = Frontier::default();
    }
}

impl CurrentGraph {
    /// Exchanges the graph for sets of ancestors when a cycle has broken the order.
    fn exchange_if_broken(&mut self) {
        if let CurrentGraph::Ordered(graph) = self
            && graph.is_broken()
        {
            *self = CurrentGraph::Cyclic(Width::of(std::mem::take(graph)));
        }
    }

    /// Goes back to an ordered graph when no cycle is left.
    fn order_if_acyclic(&mut self) {
        if let CurrentGraph::Cyclic(width) = self
            && let Some(parts) = each_width!(width, graph => graph.take_apart())
        {
            *self = CurrentGraph::Ordered(Box::new(Ordered::assemble(&parts)));
        }
    }
}

/// Everything that does not depend on the kind of graph.
struct Tables<P> {
    property: P,
    frontier: Frontier,
    /// Nodes are renumbered when there are this many.
    compact_at: usize,
}

/// Renumbering is not worth its cost for fewer nodes than this: their links (256 KiB) stay in the
/// cache.
const FEWEST_NODES: usize = 1 << 16;

/// For how many events the variables are prefetched together. Their cache misses overlap, so it
/// should be at least as many as the memory system handles at once.
const PREFETCHED_EVENTS: usize = 32;

/// From how many variables on prefetching pays: fewer (512 KiB) stay in the cache anyway.
const PREFETCHED_VARIABLES: usize = 1 << 15;

impl<P: OnAncestors> Tables<P> {
    /// Takes the events of a batch from `start` on. If they do not all fit, widens the sets.
    fn run_on_width(&mut self, width: &mut Width, batch: &Batch, start: usize) -> usize {
        let taken = each_width!(width, graph => self.run(&mut **graph, batch, start));
        if start + taken < batch.events.len() && !self.property.is_decided() {
            *width = std::mem::take(width).wider();
        }
        taken
    }
}

impl<P: Property> Tables<P> {
    fn new(property: P) -> Tables<P> {
        Tables { property, frontier: Frontier::default(), compact_at: FEWEST_NODES }
    }

    /// Takes the events of a batch from `start` on, until there are no more, or no slot is left, or
    /// the graph is broken, or the result is settled. Returns how many were taken.
    fn run<G: Precedence>(&mut self, graph: &mut G, batch: &Batch, start: usize) -> usize
    where
        P: On<G>,
    {
        let (events, first) = (&batch.events[start..], batch.first + start as u64);
        self.reserve(graph, &batch.counts);
        let prefetches = batch.counts.vars > PREFETCHED_VARIABLES;
        let size = if prefetches { PREFETCHED_EVENTS } else { events.len().max(1) };
        for (chunk_index, chunk) in events.chunks(size).enumerate() {
            let start = chunk_index * size;
            if prefetches {
                let prefetch = |sum, event: &Event| sum ^ self.frontier.prefetch(event.op);
                std::hint::black_box(chunk.iter().fold(0, prefetch));
            }
            let mut next = 0;
            loop {
                let Tables { property, frontier, .. } = self;
                next += property.pass(&chunk[next..], graph, frontier);
                let Some(event) = chunk.get(next) else { break };
                let number = first + (start + next) as u64;
                let outcome = match event.op.access() {
                    Some(access) => property.access(number, event, access, graph, frontier),
                    None => property.event(number, event, graph, frontier),
                };
                if outcome.is_err() {
                    return start + next;
                }
                next += 1;
                if self.property.is_decided() || graph.is_broken() {
                    return start + next;
                }
            }
        }
        events.len()
    }

    fn reserve<G: Precedence>(&mut self, graph: &mut G, counts: &IdCounts) {
        self.frontier.reserve(counts);
        self.property.reserve(counts.threads);
        if graph.nodes() >= self.compact_at {
            self.compact(graph);
        }
    }

    fn compact<G: Precedence>(&mut self, graph: &mut G) {
        let new = graph.compact();
        self.frontier.renumber(&new);
        self.property.renumber(&new);
        let more = FEWEST_NODES.max(self.frontier.size());
        self.compact_at = (graph.nodes() + more).min(MOST_NODES / 2);
    }
}

/// Runs a property over a trace with as many renumberings, sweeps and changes of width as possible:
/// housekeeping must change nothing.
#[cfg(test)]
pub fn under_stress<P: OnAncestors + On<Ancestors<tests::Two>>>(
    property: P,
    trace: &paceline_trace::Trace,
) -> P {
    let mut tables = Tables::new(property);
    let (mut narrow, mut wide) = (Some(Ancestors::<tests::Two>::default()), None);
    tests::in_small_batches(trace, |batch, start| {
        tables.compact_at = 1;
        let taken = match (&mut narrow, &mut wide) {
            (Some(graph), _) => tables.run(graph, batch, start),
            (None, graph) => {
                let graph = graph.get_or_insert_with(Ancestors::<Words<1>>::default);
                tables.run(graph, batch, start)
            }
        };
        if start + taken < batch.events.len() && !tables.property.is_decided() {
            wide = narrow.take().map(Ancestors::widen);
        }
        (taken, tables.property.is_decided())
    });
    tables.property
}

/// The same with an ordered graph, which is also exchanged again and again.
#[cfg(test)]
pub fn ordered_under_stress<P: OnAncestors + On<Ordered>>(
    property: P,
    trace: &paceline_trace::Trace,
) -> P {
    let mut driver = OrderedDriver::new(property);
    let mut turn = 0;
    tests::in_small_batches(trace, |batch, start| {
        let tables = &mut driver.tables;
        tables.compact_at = 1 + turn % 2 * FEWEST_NODES;
        driver.graph.order_if_acyclic();
        turn += 1;
        if let CurrentGraph::Ordered(graph) = &mut driver.graph {
            graph.sweep_often();
            if turn % 3 == 0 {
                driver.graph = CurrentGraph::Cyclic(Width::of(std::mem::take(graph)));
            }
        }
        let taken = match &mut driver.graph {
            CurrentGraph::Ordered(graph) => tables.run(&mut **graph, batch, start),
            CurrentGraph::Cyclic(width) => tables.run_on_width(width, batch, start),
        };
        driver.graph.exchange_if_broken();
        (taken, tables.property.is_decided())
    });
    driver.tables.property
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::slots::SlotWords;

    /// Calls `take` with batches of three events, and where to start in them. It returns how many
    /// it took, and whether to stop.
    pub fn in_small_batches(
        trace: &paceline_trace::Trace,
        mut take: impl FnMut(&Batch, usize) -> (usize, bool),
    ) {
        let counts = trace.symbols.counts();
        for (index, events) in trace.events.chunks(3).enumerate() {
            let first = 3 * index as u64 + 1;
            let batch = Batch { first, events: events.to_vec(), counts, ..Batch::default() };
            let mut done = 0;
            while done < events.len() {
                let (taken, is_decided) = take(&batch, done);
                done += taken;
                if is_decided {
                    return;
                }
            }
        }
    }

    /// Room for two transactions only, so that slots run out all the time.
    #[derive(Clone, Copy, PartialEq, Eq, Hash)]
    pub struct Two([u64; 1]);

    impl SlotWords for Two {
        const CAPACITY: usize = 2;

        fn from_words(words: &[u64]) -> Self {
            Two([words.first().copied().unwrap_or(0)])
        }

        fn words(&self) -> &[u64] {
            &self.0
        }

        fn words_for(&mut self, _slot: usize) -> &mut [u64] {
            &mut self.0
        }
    }
}
