//! Precise happens-before races with epochs (FastTrack, Flanagan and Freund 2009).
//!
//! A race is two conflicting plain accesses that synchronization does not order (`order.rs` lists
//! what does). Atomic accesses never race, neither with each other nor with plain ones: they are
//! synchronization.
//!
//! `engine::history` keeps what matters of a variable's accesses: the last write and the reads
//! since. The rules:
//!
//! - same epoch: the thread has made an equal access since it last published its clock. Nothing to
//!   do, because an access of another thread in between would have been a race;
//! - read: the last write must be known; then the read replaces the reads that are known;
//! - write: the last write and all reads must be known; then they are forgotten.
//!
//! Deviations from the paper. Time is the event's number, so an epoch names the event (see
//! `engine::clock`). Concurrent reads are a list, without the reads that happened before later
//! ones, not a vector with an entry for each thread: memory follows the number of threads that
//! really read at once. A variable is not followed after its first race, because what comes later
//! is no longer exact. Hence the set of racy variables is exact, and so is the second event of each
//! variable's first race; the first event is one of those that the second one races with.

mod filter;
mod order;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;

use paceline_trace::{Batch, Event, EventNo, IdCounts, Kind, Op, ThreadId, VarId, ops};

use crate::Analysis;
use crate::engine::clock::Epoch;
use crate::engine::history::{AccessRecord, History, Lists, NO_THREAD};
use crate::occurrence::Occurrence;
use order::SyncOrder;

pub use filter::{RaceFilter, WithoutRaceFree};

/// Two conflicting accesses that nothing orders.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Race {
    /// What they access.
    pub var: VarId,
    /// The access that came first in the trace.
    pub first: Occurrence,
    /// The access that came second.
    pub second: Occurrence,
}

/// Finds the first race of each variable.
#[derive(Default)]
pub struct RaceDetector {
    order: SyncOrder,
    vars: Vec<History>,
    lists: Lists,
    races: Vec<Race>,
}

impl RaceDetector {
    /// The first race of each racy variable, in the order in which they were found.
    pub fn races(&self) -> &[Race] {
        &self.races
    }

    /// Whether the variable has a race.
    pub fn is_racy(&self, var: VarId) -> bool {
        self.vars.get(var.index()).is_some_and(History::is_closed)
    }

    /// Whether some access to the variable was atomic.
    pub fn is_atomic(&self, var: VarId) -> bool {
        self.order.is_atomic(var)
    }

    fn reserve(&mut self, counts: &IdCounts) {
        assert!(counts.threads < NO_THREAD, "fewer than {NO_THREAD} threads");
        self.order.reserve(counts);
        self.vars.resize(self.vars.len().max(counts.vars), History::default());
    }

    #[inline]
    fn read(&mut self, var: VarId, number: EventNo, event: &Event) {
        let t = event.thread.index();
        let thread = &self.order.threads[t];
        let history = &mut self.vars[var.index()];
        if history.is_shared_since(thread.start) || history.is_closed() {
            return;
        }
        let epoch = Epoch::new(t, number);
        let now = AccessRecord { epoch, site: event.site, kind: Kind::Read };
        match history.unordered_exclusive(t, &thread.clock) {
            Some(write) => self.race(var, write, now),
            None => history.share(now, &thread.clock, &mut self.lists),
        }
    }

    #[inline]
    fn write(&mut self, var: VarId, number: EventNo, event: &Event) {
        let t = event.thread.index();
        let thread = &self.order.threads[t];
        let history = &mut self.vars[var.index()];
        if history.is_exclusive_since(thread.start) || history.is_closed() {
            return;
        }
        let epoch = Epoch::new(t, number);
        let now = AccessRecord { epoch, site: event.site, kind: Kind::Write };
        let write = history.unordered_exclusive(t, &thread.clock);
        match write.or_else(|| history.unordered_shared(t, &thread.clock, &self.lists)) {
            Some(access) => self.race(var, access, now),
            None => history.exclude(now, &mut self.lists),
        }
    }

    #[cold]
    fn race(&mut self, var: VarId, first: AccessRecord, second: AccessRecord) {
        let by = |a: AccessRecord| a.by(ThreadId(a.epoch.thread() as u32));
        self.races.push(Race { var, first: by(first), second: by(second) });
        self.vars[var.index()].close(&mut self.lists);
    }
}

impl Analysis for RaceDetector {
    fn events(&mut self, batch: &Batch) -> ControlFlow<()> {
        self.reserve(&batch.counts);
        for (number, event) in (batch.first..).zip(&batch.events) {
            match event.op {
                Op::Read(var) => self.read(var, number, event),
                Op::Write(var) => self.write(var, number, event),
                ops!(Atomic | Lock | Thread | Block | Semaphore | Barrier) | Op::Yield => {
                    self.order.event(number, event);
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn finish(&mut self) {}
}
