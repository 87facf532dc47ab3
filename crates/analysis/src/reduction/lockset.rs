//! Sets of locks. Programs hold few different combinations of locks, so each set exists once and
//! has a number; sets are equal when their numbers are, and results are computed once.

use hashbrown::HashMap;
use paceline_trace::{IdCounts, LockId, Op, ThreadId, ops};

/// A set of locks, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Lockset(u32);

impl Lockset {
    pub const EMPTY: Lockset = Lockset(0);
}

/// All sets that have occurred.
pub(crate) struct Locksets {
    /// Sorted.
    sets: Vec<Box<[LockId]>>,
    numbers: HashMap<Box<[LockId]>, Lockset>,
    intersections: HashMap<(Lockset, Lockset), Lockset>,
    /// The set with the lock added if it is missing, and removed if it is there.
    toggled: HashMap<(Lockset, LockId), Lockset>,
}

impl Default for Locksets {
    fn default() -> Self {
        let empty: Box<[LockId]> = Box::default();
        Locksets {
            sets: vec![empty.clone()],
            numbers: HashMap::from([(empty, Lockset::EMPTY)]),
            intersections: HashMap::new(),
            toggled: HashMap::new(),
        }
    }
}

impl Locksets {
    /// The locks of a set, sorted.
    pub fn locks(&self, set: Lockset) -> &[LockId] {
        &self.sets[set.0 as usize]
    }

    /// The locks that are in both sets.
    #[inline]
    pub fn intersect(&mut self, a: Lockset, b: Lockset) -> Lockset {
        if a == b || a == Lockset::EMPTY {
            return a;
        }
        if b == Lockset::EMPTY {
            return b;
        }
        match self.intersections.get(&(a, b)) {
            Some(&known) => known,
            None => self.compute_intersection(a, b),
        }
    }

    #[cold]
    fn compute_intersection(&mut self, a: Lockset, b: Lockset) -> Lockset {
        let others = self.locks(b);
        let in_others = |lock: &&LockId| others.binary_search(lock).is_ok();
        let both = self.locks(a).iter().filter(in_others).copied().collect();
        let set = self.number(both);
        self.intersections.insert((a, b), set);
        set
    }

    /// The set after the lock was acquired or released.
    fn toggle(&mut self, set: Lockset, lock: LockId) -> Lockset {
        match self.toggled.get(&(set, lock)) {
            Some(&known) => known,
            None => self.compute_toggled(set, lock),
        }
    }

    #[cold]
    fn compute_toggled(&mut self, set: Lockset, lock: LockId) -> Lockset {
        let mut locks = self.locks(set).to_vec();
        match locks.binary_search(&lock) {
            Ok(at) => drop(locks.remove(at)),
            Err(at) => locks.insert(at, lock),
        }
        let result = self.number(locks.into());
        self.toggled.insert((set, lock), result);
        result
    }

    fn number(&mut self, locks: Box<[LockId]>) -> Lockset {
        let next = Lockset(self.sets.len() as u32);
        let number = *self.numbers.entry(locks.clone()).or_insert(next);
        if number == next {
            self.sets.push(locks);
        }
        number
    }
}

/// The locks that a thread holds.
#[derive(Clone, Copy)]
pub(crate) struct Held {
    /// In either mode: they protect reads.
    pub any: Lockset,
    /// Exclusively: they protect writes.
    pub exclusive: Lockset,
}

/// The locks that each thread holds.
#[derive(Default)]
pub(crate) struct HeldLocks {
    threads: Vec<Held>,
    pub sets: Locksets,
}

impl HeldLocks {
    pub fn reserve(&mut self, counts: &IdCounts) {
        let none = Held { any: Lockset::EMPTY, exclusive: Lockset::EMPTY };
        self.threads.resize(self.threads.len().max(counts.threads), none);
    }

    #[inline]
    pub fn by(&self, thread: ThreadId) -> Held {
        self.threads[thread.index()]
    }

    /// The locks that the thread holds, in either mode.
    pub fn list(&self, thread: ThreadId) -> Vec<LockId> {
        self.sets.locks(self.by(thread).any).to_vec()
    }

    /// Takes an event that acquires or releases a lock; others change nothing.
    pub fn event(&mut self, thread: ThreadId, op: Op) {
        match op {
            Op::Acquire(lock) | Op::Release(lock) | Op::PreWait(lock) | Op::PostWait(lock) => {
                self.toggle(thread, lock, true);
            }
            Op::AcquireShared(lock) | Op::ReleaseShared(lock) => self.toggle(thread, lock, false),
            ops!(Access | Thread | Block | Semaphore | Barrier) | Op::Yield | Op::Notify(_) => {}
        }
    }

    fn toggle(&mut self, thread: ThreadId, lock: LockId, exclusive: bool) {
        let held = &mut self.threads[thread.index()];
        let same = held.any == held.exclusive;
        held.any = self.sets.toggle(held.any, lock);
        if exclusive {
            held.exclusive = if same { held.any } else { self.sets.toggle(held.exclusive, lock) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREAD: ThreadId = ThreadId(0);

    fn after(ops: &[Op]) -> HeldLocks {
        let mut held = HeldLocks::default();
        held.reserve(&IdCounts { threads: 1, ..IdCounts::default() });
        ops.iter().for_each(|&op| held.event(THREAD, op));
        held
    }

    #[test]
    fn locks_are_held_between_acquire_and_release() {
        let [a, b] = [LockId(4), LockId(2)];
        let held = after(&[Op::Acquire(a), Op::AcquireShared(b)]);
        assert_eq!(held.list(THREAD), [b, a]);
        assert_eq!(held.sets.locks(held.by(THREAD).exclusive), [a]);
        let held = after(&[Op::AcquireShared(b), Op::Acquire(a), Op::ReleaseShared(b)]);
        assert_eq!(held.list(THREAD), [a]);
        assert_eq!(held.by(THREAD).any, held.by(THREAD).exclusive);
        assert_eq!(after(&[Op::Acquire(a), Op::PreWait(a)]).by(THREAD).any, Lockset::EMPTY);
        assert_eq!(after(&[Op::Acquire(a), Op::PreWait(a), Op::PostWait(a)]).list(THREAD), [a]);
    }

    #[test]
    fn equal_sets_have_equal_numbers() {
        let [a, b, c] = [LockId(0), LockId(1), LockId(2)];
        let mut sets = Locksets::default();
        let mut make = |locks: &[LockId]| {
            locks.iter().fold(Lockset::EMPTY, |set, &lock| sets.toggle(set, lock))
        };
        let (ab, ba, bc, c_only) = (make(&[a, b]), make(&[b, a]), make(&[c, b]), make(&[c]));
        let b_only = make(&[b]);
        assert_eq!(ab, ba);
        for _ in 0..2 {
            assert_eq!(sets.intersect(ab, bc), b_only);
            assert_eq!(sets.intersect(ab, c_only), Lockset::EMPTY);
            assert_eq!(sets.intersect(ab, Lockset::EMPTY), Lockset::EMPTY);
        }
    }
}
