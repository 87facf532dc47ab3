//! Why is a yield missing? A second pass over the same trace names, for the first missing yield of
//! each location, the event of another thread that it conflicts with: the last edge of the cycle.
//!
//! The first pass keeps nodes, not events: that makes it fast. This one runs the same engine again
//! and also keeps the latest events, but only those that concern the few objects of the missing
//! yields. The latest event of each thread is enough: if an earlier one is part of a cycle, so is
//! the latest, since its transaction happens after.

use std::ops::ControlFlow;

use hashbrown::HashMap;
use paceline_trace::{
    BarrierId, Batch, Event, EventNo, LockId, Op, SemaphoreId, Site, ThreadId, VarId,
};

use super::{Inferred, InferredYield, Options, Yields};
use crate::Analysis;
use crate::definition::conflict::{Act, act};
use crate::engine::ancestors::Ancestors;
use crate::engine::driver::{Driver, On, Property};
use crate::engine::frontier::Frontier;
use crate::engine::precedence::{Full, Node, Renumbering};
use crate::engine::rounds::Rounds;
use crate::engine::slots::SlotWords;

/// Why a yield is missing: without it, the transaction that it ends would happen both before and
/// after the transaction of an earlier event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reason {
    /// The missing yield.
    pub missing: InferredYield,
    /// The earlier event, which conflicts with the one that needs the yield.
    pub earlier: EventNo,
    /// Its thread.
    pub earlier_thread: ThreadId,
    /// What it does.
    pub earlier_op: Op,
    /// Its source location.
    pub earlier_site: Site,
}

/// The second pass.
pub struct Reasons(Driver<Watch>);

impl Reasons {
    /// Starts the search for the reasons of what the first pass inferred with the same options.
    pub fn new(options: Options, inferred: &Inferred) -> Reasons {
        Reasons(Driver::new(Watch::new(options, inferred)))
    }

    /// One for each location, in the order of their first events.
    pub fn reasons(&self) -> &[Reason] {
        &self.0.property().reasons
    }
}

impl Analysis for Reasons {
    fn events(&mut self, batch: &Batch) -> ControlFlow<()> {
        self.0.events(batch)
    }

    fn finish(&mut self) {}
}

/// What the events of a conflict have in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum ConflictObject {
    Variable(VarId),
    Lock(LockId),
    Semaphore(SemaphoreId),
    Barrier(BarrierId),
    Thread(ThreadId),
}

impl ConflictObject {
    fn is_barrier(&self) -> bool {
        match self {
            ConflictObject::Barrier(_) => true,
            ConflictObject::Variable(_)
            | ConflictObject::Lock(_)
            | ConflictObject::Semaphore(_)
            | ConflictObject::Thread(_) => false,
        }
    }
}

fn object(act: Act) -> Option<ConflictObject> {
    match act {
        Act::Access { var, .. } => Some(ConflictObject::Variable(var)),
        Act::Acquire { lock, .. } | Act::Release { lock, .. } => Some(ConflictObject::Lock(lock)),
        Act::Fork(thread) | Act::Join(thread) => Some(ConflictObject::Thread(thread)),
        Act::Post(semaphore) | Act::Take(semaphore) => Some(ConflictObject::Semaphore(semaphore)),
        Act::Enter(barrier) | Act::Exit(barrier) => Some(ConflictObject::Barrier(barrier)),
        Act::Nothing => None,
    }
}

/// The latest event of a thread that operated on an object in some way.
#[derive(Clone, Copy)]
struct Latest {
    number: EventNo,
    event: Event,
    node: Node,
    /// The barrier round, if the event belongs to one.
    round: Option<usize>,
}

/// The engine, and the latest events on some objects.
struct Watch {
    yields: Yields,
    rounds: Rounds,
    watched: HashMap<ConflictObject, Vec<Latest>>,
    /// In reverse order.
    wanted: Vec<InferredYield>,
    reasons: Vec<Reason>,
}

impl Property for Watch {
    fn reserve(&mut self, threads: usize) {
        self.yields.reserve(threads);
    }

    fn renumber(&mut self, new: &Renumbering) {
        self.yields.renumber(new);
        self.watched.values_mut().flatten().for_each(|latest| latest.node = new.of(latest.node));
    }

    fn is_decided(&self) -> bool {
        self.wanted.is_empty()
    }
}

impl<W: SlotWords> On<Ancestors<W>> for Watch {
    fn event(
        &mut self,
        number: EventNo,
        event: &Event,
        graph: &mut Ancestors<W>,
        frontier: &mut Frontier,
    ) -> Result<(), Full> {
        graph.ensure_room()?;
        let round = self.round(event);
        if let Some(missing) = self.wanted.pop_if(|missing| missing.event == number) {
            self.explain(missing, event, round, graph);
        }
        self.yields.event(number, event, graph, frontier)?;
        if !matches!(event.op, Op::Begin(_) | Op::End(_)) {
            let node = self.yields.node_of(event.thread);
            self.record(Latest { number, event: *event, node, round });
        }
        Ok(())
    }
}

impl Watch {
    fn new(options: Options, inferred: &Inferred) -> Watch {
        let wanted: Vec<_> = inferred.sites().iter().rev().map(|site| site.first).collect();
        let objects = wanted.iter().filter_map(|missing| object(act(missing.op)));
        Watch {
            yields: Yields::new(Options { first_only: false, ..options }),
            rounds: Rounds::default(),
            watched: objects.map(|object| (object, Vec::new())).collect(),
            wanted,
            reasons: Vec::new(),
        }
    }

    /// The barrier round of an event. A round's number is used again when it is over.
    fn round(&mut self, event: &Event) -> Option<usize> {
        let round = match act(event.op) {
            Act::Enter(barrier) => self.rounds.enter(barrier, event.thread),
            Act::Exit(barrier) => self.rounds.exit(barrier, event.thread),
            Act::Access { .. }
            | Act::Acquire { .. }
            | Act::Release { .. }
            | Act::Fork(_)
            | Act::Join(_)
            | Act::Post(_)
            | Act::Take(_)
            | Act::Nothing => return None,
        };
        if round.fresh {
            // The latest event of a thread stays, even if it belongs to a round that is over.
            let over = |latest: &Latest| latest.round == Some(round.slot);
            let barriers = self.watched.iter_mut().filter(|(what, _)| what.is_barrier());
            barriers.for_each(|(_, all)| all.retain(|latest| !over(latest)));
        }
        Some(round.slot)
    }

    fn record(&mut self, latest: Latest) {
        let act_of = |old: &Latest| act(old.event.op);
        let thread = latest.event.thread;
        // A join of the thread happens after its latest event, whatever that is.
        if let Some(all) = self.watched.get_mut(&ConflictObject::Thread(thread)) {
            all.retain(|old| old.event.thread != thread);
            all.push(latest);
        }
        let on_object = object(act_of(&latest)).and_then(|object| self.watched.get_mut(&object));
        if let Some(all) = on_object {
            let what = |old: &Latest| (old.event.thread, act_of(old), old.round);
            all.retain(|old| what(old) != what(&latest));
            all.push(latest);
        }
    }

    fn explain<W: SlotWords>(
        &mut self,
        missing: InferredYield,
        event: &Event,
        round: Option<usize>,
        graph: &mut Ancestors<W>,
    ) {
        let current = self.yields.node_of(event.thread);
        let slot = graph.slot_of(current);
        let on_object = object(act(event.op)).and_then(|object| self.watched.get(&object));
        let candidates = on_object.into_iter().flatten().rev();
        let earlier = candidates.filter(|e| conflicts(e, event, round)).find(|earlier| {
            let set = graph.reach(earlier.node);
            set.contains(slot) && self.yields.closes_cycle(event.thread, current, &set, graph)
        });
        self.reasons.extend(earlier.map(|latest| Reason {
            missing,
            earlier: latest.number,
            earlier_thread: latest.event.thread,
            earlier_op: latest.event.op,
            earlier_site: latest.event.site,
        }));
    }
}

fn conflicts(earlier: &Latest, event: &Event, round: Option<usize>) -> bool {
    let Event { thread, op, .. } = earlier.event;
    let joins_it = act(event.op) == Act::Join(thread);
    let on_one_object = act(op).conflicts_with(act(event.op)) && earlier.round == round;
    thread != event.thread && (joins_it || on_one_object)
}
