//! Is the trace one that a program can have produced? The rules are those of
//! `docs/semantics.md`. An event that breaks one leaves the state as it was, so that a lenient
//! reader can skip it and go on.
//!
//! Most events are accesses, about which there is nothing to check while their thread may act;
//! most others enter or leave a block or a lock. Which one comes next cannot be foretold, and a
//! wrong guess of the processor costs more than the whole check of an event. So events are looked
//! at a stretch at a time: one pass without branches picks out those to be checked, and blocks
//! and locks are checked by the same few instructions. Whatever else there is goes the long way.

use std::collections::HashSet;
use std::hint::select_unpredictable;

use crate::error::{Error, ErrorKind, Place, Rule, show_bytes};
use crate::event::{Event, Kind, Op};
use crate::ids::{IdCounts, LabelId, LockId, ThreadId};
use crate::source::{Batch, Lines};
use crate::symbols::Symbols;

/// Has not acted yet.
const NEW: u8 = 1;
const FORKED: u8 = 2;
const JOINED: u8 = 4;
const WAITING: u8 = 8;
/// Not of a thread but of an event: it may change the flags of a thread, or is rare, or new.
const SPECIAL: u8 = 16;

/// How many events are looked at together.
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
/// The kinds that fill a place.
const ENTERS: u32 = set(&[Kind::Acquire, Kind::Begin]);
/// The kinds that free a place.
const LEAVES: u32 = set(&[Kind::Release, Kind::End]);
/// Of these, the ones about blocks.
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

/// Nobody holds the lock; the thread is in no block.
const FREE: u32 = u32::MAX - 1;
/// The lock is held shared; the thread is in several blocks.
const SEVERAL: u32 = u32::MAX - 2;

/// The places of a lock and of a thread that happen to have the same number, side by side so
/// that no branch decides where to look.
#[derive(Clone, Copy)]
struct Places {
    /// The exclusive holder of the lock, and the label of the block that the thread is in; or
    /// [`FREE`] or [`SEVERAL`].
    filled_by: [u32; 2],
}

const LOCK: usize = 0;
const BLOCK: usize = 1;

#[derive(Clone, Default)]
struct Thread {
    waits_on: Option<LockId>,
    /// The open blocks, if there are several.
    blocks: Vec<LabelId>,
}

/// Checks events one after the other.
#[derive(Default)]
pub struct Validator {
    /// Apart from the rest of the thread's state: plain accesses need nothing else.
    flags: Vec<u8>,
    places: Vec<Places>,
    threads: Vec<Thread>,
    /// How many threads hold a lock shared.
    sharers: Vec<u32>,
    readers: HashSet<(LockId, ThreadId)>,
    outermost_blocks: u64,
}

impl Validator {
    /// Checks a batch. On the first malformed event, `batch` is cut to the events before it.
    pub fn check(&mut self, batch: &mut Batch) -> Result<(), Malformed> {
        self.reserve(&batch.counts);
        let mut stretches = batch.events.chunks(STRETCH).enumerate();
        let broken = stretches.find_map(|(i, stretch)| {
            let (index, rule) = self.stretch(stretch).err()?;
            Some((i * STRETCH + index, rule))
        });
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
                    skipped(Malformed { at: Place { line, event: number }, event, rule });
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
    fn reserve(&mut self, counts: &IdCounts) {
        if self.flags.len() < counts.threads {
            self.flags.resize(counts.threads, NEW);
            self.threads.resize(counts.threads, Thread::default());
        }
        if self.sharers.len() < counts.locks {
            self.sharers.resize(counts.locks, 0);
        }
        let places = self.flags.len().max(self.sharers.len());
        if self.places.len() < places {
            self.places.resize(places, Places { filled_by: [FREE; 2] });
        }
    }

    /// Checks some consecutive events, at most [`STRETCH`]. The index of the first malformed one
    /// comes with the rule that it breaks.
    fn stretch(&mut self, events: &[Event]) -> Result<(), (usize, Rule)> {
        let mut picked = [0; STRETCH];
        let mut count = 0;
        let mut flags = 0;
        for (i, event) in events.iter().enumerate() {
            let kind = event.op.kind();
            flags |= self.flags[event.thread.index()];
            flags |= SPECIAL * is_in(!(PLAIN | ENTERS | LEAVES), kind) as u8;
            picked[count % STRETCH] = i as u8;
            count += is_in(ENTERS | LEAVES, kind) as usize;
        }
        if flags & !FORKED != 0 {
            return self.one_by_one(events);
        }
        for &i in &picked[..count.min(STRETCH)] {
            let index = usize::from(i) % STRETCH;
            self.enter_or_leave(&events[index]).map_err(|rule| (index, rule))?;
        }
        Ok(())
    }

    #[inline(never)]
    fn one_by_one(&mut self, events: &[Event]) -> Result<(), (usize, Rule)> {
        let mut events = events.iter().enumerate();
        events.try_for_each(|(i, event)| self.event(event).map_err(|rule| (i, rule)))
    }

    /// Checks an event of a thread that may act: an acquire or a release, a begin or an end.
    #[inline(always)]
    fn enter_or_leave(&mut self, event: &Event) -> Result<(), Rule> {
        let (Op::Acquire(LockId(id))
        | Op::Release(LockId(id))
        | Op::Begin(LabelId(id))
        | Op::End(LabelId(id))) = event.op
        else {
            return self.any_event(event);
        };
        let is_block = is_in(BLOCKS, event.op.kind());
        let enters = is_in(ENTERS, event.op.kind());
        let thread = event.thread.0;
        let (place, who) = select_unpredictable(is_block == 1, (thread, id), (id, thread));
        let (before, after) = select_unpredictable(enters == 1, (FREE, who), (who, FREE));
        let filled_by = &mut self.places[place as usize].filled_by[is_block as usize];
        if *filled_by != before {
            return self.any_event(event);
        }
        *filled_by = after;
        self.outermost_blocks += u64::from(is_block & enters);
        Ok(())
    }

    /// Checks one event; room for its ids must have been made.
    #[inline(always)]
    fn event(&mut self, event: &Event) -> Result<(), Rule> {
        let flags = self.flags[event.thread.index()];
        if flags & !FORKED == 0 && is_in(PLAIN, event.op.kind()) == 1 {
            return Ok(());
        }
        self.any_event(event)
    }

    fn any_event(&mut self, event: &Event) -> Result<(), Rule> {
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
        let blocks = &mut self.threads[thread.index()].blocks;
        let block = &mut self.places[thread.index()].filled_by[BLOCK];
        match *block {
            FREE => {
                *block = label.0;
                self.outermost_blocks += 1;
            }
            SEVERAL => blocks.push(label),
            outer => {
                *block = SEVERAL;
                blocks.extend([LabelId(outer), label]);
            }
        }
    }

    fn end(&mut self, thread: ThreadId, label: LabelId) -> Result<(), Rule> {
        let blocks = &mut self.threads[thread.index()].blocks;
        let block = &mut self.places[thread.index()].filled_by[BLOCK];
        let open = match *block {
            FREE => return Err(Rule::EndWithoutBegin),
            SEVERAL => blocks[blocks.len() - 1],
            single => LabelId(single),
        };
        if open != label && open.is_named() && label.is_named() {
            return Err(Rule::EndLabelMismatch);
        }
        if *block != SEVERAL {
            *block = FREE;
        } else {
            blocks.pop();
            if let [outer] = blocks[..] {
                *block = outer.0;
                blocks.clear();
            }
        }
        Ok(())
    }

    /// The exclusive holder of a lock, or [`FREE`] or [`SEVERAL`].
    fn holder(&mut self, lock: LockId) -> &mut u32 {
        &mut self.places[lock.index()].filled_by[LOCK]
    }

    fn acquire(&mut self, thread: ThreadId, lock: LockId) -> Result<(), Rule> {
        let holder = self.holder(lock);
        if *holder == FREE {
            *holder = thread.0;
            return Ok(());
        }
        Err(self.why_not(thread, lock))
    }

    fn acquire_shared(&mut self, thread: ThreadId, lock: LockId) -> Result<(), Rule> {
        let is_shareable = matches!(*self.holder(lock), FREE | SEVERAL);
        if !is_shareable || !self.readers.insert((lock, thread)) {
            return Err(self.why_not(thread, lock));
        }
        *self.holder(lock) = SEVERAL;
        self.sharers[lock.index()] += 1;
        Ok(())
    }

    #[cold]
    fn why_not(&mut self, thread: ThreadId, lock: LockId) -> Rule {
        let own = *self.holder(lock) == thread.0 || self.readers.contains(&(lock, thread));
        if own { Rule::AcquireReentrant } else { Rule::AcquireHeld }
    }

    fn release(&mut self, thread: ThreadId, lock: LockId, otherwise: Rule) -> Result<(), Rule> {
        let holder = self.holder(lock);
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
            *self.holder(lock) = FREE;
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
        let holder = self.holder(lock);
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
