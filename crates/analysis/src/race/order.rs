//! Happens-before between threads, as far as synchronization makes it: the clocks of FastTrack.
//!
//! | event | learns from | tells |
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
//! Everything else, `notify` among it, orders nothing. Atomic reads do not order one another, as
//! in the definition of conflicts: that is finer than a lock for each volatile variable.

use paceline_trace::{Event, EventNo, IdCounts, Op, VarId};

use crate::engine::clock::{Epoch, VectorClock, pair};
use crate::engine::rounds::{Round, Rounds};

/// What one thread knows.
pub(super) struct Thread {
    pub clock: VectorClock,
    /// Its first event that it has told nobody about.
    pub start: Epoch,
}

impl Thread {
    /// Thread `t` makes known all that it did up to event `number`.
    fn tell(&mut self, t: usize, number: EventNo) -> &VectorClock {
        self.clock.advance(t, number);
        self.start = Epoch::new(t, number + 1);
        &self.clock
    }
}

/// Where threads meet in two modes, as at a reader-writer lock or an atomic variable: shared ones
/// are ordered with exclusive ones, but not with one another.
#[derive(Clone, Default)]
struct Meeting {
    /// The clock of the last exclusive teller. It has learned from all before it.
    exclusive: VectorClock,
    /// That teller's epoch: whoever knows it knows the whole clock.
    teller: Option<Epoch>,
    /// What the shared tellers since then knew.
    shared: VectorClock,
}

impl Meeting {
    fn teach_exclusive(&self, t: usize, clock: &mut VectorClock) {
        if let Some(teller) = self.teller
            && teller.thread() != t
            && !clock.knows(teller)
        {
            clock.join(&self.exclusive);
        }
    }

    fn teach_all(&self, t: usize, clock: &mut VectorClock) {
        self.teach_exclusive(t, clock);
        clock.join(&self.shared);
    }

    /// The teller has learned all that is here, so what it says replaces it.
    fn tell_exclusive(&mut self, epoch: Epoch, clock: &VectorClock) {
        self.exclusive.assign(clock);
        self.teller = Some(epoch);
        self.shared.clear();
    }
}

const NOT_ATOMIC: u32 = u32::MAX;

/// The clocks of all threads, and of all that they synchronize with.
#[derive(Default)]
pub(super) struct SyncOrder {
    pub threads: Vec<Thread>,
    locks: Vec<Meeting>,
    semaphores: Vec<VectorClock>,
    rounds: Rounds,
    round_clocks: Vec<VectorClock>,
    /// Most variables are never accessed atomically: those that are have a place in `atomics`.
    atomic_index: Vec<u32>,
    atomics: Vec<Meeting>,
}

impl SyncOrder {
    pub fn reserve(&mut self, counts: &IdCounts) {
        for t in self.threads.len()..counts.threads {
            self.threads.push(Thread { clock: VectorClock::default(), start: Epoch::new(t, 1) });
        }
        self.locks.resize(self.locks.len().max(counts.locks), Meeting::default());
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
                let clock = self.threads[t].tell(t, number);
                self.locks[lock.index()].tell_exclusive(Epoch::new(t, number), clock);
            }
            Op::ReleaseShared(lock) => {
                let clock = self.threads[t].tell(t, number);
                self.locks[lock.index()].shared.join(clock);
            }
            Op::Fork(child) => self.fork(t, child.index(), number),
            Op::Join(child) => self.join(t, child.index(), number),
            Op::AtomicRead(var) => self.atomic_read(t, var, number),
            Op::AtomicWrite(var) | Op::AtomicUpdate(var) => self.atomic_write(t, var, number),
            Op::Post(semaphore) => {
                let clock = self.threads[t].tell(t, number);
                self.semaphores[semaphore.index()].join(clock);
            }
            Op::Take(semaphore) => {
                self.threads[t].clock.join(&self.semaphores[semaphore.index()]);
            }
            Op::BarrierEnter(barrier) => {
                let round = self.rounds.enter(barrier, event.thread);
                let clock = self.threads[t].tell(t, number);
                round_clock(&mut self.round_clocks, round).join(clock);
            }
            Op::BarrierExit(barrier) => {
                let round = self.rounds.exit(barrier, event.thread);
                self.threads[t].clock.join(round_clock(&mut self.round_clocks, round));
            }
            Op::Read(_) | Op::Write(_) => {}
            Op::Begin(_) | Op::End(_) | Op::Yield | Op::Notify(_) => {}
        }
    }

    fn fork(&mut self, t: usize, child: usize, number: EventNo) {
        self.threads[t].tell(t, number);
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
        let clock = self.threads[t].tell(t, number);
        self.atomics[at].shared.join(clock);
    }

    fn atomic_write(&mut self, t: usize, var: VarId, number: EventNo) {
        let at = self.atomic(var);
        self.atomics[at].teach_all(t, &mut self.threads[t].clock);
        let clock = self.threads[t].tell(t, number);
        self.atomics[at].tell_exclusive(Epoch::new(t, number), clock);
    }

    /// The place of an atomic variable.
    fn atomic(&mut self, var: VarId) -> usize {
        if self.atomic_index.len() <= var.index() {
            self.atomic_index.resize(var.index() + 1, NOT_ATOMIC);
        }
        let place = &mut self.atomic_index[var.index()];
        if *place == NOT_ATOMIC {
            *place = self.atomics.len() as u32;
            self.atomics.push(Meeting::default());
        }
        *place as usize
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
