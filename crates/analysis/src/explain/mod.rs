//! The story behind a cycle: which transactions, and which two events of each pair of them.
//!
//! Engines keep no story, so the trace is read again. The first pass looks for an *increasing*
//! cycle (Velodrome §4.3): one on which every other transaction is entered before it is left, so
//! that the order of its events, not only of its transactions, runs from the blamed transaction D
//! out and back into it. Such a cycle lies between the `begin` of D and the event that closed it,
//! and follows the order of time, so a shortest one is found on the fly (`window.rs`) and only what
//! D has reached so far is kept.
//!
//! A cycle need not be increasing: its transactions may then have begun, and met, long before D.
//! Only if there is no increasing cycle at all, a second pass keeps the events since the last
//! moment at which no block was open (no cycle reaches over such a moment) and searches their
//! graph for a shortest cycle (`tangle.rs`). Then no single transaction is to blame.
//!
//! So, unlike in Velodrome, a blame is missing only when it cannot be given for this event: the
//! paper looks at one cycle, which may happen not to be increasing although another one is.

mod tangle;
#[cfg(test)]
mod tests;
mod window;

use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

use hashbrown::HashMap;
use paceline_trace::{Batch, Event, EventNo, LabelId, Op, Site, ThreadId};

use crate::channel::{Channels, Ports};
use crate::{Analysis, Cycle};
use tangle::{Tangle, Wanted};
use window::Window;

/// An event and its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventRef {
    /// Its place in the trace.
    pub number: EventNo,
    /// The event.
    pub event: Event,
}

/// A block, by its `begin`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockRef {
    /// Whose it is.
    pub thread: ThreadId,
    /// Its label, maybe [`LabelId::UNNAMED`].
    pub label: LabelId,
    /// Where it begins in the source.
    pub site: Site,
    /// Its `begin` event.
    pub begin_event: EventNo,
}

/// A transaction on a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransactionRef {
    /// Whose it is.
    pub thread: ThreadId,
    /// The label of its block; none for a single event outside every block.
    pub label: Option<LabelId>,
    /// Where its first event is in the source.
    pub site: Site,
    /// A single event outside every block.
    pub unary: bool,
    /// Its first event.
    pub first_event: EventNo,
    /// Its last event in the trace.
    pub last_event: EventNo,
    /// Whether that is its end; otherwise the trace is over before.
    pub ended: bool,
}

/// Two events in conflict, of two transactions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edge {
    /// The earlier one.
    pub from: EventRef,
    /// The later one.
    pub to: EventRef,
}

/// A cycle in full.
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
    /// The events that matter, in time order: both events of each edge, and where the
    /// transactions begin and end.
    pub interleaving: Vec<EventRef>,
}

/// A transaction that may turn out to be on a cycle. It is shared by all that lead through it,
/// so that its end, which comes later, is known to all.
struct Txn {
    first: EventRef,
    unary: bool,
    end: OnceLock<EventRef>,
    /// Set instead of `end` when the trace is over.
    last_seen: OnceLock<EventRef>,
}

impl Txn {
    fn unary(at: EventRef) -> Txn {
        Txn { first: at, unary: true, end: OnceLock::from(at), last_seen: OnceLock::new() }
    }

    fn block(first: EventRef) -> Txn {
        Txn { first, unary: false, end: OnceLock::new(), last_seen: OnceLock::new() }
    }

    fn describe(&self) -> TransactionRef {
        let Event { thread, op, site } = self.first.event;
        let last = self.end.get().or(self.last_seen.get()).unwrap_or(&self.first);
        TransactionRef {
            thread,
            label: if let Op::Begin(label) = op { Some(label) } else { None },
            site,
            unary: self.unary,
            first_event: self.first.number,
            last_event: last.number,
            ended: self.end.get().is_some(),
        }
    }
}

/// A transaction of a cycle, and the edge by which it was entered.
struct Entered {
    txn: Arc<Txn>,
    edge: Edge,
}

/// A cycle that was found.
struct Found {
    /// The transactions but the first, in order.
    path: Vec<Entered>,
    closing: Edge,
}

/// A story as it is kept until the trace is over.
struct Story {
    first: Arc<Txn>,
    found: Found,
    /// The blocks of the first transaction that were open when the cycle closed.
    open: Vec<BlockRef>,
}

impl Story {
    fn tell(&self, cycle: Cycle) -> Explanation {
        let Found { path, closing } = &self.found;
        let edges: Vec<Edge> = path.iter().map(|e| e.edge).chain([*closing]).collect();
        let increasing = edges.windows(2).all(|w| w[0].to.number <= w[1].from.number);
        let root = edges[0].from.number;
        let (refuted, not_refuted) =
            self.open.iter().partition(|b| increasing && b.begin_event <= root);
        let transactions = self.transactions().map(Txn::describe).collect();
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

    fn transactions(&self) -> impl Iterator<Item = &Txn> {
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

#[derive(Default)]
struct Thread {
    /// The blocks that are open, outermost first.
    blocks: Vec<BlockRef>,
    /// The transaction that runs, if somebody has asked for it.
    txn: Option<Arc<Txn>>,
    last: Option<EventRef>,
}

impl Thread {
    /// The transaction that `at` belongs to.
    fn transaction(&mut self, at: EventRef) -> Arc<Txn> {
        let Some(block) = self.blocks.first() else { return Arc::new(Txn::unary(at)) };
        let begin = Event { thread: block.thread, op: Op::Begin(block.label), site: block.site };
        let first = EventRef { number: block.begin_event, event: begin };
        self.txn.get_or_insert_with(|| Arc::new(Txn::block(first))).clone()
    }
}

/// Where an event stands in its transaction.
#[derive(Clone, Copy)]
struct Step {
    at: EventRef,
    ports: Ports,
    /// It is the first of its transaction.
    starts: bool,
}

/// What the pass that is under way looks for.
enum Search {
    /// Increasing cycles; the windows that are open.
    Increasing(Vec<Window>),
    /// Any cycle.
    Any(Tangle),
}

/// Explains cycles. Give it the whole trace, and again as long as [`Explainer::again`] says so.
pub struct Explainer {
    cycles: Vec<Cycle>,
    stories: Vec<Option<Story>>,
    /// From where on events must be kept to find any cycle through the transaction that begins
    /// with the event that is the key.
    since: HashMap<EventNo, EventNo>,
    search: Search,
    /// The cycles that are yet to come in this pass, by event of `begin`; the next one is last.
    upcoming: Vec<usize>,
    channels: Channels,
    threads: Vec<Thread>,
    /// How many transactions are running blocks, and the first of those that began when there
    /// was none.
    running: usize,
    busy_since: EventNo,
}

impl Explainer {
    /// Will explain these cycles.
    pub fn new(cycles: &[Cycle]) -> Explainer {
        let mut explainer = Explainer {
            cycles: cycles.to_vec(),
            stories: cycles.iter().map(|_| None).collect(),
            since: HashMap::new(),
            search: Search::Increasing(Vec::new()),
            upcoming: Vec::new(),
            channels: Channels::default(),
            threads: Vec::new(),
            running: 0,
            busy_since: 0,
        };
        explainer.upcoming = (0..cycles.len()).collect();
        explainer.upcoming.sort_by_key(|&i| std::cmp::Reverse((cycles[i].begin, cycles[i].event)));
        explainer
    }

    /// To be called when a pass is over: whether the trace has to be read once more.
    pub fn again(&mut self) -> bool {
        if let Search::Any(_) = self.search {
            return false;
        }
        self.channels = Channels::default();
        self.threads.clear();
        self.running = 0;
        let missing = (0..self.cycles.len()).filter(|&i| self.stories[i].is_none());
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
        let both = self.stories.iter().zip(&self.cycles);
        both.map(|(story, &cycle)| story.as_ref().map(|s| s.tell(cycle))).collect()
    }

    fn event(&mut self, number: EventNo, event: Event) {
        let at = EventRef { number, event };
        let ports = self.channels.ports(&event);
        let starts = self.enter_block(at);
        if let Search::Any(_) = self.search {
            self.keep(Step { at, ports, starts });
        } else {
            self.look(Step { at, ports, starts });
        }
        self.leave_block(at);
    }

    /// Returns whether a transaction starts here.
    fn enter_block(&mut self, at: EventRef) -> bool {
        let thread = &mut self.threads[at.event.thread.index()];
        thread.last = Some(at);
        let starts = thread.blocks.is_empty();
        if let Op::Begin(label) = at.event.op {
            let Event { thread: owner, site, .. } = at.event;
            thread.blocks.push(BlockRef { thread: owner, label, site, begin_event: at.number });
            if starts {
                self.running += 1;
                self.busy_since = if self.running == 1 { at.number } else { self.busy_since };
            }
        }
        starts
    }

    fn leave_block(&mut self, at: EventRef) {
        let Op::End(_) = at.event.op else { return };
        let thread = &mut self.threads[at.event.thread.index()];
        thread.blocks.pop();
        if thread.blocks.is_empty() {
            self.running -= 1;
            if let Some(txn) = thread.txn.take() {
                let _ = txn.end.set(at);
            }
        }
    }

    /// An event of the first pass.
    fn look(&mut self, step: Step) {
        self.open_windows(step.at);
        let Search::Increasing(windows) = &mut self.search else { return };
        let thread = &mut self.threads[step.at.event.thread.index()];
        let mut closed = false;
        for window in windows.iter_mut() {
            if window.thread != step.at.event.thread {
                window.follow(step, thread);
                continue;
            }
            while let Some(index) = window.due(step.at.number) {
                closed = true;
                self.stories[index] = window.closed_by(step).map(|found| Story {
                    first: thread.transaction(step.at),
                    found,
                    open: thread.blocks.clone(),
                });
            }
            window.send_own(step);
        }
        if closed {
            windows.retain(|w| !w.wanted.is_empty());
        }
    }

    fn open_windows(&mut self, at: EventRef) {
        let Search::Increasing(windows) = &mut self.search else { return };
        while let Some(&next) = self.upcoming.last()
            && self.cycles[next].begin == at.number
        {
            self.upcoming.pop();
            self.since.insert(at.number, self.busy_since);
            let wanted = (self.cycles[next].event, next);
            match windows.last_mut() {
                Some(window) if window.begin == at.number => window.wanted.push_back(wanted),
                _ => windows.push(Window::new(at, wanted)),
            }
        }
    }

    /// An event of the second pass.
    fn keep(&mut self, step: Step) {
        let Search::Any(tangle) = &mut self.search else { return };
        for (index, raw) in tangle.event(step) {
            self.stories[index] = Some(Story {
                first: self.threads[step.at.event.thread.index()].transaction(step.at),
                found: raw.resolve(&mut self.threads),
                open: self.threads[step.at.event.thread.index()].blocks.clone(),
            });
        }
    }

    /// Whether all that was wanted in this pass is found, and told to its end.
    fn is_done(&self) -> bool {
        let searching = match &self.search {
            Search::Increasing(windows) => !(self.upcoming.is_empty() && windows.is_empty()),
            Search::Any(tangle) => !tangle.is_done(),
        };
        !searching && self.threads.iter().all(|t| t.txn.is_none())
    }
}

impl Analysis for Explainer {
    fn events(&mut self, batch: &Batch) -> ControlFlow<()> {
        if self.threads.len() < batch.counts.threads {
            self.threads.resize_with(batch.counts.threads, Thread::default);
        }
        for (number, &event) in (batch.first..).zip(&batch.events) {
            self.event(number, event);
        }
        if self.is_done() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn finish(&mut self) {
        for thread in &mut self.threads {
            if let (Some(txn), Some(last)) = (thread.txn.take(), thread.last) {
                let _ = txn.last_seen.set(last);
            }
        }
    }
}

/// Explains cycles of a trace that is in memory.
pub fn explain(trace: &Batch, cycles: &[Cycle]) -> Vec<Option<Explanation>> {
    let mut explainer = Explainer::new(cycles);
    loop {
        let _ = explainer.events(trace);
        explainer.finish();
        if !explainer.again() {
            return explainer.explanations();
        }
    }
}
