//! Takes a property through a trace on the running-ancestor graph ([`crate::ancestors`]). The
//! graph, the tables of conflicts ([`crate::frontier`]), their growth and the renumbering of
//! nodes are the same for atomicity, cooperability and determinism: a [`Property`] only says what
//! a transaction is, and what to do about a cycle.
//!
//! The graph starts with room for sixty-four transactions at once and is made wider when needed.
//! Nodes are renumbered once as many have been used up as there are objects to look through.

use std::ops::ControlFlow;

use paceline_trace::{Batch, Event, EventNo, IdCounts};

use crate::ancestors::{Ancestors, Full, Renumbering};
use crate::frontier::Frontier;
use crate::slots::{SlotSet, Unlimited, Words};

/// What a transaction is, and what a cycle means.
pub trait Property: Send {
    /// Makes room for that many threads.
    fn reserve(&mut self, threads: usize);

    /// Takes an event. When there is no room left in the graph, nothing has been done yet: the
    /// event comes again, with a wider graph.
    fn event<S: SlotSet>(
        &mut self,
        number: EventNo,
        event: &Event,
        graph: &mut Ancestors<S>,
        frontier: &mut Frontier,
    ) -> Result<(), Full>;

    /// Exchanges every node that is kept here.
    fn renumber(&mut self, new: &Renumbering);

    /// Whether no further event can change the result.
    fn is_settled(&self) -> bool;
}

enum Width {
    One(Box<Ancestors<Words<1>>>),
    Few(Box<Ancestors<Words<4>>>),
    Many(Box<Ancestors<Words<16>>>),
    Unlimited(Box<Ancestors<Unlimited>>),
}

/// Calls the same code for every width.
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
    fn wider(self) -> Width {
        match self {
            Width::One(graph) => Width::Few(Box::new(graph.widen())),
            Width::Few(graph) => Width::Many(Box::new(graph.widen())),
            Width::Many(graph) => Width::Unlimited(Box::new(graph.widen())),
            Width::Unlimited(graph) => Width::Unlimited(graph),
        }
    }
}

/// A property on its way through a trace.
pub struct Driver<P> {
    width: Width,
    tables: Tables<P>,
}

impl<P: Property> Driver<P> {
    /// Starts at the beginning of a trace.
    pub fn new(property: P) -> Driver<P> {
        Driver { width: Width::default(), tables: Tables::new(property) }
    }

    /// The property, with what it has found so far.
    pub fn property(&self) -> &P {
        &self.tables.property
    }

    /// Takes the next events. Breaks when nothing that follows can change the result.
    pub fn events(&mut self, batch: &Batch) -> ControlFlow<()> {
        let mut done = 0;
        while done < batch.events.len() {
            let events = &batch.events[done..];
            let first = batch.first + done as u64;
            let tables = &mut self.tables;
            done += each_width!(&mut self.width, graph => tables.run(graph, events, first, &batch.counts));
            if self.property().is_settled() {
                return ControlFlow::Break(());
            }
            if done < batch.events.len() {
                self.width = std::mem::take(&mut self.width).wider();
            }
        }
        ControlFlow::Continue(())
    }
}

/// Everything that does not depend on the width of the graph.
struct Tables<P> {
    property: P,
    frontier: Frontier,
    /// Nodes are renumbered when there are that many.
    compact_at: usize,
}

/// Renumbering is not worth while for fewer nodes.
const FEWEST_NODES: usize = 1 << 16;

/// How many events' variables are touched ahead of their use, and from how many variables on it
/// pays: fewer than that fit into the cache anyway.
const AHEAD: usize = 32;
const FEW_VARIABLES: usize = 1 << 15;

impl<P: Property> Tables<P> {
    fn new(property: P) -> Tables<P> {
        Tables { property, frontier: Frontier::default(), compact_at: FEWEST_NODES }
    }

    /// Takes events until there are no more, or no slot is left, or the result is settled.
    /// Returns how many were taken.
    fn run<S: SlotSet>(
        &mut self,
        graph: &mut Ancestors<S>,
        events: &[Event],
        first: EventNo,
        counts: &IdCounts,
    ) -> usize {
        self.reserve(graph, counts);
        let warm = counts.vars > FEW_VARIABLES;
        for (chunk_index, chunk) in events.chunks(AHEAD).enumerate() {
            let start = chunk_index * AHEAD;
            if warm {
                std::hint::black_box(chunk.iter().fold(0, |sum, e| sum ^ self.frontier.warm(e.op)));
            }
            for (i, event) in chunk.iter().enumerate() {
                let number = first + (start + i) as u64;
                if self.property.event(number, event, graph, &mut self.frontier).is_err() {
                    return start + i;
                }
                if self.property.is_settled() {
                    return start + i + 1;
                }
            }
        }
        events.len()
    }

    fn reserve<S: SlotSet>(&mut self, graph: &mut Ancestors<S>, counts: &IdCounts) {
        self.frontier.reserve(counts);
        self.property.reserve(counts.threads);
        if graph.nodes() >= self.compact_at {
            self.compact(graph);
        }
    }

    fn compact<S: SlotSet>(&mut self, graph: &mut Ancestors<S>) {
        let new = graph.compact();
        self.frontier.renumber(&new);
        self.property.renumber(&new);
        self.compact_at = graph.nodes() + FEWEST_NODES.max(self.frontier.size());
    }
}

/// Takes a property through a trace with as many renumberings, sweeps and changes of width as can
/// be: housekeeping must change nothing.
#[cfg(test)]
pub fn under_stress<P: Property>(property: P, trace: &paceline_trace::Trace) -> P {
    use tests::Two;
    let mut tables = Tables::new(property);
    let (mut narrow, mut wide) = (Some(Ancestors::<Two>::default()), None);
    let counts = trace.symbols.counts();
    let mut done = 0;
    while done < trace.events.len() && !tables.property.is_settled() {
        let events = &trace.events[done..(done + 3).min(trace.events.len())];
        let first = done as u64 + 1;
        tables.compact_at = 1;
        let taken = match (&mut narrow, &mut wide) {
            (Some(graph), _) => tables.run(graph, events, first, &counts),
            (None, graph) => {
                let graph = graph.get_or_insert_with(Ancestors::<Words<1>>::default);
                tables.run(graph, events, first, &counts)
            }
        };
        done += taken;
        if taken < events.len() && !tables.property.is_settled() {
            wide = narrow.take().map(Ancestors::widen);
        }
    }
    tables.property
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Room for two transactions only, so that slots run out all the time.
    #[derive(Clone, Copy, PartialEq, Eq, Hash)]
    pub struct Two([u64; 1]);

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
}
