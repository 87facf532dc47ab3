//! Is the trace one that a program can have produced? The rules are those of
//! `docs/semantics.md`. An event that breaks one leaves the state as it was, so that a lenient
//! reader can skip it and go on.

use std::collections::HashSet;

use crate::error::{Error, ErrorKind, Place, Rule, show_bytes};
use crate::event::{Event, Op};
use crate::ids::{IdCounts, LabelId, LockId, ThreadId};
use crate::source::{Batch, Lines};
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
    outermost_blocks: u64,
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
    pub fn reserve(&mut self, counts: &IdCounts) {
        if self.flags.len() < counts.threads {
            self.flags.resize(counts.threads, 0);
            self.threads.resize(counts.threads, Thread::default());
        }
        if self.locks.len() < counts.locks {
            self.locks.resize(counts.locks, Lock { holder: FREE, readers: 0 });
        }
    }

    /// Checks one event; room for its ids must have been made. Plain accesses, which are most
    /// events, are always right while their thread may act.
    #[inline(always)]
    pub fn event(&mut self, event: &Event) -> Result<(), Rule> {
        let flags = &mut self.flags[event.thread.index()];
        if *flags & (JOINED | WAITING) == 0 && event.op.variable().is_some() {
            *flags |= STARTED;
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

    fn begin(&mut self, thread: ThreadId, label: LabelId) {
        let blocks = &mut self.threads[thread.index()].blocks;
        self.outermost_blocks += u64::from(blocks.is_empty());
        blocks.push(label);
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
mod tests {
    use super::*;
    use crate::notation::Trace;

    /// The first broken rule and its event.
    fn broken(line: &str) -> Option<(u64, Rule)> {
        let trace = Trace::parse(line).unwrap();
        let mut batch = trace.batch();
        let malformed = Validator::default().check(&mut batch).err()?;
        let number = malformed.at.event.unwrap();
        assert_eq!(batch.events.len() as u64, number - 1);
        assert!(!malformed.explain(&trace.symbols).to_string().is_empty());
        Some((number, malformed.rule))
    }

    #[test]
    fn every_rule_is_noticed() {
        let cases = [
            ("2:r(x) 1:join(2) 2:r(x)", 3, Rule::EventAfterJoin),
            ("1:acq(l) 1:prewait(l) 1:r(x)", 3, Rule::EventWhileWaiting),
            ("1:acq(l) 1:prewait(l) 1:postwait(m)", 3, Rule::EventWhileWaiting),
            ("1:acq(l) 1:acq(l)", 2, Rule::AcquireReentrant),
            ("1:racq(l) 1:racq(l)", 2, Rule::AcquireReentrant),
            ("1:racq(l) 1:acq(l)", 2, Rule::AcquireReentrant),
            ("1:acq(l) 1:racq(l)", 2, Rule::AcquireReentrant),
            ("1:acq(l) 2:acq(l)", 2, Rule::AcquireHeld),
            ("1:racq(l) 2:acq(l)", 2, Rule::AcquireHeld),
            ("1:acq(l) 2:racq(l)", 2, Rule::AcquireHeld),
            ("1:acq(l) 2:rel(l)", 2, Rule::ReleaseNotHeld),
            ("1:racq(l) 1:rel(l)", 2, Rule::ReleaseNotHeld),
            ("1:acq(l) 1:rrel(l)", 2, Rule::ReleaseNotHeld),
            ("1:prewait(l)", 1, Rule::PrewaitNotHeld),
            ("1:racq(l) 1:prewait(l)", 2, Rule::PrewaitNotHeld),
            ("1:acq(l) 1:postwait(l)", 2, Rule::PostwaitWithoutPrewait),
            ("1:acq(l) 1:prewait(l) 2:acq(l) 1:postwait(l)", 4, Rule::PostwaitLockHeld),
            ("1:begin(m) 2:end(m)", 2, Rule::EndWithoutBegin),
            ("1:begin(m) 1:end(n)", 2, Rule::EndLabelMismatch),
            ("1:fork(1)", 1, Rule::ForkSelf),
            ("1:fork(2) 3:fork(2)", 2, Rule::ForkTwice),
            ("1:join(2) 1:fork(2)", 2, Rule::ForkAfterJoin),
            ("2:r(x) 1:fork(2)", 2, Rule::ForkAfterChildStart),
            ("1:join(1)", 1, Rule::JoinSelf),
        ];
        for (line, event, rule) in cases {
            assert_eq!(broken(line), Some((event, rule)), "{line}");
        }
        let covered: HashSet<Rule> = cases.iter().map(|c| c.2).collect();
        assert_eq!(covered.len() + 1, Rule::ALL.len(), "all rules but parse_error");
    }

    #[test]
    fn what_is_allowed() {
        for line in [
            "1:acq(l) 1:begin(m) 1:acq(n) 1:prewait(n)",
            "1:begin 1:end(m) 1:begin(m) 1:end",
            "1:fork(2) 1:join(2) 3:join(2)",
            "1:racq(l) 2:racq(l) 1:rrel(l) 2:rrel(l) 3:acq(l)",
            "1:acq(l) 1:prewait(l) 2:acq(l) 2:rel(l) 1:postwait(l) 1:rel(l)",
            "1:take(s) 1:exit(b) 1:notify(l) 1:yield",
        ] {
            assert_eq!(broken(line), None, "{line}");
        }
    }

    #[test]
    fn skipped_events_leave_no_trace() {
        let trace = Trace::parse("1:acq(l) 2:acq(l) 2:r(x) 2:rel(l) 1:rel(l) 2:acq(l)").unwrap();
        let mut batch = trace.batch();
        batch.lines = Lines::From(1);
        let mut rules = Vec::new();
        Validator::default().skip_malformed(&mut batch, |m| rules.push((m.at.line, m.rule)));
        assert_eq!(rules, [(Some(2), Rule::AcquireHeld), (Some(4), Rule::ReleaseNotHeld)]);
        assert_eq!(batch.events.len(), 4);
        assert_eq!(batch.line(3), Some(6));
    }
}
