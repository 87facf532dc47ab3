//! Happens-before between threads, as far as synchronization establishes it: the clocks of
//! FastTrack.
//!
//! | event | learns from | publishes to |
//! |---|---|---|
//! | `acq`, `postwait` | all earlier releases | |
//! | `racq` | earlier exclusive releases | |
//! | `rel`, `prewait`, `rrel` | | later acquires |
//! | `aw`, `arw` | all earlier atomic accesses of the variable | later ones |
//! | `ar` | earlier atomic writes of the variable | later atomic writes |
//! | `fork(u)`, `join(u)` | `join`: all of u | `fork`: u |
//! | `post`, `take` | `take`: all earlier posts | `post`: later takes |
//! | `enter`, `exit` | `exit`: the enters of its round | `enter`: the exits of its round |
//!
//! Everything else, `notify` included, orders nothing. Atomic reads do not order one another, as
//! in the definition of conflicts: that is finer than a lock for each volatile variable.

use paceline_trace::{Event, EventNo, IdCounts, Op, VarId, ops};

use crate::engine::clock::{Epoch, VectorClock, pair};
use crate::engine::rounds::{Round, Rounds};

/// What one thread knows.
pub(super) struct Thread {
    pub clock: VectorClock,
    /// Its first event since it last published its clock.
    pub start: Epoch,
}

impl Thread {
    /// The clock of thread `t` as of event `number`, for others to learn from.
    fn publish(&mut self, t: usize, number: EventNo) -> &VectorClock {
        self.clock.advance(t, number);
        self.start = Epoch::new(t, number + 1);
        &self.clock
    }
}

/// Something that threads synchronize on in two modes, a reader-writer lock or an atomic variable:
/// shared operations are ordered with exclusive ones, but not with one another.
#[derive(Clone, Default)]
struct SyncObject {
    /// The clock of the last exclusive publisher, which has learned from all before it.
    exclusive: VectorClock,
    /// That publisher's epoch: a clock that knows it knows all of `exclusive`.
    publisher: Option<Epoch>,
    /// What the shared publishers since then knew.
    shared: VectorClock,
}

impl SyncObject {
    /// The clock of thread `t` learns from the last exclusive publisher.
    fn teach_exclusive(&self, t: usize, clock: &mut VectorClock) {
        if let Some(publisher) = self.publisher
            && publisher.thread() != t
            && !clock.knows(publisher)
        {
            clock.join(&self.exclusive);
        }
    }

    /// The clock of thread `t` learns from all publishers.
    fn teach_all(&self, t: usize, clock: &mut VectorClock) {
        self.teach_exclusive(t, clock);
        clock.join(&self.shared);
    }

    /// The publisher has learned everything that is here, so its clock replaces it.
    fn publish_exclusive(&mut self, epoch: Epoch, clock: &VectorClock) {
        self.exclusive.assign(clock);
        self.publisher = Some(epoch);
        self.shared.clear();
    }
}

const NOT_ATOMIC: u32 = u32::MAX;

/// The clocks of all threads, and of everything that they synchronize on.
#[derive(Default)]
pub(super) struct SyncOrder {
    pub threads: Vec<Thread>,
    locks: Vec<SyncObject>,
    semaphores: Vec<VectorClock>,
    rounds: Rounds,
    round_clocks: Vec<VectorClock>,
    /// Most variables are never accessed atomically: those that are have an index into `atomics`.
    atomic_index: Vec<u32>,
    atomics: Vec<SyncObject>,
}

impl SyncOrder {
    pub fn reserve(&mut self, counts: &IdCounts) {
        for t in self.threads.len()..counts.threads {
            self.threads.push(Thread { clock: VectorClock::default(), start: Epoch::new(t, 1) });
        }
        self.locks.resize(self.locks.len().max(counts.locks), SyncObject::default());
        let semaphores = self.semaphores.len().max(counts.semaphores);
        self.semaphores.resize(semaphores, VectorClock::default());
    }

    /// Whether some access to the variable was atomic.
    pub fn is_atomic(&self, var: VarId) -> bool {
        self.atomic_index.get(var.index()).is_some_and(|&i| i != NOT_ATOMIC)
    }

    /// Takes an event that synchronizes; others change nothing.
    pub fn event(&mut self, number: EventNo, event: &Event) {
        let t = event.thread.index();
        match event.op {
            Op::Acquire(lock) | Op::PostWait(lock) => {
                self.locks[lock.index()].teach_all(t, &mut self.threads[t].clock);
            }
            Op::AcquireShared(lock) => {
                self.locks[lock.index()].teach_exclusive(t, &mut self.threads[t].clock);
            }
            Op::Release(lock) | Op::PreWait(lock) => {
                let clock = self.threads[t].publish(t, number);
                self.locks[lock.index()].publish_exclusive(Epoch::new(t, number), clock);
            }
            Op::ReleaseShared(lock) => {
                let clock = self.threads[t].publish(t, number);
                self.locks[lock.index()].shared.join(clock);
            }
            Op::Fork(child) => self.fork(t, child.index(), number),
            Op::Join(child) => self.join(t, child.index(), number),
            Op::AtomicRead(var) => self.atomic_read(t, var, number),
            Op::AtomicWrite(var) | Op::AtomicUpdate(var) => self.atomic_write(t, var, number),
            Op::Post(semaphore) => {
                let clock = self.threads[t].publish(t, number);
                self.semaphores[semaphore.index()].join(clock);
            }
            Op::Take(semaphore) => {
                self.threads[t].clock.join(&self.semaphores[semaphore.index()]);
            }
            Op::BarrierEnter(barrier) => {
                let round = self.rounds.enter(barrier, event.thread);
                let clock = self.threads[t].publish(t, number);
                round_clock(&mut self.round_clocks, round).join(clock);
            }
            Op::BarrierExit(barrier) => {
                let round = self.rounds.exit(barrier, event.thread);
                self.threads[t].clock.join(round_clock(&mut self.round_clocks, round));
            }
            ops!(Plain | Block) | Op::Yield | Op::Notify(_) => {}
        }
    }

    fn fork(&mut self, t: usize, child: usize, number: EventNo) {
        self.threads[t].publish(t, number);
        let (parent, child) = pair(&mut self.threads, t, child);
        child.clock.join(&parent.clock);
    }

    fn join(&mut self, t: usize, child: usize, number: EventNo) {
        let (child_state, thread) = pair(&mut self.threads, child, t);
        thread.clock.join(&child_state.clock);
        // The child does nothing any more: all of it is known.
        thread.clock.advance(child, number);
    }

    fn atomic_read(&mut self, t: usize, var: VarId, number: EventNo) {
        let at = self.atomic(var);
        self.atomics[at].teach_exclusive(t, &mut self.threads[t].clock);
        let clock = self.threads[t].publish(t, number);
        self.atomics[at].shared.join(clock);
    }

    fn atomic_write(&mut self, t: usize, var: VarId, number: EventNo) {
        let at = self.atomic(var);
        self.atomics[at].teach_all(t, &mut self.threads[t].clock);
        let clock = self.threads[t].publish(t, number);
        self.atomics[at].publish_exclusive(Epoch::new(t, number), clock);
    }

    /// The index of an atomic variable in `atomics`.
    fn atomic(&mut self, var: VarId) -> usize {
        if self.atomic_index.len() <= var.index() {
            self.atomic_index.resize(var.index() + 1, NOT_ATOMIC);
        }
        let index = &mut self.atomic_index[var.index()];
        if *index == NOT_ATOMIC {
            *index = self.atomics.len() as u32;
            self.atomics.push(SyncObject::default());
        }
        *index as usize
    }
}

/// The clock of a barrier's round.
fn round_clock(clocks: &mut Vec<VectorClock>, round: Round) -> &mut VectorClock {
    if clocks.len() <= round.slot {
        clocks.resize(round.slot + 1, VectorClock::default());
    }
    let clock = &mut clocks[round.slot];
    if round.fresh {
        clock.clear();
    }
    clock
}
