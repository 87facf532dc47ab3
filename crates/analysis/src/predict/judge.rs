//! What a certified order shows: the exact analyses, run on the new order as on any trace. An update
//! that diverges may fail, so it counts as a read.

use hashbrown::HashMap;
use paceline_trace::{Batch, Event, EventNo, IdCounts, Lines, Op};

use super::reordering::Stretch;
use crate::atomicity::{self, Atomicity as _, Running};
use crate::cooperability::{self, Cooperability};
use crate::explain::blame::Blame;
use crate::explain::{BlockRef, Edge, EventRef, Explanation, TransactionRef, explain};
use crate::{Analysis as _, Cycle};

/// The events of a stretch with small numbers for all they touch, so that an analysis of it needs no
/// memory for the rest of the trace.
pub(super) struct Renamed {
    events: Vec<Event>,
    counts: IdCounts,
}

#[derive(Default)]
struct Names(HashMap<u32, u32>);

impl Names {
    fn of(&mut self, id: u32) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry(id).or_insert(next)
    }
}

impl Renamed {
    pub fn new(stretch: &Stretch) -> Renamed {
        let mut spaces: [Names; 6] = Default::default();
        let [threads, variables, locks, semaphores, barriers, labels] = &mut spaces;
        let mut events = stretch.events.clone();
        for event in &mut events {
            event.thread.0 = threads.of(event.thread.0);
            match &mut event.op {
                Op::Read(x)
                | Op::AtomicRead(x)
                | Op::Write(x)
                | Op::AtomicWrite(x)
                | Op::AtomicUpdate(x) => x.0 = variables.of(x.0),
                Op::Acquire(l)
                | Op::Release(l)
                | Op::AcquireShared(l)
                | Op::ReleaseShared(l)
                | Op::PreWait(l)
                | Op::PostWait(l)
                | Op::Notify(l) => l.0 = locks.of(l.0),
                Op::Fork(t) | Op::Join(t) => t.0 = threads.of(t.0),
                Op::Begin(m) | Op::End(m) => {
                    if m.is_named() {
                        m.0 = labels.of(m.0);
                    }
                }
                Op::Post(s) | Op::Take(s) => s.0 = semaphores.of(s.0),
                Op::BarrierEnter(b) | Op::BarrierExit(b) => b.0 = barriers.of(b.0),
                Op::Yield => {}
            }
        }
        let [threads, vars, locks, semaphores, barriers, labels] = spaces.map(|it| it.0.len());
        let counts = IdCounts { threads, vars, locks, semaphores, barriers, labels };
        Renamed { events, counts }
    }

    /// The stretch in a new order.
    fn batch(&self, order: &[usize], diverged: &[usize]) -> Batch {
        let in_order = order.iter().map(|&at| {
            let event = self.events[at];
            if let Op::AtomicUpdate(x) = event.op
                && diverged.contains(&at)
            {
                return Event { op: Op::AtomicRead(x), ..event };
            }
            event
        });
        Batch { first: 1, events: in_order.collect(), counts: self.counts, lines: Lines::None }
    }

    /// The blocks that are refuted, by the indices of their `begin`s in the stretch.
    pub fn refuted(&self, order: &[usize], diverged: &[usize]) -> Vec<usize> {
        let mut blame = Blame::default();
        let _ = blame.events(&self.batch(order, diverged));
        blame.finish();
        blame.refuted().iter().map(|block| order[block.begin_event as usize - 1]).collect()
    }

    /// Why a block is refuted: a shortest cycle through it, in terms of the observed trace, by data
    /// if there is one, otherwise by locks. The events stand in their new order.
    pub fn explanation(
        &self,
        stretch: &Stretch,
        order: &[usize],
        diverged: &[usize],
        begin: usize,
    ) -> Option<Explanation> {
        let is_data = |at: &&usize| self.events[**at].op.lock().is_none();
        let data: Vec<usize> = order.iter().filter(is_data).copied().collect();
        let explained = |order: &[usize]| self.cycle(stretch, order, diverged, begin);
        explained(&data).or_else(|| explained(order))
    }

    fn cycle(
        &self,
        stretch: &Stretch,
        order: &[usize],
        diverged: &[usize],
        begin: usize,
    ) -> Option<Explanation> {
        let batch = self.batch(order, diverged);
        let mut engine = Running::new(atomicity::Options { first_only: false });
        let _ = engine.events(&batch);
        engine.finish();
        let thread = self.events[begin].thread;
        let own: Vec<Cycle> =
            engine.cycles().iter().filter(|cycle| cycle.thread == thread).copied().collect();
        let named = Named { stretch, order };
        let explanations =
            explain(&batch, &own).into_iter().flatten().map(|it| named.explanation(it));
        let number = stretch.number(begin);
        let mut refuting =
            explanations.filter(|it| it.refuted.iter().any(|block| block.begin_event == number));
        refuting.next()
    }

    /// The events before which a yield is missing.
    pub fn missing_yields(&self, order: &[usize], diverged: &[usize]) -> Vec<usize> {
        let mut yields = Cooperability::new(cooperability::Options::default());
        let _ = yields.events(&self.batch(order, diverged));
        yields.finish();
        yields.inferred().positions().iter().map(|&number| order[number as usize - 1]).collect()
    }

    /// Whether the last two events are plain accesses that conflict, of different threads.
    pub fn ends_in_race(&self, order: &[usize]) -> bool {
        let &[.., a, b] = order else { return false };
        let (a, b) = (self.events[a], self.events[b]);
        let is_plain = |event: Event| matches!(event.op, Op::Read(_) | Op::Write(_));
        let writes = |event: Event| matches!(event.op, Op::Write(_));
        is_plain(a)
            && is_plain(b)
            && a.thread != b.thread
            && a.op.variable() == b.op.variable()
            && (writes(a) || writes(b))
    }
}

/// Puts the numbers and names of the observed trace to what was found in the new order.
struct Named<'a> {
    stretch: &'a Stretch,
    order: &'a [usize],
}

impl Named<'_> {
    fn at(&self, number: EventNo) -> (EventNo, Event) {
        let at = self.order[number as usize - 1];
        (self.stretch.number(at), self.stretch.events[at])
    }

    fn event(&self, it: EventRef) -> EventRef {
        let (number, event) = self.at(it.number);
        EventRef { number, event }
    }

    fn block(&self, it: BlockRef) -> BlockRef {
        let (begin_event, event) = self.at(it.begin_event);
        let label = if let Op::Begin(label) = event.op { label } else { it.label };
        BlockRef { thread: event.thread, label, begin_event, ..it }
    }

    fn transaction(&self, it: TransactionRef) -> TransactionRef {
        let (first_event, event) = self.at(it.first_event);
        let label = it.label.map(|label| if let Op::Begin(own) = event.op { own } else { label });
        let last_event = self.at(it.last_event).0;
        TransactionRef { thread: event.thread, label, first_event, last_event, ..it }
    }

    fn explanation(&self, it: Explanation) -> Explanation {
        let (event, at) = self.at(it.cycle.event);
        let begin = self.at(it.cycle.begin).0;
        let each = |events: Vec<EventRef>| events.into_iter().map(|it| self.event(it)).collect();
        let blocks = |all: Vec<BlockRef>| all.into_iter().map(|it| self.block(it)).collect();
        let edges = it.edges.into_iter();
        Explanation {
            cycle: Cycle { event, thread: at.thread, begin },
            transactions: it.transactions.into_iter().map(|it| self.transaction(it)).collect(),
            edges: edges
                .map(|edge| Edge { from: self.event(edge.from), to: self.event(edge.to) })
                .collect(),
            refuted: blocks(it.refuted),
            not_refuted: blocks(it.not_refuted),
            interleaving: each(it.interleaving),
            ..it
        }
    }
}
