//! One order out of what each thread has recorded by itself.
//!
//! A thread's records come in its own order. A stamped record may be taken when its version is the
//! next of its stripe. A thread runs on until its records are used up or one of them is not next;
//! then it waits for that version, and the thread that takes the version before wakes it. So each
//! record is looked at once or twice, whatever the number of threads, and the order depends on
//! nothing but the bytes of the stream: reading them again gives the same trace.
//!
//! Memory is bounded by how far the chunks of one thread run ahead of those of another. The stream
//! has one order of chunks, so waiting for the missing one means keeping those before it; recorders
//! send what they have several times a second to keep that short.

use std::collections::{HashMap, VecDeque};
use std::hint::select_unpredictable;

use paceline_wire::{self as wire, MAX_STRIPES, VERSION_BITS};

use super::damaged;
use crate::error::Error;

/// A record with its stamp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamped<T> {
    stamp: u64,
    /// The record.
    pub record: T,
}

/// No record has this version of this stripe.
const NO_STAMP: u64 = u64::MAX;

impl<T> Stamped<T> {
    /// A record that keeps its place in its thread's order, and no other.
    #[inline(always)]
    pub fn without(record: T) -> Stamped<T> {
        Stamped::maybe(false, 0, record)
    }

    /// A record with this stamp, if it has one.
    #[inline(always)]
    pub fn maybe(is_stamped: bool, stamp: u64, record: T) -> Stamped<T> {
        // The last versions of the last stripe are beyond what a program can do.
        let stamp = select_unpredictable(is_stamped, stamp.min(NO_STAMP - 1), NO_STAMP);
        Stamped { stamp, record }
    }

    /// A record with this stamp.
    #[inline(always)]
    pub fn new(stamp: u64, record: T) -> Stamped<T> {
        Stamped::maybe(true, stamp, record)
    }
}

/// The records of a thread.
struct Lane<T> {
    /// What has not been taken; the first chunk from `at` on.
    chunks: VecDeque<Vec<Stamped<T>>>,
    at: usize,
    /// It waits for a version, or is on the list of those that can go on.
    is_listed: bool,
}

/// The next version of a stripe, and above it, how many threads wait for one. So the usual case,
/// that no thread waits and the version is the next, is one comparison.
#[derive(Clone, Copy, Default)]
struct Stripe(u64);

/// One thread that waits.
const WAITING: u64 = 1 << VERSION_BITS;

impl Stripe {
    fn next(self) -> u64 {
        self.0 & (WAITING - 1)
    }
}

/// Why a thread stops.
enum Pause {
    /// It has no more records.
    Empty,
    /// This many records are enough for now.
    Enough,
    /// Its next stamp is not the next of its stripe.
    Waits(u64),
}

/// Puts records in order.
pub struct Merge<T> {
    threads: Vec<Lane<T>>,
    stripes: Vec<Stripe>,
    /// The thread that waits for a stamp.
    waiting: HashMap<u64, u32>,
    /// Threads that can go on.
    ready: Vec<u32>,
    /// Chunks to be used again.
    spare: Vec<Vec<Stamped<T>>>,
}

/// So many used chunks are kept: a few threads push theirs in turns, and their memory is used again
/// instead of being allocated.
const SPARE: usize = 16;

impl<T> Merge<T> {
    /// For a recorder with this many stripes.
    pub fn new(stripes: u32) -> Merge<T> {
        Merge {
            threads: Vec::new(),
            stripes: vec![Stripe::default(); stripes.min(MAX_STRIPES) as usize],
            waiting: HashMap::new(),
            ready: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// There is one more thread.
    pub fn thread(&mut self) {
        self.threads.push(Lane { chunks: VecDeque::new(), at: 0, is_listed: false });
    }

    /// An empty chunk to be filled and pushed.
    pub fn chunk(&mut self) -> Vec<Stamped<T>> {
        self.spare.pop().unwrap_or_default()
    }

    /// A thread has recorded more.
    pub fn push(&mut self, thread: u32, chunk: Vec<Stamped<T>>) -> Result<(), Error> {
        let Some(state) = self.threads.get_mut(thread as usize) else {
            return Err(damaged(format!("records of thread {thread}, which is not known")));
        };
        if chunk.is_empty() {
            return Ok(());
        }
        state.chunks.push_back(chunk);
        if !state.is_listed {
            state.is_listed = true;
            self.ready.push(thread);
        }
        Ok(())
    }

    /// Takes at most `most` records that are in order now, each with its thread. Returns how many;
    /// fewer than `most` means that nothing more can be ordered until more is pushed.
    pub fn take(
        &mut self,
        most: usize,
        mut each: impl FnMut(u32, &T) -> Result<(), Error>,
    ) -> Result<usize, Error> {
        let mut left = most;
        while left > 0 {
            let Some(thread) = self.ready.pop() else { break };
            match self.run(thread, &mut left, &mut each)? {
                Pause::Enough => self.ready.push(thread),
                Pause::Empty => self.threads[thread as usize].is_listed = false,
                Pause::Waits(stamp) => self.wait(thread, stamp)?,
            }
        }
        Ok(most - left)
    }

    fn wait(&mut self, thread: u32, stamp: u64) -> Result<(), Error> {
        let (stripe, version) = wire::unstamp(stamp);
        let Some(state) = self.stripes.get_mut(stripe as usize) else {
            return Err(damaged(format!("a stamp of stripe {stripe}: too high")));
        };
        if version < state.next() || self.waiting.insert(stamp, thread).is_some() {
            let message = format!("stripe {stripe} has version {version} twice");
            return Err(damaged(message));
        }
        state.0 = state.0.wrapping_add(WAITING);
        Ok(())
    }

    /// Takes records of a thread as long as they are in order.
    fn run(
        &mut self,
        thread: u32,
        left: &mut usize,
        each: &mut impl FnMut(u32, &T) -> Result<(), Error>,
    ) -> Result<Pause, Error> {
        while let Some(mut chunk) = self.threads[thread as usize].chunks.pop_front() {
            let at = self.threads[thread as usize].at;
            let (taken, stop) = self.run_chunk(thread, &chunk[at..], *left, each)?;
            *left -= taken;
            let state = &mut self.threads[thread as usize];
            match stop {
                Pause::Empty => {
                    state.at = 0;
                    if self.spare.len() < SPARE {
                        chunk.clear();
                        self.spare.push(chunk);
                    }
                }
                Pause::Enough | Pause::Waits(_) => {
                    state.at = at + taken;
                    state.chunks.push_front(chunk);
                    return Ok(stop);
                }
            }
        }
        Ok(Pause::Empty)
    }

    /// Takes at most `most` records; how many, and why not more.
    #[inline]
    fn run_chunk(
        &mut self,
        thread: u32,
        chunk: &[Stamped<T>],
        most: usize,
        each: &mut impl FnMut(u32, &T) -> Result<(), Error>,
    ) -> Result<(usize, Pause), Error> {
        for (taken, Stamped { stamp, record }) in chunk[..chunk.len().min(most)].iter().enumerate()
        {
            if *stamp != NO_STAMP && !self.pass(*stamp) {
                return Ok((taken, Pause::Waits(*stamp)));
            }
            each(thread, record)?;
        }
        Ok(if most < chunk.len() { (most, Pause::Enough) } else { (chunk.len(), Pause::Empty) })
    }

    /// Goes on with a stripe if this stamp is its next.
    #[inline(always)]
    fn pass(&mut self, stamp: u64) -> bool {
        let (stripe, version) = wire::unstamp(stamp);
        match self.stripes.get_mut(stripe as usize) {
            Some(state) if state.0 == version => {
                state.0 += 1;
                true
            }
            Some(state) if state.next() == version => {
                state.0 += 1;
                self.wake(stripe, version + 1);
                true
            }
            _ => false,
        }
    }

    #[cold]
    fn wake(&mut self, stripe: u32, version: u64) {
        if let Some(thread) = self.waiting.remove(&wire::stamp(stripe, version)) {
            let state = &mut self.stripes[stripe as usize];
            state.0 = state.0.wrapping_sub(WAITING);
            self.ready.push(thread);
        }
    }

    /// How many records wait for something that has not come. After the end of the stream it never
    /// will.
    pub fn stuck(&self) -> u64 {
        let left = |thread: &Lane<T>| {
            let all: usize = thread.chunks.iter().map(Vec::len).sum();
            (all - thread.at) as u64
        };
        self.threads.iter().map(left).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merge(threads: u32) -> Merge<u64> {
        let mut merge = Merge::new(4);
        (0..threads).for_each(|_| merge.thread());
        merge
    }

    fn push(merge: &mut Merge<u64>, thread: u32, records: &[Stamped<u64>]) {
        merge.push(thread, records.to_vec()).expect("a known thread");
    }

    fn stamped(serial: u64, stripe: u32, version: u64) -> Stamped<u64> {
        Stamped::new(wire::stamp(stripe, version), serial)
    }

    fn take(merge: &mut Merge<u64>) -> Vec<u64> {
        let mut serials = Vec::new();
        let keep = |_, &serial: &u64| {
            serials.push(serial);
            Ok(())
        };
        merge.take(usize::MAX, keep).expect("sound");
        serials
    }

    #[test]
    fn a_thread_waits_for_the_version_before() {
        let mut merge = merge(3);
        push(&mut merge, 0, &[stamped(10, 3, 2)]);
        push(&mut merge, 1, &[stamped(11, 3, 1)]);
        assert!(take(&mut merge).is_empty());
        assert_eq!(merge.stuck(), 2);
        push(&mut merge, 2, &[stamped(12, 3, 0)]);
        assert_eq!(take(&mut merge), [12, 11, 10]);
        assert_eq!(merge.stuck(), 0);
    }

    #[test]
    fn unstamped_records_keep_their_place() {
        let mut merge = merge(2);
        let block = Stamped::without;
        push(&mut merge, 0, &[block(1), stamped(2, 0, 1), block(3)]);
        assert_eq!(take(&mut merge), [1]);
        push(&mut merge, 0, &[block(4)]);
        push(&mut merge, 1, &[stamped(9, 0, 0)]);
        assert_eq!(take(&mut merge), [9, 2, 3, 4]);
    }

    #[test]
    fn records_can_be_taken_a_few_at_a_time() {
        let mut merge = merge(1);
        let records: Vec<_> = (0..10).map(|i| stamped(i, 0, i)).collect();
        push(&mut merge, 0, &records);
        let mut seen = Vec::new();
        let mut keep = |thread, &serial: &u64| {
            seen.push((thread, serial));
            Ok(())
        };
        while merge.take(3, &mut keep).expect("sound") == 3 {}
        assert_eq!(seen, (0..10).map(|i| (0, i)).collect::<Vec<_>>());
    }

    #[test]
    fn damage_is_refused() {
        let refused = |record: Stamped<u64>, what: &str| {
            let mut merge = merge(2);
            push(&mut merge, 0, &[stamped(0, 0, 0)]);
            push(&mut merge, 1, &[record]);
            push(&mut merge, 0, &[stamped(0, 0, 7)]);
            let error = merge.take(99, |_, _| Ok(())).expect_err(what).to_string();
            assert!(error.contains(what), "{error}");
        };
        refused(stamped(0, 4, 0), "stripe 4: too high");
        refused(stamped(0, 0, 0), "stripe 0 has version 0 twice");
        refused(stamped(0, 0, 7), "stripe 0 has version 7 twice");
        let unknown = merge(2).push(2, Vec::new()).expect_err("unknown").to_string();
        assert!(unknown.contains("thread 2, which is not known"));
    }
}
