//! Eraser's lockset discipline (Savage et al. 1997): every shared variable that is written must be
//! protected by some lock that is held at all its accesses.
//!
//! | state | meaning | next |
//! |---|---|---|
//! | virgin | not accessed | exclusive |
//! | exclusive | one thread so far: no lock needed | another thread: shared, shared-modified |
//! | shared | read by several: the locks held are recorded | a write: shared-modified |
//! | shared-modified | written and shared: some lock must be left | |
//!
//! From the second thread on, each access removes from the variable's lockset the locks that are
//! not held. A lock held shared protects reads only: at a write, only exclusive holders count.
//!
//! The discipline knows nothing of fork and join, volatile hand-over, barriers and semaphores, so
//! it gives warnings, never violations. Atomic accesses need no lock and are skipped. Its merit is
//! that little depends on the observed order: it finds what could go wrong in other schedules.

use std::ops::ControlFlow;

use hashbrown::HashMap;
use paceline_trace::{Batch, Event, EventNo, IdCounts, LockId, Op, Site, ThreadId, VarId, ops};

use crate::Analysis;
use crate::occurrence::{Block, BlockName, Occurrence};
use crate::reduction::lockset::{HeldLocks, Lockset};

/// A variable that no lock protects.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EraserWarning {
    /// The variable: the first one, when several are accessed at this location.
    pub var: VarId,
    /// The access that left the variable without a lock.
    pub access: Occurrence,
    /// The innermost block that the access is in.
    pub block: Option<Block>,
    /// The locks that its thread held.
    pub held: Vec<LockId>,
    /// How many variables lost their last lock at this location.
    pub count: u64,
    /// Whether one of them has a real race: see [`Eraser::confirm`].
    pub confirmed: bool,
}

#[derive(Clone, Copy)]
enum State {
    Virgin,
    Exclusive(ThreadId),
    Shared(Lockset),
    SharedModified(Lockset),
}

/// Whether an access is protected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Protection {
    /// By a lock, or it needs none.
    Protected,
    /// This access left the variable without a lock.
    Lost,
    /// The variable was without a lock before.
    None,
}

/// Warnings at one location in one block are merged. Without a location, the variable distinguishes
/// them.
type Key = (Option<BlockName>, Site, Option<VarId>);

/// Checks the lockset discipline.
#[derive(Default)]
pub struct Eraser {
    pub(crate) held: HeldLocks,
    vars: Vec<State>,
    /// The open blocks of each thread.
    open: Vec<Vec<Block>>,
    warnings: Vec<EraserWarning>,
    by_key: HashMap<Key, usize>,
    /// Each variable that lost its last lock, and its warning.
    unprotected: Vec<(VarId, usize)>,
}

impl Eraser {
    /// One warning for each block and location.
    pub fn warnings(&self) -> &[EraserWarning] {
        &self.warnings
    }

    /// Marks the warnings about a variable that `is_racy`, in the same run.
    pub fn confirm(&mut self, is_racy: impl Fn(VarId) -> bool) {
        for &(_, warning) in self.unprotected.iter().filter(|(var, _)| is_racy(*var)) {
            self.warnings[warning].confirmed = true;
        }
    }

    pub(crate) fn reserve(&mut self, counts: &IdCounts) {
        self.held.reserve(counts);
        self.vars.resize(self.vars.len().max(counts.vars), State::Virgin);
        if self.open.len() < counts.threads {
            self.open.resize_with(counts.threads, Vec::new);
        }
    }

    /// Takes an event; for a plain access, returns whether it is protected.
    #[inline]
    pub(crate) fn event(&mut self, number: EventNo, event: &Event) -> Protection {
        match event.op {
            Op::Read(var) => self.access(var, false, number, event),
            Op::Write(var) => self.access(var, true, number, event),
            Op::Acquire(_)
            | Op::Release(_)
            | Op::AcquireShared(_)
            | Op::ReleaseShared(_)
            | Op::PreWait(_)
            | Op::PostWait(_) => {
                self.held.event(event.thread, event.op);
                Protection::Protected
            }
            Op::Begin(label) => {
                let Event { thread, site, .. } = *event;
                self.open[thread.index()].push(Block { begin: number, thread, label, site });
                Protection::Protected
            }
            Op::End(_) => {
                self.open[event.thread.index()].pop();
                Protection::Protected
            }
            ops!(Atomic | Thread | Semaphore | Barrier) | Op::Yield | Op::Notify(_) => {
                Protection::Protected
            }
        }
    }

    /// The open blocks of the thread, outermost first.
    pub(crate) fn open(&self, thread: ThreadId) -> &[Block] {
        &self.open[thread.index()]
    }

    #[inline]
    fn access(&mut self, var: VarId, write: bool, number: EventNo, event: &Event) -> Protection {
        let protection = self.refine(var, event.thread, write);
        if protection == Protection::Lost {
            self.warn(var, Occurrence::new(number, event));
        }
        protection
    }

    #[inline]
    fn refine(&mut self, var: VarId, thread: ThreadId, write: bool) -> Protection {
        let held = self.held.by(thread);
        let locks = if write { held.exclusive } else { held.any };
        let state = &mut self.vars[var.index()];
        let (set, modified) = match *state {
            State::Virgin => {
                *state = State::Exclusive(thread);
                return Protection::Protected;
            }
            State::Exclusive(owner) if owner == thread => return Protection::Protected,
            State::Exclusive(_) => (locks, write),
            State::Shared(set) => (self.held.sets.intersect(set, locks), write),
            State::SharedModified(Lockset::EMPTY) => return Protection::None,
            State::SharedModified(set) => (self.held.sets.intersect(set, locks), true),
        };
        *state = if modified { State::SharedModified(set) } else { State::Shared(set) };
        let lost = modified && set == Lockset::EMPTY;
        if lost { Protection::Lost } else { Protection::Protected }
    }

    #[cold]
    fn warn(&mut self, var: VarId, access: Occurrence) {
        let block = self.open(access.thread).last().copied();
        let without_site = (access.site == Site::UNKNOWN).then_some(var);
        let key = (block.map(|b| b.name()), access.site, without_site);
        let next = self.warnings.len();
        let at = *self.by_key.entry(key).or_insert(next);
        if at == next {
            let held = self.held.list(access.thread);
            let warning = EraserWarning { var, access, block, held, count: 0, confirmed: false };
            self.warnings.push(warning);
        }
        self.warnings[at].count += 1;
        self.unprotected.push((var, at));
    }
}

impl Analysis for Eraser {
    fn events(&mut self, batch: &Batch) -> ControlFlow<()> {
        self.reserve(&batch.counts);
        for (number, event) in (batch.first..).zip(&batch.events) {
            self.event(number, event);
        }
        ControlFlow::Continue(())
    }

    fn finish(&mut self) {}
}

#[cfg(test)]
mod tests;
