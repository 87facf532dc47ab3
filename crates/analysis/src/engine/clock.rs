//! Vector clocks and epochs.
//!
//! Time is the number of an event in the trace. A clock says, for each thread, up to which event
//! that thread's past is known: an event (thread, number) happened before the owner of the clock
//! when the clock's entry for the thread is at least the number. FastTrack counts releases instead.
//! Event numbers have two advantages: nothing is ever incremented, and an epoch names the event
//! that it stands for.
//!
//! A thread's own entry is brought up to date only when it publishes its clock
//! ([`VectorClock::advance`]); until then, no other thread can know what it has done since.

use paceline_trace::EventNo;

/// One event by thread and number, in one word. Threads are numbered in the trace or within one
/// transaction: the clocks that an epoch is compared with determine which.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Epoch(u64);

/// 2^40 events are more than a disk holds; 2^24 threads are more than a system runs.
const TIME_BITS: u32 = 40;
const TIME: u64 = (1 << TIME_BITS) - 1;

impl Epoch {
    /// No event: before everything.
    pub const NEVER: Epoch = Epoch(0);
    /// How many threads there can be.
    pub const THREADS: usize = 1 << (64 - TIME_BITS);
    /// The last event number that fits.
    pub const LAST: EventNo = TIME;

    /// Event `number` of `thread`.
    #[inline(always)]
    pub fn new(thread: usize, number: EventNo) -> Epoch {
        debug_assert!(thread < Self::THREADS && number <= Self::LAST);
        Epoch((thread as u64) << TIME_BITS | number)
    }

    /// The thread.
    #[inline(always)]
    pub fn thread(self) -> usize {
        (self.0 >> TIME_BITS) as usize
    }

    /// The event's number.
    #[inline(always)]
    pub fn number(self) -> EventNo {
        self.0 & TIME
    }

    /// Whether this event is by the thread of `start` and not before it. `start` is the first
    /// event after that thread last published its clock: to other threads, its events since then
    /// are indistinguishable.
    #[inline(always)]
    pub fn is_since(self, start: Epoch) -> bool {
        self >= start && self.thread() == start.thread()
    }
}

/// For each thread, the last of its events that is known.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct VectorClock {
    /// Threads beyond the end are unknown: 0.
    known: Vec<EventNo>,
}

impl VectorClock {
    /// The last known event of `thread`; 0 if none is.
    #[inline(always)]
    pub fn get(&self, thread: usize) -> EventNo {
        self.known.get(thread).copied().unwrap_or(0)
    }

    /// Whether the event is known. Never ask this of a thread about its own events.
    #[inline(always)]
    pub fn knows(&self, epoch: Epoch) -> bool {
        epoch.number() <= self.get(epoch.thread())
    }

    /// Learns event `number` of `thread` and those before it.
    #[inline]
    pub fn advance(&mut self, thread: usize, number: EventNo) {
        if self.known.len() <= thread {
            self.known.resize(thread + 1, 0);
        }
        self.known[thread] = self.known[thread].max(number);
    }

    /// Learns everything that `other` knows.
    #[inline]
    pub fn join(&mut self, other: &VectorClock) {
        if self.known.len() < other.known.len() {
            self.known.resize(other.known.len(), 0);
        }
        for (mine, theirs) in self.known.iter_mut().zip(&other.known) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// Whether everything known here is known to `other` too.
    pub fn is_within(&self, other: &VectorClock) -> bool {
        self.known.iter().enumerate().all(|(thread, &number)| number <= other.get(thread))
    }

    /// Becomes a copy of `other`, in the same memory.
    #[inline]
    pub fn assign(&mut self, other: &VectorClock) {
        self.known.clear();
        self.known.extend_from_slice(&other.known);
    }

    /// Forgets everything; the memory is kept.
    #[inline]
    pub fn clear(&mut self) {
        self.known.clear();
    }
}

/// Two different elements of a slice, the second one mutable.
#[inline]
pub(crate) fn pair<T>(items: &mut [T], read: usize, write: usize) -> (&T, &mut T) {
    debug_assert_ne!(read, write);
    let (low, high) = items.split_at_mut(read.max(write));
    if read < write { (&low[read], &mut high[0]) } else { (&high[0], &mut low[write]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_is_its_thread_and_number() {
        let last = Epoch::new(Epoch::THREADS - 1, Epoch::LAST);
        assert_eq!((last.thread(), last.number()), (Epoch::THREADS - 1, Epoch::LAST));
        assert_eq!((Epoch::NEVER.thread(), Epoch::NEVER.number()), (0, 0));
    }

    #[test]
    fn since_means_same_thread_and_not_before() {
        let start = Epoch::new(2, 10);
        assert!(start.is_since(start));
        assert!(Epoch::new(2, 11).is_since(start));
        assert!(!Epoch::new(2, 9).is_since(start));
        assert!(!Epoch::new(3, 11).is_since(start));
        assert!(!Epoch::new(1, 11).is_since(start));
    }

    #[test]
    fn one_clock_is_within_another() {
        let clock = |known: &[EventNo]| VectorClock { known: known.to_vec() };
        assert!(clock(&[1, 0, 0]).is_within(&clock(&[1])));
        assert!(!clock(&[1, 0, 1]).is_within(&clock(&[1])));
        assert!(clock(&[1]).is_within(&clock(&[1, 5])));
    }

    #[test]
    fn clocks_learn_and_forget() {
        let (mut a, mut b) = (VectorClock::default(), VectorClock::default());
        assert!(a.knows(Epoch::NEVER) && !a.knows(Epoch::new(3, 1)));
        a.advance(3, 7);
        a.advance(3, 5);
        b.advance(0, 9);
        b.join(&a);
        assert_eq!((b.get(0), b.get(1), b.get(3)), (9, 0, 7));
        assert!(b.knows(Epoch::new(3, 7)) && !b.knows(Epoch::new(3, 8)));
        b.assign(&a);
        assert_eq!(b, a);
        b.clear();
        assert_eq!(b.get(3), 0);
    }

    #[test]
    fn a_pair_is_taken_in_either_order() {
        let mut items = [1, 2, 3];
        assert_eq!(pair(&mut items, 0, 2), (&1, &mut 3));
        assert_eq!(pair(&mut items, 2, 0), (&3, &mut 1));
    }
}
