//! One order out of what each thread has recorded by itself.
//!
//! A thread's records come in its own order. A stamped record may be taken when its version is the
//! next of its stripe. A thread runs on until its records are used up or one of them is not next;
//! then it waits for that version, and whoever takes the version before wakes it. So each record is
//! looked at once or twice, whatever the number of threads, and the order depends on nothing but the
//! bytes of the stream: reading them again gives the same trace.
//!
//! Memory is bounded by how far the chunks of one thread run ahead of those of another. The stream
//! has one order of chunks, so waiting for the missing one means keeping those before it; recorders
//! send what they have several times a second to keep that short.

use std::collections::{HashMap, VecDeque};

use super::wire::{self, damaged};
use crate::error::Error;

/// How the records of a site look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Form {
    /// There is a stamp.
    pub stamped: bool,
    /// There is an index.
    pub indexed: bool,
}

impl Form {
    /// The site 0, which nobody has.
    const NONE: Form = Form { stamped: true, indexed: true };

    fn words(self) -> usize {
        1 + usize::from(self.stamped) + usize::from(self.indexed)
    }
}

/// A record in its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// The thread.
    pub thread: u32,
    /// The site.
    pub site: u32,
    /// The object.
    pub object: u64,
    /// The index, or 0.
    pub index: u64,
}

#[derive(Default)]
struct Thread {
    /// What has not been taken; the first chunk from `at` on.
    chunks: VecDeque<Vec<u64>>,
    at: usize,
    /// It waits for a version, or is on the list of those who can go on.
    is_listed: bool,
}

#[derive(Clone, Copy, Default)]
struct Stripe {
    next: u64,
    /// How many threads wait for a version of it.
    waiting: u32,
}

/// Why a thread stops.
enum Stop {
    /// It has no more records.
    Empty,
    /// This many records are enough for now.
    Enough,
    /// Its next stamp is not the next of its stripe.
    Waits(u64),
}

/// Puts records in order.
#[derive(Default)]
pub struct Merge {
    forms: Vec<Form>,
    threads: Vec<Thread>,
    stripes: Vec<Stripe>,
    /// The thread that waits for a stamp.
    waiting: HashMap<u64, u32>,
    /// Threads that can go on.
    ready: Vec<u32>,
    /// Chunks to be used again.
    spare: Vec<Vec<u64>>,
}

/// So many used chunks are kept: allocation is not what merging should cost.
const SPARE: usize = 16;

impl Merge {
    /// For a recorder with this many stripes.
    pub fn new(stripes: u32) -> Merge {
        let stripes = vec![Stripe::default(); stripes as usize];
        Merge { stripes, forms: vec![Form::NONE], ..Merge::default() }
    }

    /// The next site has this form.
    pub fn site(&mut self, form: Form) {
        self.forms.push(form);
    }

    /// There is one more thread.
    pub fn thread(&mut self) {
        self.threads.push(Thread::default());
    }

    /// A thread has recorded more.
    pub fn push(&mut self, thread: u32, records: &[u8]) -> Result<(), Error> {
        let Some(state) = self.threads.get_mut(thread as usize) else {
            return Err(damaged(format!("records of thread {thread}, which is not known")));
        };
        if records.is_empty() {
            return Ok(());
        }
        let mut chunk = self.spare.pop().unwrap_or_default();
        chunk.clear();
        let (words, _) = records.as_chunks::<8>();
        chunk.extend(words.iter().map(|word| u64::from_le_bytes(*word)));
        state.chunks.push_back(chunk);
        if !state.is_listed {
            state.is_listed = true;
            self.ready.push(thread);
        }
        Ok(())
    }

    /// Takes at most `most` records that are in order now. Returns how many; fewer than `most`
    /// means that nothing more can be ordered until more is pushed.
    pub fn take(
        &mut self,
        most: usize,
        mut each: impl FnMut(Record) -> Result<(), Error>,
    ) -> Result<usize, Error> {
        let mut left = most;
        while left > 0 {
            let Some(thread) = self.ready.pop() else { break };
            match self.run(thread, &mut left, &mut each)? {
                Stop::Enough => self.ready.push(thread),
                Stop::Empty => self.threads[thread as usize].is_listed = false,
                Stop::Waits(stamp) => self.wait(thread, stamp)?,
            }
        }
        Ok(most - left)
    }

    fn wait(&mut self, thread: u32, stamp: u64) -> Result<(), Error> {
        let (stripe, version) = wire::unstamp(stamp);
        let state = &mut self.stripes[stripe as usize];
        if version < state.next || self.waiting.insert(stamp, thread).is_some() {
            let message = format!("stripe {stripe} has version {version} twice");
            return Err(damaged(message));
        }
        state.waiting += 1;
        Ok(())
    }

    /// Takes records of a thread as long as they are in order.
    fn run(
        &mut self,
        thread: u32,
        left: &mut usize,
        each: &mut impl FnMut(Record) -> Result<(), Error>,
    ) -> Result<Stop, Error> {
        while let Some(chunk) = self.threads[thread as usize].chunks.pop_front() {
            let mut at = self.threads[thread as usize].at;
            let stop = self.run_chunk(thread, &chunk, &mut at, left, each)?;
            let state = &mut self.threads[thread as usize];
            match stop {
                Stop::Empty => {
                    state.at = 0;
                    if self.spare.len() < SPARE {
                        self.spare.push(chunk);
                    }
                }
                Stop::Enough | Stop::Waits(_) => {
                    state.at = at;
                    state.chunks.push_front(chunk);
                    return Ok(stop);
                }
            }
        }
        Ok(Stop::Empty)
    }

    #[inline]
    fn run_chunk(
        &mut self,
        thread: u32,
        chunk: &[u64],
        at: &mut usize,
        left: &mut usize,
        each: &mut impl FnMut(Record) -> Result<(), Error>,
    ) -> Result<Stop, Error> {
        while let Some(rest) = chunk.get(*at..).filter(|rest| !rest.is_empty()) {
            if *left == 0 {
                return Ok(Stop::Enough);
            }
            let (site, object) = wire::unpack(rest[0]);
            let form = self.form(site, thread, rest)?;
            if form.stamped {
                let (stripe, version) = wire::unstamp(rest[1]);
                match self.stripes.get_mut(stripe as usize) {
                    Some(state) if state.next == version => {
                        state.next += 1;
                        if state.waiting > 0 {
                            self.wake(stripe, version + 1);
                        }
                    }
                    Some(_) => return Ok(Stop::Waits(rest[1])),
                    None => return Err(damaged(format!("a stamp of stripe {stripe}: too high"))),
                }
            }
            let index = if form.indexed { rest[form.words() - 1] } else { 0 };
            each(Record { thread, site, object, index })?;
            *at += form.words();
            *left -= 1;
        }
        Ok(Stop::Empty)
    }

    /// The form of a record that `rest` starts with, if all of it is there.
    #[inline]
    fn form(&self, site: u32, thread: u32, rest: &[u64]) -> Result<Form, Error> {
        match self.forms.get(site as usize) {
            Some(&form) if site > 0 && rest.len() >= form.words() => Ok(form),
            Some(_) if site > 0 => {
                Err(damaged(format!("a record of thread {thread} is cut at the end of a chunk")))
            }
            _ => Err(damaged(format!(
                "a record of thread {thread} has the site {site}, which is not known"
            ))),
        }
    }

    fn wake(&mut self, stripe: u32, version: u64) {
        if let Some(thread) = self.waiting.remove(&wire::stamp(stripe, version)) {
            self.stripes[stripe as usize].waiting -= 1;
            self.ready.push(thread);
        }
    }

    /// How many records wait for something that has not come. After the end of the stream it never
    /// will.
    pub fn stuck(&self) -> u64 {
        self.threads.iter().map(|thread| self.left_of(thread)).sum()
    }

    fn left_of(&self, thread: &Thread) -> u64 {
        let starts = [thread.at].into_iter().chain(std::iter::repeat(0));
        thread.chunks.iter().zip(starts).map(|(chunk, at)| self.records_in(&chunk[at..])).sum()
    }

    fn records_in(&self, mut words: &[u64]) -> u64 {
        let mut records = 0;
        while let Some(&word) = words.first() {
            let form = self.forms.get(wire::unpack(word).0 as usize);
            words = words.get(form.map_or(1, |form| form.words())..).unwrap_or_default();
            records += 1;
        }
        records
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Site 1 is stamped, site 2 is not, site 3 is stamped and has an index.
    fn merge(threads: u32) -> Merge {
        let mut merge = Merge::new(4);
        for (stamped, indexed) in [(true, false), (false, false), (true, true)] {
            merge.site(Form { stamped, indexed });
        }
        (0..threads).for_each(|_| merge.thread());
        merge
    }

    fn push(merge: &mut Merge, thread: u32, words: &[u64]) {
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        merge.push(thread, &bytes).expect("a known thread");
    }

    fn stamped(object: u64, stripe: u32, version: u64) -> [u64; 2] {
        [wire::pack(1, object), wire::stamp(stripe, version)]
    }

    fn take(merge: &mut Merge) -> Vec<u64> {
        let mut objects = Vec::new();
        merge
            .take(usize::MAX, |record| {
                objects.push(record.object);
                Ok(())
            })
            .expect("sound");
        objects
    }

    #[test]
    fn a_thread_waits_for_the_version_before() {
        let mut merge = merge(3);
        push(&mut merge, 0, &stamped(10, 3, 2));
        push(&mut merge, 1, &stamped(11, 3, 1));
        assert_eq!(take(&mut merge), []);
        assert_eq!(merge.stuck(), 2);
        push(&mut merge, 2, &stamped(12, 3, 0));
        assert_eq!(take(&mut merge), [12, 11, 10]);
        assert_eq!(merge.stuck(), 0);
    }

    #[test]
    fn unstamped_records_keep_their_place() {
        let mut merge = merge(2);
        let block = |object| [wire::pack(2, object)];
        let first = [&block(1)[..], &stamped(2, 0, 1), &block(3)].concat();
        push(&mut merge, 0, &first);
        assert_eq!(take(&mut merge), [1]);
        push(&mut merge, 0, &block(4));
        push(&mut merge, 1, &stamped(9, 0, 0));
        assert_eq!(take(&mut merge), [9, 2, 3, 4]);
    }

    #[test]
    fn an_index_is_read() {
        let mut merge = merge(1);
        push(&mut merge, 0, &[wire::pack(3, 5), wire::stamp(1, 0), 77]);
        let mut seen = Vec::new();
        let keep = |record| {
            seen.push(record);
            Ok(())
        };
        merge.take(1, keep).expect("sound");
        assert_eq!(seen, [Record { thread: 0, site: 3, object: 5, index: 77 }]);
    }

    #[test]
    fn records_can_be_taken_a_few_at_a_time() {
        let mut merge = merge(1);
        let words: Vec<u64> = (0..10).flat_map(|i| stamped(i, 0, i)).collect();
        push(&mut merge, 0, &words);
        let mut seen = Vec::new();
        let mut keep = |record: Record| {
            seen.push(record.object);
            Ok(())
        };
        while merge.take(3, &mut keep).expect("sound") == 3 {}
        assert_eq!(seen, (0..10).collect::<Vec<_>>());
    }

    #[test]
    fn damage_is_told() {
        let told = |words: &[u64], what: &str| {
            let mut merge = merge(2);
            push(&mut merge, 0, &stamped(0, 0, 0));
            push(&mut merge, 1, words);
            push(&mut merge, 0, &stamped(0, 0, 7));
            let error = merge.take(99, |_| Ok(())).expect_err(what).to_string();
            assert!(error.contains(what), "{error}");
        };
        told(&[0], "site 0, which is not known");
        told(&[wire::pack(4, 0)], "site 4, which is not known");
        told(&[wire::pack(1, 0)], "cut at the end of a chunk");
        told(&stamped(0, 4, 0), "stripe 4: too high");
        told(&stamped(0, 0, 0), "stripe 0 has version 0 twice");
        told(&stamped(0, 0, 7), "stripe 0 has version 7 twice");
        let unknown = merge(2).push(2, &[]).expect_err("unknown").to_string();
        assert!(unknown.contains("thread 2, which is not known"));
    }
}
