//! Is the trace one that a program can have produced? The rules are those of
//! `docs/semantics.md`. An event that breaks one leaves the state as it was, so that a lenient
//! reader can skip it and go on.
//!
//! Most events are accesses, about which there is nothing to check while their thread may act;
//! most others enter or leave a block or a lock. Which one comes next cannot be predicted, and a
//! wrong guess of the processor costs more than the whole check of an event. So events are looked
//! at a stretch at a time: one pass without branches picks out the locks and the blocks, which
//! have nothing to do with each other, and then the same few instructions are good for entering
//! and leaving. Stretches with anything else in them go the long way.

use std::collections::HashSet;
use std::hint::select_unpredictable;

use crate::error::{Error, ErrorKind, Position, Rule, show_bytes};
use crate::event::{Event, Kind, Op};
use crate::ids::{IdCounts, LabelId, LockId, ThreadId};
use crate::ops;
use crate::source::{Batch, Lines};
use crate::symbols::Symbols;

/// Has not acted yet.
const NEW: u8 = 1;
/// Has been forked.
const FORKED: u8 = 2;
/// Has been joined.
const JOINED: u8 = 4;
/// Waits on a lock.
const WAITING: u8 = 8;

/// How many events are looked at together: one bit of a word for each.
const STRETCH: usize = 64;

/// The kinds about which there is nothing to check while the thread may act.
const PLAIN: u32 = set(&[
    Kind::Read,
    Kind::Write,
    Kind::AtomicRead,
    Kind::AtomicWrite,
    Kind::AtomicUpdate,
    Kind::Yield,
    Kind::Notify,
    Kind::Post,
    Kind::Take,
    Kind::BarrierEnter,
    Kind::BarrierExit,
]);
/// The kinds that take or give up a lock, checked by one comparison.
const LOCKS: u32 = set(&[Kind::Acquire, Kind::Release]);
/// The kinds that enter or leave a block.
const BLOCKS: u32 = set(&[Kind::Begin, Kind::End]);

const fn set(kinds: &[Kind]) -> u32 {
    let mut set = 0;
    let mut i = 0;
    while i < kinds.len() {
        set |= 1 << kinds[i] as u32;
        i += 1;
    }
    set
}

/// 1 if the kind is in the set, else 0.
#[inline(always)]
fn is_in(set: u32, kind: Kind) -> u32 {
    set >> kind as u32 & 1
}

/// No thread holds the lock.
const FREE: u32 = u32::MAX;
/// The lock is held shared.
const SHARED: u32 = u32::MAX - 1;

#[derive(Clone, Default)]
struct ThreadState {
    waits_on: Option<LockId>,
    /// In how many blocks the thread is.
    depth: usize,
    /// The labels of these, the innermost one last; what follows them is over.
    blocks: Vec<LabelId>,
}

/// Checks events one after the other.
#[derive(Default)]
pub struct Validator {
    /// Apart from the rest of the thread's state: plain accesses need nothing else.
    flags: Vec<u8>,
    threads: Vec<ThreadState>,
    /// The exclusive holder of each lock, or [`FREE`] or [`SHARED`].
    holders: Vec<u32>,
    /// How many threads hold each lock shared.
    sharers: Vec<u32>,
    readers: HashSet<(LockId, ThreadId)>,
    outermost_blocks: u64,
}

/// Some events of a stretch, one bit for each event, the first one on top.
#[derive(Clone, Copy)]
struct Picked(u64);

impl Picked {
    /// Calls `check` for each of them until one is wrong.
    #[inline(always)]
    fn try_each(
        mut self,
        events: &[Event],
        mut check: impl FnMut(&Event) -> Result<(), Rule>,
    ) -> Result<(), (usize, Rule)> {
        // Past the end there is nothing: the bits end before, or the events were cut short.
        while let Some(event) = events.get(self.0.leading_zeros() as usize) {
            let index = self.0.leading_zeros() as usize;
            check(event).map_err(|rule| (index, rule))?;
            self.0 ^= 1 << (63 - index);
        }
        Ok(())
    }
}

impl Validator {
    /// Checks a batch. On the first malformed event, `batch` is cut to the events before it.
    pub fn check(&mut self, batch: &mut Batch) -> Result<(), Malformed> {
        let Some((index, malformed)) = self.first_malformed(batch) else { return Ok(()) };
        batch.events.truncate(index);
        Err(malformed)
    }

    /// The first malformed event of a batch, with its index; nothing can be checked after it.
    pub fn first_malformed(&mut self, batch: &Batch) -> Option<(usize, Malformed)> {
        self.reserve(&batch.counts);
        let mut stretches = batch.events.chunks(STRETCH).enumerate();
        let (index, rule) = stretches.find_map(|(i, stretch)| {
            let (index, rule) = self.stretch(stretch).err()?;
            Some((i * STRETCH + index, rule))
        })?;
        let malformed = Malformed {
            at: Position { line: batch.line(index), event: Some(batch.first + index as u64) },
            event: batch.events[index],
            rule,
        };
        Some((index, malformed))
    }

    /// Checks a batch and takes the malformed events out of it. Later events move up,
    /// and so do their numbers: an event's number is its position among those that count.
    pub fn skip_malformed(&mut self, batch: &mut Batch, mut skipped: impl FnMut(Malformed)) {
        self.reserve(&batch.counts);
        let mut lines = Vec::new();
        let mut kept = 0;
        for i in 0..batch.events.len() {
            let (event, line) = (batch.events[i], batch.line(i));
            match self.event(&event) {
                Ok(()) => {
                    batch.events[kept] = event;
                    kept += 1;
                    lines.extend(line);
                }
                Err(rule) => {
                    let number = Some(batch.first + kept as u64);
                    skipped(Malformed { at: Position { line, event: number }, event, rule });
                }
            }
        }
        if kept < batch.events.len() {
            batch.events.truncate(kept);
            batch.lines = if lines.is_empty() { Lines::None } else { Lines::Each(lines) };
        }
    }

    /// How many outermost blocks have begun.
    pub fn outermost_blocks(&self) -> u64 {
        self.outermost_blocks
    }

    /// Makes room for the ids that are in use.
    pub fn reserve(&mut self, counts: &IdCounts) {
        if self.flags.len() < counts.threads {
            self.flags.resize(counts.threads, NEW);
            self.threads.resize(counts.threads, ThreadState::default());
        }
        if self.holders.len() < counts.locks {
            self.holders.resize(counts.locks, FREE);
            self.sharers.resize(counts.locks, 0);
        }
    }

    /// Checks some consecutive events, at most [`STRETCH`]. The index of the first malformed one
    /// comes with the rule that it breaks.
    fn stretch(&mut self, events: &[Event]) -> Result<(), (usize, Rule)> {
        let (mut locks, mut blocks, mut kinds, mut flags) = (0, 0, 0, 0);
        for event in events {
            let kind = event.op.kind();
            flags |= self.flags[event.thread.index()];
            kinds |= 1 << kind as u32;
            locks = locks << 1 | u64::from(is_in(LOCKS, kind));
            blocks = blocks << 1 | u64::from(is_in(BLOCKS, kind));
        }
        if flags & !FORKED != 0 || kinds & !(PLAIN | LOCKS | BLOCKS) != 0 {
            return self.one_by_one(events);
        }
        let unused = STRETCH - events.len();
        let (locks, blocks) = (Picked(locks << unused), Picked(blocks << unused));
        let outcome = locks.try_each(events, |event| self.acquire_or_release(event));
        let end = outcome.map_or_else(|(index, _)| index, |()| events.len());
        blocks.try_each(&events[..end], |event| self.begin_or_end(event))?;
        outcome
    }

    #[inline(never)]
    fn one_by_one(&mut self, events: &[Event]) -> Result<(), (usize, Rule)> {
        let mut events = events.iter().enumerate();
        events.try_for_each(|(i, event)| self.event(event).map_err(|rule| (i, rule)))
    }

    /// Checks an acquire or a release of a thread that may act.
    #[inline(always)]
    fn acquire_or_release(&mut self, event: &Event) -> Result<(), Rule> {
        let (Op::Acquire(lock) | Op::Release(lock)) = event.op else {
            return self.any_event(event);
        };
        let acquires = event.op.kind() == Kind::Acquire;
        let thread = event.thread.0;
        let (before, after) = select_unpredictable(acquires, (FREE, thread), (thread, FREE));
        let holder = &mut self.holders[lock.index()];
        if *holder != before {
            return self.any_event(event);
        }
        *holder = after;
        Ok(())
    }

    /// Checks a begin or an end of a thread that may act.
    #[inline(always)]
    fn begin_or_end(&mut self, event: &Event) -> Result<(), Rule> {
        let (Op::Begin(label) | Op::End(label)) = event.op else {
            return self.any_event(event);
        };
        let begins = event.op.kind() == Kind::Begin;
        let thread = &mut self.threads[event.thread.index()];
        let level = thread.depth.wrapping_sub(usize::from(!begins));
        let Some(block) = thread.blocks.get_mut(level) else {
            return self.any_event(event);
        };
        if !begins & (*block != label) {
            return self.any_event(event);
        }
        *block = label;
        thread.depth = level + usize::from(begins);
        self.outermost_blocks += u64::from(begins & (level == 0));
        Ok(())
    }

    /// Checks one event; room for its ids must have been made.
    #[inline(always)]
    pub fn event(&mut self, event: &Event) -> Result<(), Rule> {
        let flags = self.flags[event.thread.index()];
        if flags & !FORKED == 0 && is_in(PLAIN, event.op.kind()) == 1 {
            return Ok(());
        }
        self.any_event(event)
    }

    #[inline(never)]
    fn any_event(&mut self, event: &Event) -> Result<(), Rule> {
        let flags = self.flags[event.thread.index()];
        if flags & (JOINED | WAITING) != 0 {
            self.may_act(event, flags)?;
        }
        match event.op {
            ops!(Access | Semaphore | Barrier) | Op::Yield | Op::Notify(_) => {}
            Op::Begin(label) => self.begin(event.thread, label),
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
        self.flags[event.thread.index()] &= !NEW;
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

    fn begin(&mut self, thread: ThreadId, label: LabelId) {
        let ThreadState { depth, blocks, .. } = &mut self.threads[thread.index()];
        self.outermost_blocks += u64::from(*depth == 0);
        blocks.truncate(*depth);
        blocks.push(label);
        *depth += 1;
    }

    fn end(&mut self, thread: ThreadId, label: LabelId) -> Result<(), Rule> {
        let ThreadState { depth, blocks, .. } = &mut self.threads[thread.index()];
        let outer = depth.checked_sub(1).ok_or(Rule::EndWithoutBegin)?;
        let open = blocks[outer];
        if open != label && open.is_named() && label.is_named() {
            return Err(Rule::EndLabelMismatch);
        }
        *depth = outer;
        Ok(())
    }

    fn acquire(&mut self, thread: ThreadId, lock: LockId) -> Result<(), Rule> {
        let holder = &mut self.holders[lock.index()];
        if *holder == FREE {
            *holder = thread.0;
            return Ok(());
        }
        Err(self.why_not(thread, lock))
    }

    fn acquire_shared(&mut self, thread: ThreadId, lock: LockId) -> Result<(), Rule> {
        let is_shareable = matches!(self.holders[lock.index()], FREE | SHARED);
        if !is_shareable || !self.readers.insert((lock, thread)) {
            return Err(self.why_not(thread, lock));
        }
        self.holders[lock.index()] = SHARED;
        self.sharers[lock.index()] += 1;
        Ok(())
    }

    #[cold]
    fn why_not(&self, thread: ThreadId, lock: LockId) -> Rule {
        let own = self.holders[lock.index()] == thread.0 || self.readers.contains(&(lock, thread));
        if own { Rule::AcquireReentrant } else { Rule::AcquireHeld }
    }

    fn release(&mut self, thread: ThreadId, lock: LockId, otherwise: Rule) -> Result<(), Rule> {
        let holder = &mut self.holders[lock.index()];
        if *holder != thread.0 {
            return Err(otherwise);
        }
        *holder = FREE;
        Ok(())
    }

    fn release_shared(&mut self, thread: ThreadId, lock: LockId) -> Result<(), Rule> {
        if !self.readers.remove(&(lock, thread)) {
            return Err(Rule::ReleaseNotHeld);
        }
        self.sharers[lock.index()] -= 1;
        if self.sharers[lock.index()] == 0 {
            self.holders[lock.index()] = FREE;
        }
        Ok(())
    }

    fn pre_wait(&mut self, thread: ThreadId, lock: LockId) -> Result<(), Rule> {
        self.release(thread, lock, Rule::PrewaitNotHeld)?;
        self.threads[thread.index()].waits_on = Some(lock);
        self.flags[thread.index()] |= WAITING;
        Ok(())
    }

    fn post_wait(&mut self, thread: ThreadId, lock: LockId) -> Result<(), Rule> {
        if self.threads[thread.index()].waits_on.is_none() {
            return Err(Rule::PostwaitWithoutPrewait);
        }
        let holder = &mut self.holders[lock.index()];
        if *holder != FREE {
            return Err(Rule::PostwaitLockHeld);
        }
        *holder = thread.0;
        self.threads[thread.index()].waits_on = None;
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
        if *flags & NEW == 0 {
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
    pub at: Position,
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

#[cfg(test)]
mod tests;
