//! When do two events conflict? The definition of `docs/semantics.md`, word by word, over a trace
//! that is kept in memory. The reference analyses are built on it; it is made to be read, not to be
//! fast.

use hashbrown::HashMap;
use paceline_trace::{BarrierId, Event, LockId, Op, SemaphoreId, ThreadId, VarId};

/// What an operation does to its target, as far as conflicts are concerned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Act {
    Access { var: VarId, writes: bool },
    Acquire { lock: LockId, shared: bool },
    Release { lock: LockId, shared: bool },
    Fork(ThreadId),
    Join(ThreadId),
    Post(SemaphoreId),
    Take(SemaphoreId),
    Enter(BarrierId),
    Exit(BarrierId),
    Nothing,
}

pub(crate) fn act(op: Op) -> Act {
    match op {
        Op::Read(var) | Op::AtomicRead(var) => Act::Access { var, writes: false },
        Op::Write(var) | Op::AtomicWrite(var) | Op::AtomicUpdate(var) => {
            Act::Access { var, writes: true }
        }
        Op::Acquire(lock) | Op::PostWait(lock) => Act::Acquire { lock, shared: false },
        Op::AcquireShared(lock) => Act::Acquire { lock, shared: true },
        Op::Release(lock) | Op::PreWait(lock) => Act::Release { lock, shared: false },
        Op::ReleaseShared(lock) => Act::Release { lock, shared: true },
        Op::Fork(child) => Act::Fork(child),
        Op::Join(child) => Act::Join(child),
        Op::Post(semaphore) => Act::Post(semaphore),
        Op::Take(semaphore) => Act::Take(semaphore),
        Op::BarrierEnter(barrier) => Act::Enter(barrier),
        Op::BarrierExit(barrier) => Act::Exit(barrier),
        Op::Begin(_) | Op::End(_) | Op::Yield | Op::Notify(_) => Act::Nothing,
    }
}

impl Act {
    /// Whether this conflicts with a later act of another thread. Events of the forked or joined
    /// thread, and barrier rounds, are up to the caller.
    pub(crate) fn conflicts_with(self, later: Act) -> bool {
        match (self, later) {
            (Act::Access { var: x, writes: a }, Act::Access { var: y, writes: b }) => {
                x == y && (a || b)
            }
            (Act::Release { lock: l, shared: a }, Act::Acquire { lock: m, shared: b }) => {
                l == m && !(a && b)
            }
            (Act::Fork(child), Act::Join(joined)) => child == joined,
            (Act::Enter(a), Act::Exit(b)) => a == b,
            (Act::Post(a), Act::Take(b)) => a == b,
            (_, _) => false,
        }
    }
}

/// The events so far, each with the barrier round that it belongs to.
#[derive(Default)]
pub struct Conflicts {
    events: Vec<Event>,
    /// 0 for events that are not of barriers.
    rounds: Vec<u32>,
    /// Per barrier: the number of its current round, and whether a thread has left it.
    current: HashMap<BarrierId, (u32, bool)>,
    entered: HashMap<(BarrierId, ThreadId), u32>,
}

impl Conflicts {
    /// The events so far; the first is at index 0.
    #[cfg(test)]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Appends an event, and returns its index.
    pub fn push(&mut self, event: Event) -> usize {
        let round = match act(event.op) {
            Act::Enter(barrier) => self.enter(barrier, event.thread),
            Act::Exit(barrier) => self.exit(barrier, event.thread),
            Act::Access { .. }
            | Act::Acquire { .. }
            | Act::Release { .. }
            | Act::Fork(_)
            | Act::Join(_)
            | Act::Post(_)
            | Act::Take(_)
            | Act::Nothing => 0,
        };
        self.events.push(event);
        self.rounds.push(round);
        self.events.len() - 1
    }

    fn enter(&mut self, barrier: BarrierId, thread: ThreadId) -> u32 {
        let current = self.current.entry(barrier).or_insert((1, false));
        if current.1 {
            *current = (current.0 + 1, false);
        }
        self.entered.insert((barrier, thread), current.0);
        current.0
    }

    fn exit(&mut self, barrier: BarrierId, thread: ThreadId) -> u32 {
        let current = self.current.entry(barrier).or_insert((1, false));
        let round = self.entered.get(&(barrier, thread)).copied().unwrap_or(current.0);
        current.1 |= round == current.0;
        round
    }

    /// Whether the event at index `e` conflicts with the later one at index `f`.
    pub fn conflict(&self, e: usize, f: usize) -> bool {
        debug_assert!(e < f);
        self.events[e].thread == self.events[f].thread || self.interfere(e, f)
    }

    /// The same, ignoring program order.
    pub fn interfere(&self, e: usize, f: usize) -> bool {
        let (first, second) = (self.events[e], self.events[f]);
        let acts = (act(first.op), act(second.op));
        if let (Act::Fork(child), _) = acts
            && child == second.thread
        {
            return true;
        }
        if let (_, Act::Join(child)) = acts
            && child == first.thread
        {
            return true;
        }
        acts.0.conflicts_with(acts.1) && self.rounds[e] == self.rounds[f]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_trace::Trace;

    /// Whether the first and the last event conflict.
    fn ends_conflict(line: &str) -> bool {
        let mut conflicts = Conflicts::default();
        for event in Trace::parse(line).unwrap().events {
            conflicts.push(event);
        }
        conflicts.conflict(0, conflicts.events().len() - 1)
    }

    #[test]
    fn every_clause_of_the_definition() {
        for yes in [
            "1:yield 1:notify(l)",
            "1:r(x) 2:w(x)",
            "1:w(x) 2:r(x)",
            "1:aw(x) 2:ar(x)",
            "1:arw(x) 2:arw(x)",
            "1:rel(l) 2:acq(l)",
            "1:rrel(l) 2:acq(l)",
            "1:rel(l) 2:racq(l)",
            "1:prewait(l) 2:acq(l)",
            "1:rel(l) 2:postwait(l)",
            "1:fork(2) 2:yield",
            "1:yield 2:join(1)",
            "1:fork(3) 2:join(3)",
            "1:enter(b) 2:exit(b)",
            "1:enter(b) 2:enter(b) 2:exit(b) 3:enter(b) 1:exit(b)",
            "1:post(s) 2:take(s)",
        ] {
            assert!(ends_conflict(yes), "{yes}");
        }
    }

    #[test]
    fn nothing_else_conflicts() {
        for no in [
            "1:r(x) 2:r(x)",
            "1:ar(x) 2:r(x)",
            "1:w(x) 2:w(y)",
            "1:acq(l) 2:rel(l)",
            "1:rel(l) 2:rel(l)",
            "1:rrel(l) 2:racq(l)",
            "1:rel(l) 2:acq(m)",
            "1:rel(l) 2:notify(l)",
            "1:fork(3) 2:yield",
            "1:yield 2:join(3)",
            "1:exit(b) 2:enter(b)",
            "1:enter(b) 2:enter(b)",
            "1:enter(b) 1:exit(b) 2:enter(b) 2:exit(b)",
            "1:enter(b) 2:exit(c)",
            "1:take(s) 2:post(s)",
            "1:post(s) 2:post(s)",
            "1:begin(m) 2:begin(m)",
            "1:end(m) 2:end(m)",
            "1:yield 2:yield",
        ] {
            assert!(!ends_conflict(no), "{no}");
        }
    }
}
