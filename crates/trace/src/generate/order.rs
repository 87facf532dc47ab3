//! The gate that every operation passes: may a transaction at this place of the hidden serial
//! order do it now? Whatever passes only makes edges that point forward (see the parent module).

use crate::ids::{LockId, SemaphoreId, VarId};

/// A place in the hidden serial order.
pub(super) type Place = u64;

#[derive(Clone, Copy, Default)]
struct Variable {
    read: Place,
    written: Place,
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
    /// The last places in the order of those who gave it up.
    released: Place,
    released_shared: Place,
}

#[derive(Clone, Copy, Default)]
struct Semaphore {
    count: u64,
    posted: Place,
}

/// Everything that threads share, each with the latest places in the order that touched it.
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
    pub(super) fn read(&mut self, variable: VarId, place: Place) -> bool {
        let state = &mut self.variables[variable.index()];
        let fine = state.written <= place;
        state.read = if fine { state.read.max(place) } else { state.read };
        fine
    }

    #[inline(always)]
    pub(super) fn write(&mut self, variable: VarId, place: Place) -> bool {
        let state = &mut self.variables[variable.index()];
        let fine = state.written.max(state.read) <= place;
        state.written = if fine { place } else { state.written };
        fine
    }

    pub(super) fn acquire(&mut self, lock: LockId, hold: Hold, place: Place) -> bool {
        let state = &mut self.locks[lock.index()];
        let fine = !state.held && state.may_follow(hold, place);
        if fine {
            match hold {
                Hold::Exclusive => state.held = true,
                Hold::Shared => state.readers += 1,
            }
        }
        fine
    }

    /// Always possible: edges leave it, none enter.
    pub(super) fn release(&mut self, lock: LockId, hold: Hold, place: Place) {
        let state = &mut self.locks[lock.index()];
        match hold {
            Hold::Exclusive => {
                state.held = false;
                state.released = state.released.max(place);
            }
            Hold::Shared => {
                state.readers -= 1;
                state.released_shared = state.released_shared.max(place);
            }
        }
    }

    /// The first half of a wait.
    pub(super) fn sleep(&mut self, lock: LockId, place: Place) {
        self.release(lock, Hold::Exclusive, place);
        self.locks[lock.index()].waiting += 1;
    }

    /// The second half of a wait.
    pub(super) fn wake(&mut self, lock: LockId, place: Place) -> bool {
        let fine = self.acquire(lock, Hold::Exclusive, place);
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
    pub(super) fn post(&mut self, semaphore: SemaphoreId, place: Place) {
        let state = &mut self.semaphores[semaphore.index()];
        state.count += 1;
        state.posted = state.posted.max(place);
    }

    pub(super) fn take(&mut self, semaphore: SemaphoreId, place: Place) -> bool {
        let state = &mut self.semaphores[semaphore.index()];
        let fine = state.count > 0 && state.posted <= place;
        state.count -= u64::from(fine);
        fine
    }
}

impl Lock {
    fn may_follow(&self, hold: Hold, place: Place) -> bool {
        match hold {
            Hold::Exclusive => {
                self.readers == 0 && self.released.max(self.released_shared) <= place
            }
            Hold::Shared => self.released <= place,
        }
    }
}
