//! The gate that every operation passes: may a transaction at this rank of the hidden serial
//! order do it now? Whatever passes only makes edges that point forward (see the parent module).

use crate::ids::{LockId, SemaphoreId, VarId};

/// A rank in the hidden serial order.
pub(super) type Rank = u64;

#[derive(Clone, Copy, Default)]
struct Variable {
    read: Rank,
    written: Rank,
}

/// How a lock is held.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Hold {
    Exclusive,
    Shared,
}

#[derive(Clone, Copy, Default)]
struct Lock {
    held: bool,
    readers: u32,
    /// How many threads wait on it, and how many of these were notified.
    waiting: u32,
    notified: u32,
    /// The latest ranks of the transactions that gave it up.
    released: Rank,
    released_shared: Rank,
}

#[derive(Clone, Copy, Default)]
struct Semaphore {
    count: u64,
    posted: Rank,
}

/// Everything that threads share, each with the latest ranks that touched it.
pub(super) struct Shared {
    variables: Vec<Variable>,
    locks: Vec<Lock>,
    semaphores: Vec<Semaphore>,
}

impl Shared {
    pub(super) fn new(variables: u32, locks: u32, semaphores: u32) -> Shared {
        Shared {
            variables: vec![Variable::default(); variables as usize],
            locks: vec![Lock::default(); locks as usize],
            semaphores: vec![Semaphore::default(); semaphores as usize],
        }
    }

    #[inline(always)]
    pub(super) fn read(&mut self, variable: VarId, rank: Rank) -> bool {
        let state = &mut self.variables[variable.index()];
        let fine = state.written <= rank;
        state.read = if fine { state.read.max(rank) } else { state.read };
        fine
    }

    #[inline(always)]
    pub(super) fn write(&mut self, variable: VarId, rank: Rank) -> bool {
        let state = &mut self.variables[variable.index()];
        let fine = state.written.max(state.read) <= rank;
        state.written = if fine { rank } else { state.written };
        fine
    }

    pub(super) fn acquire(&mut self, lock: LockId, hold: Hold, rank: Rank) -> bool {
        let state = &mut self.locks[lock.index()];
        let fine = !state.held && state.may_follow(hold, rank);
        if fine {
            match hold {
                Hold::Exclusive => state.held = true,
                Hold::Shared => state.readers += 1,
            }
        }
        fine
    }

    /// Always possible: edges leave it, none enter.
    pub(super) fn release(&mut self, lock: LockId, hold: Hold, rank: Rank) {
        let state = &mut self.locks[lock.index()];
        match hold {
            Hold::Exclusive => {
                state.held = false;
                state.released = state.released.max(rank);
            }
            Hold::Shared => {
                state.readers -= 1;
                state.released_shared = state.released_shared.max(rank);
            }
        }
    }

    /// The first half of a wait.
    pub(super) fn sleep(&mut self, lock: LockId, rank: Rank) {
        self.release(lock, Hold::Exclusive, rank);
        self.locks[lock.index()].waiting += 1;
    }

    /// The second half of a wait.
    pub(super) fn wake(&mut self, lock: LockId, rank: Rank) -> bool {
        let fine = self.acquire(lock, Hold::Exclusive, rank);
        let state = &mut self.locks[lock.index()];
        state.waiting -= u32::from(fine);
        state.notified = state.notified.saturating_sub(u32::from(fine));
        fine
    }

    pub(super) fn notify(&mut self, lock: LockId) {
        let state = &mut self.locks[lock.index()];
        state.notified = (state.notified + 1).min(state.waiting);
    }

    pub(super) fn is_notified(&self, lock: LockId) -> bool {
        self.locks[lock.index()].notified > 0
    }

    /// Always possible: edges leave it, none enter.
    pub(super) fn post(&mut self, semaphore: SemaphoreId, rank: Rank) {
        let state = &mut self.semaphores[semaphore.index()];
        state.count += 1;
        state.posted = state.posted.max(rank);
    }

    pub(super) fn take(&mut self, semaphore: SemaphoreId, rank: Rank) -> bool {
        let state = &mut self.semaphores[semaphore.index()];
        let fine = state.count > 0 && state.posted <= rank;
        state.count -= u64::from(fine);
        fine
    }
}

impl Lock {
    fn may_follow(&self, hold: Hold, rank: Rank) -> bool {
        match hold {
            Hold::Exclusive => self.readers == 0 && self.released.max(self.released_shared) <= rank,
            Hold::Shared => self.released <= rank,
        }
    }
}
