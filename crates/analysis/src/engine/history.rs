//! The accesses to one object, as far as FastTrack has to keep them.
//!
//! Accesses are exclusive (writes, acquires) or shared (reads, shared acquires); two by different
//! threads must be ordered unless both are shared. Until that fails for the first time, the
//! exclusive ones are totally ordered, so the last stands for all. The shared ones since then are
//! one access while they are ordered, and a list of unordered ones when they are not: an access
//! that happened before a later shared one need not be kept, because a thread that does not know
//! the earlier one does not know the later one either.

use paceline_trace::{EventNo, Kind, Site, ThreadId};

use crate::engine::clock::{Epoch, VectorClock};
use crate::occurrence::Occurrence;

/// What is kept of an access.
#[derive(Clone, Copy)]
pub(crate) struct AccessRecord {
    pub epoch: Epoch,
    pub site: Site,
    pub kind: Kind,
}

impl AccessRecord {
    /// The access as a finding names it.
    pub fn by(&self, thread: ThreadId) -> Occurrence {
        Occurrence { event: self.epoch.number(), thread, kind: self.kind, site: self.site }
    }

    #[inline(always)]
    fn is_ordered(&self, thread: usize, clock: &VectorClock) -> bool {
        self.epoch.thread() == thread || clock.knows(self.epoch)
    }
}

/// No thread has this number: it marks lists, and closed histories.
pub(crate) const NO_THREAD: usize = Epoch::THREADS - 1;

const NONE: AccessRecord =
    AccessRecord { epoch: Epoch::NEVER, site: Site::UNKNOWN, kind: Kind::Read };

/// The accesses to one object.
#[derive(Clone, Copy)]
pub(crate) struct History {
    exclusive: AccessRecord,
    /// One access or, with the thread [`NO_THREAD`], the number of a list.
    shared: AccessRecord,
}

/// Two to a cache line: an access to a variable touches one line.
const _: () = assert!(size_of::<History>() == 32);

impl Default for History {
    fn default() -> Self {
        History { exclusive: NONE, shared: NONE }
    }
}

impl History {
    /// Whether a shared access by the thread of `start` is redundant: the thread has not published
    /// its clock since its last one, so an access by another thread in between would have been
    /// reported.
    #[inline(always)]
    pub fn is_shared_since(&self, start: Epoch) -> bool {
        self.shared.epoch.is_since(start)
    }

    /// The same for an exclusive access.
    #[inline(always)]
    pub fn is_exclusive_since(&self, start: Epoch) -> bool {
        self.exclusive.epoch.is_since(start)
    }

    /// Whether unordered accesses were found, so that the history is no longer followed.
    #[inline(always)]
    pub fn is_closed(&self) -> bool {
        self.exclusive.epoch.thread() == NO_THREAD
    }

    /// An exclusive access that `thread` does not know.
    #[inline]
    pub fn unordered_exclusive(&self, thread: usize, clock: &VectorClock) -> Option<AccessRecord> {
        (!self.exclusive.is_ordered(thread, clock)).then_some(self.exclusive)
    }

    /// A shared access that `thread` does not know.
    #[inline]
    pub fn unordered_shared(
        &self,
        thread: usize,
        clock: &VectorClock,
        lists: &Lists,
    ) -> Option<AccessRecord> {
        let unordered = |a: &&AccessRecord| !a.is_ordered(thread, clock);
        if self.shared.epoch.thread() == NO_THREAD {
            return lists.get(self.shared.epoch).iter().find(unordered).copied();
        }
        Some(&self.shared).filter(unordered).copied()
    }

    /// Records a shared access by the owner of `clock`.
    #[inline]
    pub fn share(&mut self, now: AccessRecord, clock: &VectorClock, lists: &mut Lists) {
        if self.shared.epoch.thread() == NO_THREAD {
            lists.add(self.shared.epoch, now, clock);
        } else if self.shared.is_ordered(now.epoch.thread(), clock) {
            self.shared = now;
        } else {
            self.shared.epoch = lists.start([self.shared, now]);
        }
    }

    /// Records an exclusive access, which is ordered after all that were recorded.
    #[inline]
    pub fn exclude(&mut self, now: AccessRecord, lists: &mut Lists) {
        self.forget_shared(lists);
        self.exclusive = now;
    }

    /// Stops following the history.
    pub fn close(&mut self, lists: &mut Lists) {
        self.forget_shared(lists);
        self.exclusive.epoch = Epoch::new(NO_THREAD, 0);
    }

    /// Forgets the shared accesses, and frees their list.
    #[inline]
    pub fn forget_shared(&mut self, lists: &mut Lists) {
        if self.shared.epoch.thread() == NO_THREAD {
            lists.release(self.shared.epoch);
        }
        self.shared = NONE;
    }
}

/// Lists of shared accesses that are not ordered with each other. Free ones are used again, so that
/// nothing is allocated in the long run.
#[derive(Default)]
pub(crate) struct Lists {
    lists: Vec<Vec<AccessRecord>>,
    free: Vec<usize>,
}

impl Lists {
    fn get(&self, name: Epoch) -> &[AccessRecord] {
        &self.lists[name.number() as usize]
    }

    fn start(&mut self, accesses: [AccessRecord; 2]) -> Epoch {
        let at = self.free.pop().unwrap_or(self.lists.len());
        if at == self.lists.len() {
            self.lists.push(Vec::new());
        }
        self.lists[at].extend(accesses);
        Epoch::new(NO_THREAD, at as EventNo)
    }

    /// Adds an access in place of those that happened before it.
    fn add(&mut self, name: Epoch, now: AccessRecord, clock: &VectorClock) {
        let list = &mut self.lists[name.number() as usize];
        list.retain(|a| !a.is_ordered(now.epoch.thread(), clock));
        list.push(now);
    }

    fn release(&mut self, name: Epoch) {
        self.lists[name.number() as usize].clear();
        self.free.push(name.number() as usize);
    }
}
