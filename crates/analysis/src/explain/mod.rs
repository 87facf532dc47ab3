//! Explanations of cycles: which transactions, and which two events of each pair of them.
//!
//! Engines keep no events, so the trace is read again. The first pass looks for an *increasing*
//! cycle (Velodrome §4.3): one on which every other transaction is entered before it is left, so
//! that the order of its events, not only of its transactions, runs from the blamed transaction D
//! out and back into it. Such a cycle lies between the `begin` of D and the event that closed it,
//! and follows the order of time, so a shortest one is found on the fly (`window.rs`) and only what
//! D has reached so far is kept.
//!
//! A cycle need not be increasing: its transactions may have begun, and conflicted, long before D.
//! Only if there is no increasing cycle at all, a second pass keeps the events since the last
//! moment at which no block was open (no cycle spans such a moment) and searches their graph for a
//! shortest cycle (`tangle.rs`). Then no single transaction is to blame.
//!
//! So, unlike in Velodrome, blame is missing only when none can be given for this event: the paper
//! considers one cycle, which may happen not to be increasing although another one is.
//!
//! The other parts of this room also read a trace again: [`blame`] finds all refuted blocks,
//! [`components`] all transactions on cycles, [`witness`] a serial order, and [`minimize`] the
//! smallest part of a trace that still shows a violation. [`contested`] lists the variables that
//! such passes must not skip.

pub mod blame;
mod boundary;
pub mod components;
pub mod contested;
mod graph;
pub mod minimize;
mod tangle;
#[cfg(test)]
mod tests;
mod window;
pub mod witness;

use std::ops::ControlFlow;
use std::sync::Arc;

use hashbrown::HashMap;
use paceline_trace::{Batch, Event, EventNo, LabelId, Op, Site, ThreadId};

use crate::engine::channel::{Channels, Ports};
use crate::{Analysis, Cycle};
pub use boundary::Boundaries;
use boundary::{EventContext, TracedTxn, Transactions};
use tangle::{Tangle, Wanted};
use window::Window;

/// An event and its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventRef {
    /// Its position in the trace, from 1.
    pub number: EventNo,
    /// The event.
    pub event: Event,
}

/// A block, by its `begin`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockRef {
    /// Its thread.
    pub thread: ThreadId,
    /// Its label, maybe [`LabelId::UNNAMED`].
    pub label: LabelId,
    /// The source location of its `begin`.
    pub site: Site,
    /// Its `begin` event.
    pub begin_event: EventNo,
}

/// A transaction on a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransactionRef {
    /// Its thread.
    pub thread: ThreadId,
    /// The label of its block; none for a single event outside every block.
    pub label: Option<LabelId>,
    /// The source location of its first event.
    pub site: Site,
    /// Whether it is a single event outside every block.
    pub unary: bool,
    /// Its first event.
    pub first_event: EventNo,
    /// Its last event in the trace.
    pub last_event: EventNo,
    /// Whether that is its end; if not, the trace ends before the transaction does.
    pub ended: bool,
}

/// Two conflicting events of two transactions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edge {
    /// The earlier one.
    pub from: EventRef,
    /// The later one.
    pub to: EventRef,
}

/// A cycle with everything that explains it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Explanation {
    /// What the engine reported.
    pub cycle: Cycle,
    /// The transactions in the order of the cycle. The first is the one in which it closed.
    pub transactions: Vec<TransactionRef>,
    /// Edge i leads from transaction i to the next, the last one back to the first.
    pub edges: Vec<Edge>,
    /// Whether every transaction but the first is entered before it is left.
    pub increasing: bool,
    /// The transaction to blame, as an index; none if the cycle is not increasing.
    pub blame: Option<usize>,
    /// The blocks of the blamed transaction that hold both ends of the cycle, outermost first.
    pub refuted: Vec<BlockRef>,
    /// The other blocks of the first transaction that were open when the cycle closed.
    pub not_refuted: Vec<BlockRef>,
    /// The events that matter, in time order: both events of each edge, and the first and last
    /// events of the transactions.
    pub interleaving: Vec<EventRef>,
}

/// A transaction of a cycle, and the edge by which it was entered.
struct Entered {
    txn: Arc<TracedTxn>,
    edge: Edge,
}

/// The path that closes a cycle.
struct FoundPath {
    /// The transactions but the first, in order.
    path: Vec<Entered>,
    closing: Edge,
}

/// A cycle as it is kept until the trace is over.
struct FoundCycle {
    first: Arc<TracedTxn>,
    found: FoundPath,
    /// The blocks of the first transaction that were open when the cycle closed.
    open: Vec<BlockRef>,
}

impl FoundCycle {
    fn explanation(&self, cycle: Cycle) -> Explanation {
        let FoundPath { path, closing } = &self.found;
        let edges: Vec<Edge> = path.iter().map(|e| e.edge).chain([*closing]).collect();
        let increasing = edges.windows(2).all(|w| w[0].to.number <= w[1].from.number);
        let root = edges[0].from.number;
        let (refuted, not_refuted) =
            self.open.iter().partition(|b| increasing && b.begin_event <= root);
        let transactions = self.transactions().map(TracedTxn::describe).collect();
        let interleaving = self.interleaving(&edges);
        let blame = increasing.then_some(0);
        Explanation {
            cycle,
            transactions,
            edges,
            increasing,
            blame,
            refuted,
            not_refuted,
            interleaving,
        }
    }

    fn transactions(&self) -> impl Iterator<Item = &TracedTxn> {
        std::iter::once(&*self.first).chain(self.found.path.iter().map(|e| &*e.txn))
    }

    fn interleaving(&self, edges: &[Edge]) -> Vec<EventRef> {
        let borders = self.transactions().flat_map(|t| [Some(t.first), t.end.get().copied()]);
        let ends = edges.iter().flat_map(|e| [e.from, e.to]);
        let mut events: Vec<EventRef> = borders.flatten().chain(ends).collect();
        events.sort_by_key(|e| e.number);
        events.dedup();
        events
    }
}

/// An event, its conflicts and its transaction.
#[derive(Clone, Copy)]
struct TracedEvent {
    at: EventRef,
    ports: Ports,
    context: EventContext,
}

/// What the current pass looks for.
enum Search {
    /// Increasing cycles; the windows that are open.
    Increasing(Vec<Window>),
    /// Any cycle.
    Any(Tangle),
}

/// Explains cycles. Give it the whole trace, and again as long as [`Explainer::again`] says so.
pub struct Explainer {
    cycles: Vec<Cycle>,
    found: Vec<Option<FoundCycle>>,
    /// For the first event of a transaction, the event from which on events must be kept to find
    /// any cycle through it.
    since: HashMap<EventNo, EventNo>,
    search: Search,
    /// The cycles that are still to come in this pass, by their `begin`; the next one is last.
    upcoming: Vec<usize>,
    channels: Channels,
    transactions: Transactions,
}

impl Explainer {
    /// Starts to explain these cycles of blocks.
    pub fn new(cycles: &[Cycle]) -> Explainer {
        Explainer::within(Boundaries::Blocks, cycles)
    }

    /// Starts to explain these cycles of such transactions.
    pub fn within(boundaries: Boundaries, cycles: &[Cycle]) -> Explainer {
        let mut explainer = Explainer {
            cycles: cycles.to_vec(),
            found: cycles.iter().map(|_| None).collect(),
            since: HashMap::new(),
            search: Search::Increasing(Vec::new()),
            upcoming: Vec::new(),
            channels: Channels::default(),
            transactions: Transactions::new(boundaries),
        };
        explainer.upcoming = (0..cycles.len()).collect();
        explainer.upcoming.sort_by_key(|&i| std::cmp::Reverse((cycles[i].begin, cycles[i].event)));
        explainer
    }

    /// To be called after each pass: whether the trace has to be read once more.
    pub fn again(&mut self) -> bool {
        if let Search::Any(_) = self.search {
            return false;
        }
        self.channels = Channels::default();
        self.transactions.restart();
        let missing = (0..self.cycles.len()).filter(|&i| self.found[i].is_none());
        let wanted = missing.filter_map(|index| {
            let cycle = self.cycles[index];
            self.since.get(&cycle.begin).map(|&since| Wanted { since, cycle, index })
        });
        let tangle = Tangle::new(wanted.collect());
        let wanted = !tangle.is_done();
        self.search = Search::Any(tangle);
        wanted
    }

    /// The explanations, in the order of the cycles; none where there is no such cycle in the
    /// trace.
    pub fn explanations(&self) -> Vec<Option<Explanation>> {
        let both = self.found.iter().zip(&self.cycles);
        both.map(|(found, &cycle)| found.as_ref().map(|f| f.explanation(cycle))).collect()
    }

    fn event(&mut self, number: EventNo, event: Event) {
        let at = EventRef { number, event };
        let context = self.transactions.enter(at);
        if self.is_idle(at) {
            return self.transactions.leave(at);
        }
        let ports = self.channels.ports(&event);
        if let Search::Any(_) = self.search {
            self.keep(TracedEvent { at, ports, context });
        } else {
            self.look(TracedEvent { at, ports, context });
        }
        self.transactions.leave(at);
    }

    /// Whether the event does not matter to the search. Only the rounds of barriers have to be
    /// followed from the start of the trace.
    fn is_idle(&self, at: EventRef) -> bool {
        let Search::Increasing(windows) = &self.search else { return false };
        let is_next = self.upcoming.last().is_some_and(|&i| self.cycles[i].begin == at.number);
        let is_barrier = matches!(at.event.op, Op::BarrierEnter(_) | Op::BarrierExit(_));
        windows.is_empty() && !is_next && !is_barrier
    }

    /// An event of the first pass.
    fn look(&mut self, traced: TracedEvent) {
        self.open_windows(traced);
        let Search::Increasing(windows) = &mut self.search else { return };
        let transactions = &mut self.transactions;
        let mut closed = false;
        for window in windows.iter_mut() {
            if window.owner != traced.context.owner {
                window.follow(traced, transactions);
                continue;
            }
            while let Some(index) = window.due(traced.at.number) {
                closed = true;
                self.found[index] = window.closed_by(traced).map(|found| FoundCycle {
                    first: transactions.of(traced.context, traced.at),
                    found,
                    open: transactions.open_blocks(traced.context),
                });
            }
            window.send_own(traced);
        }
        if closed {
            windows.retain(|w| !w.wanted.is_empty());
        }
    }

    fn open_windows(&mut self, traced: TracedEvent) {
        let number = traced.at.number;
        let Search::Increasing(windows) = &mut self.search else { return };
        while let Some(&next) = self.upcoming.last()
            && self.cycles[next].begin == number
        {
            self.upcoming.pop();
            self.since.insert(number, self.transactions.busy_since);
            let wanted = (self.cycles[next].event, next);
            match windows.last_mut() {
                Some(window) if window.begin == number => window.wanted.push_back(wanted),
                _ => windows.push(Window::new(traced, wanted)),
            }
        }
    }

    /// An event of the second pass.
    fn keep(&mut self, traced: TracedEvent) {
        let Search::Any(tangle) = &mut self.search else { return };
        for (index, raw) in tangle.event(traced) {
            self.found[index] = Some(FoundCycle {
                first: self.transactions.of(traced.context, traced.at),
                found: raw.resolve(&mut self.transactions),
                open: self.transactions.open_blocks(traced.context),
            });
        }
    }

    /// Whether everything that was wanted in this pass is found, with the ends of transactions.
    fn is_done(&self) -> bool {
        let searching = match &self.search {
            Search::Increasing(windows) => !(self.upcoming.is_empty() && windows.is_empty()),
            Search::Any(tangle) => !tangle.is_done(),
        };
        !searching && self.transactions.are_complete()
    }
}

impl Analysis for Explainer {
    fn events(&mut self, batch: &Batch) -> ControlFlow<()> {
        self.transactions.reserve(batch.counts.threads);
        for (number, &event) in (batch.first..).zip(&batch.events) {
            self.event(number, event);
        }
        if self.is_done() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn finish(&mut self) {
        self.transactions.finish();
    }
}

/// Explains cycles of blocks in a trace that is in memory.
pub fn explain(trace: &Batch, cycles: &[Cycle]) -> Vec<Option<Explanation>> {
    explain_within(Boundaries::Blocks, trace, cycles)
}

/// Explains cycles of such transactions in a trace that is in memory.
pub fn explain_within(
    boundaries: Boundaries,
    trace: &Batch,
    cycles: &[Cycle],
) -> Vec<Option<Explanation>> {
    let mut explainer = Explainer::within(boundaries, cycles);
    loop {
        let _ = explainer.events(trace);
        explainer.finish();
        if !explainer.again() {
            return explainer.explanations();
        }
    }
}
