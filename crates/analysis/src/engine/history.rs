//! What has been done to one thing so far, as much as FastTrack has to remember of it.
//!
//! Accesses are exclusive (writes, acquires) or shared (reads, shared acquires); two of different
//! threads must be ordered unless both are shared. Until this fails for the first time, the
//! exclusive ones are totally ordered, so the last stands for all. The shared ones since then are
//! one access while they are ordered, and a list of unordered ones when they are not: an access
//! that a later shared one has seen need not be kept, because whoever has not seen it has not seen
//! the later one either.

use paceline_trace::{EventNo, Kind, Site, ThreadId};

use crate::engine::clock::{Epoch, VectorClock};
use crate::occurrence::Occurrence;

/// An access, as much as is kept of it.
#[derive(Clone, Copy)]
pub(crate) struct Access {
    pub epoch: Epoch,
    pub site: Site,
    pub kind: Kind,
}

impl Access {
    /// The access as a finding names it.
    pub fn by(&self, thread: ThreadId) -> Occurrence {
        Occurrence { event: self.epoch.number(), thread, kind: self.kind, site: self.site }
    }

    #[inline(always)]
    fn is_ordered(&self, thread: usize, clock: &VectorClock) -> bool {
        self.epoch.thread() == thread || clock.knows(self.epoch)
    }
}

/// No thread has this number: it marks lists, and histories that are over.
pub(crate) const NO_THREAD: usize = Epoch::THREADS - 1;

const NONE: Access = Access { epoch: Epoch::NEVER, site: Site::UNKNOWN, kind: Kind::Read };

/// The accesses to one thing.
#[derive(Clone, Copy)]
pub(crate) struct History {
    exclusive: Access,
    /// One access or, with the thread [`NO_THREAD`], the number of a list.
    shared: Access,
}

/// Two to a cache line: an access to a variable touches one line.
const _: () = assert!(size_of::<History>() == 32);

impl Default for History {
    fn default() -> Self {
        History { exclusive: NONE, shared: NONE }
    }
}

impl History {
    /// Whether nothing has to be done for another shared access of the thread: it has told others
    /// nothing since an access of it, and another thread's access in between would have been an
    /// error.
    #[inline(always)]
    pub fn is_shared_since(&self, start: Epoch) -> bool {
        self.shared.epoch.is_since(start)
    }

    /// The same for another exclusive access.
    #[inline(always)]
    pub fn is_exclusive_since(&self, start: Epoch) -> bool {
        self.exclusive.epoch.is_since(start)
    }

    /// Whether an error was found, so that nothing is kept any more.
    #[inline(always)]
    pub fn is_over(&self) -> bool {
        self.exclusive.epoch.thread() == NO_THREAD
    }

    /// An exclusive access that `thread` does not know.
    #[inline]
    pub fn unordered_exclusive(&self, thread: usize, clock: &VectorClock) -> Option<Access> {
        (!self.exclusive.is_ordered(thread, clock)).then_some(self.exclusive)
    }

    /// A shared access that `thread` does not know.
    #[inline]
    pub fn unordered_shared(
        &self,
        thread: usize,
        clock: &VectorClock,
        lists: &Lists,
    ) -> Option<Access> {
        let unordered = |a: &&Access| !a.is_ordered(thread, clock);
        if self.shared.epoch.thread() == NO_THREAD {
            return lists.get(self.shared.epoch).iter().find(unordered).copied();
        }
        Some(&self.shared).filter(unordered).copied()
    }

    /// Keeps a shared access by the owner of `clock`.
    #[inline]
    pub fn share(&mut self, now: Access, clock: &VectorClock, lists: &mut Lists) {
        if self.shared.epoch.thread() == NO_THREAD {
            lists.add(self.shared.epoch, now, clock);
        } else if self.shared.is_ordered(now.epoch.thread(), clock) {
            self.shared = now;
        } else {
            self.shared.epoch = lists.start([self.shared, now]);
        }
    }

    /// Keeps an exclusive access, which is ordered after all that was kept.
    #[inline]
    pub fn exclude(&mut self, now: Access, lists: &mut Lists) {
        self.forget_shared(lists);
        self.exclusive = now;
    }

    /// Keeps nothing any more.
    pub fn close(&mut self, lists: &mut Lists) {
        self.forget_shared(lists);
        self.exclusive.epoch = Epoch::new(NO_THREAD, 0);
    }

    /// Gives back what it uses of `lists`.
    #[inline]
    pub fn forget_shared(&mut self, lists: &mut Lists) {
        if self.shared.epoch.thread() == NO_THREAD {
            lists.give_back(self.shared.epoch);
        }
        self.shared = NONE;
    }
}

/// Shared accesses that are not ordered with each other. Lists are used again, so that nothing is
/// allocated in the long run.
#[derive(Default)]
pub(crate) struct Lists {
    lists: Vec<Vec<Access>>,
    free: Vec<usize>,
}

impl Lists {
    fn get(&self, name: Epoch) -> &[Access] {
        &self.lists[name.number() as usize]
    }

    fn start(&mut self, accesses: [Access; 2]) -> Epoch {
        let at = self.free.pop().unwrap_or(self.lists.len());
        if at == self.lists.len() {
            self.lists.push(Vec::new());
        }
        self.lists[at].extend(accesses);
        Epoch::new(NO_THREAD, at as EventNo)
    }

    /// Adds an access in place of those that it has seen.
    fn add(&mut self, name: Epoch, now: Access, clock: &VectorClock) {
        let list = &mut self.lists[name.number() as usize];
        list.retain(|a| !a.is_ordered(now.epoch.thread(), clock));
        list.push(now);
    }

    fn give_back(&mut self, name: Epoch) {
        self.lists[name.number() as usize].clear();
        self.free.push(name.number() as usize);
    }
}
