//! Is the trace one that a program can have produced? The rules are those of
//! `docs/semantics.md`. An event that breaks one leaves the state as it was, so that a lenient
//! reader can skip it and go on.

use std::collections::HashSet;

use crate::error::{Error, ErrorKind, Place, Rule, show_bytes};
use crate::event::{Event, Op};
use crate::ids::{IdCounts, LabelId, LockId, ThreadId};
use crate::source::{Batch, Lines, Skipped};
use crate::symbols::Symbols;

/// Has acted, or has been the target of a fork that succeeded.
const STARTED: u8 = 1;
const FORKED: u8 = 2;
const JOINED: u8 = 4;
const WAITING: u8 = 8;

/// Nobody holds the lock.
const FREE: u32 = u32::MAX;

#[derive(Clone, Default)]
struct Thread {
    waits_on: Option<LockId>,
    blocks: Vec<LabelId>,
}

#[derive(Clone, Copy)]
struct Lock {
    /// The exclusive holder, or [`FREE`].
    holder: u32,
    /// How many threads hold it shared.
    readers: u32,
}

/// Checks events one after the other.
#[derive(Default)]
pub struct Validator {
    /// Apart from the rest of the thread's state: plain accesses need nothing else.
    flags: Vec<u8>,
    threads: Vec<Thread>,
    locks: Vec<Lock>,
    readers: HashSet<(LockId, ThreadId)>,
}

impl Validator {
    /// Checks a batch. On the first malformed event, `batch` is cut to the events before it.
    pub fn check(&mut self, batch: &mut Batch) -> Result<(), Malformed> {
        self.reserve(&batch.counts);
        let broken = batch
            .events
            .iter()
            .enumerate()
            .find_map(|(i, event)| self.event(event).err().map(|rule| (i, rule)));
        let Some((index, rule)) = broken else { return Ok(()) };
        let malformed = Malformed {
            at: Place { line: batch.line(index), event: Some(batch.first + index as u64) },
            event: batch.events[index],
            rule,
        };
        batch.events.truncate(index);
        Err(malformed)
    }

    /// Checks a batch and takes the malformed events out of it. The events behind them move up,
    /// and so do their numbers: an event's number is its place among those that count.
    pub fn skip_malformed(&mut self, batch: &mut Batch, mut skipped: impl FnMut(Malformed)) {
        self.reserve(&batch.counts);
        let mut lines = Vec::new();
        let (mut kept, mut number) = (0, batch.first);
        for i in 0..batch.events.len() {
            let event = batch.events[i];
            let line = batch.line(i);
            match self.event(&event) {
                Ok(()) => {
                    batch.events[kept] = event;
                    kept += 1;
                    number += 1;
                    lines.extend(line);
                }
                Err(rule) => {
                    skipped(Malformed { at: Place { line, event: Some(number) }, event, rule });
                }
            }
        }
        if kept < batch.events.len() {
            batch.events.truncate(kept);
            batch.lines = if lines.is_empty() { Lines::None } else { Lines::Each(lines) };
        }
    }

    /// Makes room for the ids that are in use.
    pub fn reserve(&mut self, counts: &IdCounts) {
        if self.flags.len() < counts.threads {
            self.flags.resize(counts.threads, 0);
            self.threads.resize(counts.threads, Thread::default());
        }
        if self.locks.len() < counts.locks {
            self.locks.resize(counts.locks, Lock { holder: FREE, readers: 0 });
        }
    }

    /// Checks one event; room for its ids must have been made.
    #[inline]
    pub fn event(&mut self, event: &Event) -> Result<(), Rule> {
        let flags = self.flags[event.thread.index()];
        if flags & (JOINED | WAITING) != 0 {
            self.may_act(event, flags)?;
        }
        match event.op {
            Op::Read(_)
            | Op::Write(_)
            | Op::AtomicRead(_)
            | Op::AtomicWrite(_)
            | Op::AtomicUpdate(_)
            | Op::Yield
            | Op::Notify(_)
            | Op::Post(_)
            | Op::Take(_)
            | Op::BarrierEnter(_)
            | Op::BarrierExit(_) => {}
            Op::Begin(label) => self.threads[event.thread.index()].blocks.push(label),
            Op::End(label) => self.end(event.thread, label)?,
            Op::Acquire(lock) => self.acquire(event.thread, lock)?,
            Op::Release(lock) => self.release(event.thread, lock, Rule::ReleaseNotHeld)?,
            Op::AcquireShared(lock) => self.acquire_shared(event.thread, lock)?,
            Op::ReleaseShared(lock) => self.release_shared(event.thread, lock)?,
            Op::PreWait(lock) => self.pre_wait(event.thread, lock)?,
            Op::PostWait(lock) => self.post_wait(event.thread, lock)?,
            Op::Fork(child) => self.fork(event.thread, child)?,
            Op::Join(child) => self.join(event.thread, child)?,
        }
        self.flags[event.thread.index()] |= STARTED;
        Ok(())
    }

    #[cold]
    fn may_act(&self, event: &Event, flags: u8) -> Result<(), Rule> {
        if flags & JOINED != 0 {
            return Err(Rule::EventAfterJoin);
        }
        match (event.op, self.threads[event.thread.index()].waits_on) {
            (Op::PostWait(lock), Some(waited)) if lock == waited => Ok(()),
            _ => Err(Rule::EventWhileWaiting),
        }
    }

    fn end(&mut self, thread: ThreadId, label: LabelId) -> Result<(), Rule> {
        let blocks = &mut self.threads[thread.index()].blocks;
        let open = *blocks.last().ok_or(Rule::EndWithoutBegin)?;
        if open != label && open.is_named() && label.is_named() {
            return Err(Rule::EndLabelMismatch);
        }
        blocks.pop();
        Ok(())
    }

    fn acquire(&mut self, thread: ThreadId, lock: LockId) -> Result<(), Rule> {
        let state = self.locks[lock.index()];
        if state.holder == FREE && state.readers == 0 {
            self.locks[lock.index()].holder = thread.0;
            return Ok(());
        }
        Err(self.why_not(thread, lock))
    }

    fn acquire_shared(&mut self, thread: ThreadId, lock: LockId) -> Result<(), Rule> {
        if self.locks[lock.index()].holder != FREE || !self.readers.insert((lock, thread)) {
            return Err(self.why_not(thread, lock));
        }
        self.locks[lock.index()].readers += 1;
        Ok(())
    }

    #[cold]
    fn why_not(&self, thread: ThreadId, lock: LockId) -> Rule {
        let own =
            self.locks[lock.index()].holder == thread.0 || self.readers.contains(&(lock, thread));
        if own { Rule::AcquireReentrant } else { Rule::AcquireHeld }
    }

    fn release(&mut self, thread: ThreadId, lock: LockId, otherwise: Rule) -> Result<(), Rule> {
        let state = &mut self.locks[lock.index()];
        if state.holder != thread.0 {
            return Err(otherwise);
        }
        state.holder = FREE;
        Ok(())
    }

    fn release_shared(&mut self, thread: ThreadId, lock: LockId) -> Result<(), Rule> {
        if !self.readers.remove(&(lock, thread)) {
            return Err(Rule::ReleaseNotHeld);
        }
        self.locks[lock.index()].readers -= 1;
        Ok(())
    }

    fn pre_wait(&mut self, thread: ThreadId, lock: LockId) -> Result<(), Rule> {
        self.release(thread, lock, Rule::PrewaitNotHeld)?;
        self.threads[thread.index()].waits_on = Some(lock);
        self.flags[thread.index()] |= WAITING;
        Ok(())
    }

    fn post_wait(&mut self, thread: ThreadId, lock: LockId) -> Result<(), Rule> {
        let waiting = &mut self.threads[thread.index()].waits_on;
        if waiting.is_none() {
            return Err(Rule::PostwaitWithoutPrewait);
        }
        let state = &mut self.locks[lock.index()];
        if state.holder != FREE || state.readers != 0 {
            return Err(Rule::PostwaitLockHeld);
        }
        state.holder = thread.0;
        *waiting = None;
        self.flags[thread.index()] &= !WAITING;
        Ok(())
    }

    fn fork(&mut self, thread: ThreadId, child: ThreadId) -> Result<(), Rule> {
        let flags = &mut self.flags[child.index()];
        if child == thread {
            return Err(Rule::ForkSelf);
        }
        if *flags & FORKED != 0 {
            return Err(Rule::ForkTwice);
        }
        if *flags & JOINED != 0 {
            return Err(Rule::ForkAfterJoin);
        }
        if *flags & STARTED != 0 {
            return Err(Rule::ForkAfterChildStart);
        }
        *flags |= FORKED;
        Ok(())
    }

    fn join(&mut self, thread: ThreadId, child: ThreadId) -> Result<(), Rule> {
        if child == thread {
            return Err(Rule::JoinSelf);
        }
        self.flags[child.index()] |= JOINED;
        Ok(())
    }
}

/// An event that no program can have produced at this place.
#[derive(Clone, Copy, Debug)]
pub struct Malformed {
    /// Where it stands.
    pub at: Place,
    /// The event.
    pub event: Event,
    /// The rule that it breaks.
    pub rule: Rule,
}

impl Malformed {
    /// The error as a person reads it.
    pub fn explain(&self, symbols: &Symbols) -> Error {
        let thread = show_bytes(symbols.threads.name(self.event.thread.0));
        let op = show_bytes(crate::format::std::show_op(&self.event, symbols).as_bytes());
        let why = why(self.rule);
        let message = format!("thread {thread} does {op}: {why}");
        Error { at: self.at, kind: ErrorKind::Malformed(self.rule, message) }
    }

    /// Counts the event among the skipped ones.
    pub fn skip(&self, symbols: &Symbols, skipped: &mut Skipped) {
        skipped.malformed(self.explain(symbols));
    }
}

fn why(rule: Rule) -> &'static str {
    match rule {
        Rule::ParseError => "this is no line of the format",
        Rule::EventAfterJoin => "the thread has been joined, it cannot act any more",
        Rule::EventWhileWaiting => {
            "the thread waits, its next event must be the postwait on the same lock"
        }
        Rule::AcquireReentrant => {
            "the thread holds the lock already (record outermost acquires only)"
        }
        Rule::AcquireHeld => "another thread holds the lock (is a release missing?)",
        Rule::ReleaseNotHeld => "the thread does not hold the lock (is an acquire missing?)",
        Rule::PrewaitNotHeld => "the thread does not hold the lock that it waits on",
        Rule::PostwaitWithoutPrewait => "the thread was not waiting",
        Rule::PostwaitLockHeld => "another thread holds the lock",
        Rule::EndWithoutBegin => "the thread has no open block",
        Rule::EndLabelMismatch => "the thread's innermost open block has another label",
        Rule::ForkSelf => "a thread cannot start itself",
        Rule::ForkTwice => "that thread has been started before",
        Rule::ForkAfterJoin => "that thread has been joined before",
        Rule::ForkAfterChildStart => "that thread has acted before",
        Rule::JoinSelf => "a thread cannot wait for its own end",
    }
}
