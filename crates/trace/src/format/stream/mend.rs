//! A recorder can lose an event where the program cannot: when a stack is full, our own code has no
//! room to record that a lock was given up. The next acquire shows that it was. So the release is
//! put in there, late at worst, and the order is called inexact: what is found is a warning then.

use crate::event::{Event, Op};
use crate::ids::{LockId, Site, ThreadId};
use crate::ops;

/// Which thread holds which lock, as far as was recorded.
#[derive(Default)]
pub(super) struct Holders(Vec<Option<ThreadId>>);

/// What to do about an event.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Mended {
    /// Nothing was lost.
    Whole,
    /// This was lost before it.
    After(Event),
    /// What it gives up was taken without a word, or has been taken from it.
    Void,
}

impl Holders {
    /// Looks at the next event.
    #[inline]
    pub(super) fn mend(&mut self, event: &Event) -> Mended {
        match event.op {
            Op::Acquire(lock) | Op::PostWait(lock) => self.acquire(event.thread, lock),
            Op::Release(lock) | Op::PreWait(lock) => self.release(event.thread, lock),
            ops!(Access | Thread | Block | Semaphore | Barrier) => Mended::Whole,
            Op::AcquireShared(_) | Op::ReleaseShared(_) | Op::Notify(_) | Op::Yield => {
                Mended::Whole
            }
        }
    }

    fn acquire(&mut self, thread: ThreadId, lock: LockId) -> Mended {
        match self.holder(lock).replace(thread) {
            None => Mended::Whole,
            Some(lost) => {
                let op = Op::Release(lock);
                Mended::After(Event { thread: lost, op, site: Site::UNKNOWN })
            }
        }
    }

    fn release(&mut self, thread: ThreadId, lock: LockId) -> Mended {
        let holder = self.holder(lock);
        if *holder != Some(thread) {
            return Mended::Void;
        }
        *holder = None;
        Mended::Whole
    }

    fn holder(&mut self, lock: LockId) -> &mut Option<ThreadId> {
        if self.0.len() <= lock.index() {
            self.0.resize(lock.index() + 1, None);
        }
        &mut self.0[lock.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Trace;

    fn mended(line: &str) -> Vec<Mended> {
        let mut holders = Holders::default();
        Trace::parse(line).unwrap().events.iter().map(|event| holders.mend(event)).collect()
    }

    #[test]
    fn a_lost_release_comes_before_the_next_acquire() {
        let found = mended("1:acq(l) 1:w(x) 2:acq(l) 2:rel(l) 1:acq(l)");
        let lost = Event { thread: ThreadId(0), op: Op::Release(LockId(0)), site: Site::UNKNOWN };
        assert_eq!(found[2], Mended::After(lost));
        assert!([0, 1, 3, 4].iter().all(|&i| found[i] == Mended::Whole));
    }

    #[test]
    fn a_release_without_an_acquire_is_void() {
        assert_eq!(
            mended("1:acq(l) 2:rel(l) 1:rel(l) 1:rel(l)"),
            [Mended::Whole, Mended::Void, Mended::Whole, Mended::Void]
        );
    }
}
