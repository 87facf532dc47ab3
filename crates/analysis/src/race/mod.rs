//! Precise happens-before races with epochs (FastTrack, Flanagan and Freund 2009).
//!
//! A race is two conflicting plain accesses that synchronization does not order ([`order`] says
//! what does). Atomic accesses never race, neither with each other nor with plain ones: they are
//! synchronization.
//!
//! Until a variable has its first race, its writes are totally ordered, so one epoch stands for
//! all of them. Its reads since are one epoch too while they are ordered, and an antichain of
//! epochs when they are not. The rules:
//!
//! - same epoch: the thread did the same since it last told others what it knows: nothing to do,
//!   because an access of another thread in between would have been a race;
//! - read: the last write must be known; then the read replaces the reads that are known;
//! - write: the last write and all reads must be known; then they are forgotten.
//!
//! Deviations from the paper. Time is the event's number, so an epoch names the event (see
//! [`crate::clock`]). Concurrent reads are a list without the reads that later ones have seen,
//! not a vector with an entry for each thread: memory follows the number of threads that really
//! read at once. Nothing is said about a variable after its first race: what comes later is
//! ordered behind a race, and no longer exact. Hence the set of racy variables is exact, and so is
//! the second event of each variable's first race; the first event is one of those that the
//! second one races with.

mod filter;
mod order;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;

use paceline_trace::{Batch, Event, EventNo, IdCounts, Op, Site, ThreadId, VarId};

use crate::Analysis;
use crate::clock::{Epoch, VectorClock};
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

/// An access, as much as is kept of it.
#[derive(Clone, Copy)]
struct Access {
    epoch: Epoch,
    site: Site,
}

/// What is kept for each variable. `read` stands for one read or, with the thread
/// [`NO_THREAD`], for a list of concurrent ones.
#[derive(Clone, Copy)]
struct Variable {
    write: Epoch,
    read: Epoch,
    write_site: Site,
    read_site: Site,
}

const _: () = assert!(size_of::<Variable>() == 24);

/// No thread has this number.
const NO_THREAD: usize = Epoch::THREADS - 1;

const UNTOUCHED: Variable = Variable {
    write: Epoch::NEVER,
    read: Epoch::NEVER,
    write_site: Site::UNKNOWN,
    read_site: Site::UNKNOWN,
};

impl Variable {
    /// Nothing more is to be found out.
    fn is_racy(&self) -> bool {
        self.write.thread() == NO_THREAD
    }

    fn last_write(&self) -> Access {
        Access { epoch: self.write, site: self.write_site }
    }

    fn last_read(&self) -> Access {
        Access { epoch: self.read, site: self.read_site }
    }
}

/// Finds the first race of each variable.
#[derive(Default)]
pub struct RaceDetector {
    order: SyncOrder,
    vars: Vec<Variable>,
    concurrent_reads: Vec<Vec<Access>>,
    free_lists: Vec<usize>,
    races: Vec<Race>,
}

impl RaceDetector {
    /// The first race of each racy variable, in the order in which they were found.
    pub fn races(&self) -> &[Race] {
        &self.races
    }

    /// Whether the variable has a race.
    pub fn is_racy(&self, var: VarId) -> bool {
        self.vars.get(var.index()).is_some_and(Variable::is_racy)
    }

    /// Whether some access to the variable was atomic.
    pub fn is_atomic(&self, var: VarId) -> bool {
        self.order.is_atomic(var)
    }

    fn reserve(&mut self, counts: &IdCounts) {
        assert!(counts.threads < NO_THREAD, "fewer than {NO_THREAD} threads");
        self.order.reserve(counts);
        self.vars.resize(self.vars.len().max(counts.vars), UNTOUCHED);
    }

    #[inline]
    fn read(&mut self, var: VarId, number: EventNo, event: &Event) {
        let thread = &self.order.threads[event.thread.index()];
        let state = &mut self.vars[var.index()];
        if state.read.is_since(thread.start) || state.is_racy() {
            return;
        }
        let now = Access { epoch: Epoch::new(event.thread.index(), number), site: event.site };
        if !ordered(state.write, event.thread, &thread.clock) {
            let write = state.last_write();
            self.race(var, (write, Op::Write(var)), (now, Op::Read(var)));
        } else if state.read.thread() == NO_THREAD {
            let list = &mut self.concurrent_reads[state.read.number() as usize];
            add_read(list, now, &thread.clock);
        } else if ordered(state.read, event.thread, &thread.clock) {
            state.read = now.epoch;
            state.read_site = now.site;
        } else {
            let before = state.last_read();
            self.vars[var.index()].read = self.list_of(before, now);
        }
    }

    #[inline]
    fn write(&mut self, var: VarId, number: EventNo, event: &Event) {
        let thread = &self.order.threads[event.thread.index()];
        let state = &mut self.vars[var.index()];
        if state.write.is_since(thread.start) || state.is_racy() {
            return;
        }
        let now = Access { epoch: Epoch::new(event.thread.index(), number), site: event.site };
        if !ordered(state.write, event.thread, &thread.clock) {
            let write = state.last_write();
            self.race(var, (write, Op::Write(var)), (now, Op::Write(var)));
        } else if let Some(read) = self.unordered_read(var, event.thread) {
            self.race(var, (read, Op::Read(var)), (now, Op::Write(var)));
        } else {
            self.forget_reads(var);
            let state = &mut self.vars[var.index()];
            state.write = now.epoch;
            state.write_site = now.site;
        }
    }

    /// A read of the variable that `thread` does not know.
    fn unordered_read(&self, var: VarId, thread: ThreadId) -> Option<Access> {
        let clock = &self.order.threads[thread.index()].clock;
        let read = self.vars[var.index()].last_read();
        if read.epoch.thread() == NO_THREAD {
            let list = &self.concurrent_reads[read.epoch.number() as usize];
            return list.iter().find(|r| !ordered(r.epoch, thread, clock)).copied();
        }
        (!ordered(read.epoch, thread, clock)).then_some(read)
    }

    fn list_of(&mut self, a: Access, b: Access) -> Epoch {
        let at = self.free_lists.pop().unwrap_or(self.concurrent_reads.len());
        if at == self.concurrent_reads.len() {
            self.concurrent_reads.push(Vec::new());
        }
        self.concurrent_reads[at].extend([a, b]);
        Epoch::new(NO_THREAD, at as u64)
    }

    fn forget_reads(&mut self, var: VarId) {
        let read = std::mem::replace(&mut self.vars[var.index()].read, Epoch::NEVER);
        if read.thread() == NO_THREAD {
            let at = read.number() as usize;
            self.concurrent_reads[at].clear();
            self.free_lists.push(at);
        }
    }

    #[cold]
    fn race(&mut self, var: VarId, first: (Access, Op), second: (Access, Op)) {
        self.races.push(Race { var, first: occurrence(first), second: occurrence(second) });
        self.forget_reads(var);
        self.vars[var.index()].write = Epoch::new(NO_THREAD, 0);
    }
}

#[inline(always)]
fn ordered(epoch: Epoch, thread: ThreadId, clock: &VectorClock) -> bool {
    epoch.thread() == thread.index() || clock.knows(epoch)
}

/// Adds a read to concurrent ones, in place of those that it has seen.
fn add_read(list: &mut Vec<Access>, now: Access, clock: &VectorClock) {
    let thread = now.epoch.thread();
    list.retain(|r| r.epoch.thread() != thread && !clock.knows(r.epoch));
    list.push(now);
}

fn occurrence((access, op): (Access, Op)) -> Occurrence {
    let thread = ThreadId(access.epoch.thread() as u32);
    Occurrence { event: access.epoch.number(), thread, op, site: access.site }
}

impl Analysis for RaceDetector {
    fn events(&mut self, batch: &Batch) -> ControlFlow<()> {
        self.reserve(&batch.counts);
        for (number, event) in (batch.first..).zip(&batch.events) {
            match event.op {
                Op::Read(var) => self.read(var, number, event),
                Op::Write(var) => self.write(var, number, event),
                Op::Acquire(_)
                | Op::Release(_)
                | Op::AcquireShared(_)
                | Op::ReleaseShared(_)
                | Op::Fork(_)
                | Op::Join(_)
                | Op::Begin(_)
                | Op::End(_)
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
                | Op::BarrierExit(_) => self.order.event(number, event),
            }
        }
        ControlFlow::Continue(())
    }

    fn finish(&mut self) {}
}
