//! Logs of RoadRunner's print tools: `P`, which comes with RoadRunner, and `PS`, the smaller one
//! that comes with RAPID. Read only: a log is RoadRunner's to write.
//!
//! An event line is `@`, blanks that show the depth of calls, and the event. The rest of the file
//! is output of the observed program, which is counted and otherwise ignored.
//!
//! | line | event |
//! |---|---|
//! | `Enter(t,m) from …`, `Exit(t,m)` | begin, end of a block labelled `m` ([`crate::Blocks::Methods`]) |
//! | `Rd(t,o.f)  state  File.java:12:7`, `Wr…`, `ARd(t,o[i])…`, `AWr…` | read, write |
//! | `VRd(t,o.f)  state`, `VWr…` | volatile read, write |
//! | `Acquire(t,o)`, `Release(t,o)` | acquire, release (RoadRunner filters re-entrant ones) |
//! | `Start(t,u)`, `Join(t,u)` | fork, join |
//! | `Wait(t,o)` | prewait, then postwait |
//! | `Notify(t,o,all)` | notify |
//! | `Barrier(t,b,Enter)`, `…Exit)` | arrival at, departure from a barrier |
//! | `Sleep`, `Interrupt`, `Interrupted`, `ClassInited`, `ClassAccssed` | none: counted |
//!
//! `P` writes one and the same line before and after an operation that takes time. What that
//! means is decided for each thread by itself, which does nothing else between the two:
//! - of two `Start`s the first counts, since the child may act before the second;
//! - of two `Join`s the second counts, since the child still acts after the first. `PS` writes
//!   the second only; which tool it was is known from the `Start`s, which come earlier;
//! - the first `Wait` gives the lock up, the second has it again. A wait that ends in an exception
//!   has no second line, but an `Interrupted`, which then stands for it;
//! - of two `Notify`s the first counts.
//!
//! Not in the log, and so not in the trace: waits (`PS`); the location of anything but plain
//! accesses, which is given as the method alone; threads with numbers that RoadRunner has used
//! twice (run it with `-noTidGC`), which the validation finds.
//!
//! An event that shares its line with the program's output cannot be trusted: its line counts as
//! foreign, and the event as lost. A line that starts like an event and is broken is an error.

mod line;

use std::io::Read;

use crate::error::{Error, Position};
use crate::event::{Event, Op};
use crate::ids::{BarrierId, LabelId, LockId, Site, TextId, ThreadId, VarId};
use crate::interner::{Interner, Key};
use crate::lines::{LONGEST_LINE, LineBlocks, line_at};
use crate::sites::SiteInfo;
use crate::source::{BATCH, Batch, Lines, Skipped, Source};
use crate::symbols::Symbols;
use line::{Operation, Parts, Refused, explain, is_method, is_object, is_thread, take_apart};

/// Whether a line is an event of a RoadRunner log.
pub(super) fn looks_like(line: &[u8]) -> bool {
    take_apart(line).is_some_and(|parts| is_thread(parts.thread))
}

/// An operation that is logged twice, after its first line.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Half {
    #[default]
    None,
    Start(ThreadId),
    Join(ThreadId),
    Wait(LockId),
    Notify(LockId),
}

/// What is known about a thread of the log.
#[derive(Default)]
struct LogThread {
    /// The methods that it is in.
    methods: Vec<LabelId>,
    /// What it has done half.
    half: Half,
}

/// A location without its method, and the site that it was last.
#[derive(Clone, Copy)]
struct Location {
    file: TextId,
    line: u32,
    column: u32,
    method: LabelId,
    site: Site,
}

/// A method's name in sites, and the site of what has no other.
#[derive(Clone, Copy)]
struct Method {
    name: TextId,
    site: Site,
}

/// Reads RoadRunner logs.
pub struct RrReader {
    blocks: LineBlocks,
    /// How much of the current block has been used.
    at: usize,
    /// The number of the line at `at`.
    line: u64,
    lenient: bool,
    log: Log,
}

/// What the lines so far have said.
#[derive(Default)]
struct Log {
    symbols: Symbols,
    skipped: Skipped,
    threads: Vec<LogThread>,
    /// By the number that RoadRunner gives a thread, where that is small.
    numbered: Vec<Option<ThreadId>>,
    /// By label.
    methods: Vec<Method>,
    location_names: Interner,
    locations: Vec<Location>,
    /// The log has the lines before and after an operation.
    both_halves: bool,
}

impl RrReader {
    /// Reads from `input`. A lenient reader skips and counts malformed lines.
    pub fn new(input: Box<dyn Read + Send>, lenient: bool) -> RrReader {
        RrReader { blocks: LineBlocks::new(input), at: 0, line: 1, lenient, log: Log::default() }
    }

    /// Fills the batch; its end, like that of the input, is no error.
    fn fill(&mut self, batch: &mut Batch) -> Result<(), Error> {
        while batch.events.len() < BATCH {
            if self.at == self.blocks.text().len() {
                let used = std::mem::take(&mut self.at);
                let more = self.blocks.advance(used);
                if !more.map_err(|e| Error { at: Position::line(self.line), ..e })? {
                    return Ok(());
                }
            }
            let (text, next) = line_at(self.blocks.text(), self.at);
            match self.log.line(text) {
                Some(Some(event)) => {
                    batch.lines.note(batch.events.len(), self.line);
                    batch.events.push(event);
                }
                Some(None) => {}
                None => self.log.refuse(text, self.line, self.lenient)?,
            }
            self.at = next;
            self.line += 1;
        }
        Ok(())
    }
}

impl Source for RrReader {
    fn read(&mut self, batch: &mut Batch) -> Result<(), Error> {
        batch.events.clear();
        batch.lines = Lines::None;
        let outcome = self.fill(batch);
        batch.counts = self.log.symbols.counts();
        outcome
    }

    fn symbols(&self) -> &Symbols {
        &self.log.symbols
    }

    fn skipped(&self) -> &Skipped {
        &self.log.skipped
    }
}

impl Log {
    /// The event of a line, if it has one; `None` if the line is not one of the print tool's.
    #[inline]
    fn line(&mut self, line: &[u8]) -> Option<Option<Event>> {
        let parts = take_apart(line)?;
        if line.len() > LONGEST_LINE {
            return None;
        }
        let thread = self.thread(parts.thread)?;
        let outer = self.threads[thread.index()].methods.last().copied();
        let site = if parts.location.is_empty() {
            self.method_site(outer)
        } else {
            self.location(parts.location, outer)?
        };
        let op = match parts.operation {
            Operation::Read => Op::Read(self.var(parts.operand)?),
            Operation::Write => Op::Write(self.var(parts.operand)?),
            Operation::VolatileRead => Op::AtomicRead(self.var(parts.operand)?),
            Operation::VolatileWrite => Op::AtomicWrite(self.var(parts.operand)?),
            Operation::Acquire => Op::Acquire(self.lock(parts.operand)?),
            Operation::Release => Op::Release(self.lock(parts.operand)?),
            Operation::Enter | Operation::Exit => return self.call(thread, &parts).map(Some),
            Operation::Barrier => self.barrier(&parts)?,
            Operation::Start | Operation::Join | Operation::Wait | Operation::Notify => {
                let this = self.half(&parts)?;
                let op = self.twofold(thread, this);
                return Some(op.map(|op| Event { thread, op, site }));
            }
            Operation::Interrupted => {
                let op = self.interrupted(thread);
                return Some(op.map(|op| Event { thread, op, site }));
            }
            Operation::Interrupt if !is_thread(parts.operand) => return None,
            Operation::Interrupt => return self.unmodelled("interrupt"),
            Operation::Sleep => return self.unmodelled("sleep"),
            Operation::ClassInitialized => return self.unmodelled("class initialised"),
            Operation::ClassAccessed => return self.unmodelled("class accessed"),
        };
        self.threads[thread.index()].half = Half::None;
        Some(Some(Event { thread, op, site }))
    }

    fn unmodelled(&mut self, name: &'static str) -> Option<Option<Event>> {
        *self.skipped.unmodelled.entry(name).or_default() += 1;
        Some(None)
    }

    fn call(&mut self, thread: ThreadId, parts: &Parts<'_>) -> Option<Event> {
        let label = self.label(parts.operand)?;
        let state = &mut self.threads[thread.index()];
        state.half = Half::None;
        let op = if parts.operation == Operation::Enter {
            state.methods.push(label);
            Op::Begin(label)
        } else {
            // An exit that does not match is for the validation to report.
            if let Some(depth) = state.methods.iter().rposition(|&m| m == label) {
                state.methods.truncate(depth);
            }
            Op::End(label)
        };
        Some(Event { thread, op, site: self.methods[label.index()].site })
    }

    fn barrier(&mut self, parts: &Parts<'_>) -> Option<Op> {
        let name = parts.operand;
        let barrier = intern(&mut self.symbols.barriers, name, is_object).map(BarrierId);
        match parts.flag {
            b"Enter" => barrier.map(Op::BarrierEnter),
            b"Exit" => barrier.map(Op::BarrierExit),
            _ => None,
        }
    }

    /// What a line that may come twice is about.
    fn half(&mut self, parts: &Parts<'_>) -> Option<Half> {
        if parts.operation == Operation::Start {
            return self.thread(parts.operand).map(Half::Start);
        }
        if parts.operation == Operation::Join {
            return self.thread(parts.operand).map(Half::Join);
        }
        if parts.operation == Operation::Wait {
            return self.lock(parts.operand).map(Half::Wait);
        }
        let flag = matches!(parts.flag, b"true" | b"false");
        flag.then(|| self.lock(parts.operand).map(Half::Notify))?
    }

    /// The event of a line that may come twice; this may be the one without.
    fn twofold(&mut self, thread: ThreadId, this: Half) -> Option<Op> {
        let half = &mut self.threads[thread.index()].half;
        let second = *half == this;
        *half = if second { Half::None } else { this };
        self.both_halves |= second && matches!(this, Half::Start(_));
        let op = match this {
            Half::Start(child) => (!second).then_some(Op::Fork(child)),
            Half::Join(child) => (second || !self.both_halves).then_some(Op::Join(child)),
            Half::Wait(lock) if second => Some(Op::PostWait(lock)),
            Half::Wait(lock) => Some(Op::PreWait(lock)),
            Half::Notify(lock) => (!second).then_some(Op::Notify(lock)),
            Half::None => None,
        };
        if op.is_none() {
            self.unmodelled("other half");
        }
        op
    }

    /// An interrupted thread that waited has its lock again.
    fn interrupted(&mut self, thread: ThreadId) -> Option<Op> {
        match std::mem::take(&mut self.threads[thread.index()].half) {
            Half::Wait(lock) => Some(Op::PostWait(lock)),
            Half::None | Half::Start(_) | Half::Join(_) | Half::Notify(_) => {
                self.unmodelled("interrupted");
                None
            }
        }
    }

    #[inline]
    fn thread(&mut self, name: &[u8]) -> Option<ThreadId> {
        let small = small_number(name);
        if let Some(&Some(thread)) = small.and_then(|n| self.numbered.get(n)) {
            return Some(thread);
        }
        self.new_thread(name, small)
    }

    #[cold]
    fn new_thread(&mut self, name: &[u8], small: Option<usize>) -> Option<ThreadId> {
        let id = ThreadId(intern(&mut self.symbols.threads, name, is_thread)?);
        if self.threads.len() <= id.index() {
            self.threads.resize_with(id.index() + 1, LogThread::default);
        }
        if let Some(number) = small {
            self.numbered.resize(self.numbered.len().max(number + 1), None);
            self.numbered[number] = Some(id);
        }
        Some(id)
    }

    #[inline]
    fn var(&mut self, name: &[u8]) -> Option<VarId> {
        intern(self.symbols.vars.named_mut(), name, is_object).map(VarId)
    }

    fn lock(&mut self, name: &[u8]) -> Option<LockId> {
        intern(&mut self.symbols.locks, name, is_object).map(LockId)
    }

    fn label(&mut self, name: &[u8]) -> Option<LabelId> {
        let label = LabelId(intern(&mut self.symbols.labels, name, is_method)?);
        if self.methods.len() <= label.index() {
            let (file, method) = (self.symbols.text(b""), self.symbols.text(name));
            let site = self.symbols.site(SiteInfo { file, method, line: 0, column: 0 });
            self.methods.push(Method { name: method, site });
        }
        Some(label)
    }

    fn method_site(&self, method: Option<LabelId>) -> Site {
        method.map_or(Site::UNKNOWN, |m| self.methods[m.index()].site)
    }

    /// The site at a location. Nearly every location belongs to one method: the site that it was
    /// last is the site that it is.
    #[inline]
    fn location(&mut self, name: &[u8], method: Option<LabelId>) -> Option<Site> {
        let method = method.unwrap_or(LabelId::UNNAMED);
        let key = Key::new(name);
        let index = match self.location_names.find(key, key.hash(), name) {
            Some(index) => index as usize,
            None => self.new_location(key, name)?,
        };
        let known = self.locations[index];
        if known.method == method && known.site != Site::UNKNOWN {
            return Some(known.site);
        }
        Some(self.move_location(index, method))
    }

    #[cold]
    fn new_location(&mut self, key: Key, name: &[u8]) -> Option<usize> {
        let (file, line, column) = location_parts(name)?;
        let (file, method) = (self.symbols.text(file), LabelId::UNNAMED);
        self.location_names.insert(key, name);
        self.locations.push(Location { file, line, column, method, site: Site::UNKNOWN });
        Some(self.locations.len() - 1)
    }

    #[cold]
    fn move_location(&mut self, index: usize, label: LabelId) -> Site {
        let Location { file, line, column, .. } = self.locations[index];
        let method = match self.methods.get(label.index()) {
            Some(method) => method.name,
            None => self.symbols.text(b""),
        };
        let site = self.symbols.site(SiteInfo { file, method, line, column });
        self.locations[index].method = label;
        self.locations[index].site = site;
        site
    }

    /// Counts a line without an event, or says what is wrong with it.
    #[cold]
    fn refuse(&mut self, line: &[u8], number: u64, lenient: bool) -> Result<(), Error> {
        let message = match explain(line) {
            Refused::Foreign => {
                self.skipped.foreign_lines += 1;
                return Ok(());
            }
            Refused::Glued => {
                self.skipped.foreign_lines += 1;
                self.skipped.lost_events += 1;
                return Ok(());
            }
            Refused::Remark(name) => {
                self.unmodelled(name);
                return Ok(());
            }
            Refused::Malformed(message) => message,
        };
        let error = Error::parse(number, message);
        if !lenient {
            return Err(error);
        }
        self.skipped.malformed(error);
        Ok(())
    }
}

/// The number of a name. Whether it is a name at all is only asked when it is new.
#[inline]
fn intern(names: &mut Interner, name: &[u8], is_name: fn(&[u8]) -> bool) -> Option<u32> {
    let key = Key::new(name);
    match names.find(key, key.hash(), name) {
        Some(id) => Some(id),
        None => is_name(name).then(|| names.insert(key, name)),
    }
}

/// The number that a name is, if it is one of few digits and written in the one way there is.
#[inline]
fn small_number(name: &[u8]) -> Option<usize> {
    let plain = match name {
        [] | [b'0', _, ..] => false,
        digits => digits.len() <= 4,
    };
    let digit =
        |number: usize, &b: &u8| b.is_ascii_digit().then(|| number * 10 + usize::from(b - b'0'));
    plain.then(|| name.iter().try_fold(0, digit))?
}

/// `File.java:12:7`, `File.java:12` or `NullLoc`; a negative number is an unknown one.
fn location_parts(name: &[u8]) -> Option<(&[u8], u32, u32)> {
    if name == b"NullLoc" {
        return Some((b"", 0, 0));
    }
    let (before, last) = split_number(name)?;
    let (file, line, column) = match split_number(before) {
        Some((file, line)) => (file, line, last),
        None => (before, last, 0),
    };
    (!file.is_empty()).then_some((file, line, column))
}

/// Splits a `:NUMBER` off the end.
fn split_number(text: &[u8]) -> Option<(&[u8], u32)> {
    let colon = memchr::memrchr(b':', text)?;
    let digits = &text[colon + 1..];
    let number = if digits.first() == Some(&b'-') {
        is_thread(digits).then_some(0)?
    } else if digits.iter().all(u8::is_ascii_digit) {
        str::from_utf8(digits).ok()?.parse().ok()?
    } else {
        return None;
    };
    Some((&text[..colon], number))
}

#[cfg(test)]
mod tests;
