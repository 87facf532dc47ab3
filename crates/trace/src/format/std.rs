//! STD, the text format of RAPID, with Paceline's operations: `THREAD|OP|LOC`, one event a line.
//!
//! Strict: a line that is not exactly this is an error with its number, and never an event. (RAPID
//! repeats the previous event on a blank line, which can flip a verdict.)
//!
//! Fast: a line is taken apart optimistically, without looking for its end. A line that breaks
//! the rules can only produce names that contain a line end or a blank, and such a name is
//! rejected when it is met for the first time; so a wrong line never gets through, and a right
//! one pays nothing. Look-ups of names are done a group at a time, so that their cache misses
//! overlap.

use std::io::{self, Read, Write};

use crate::error::{Error, show_bytes};
use crate::event::{Event, Kind, Op};
use crate::format::Writer;
use crate::ids::{BarrierId, LabelId, LockId, SemaphoreId, Site, SiteKind, ThreadId, VarId};
use crate::lines::{LONGEST_LINE, LineBlocks, line_at};
use crate::source::{BATCH, Batch, Lines, Skipped, Source};
use crate::symbols::{Interner, Key, SiteInfo, Symbols};

/// How many lines are taken apart before their names are looked up.
const GROUP: usize = 32;

/// A line taken apart; the operand is not looked up yet.
#[derive(Clone, Copy)]
struct Token {
    line_start: u32,
    operand: u32,
    operand_len: u32,
    thread: ThreadId,
    kind: Kind,
    site: Site,
    key: Key,
}

/// Reads STD.
pub struct StdReader {
    blocks: LineBlocks,
    /// How much of the current block has been used.
    at: usize,
    /// The number of the line at `at`.
    line: u64,
    lenient: bool,
    symbols: Symbols,
    skipped: Skipped,
    /// The thread of the line before: runs of one thread are long.
    last_thread: (Key, ThreadId),
    tokens: Vec<Token>,
}

impl StdReader {
    /// Reads from `input`. A lenient reader skips and counts malformed lines.
    pub fn new(input: Box<dyn Read + Send>, lenient: bool) -> StdReader {
        StdReader {
            blocks: LineBlocks::new(input),
            at: 0,
            line: 1,
            lenient,
            symbols: Symbols::default(),
            skipped: Skipped::default(),
            last_thread: (Key::new(b"a name|that no thread can have"), ThreadId(0)),
            tokens: Vec::with_capacity(GROUP),
        }
    }
}

impl Source for StdReader {
    fn read(&mut self, batch: &mut Batch) -> Result<(), Error> {
        batch.events.clear();
        batch.lines = Lines::From(self.line);
        let mut outcome = Ok(());
        while batch.events.len() + GROUP <= BATCH {
            if self.at == self.blocks.text().len() {
                let used = std::mem::take(&mut self.at);
                match self.blocks.advance(used) {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(error) => {
                        outcome = Err(Error { at: crate::Place::line(self.line), ..error });
                        break;
                    }
                }
            }
            let before = batch.events.len();
            let good = self.group(&mut batch.events);
            self.line += (batch.events.len() - before) as u64;
            if good {
                continue;
            }
            let (error, next) = self.diagnose();
            if !self.lenient {
                outcome = Err(error);
                break;
            }
            self.skipped.malformed(error);
            self.at = next;
            self.line += 1;
            if !batch.events.is_empty() {
                // The lines of a batch are consecutive.
                break;
            }
            batch.lines = Lines::From(self.line);
        }
        batch.counts = self.symbols.counts();
        outcome
    }

    fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    fn skipped(&self) -> &Skipped {
        &self.skipped
    }
}

impl StdReader {
    /// Appends the events of the next few lines; false if the line after them is malformed.
    #[inline]
    fn group(&mut self, events: &mut Vec<Event>) -> bool {
        let text = self.blocks.text();
        let mut at = self.at;
        let mut good = true;
        self.tokens.clear();
        while self.tokens.len() < GROUP && at < text.len() {
            match take_apart(text, at, &mut self.symbols, &mut self.last_thread) {
                Some((token, next)) => {
                    self.tokens.push(token);
                    at = next;
                }
                None => {
                    good = false;
                    break;
                }
            }
        }
        self.at = at;
        // Touch every table entry first: the loads are independent and overlap.
        let mut touched = 0u32;
        for token in &self.tokens {
            touched ^= self.symbols.vars.warm(token.key);
        }
        std::hint::black_box(touched);
        for token in &self.tokens {
            match resolve(text, token, &mut self.symbols) {
                Some(event) => events.push(event),
                None => {
                    self.at = token.line_start as usize;
                    return false;
                }
            }
        }
        good
    }

    /// What is wrong with the line at `self.at`, and where the line after it starts.
    #[cold]
    fn diagnose(&mut self) -> (Error, usize) {
        let text = self.blocks.text();
        let (line, next) = line_at(text, self.at);
        let message = match why_not(line) {
            Some(message) => message,
            // Every malformed line has a reason; one that has none would be a bug here.
            None => format!("not an event: {}", show_bytes(line)),
        };
        (Error::parse(self.line, message), next)
    }
}

/// Takes apart the line at `at`; returns where the next one starts.
#[inline(always)]
fn take_apart(
    text: &[u8],
    at: usize,
    symbols: &mut Symbols,
    last_thread: &mut (Key, ThreadId),
) -> Option<(Token, usize)> {
    let bar = find_bar(text, at)?;
    let thread_key = Key::at(text, at, bar - at);
    if thread_key != last_thread.0 || bar - at > 15 {
        let id = intern(&mut symbols.threads, thread_key, &text[at..bar])?;
        *last_thread = (thread_key, ThreadId(id));
    }
    let op = bar + 1;
    let bar = find_bar(text, op)?;
    let (kind, operand, operand_len) = operation(text, op, bar)?;
    let (site, next) = location(text, bar + 1, symbols)?;
    let token = Token {
        line_start: at as u32,
        operand: operand as u32,
        operand_len: operand_len as u32,
        thread: last_thread.1,
        kind,
        site,
        key: Key::at(text, operand, operand_len),
    };
    Some((token, next))
}

/// The next `|` at or after `at`.
#[inline(always)]
fn find_bar(text: &[u8], mut at: usize) -> Option<usize> {
    const BARS: u64 = u64::from_ne_bytes([b'|'; 8]);
    const LOW: u64 = u64::from_ne_bytes([0x01; 8]);
    const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
    while let Some(window) = text.get(at..at + 8) {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(window);
        // A byte of `word` is zero where the text has a bar; the lowest such byte is exact.
        let word = u64::from_le_bytes(bytes) ^ BARS;
        let zeros = word.wrapping_sub(LOW) & !word & HIGH;
        if zeros != 0 {
            return Some(at + (zeros.trailing_zeros() / 8) as usize);
        }
        at += 8;
    }
    text[at..].iter().position(|&b| b == b'|').map(|i| at + i)
}

/// The operation in `text[start..end]`, with the place and length of its operand. The length of
/// an absent operand is zero; an empty operand is malformed.
#[inline(always)]
fn operation(text: &[u8], start: usize, end: usize) -> Option<(Kind, usize, usize)> {
    let field = &text[start..end];
    if let [name, b'(', operand @ .., b')'] = field {
        let kind = match name {
            b'r' => Kind::Read,
            b'w' => Kind::Write,
            _ => return None,
        };
        return (!operand.is_empty()).then_some((kind, start + 2, operand.len()));
    }
    match memchr::memchr(b'(', field) {
        Some(open) => {
            let kind = Kind::from_name(&field[..open]).filter(|&k| k != Kind::Yield)?;
            let operand = field[open + 1..].strip_suffix(b")")?;
            (!operand.is_empty()).then_some((kind, start + open + 1, operand.len()))
        }
        None => match field {
            b"begin" => Some((Kind::Begin, start, 0)),
            b"end" => Some((Kind::End, start, 0)),
            b"yield" => Some((Kind::Yield, start, 0)),
            _ => None,
        },
    }
}

/// The number at `at`, which must fill the rest of the line.
#[inline(always)]
fn location(text: &[u8], at: usize, symbols: &mut Symbols) -> Option<(Site, usize)> {
    let mut number = 0u64;
    let mut end = at;
    while let Some(digit) = text.get(end).map(|b| b.wrapping_sub(b'0')).filter(|&d| d < 10) {
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
        end += 1;
    }
    let next = match text.get(end) {
        Some(b'\n') => end + 1,
        None => end,
        Some(b'\r') if text.get(end + 1) == Some(&b'\n') => end + 2,
        Some(b'\r') if end + 1 == text.len() => end + 1,
        Some(_) => return None,
    };
    let digits = end - at;
    let site = match digits {
        0 => return None,
        n if n > LONGEST_LOCATION => return None,
        1..=18 if number <= u64::from(Site::MAX_NUMBER) => Site::number(number as u32),
        _ => large_number(&text[at..end], symbols),
    };
    Some((site, next))
}

/// A number too large to be kept inline is kept as text.
#[cold]
fn large_number(digits: &[u8], symbols: &mut Symbols) -> Site {
    let file = symbols.text(digits);
    let method = symbols.text(b"");
    symbols.site(SiteInfo { file, method, line: 0, column: 0 })
}

/// Looks up the operand of a token; `None` if it is not a name.
#[inline(always)]
fn resolve(text: &[u8], token: &Token, symbols: &mut Symbols) -> Option<Event> {
    let at = token.operand as usize;
    let name = &text[at..at + token.operand_len as usize];
    let key = token.key;
    let op = match token.kind {
        Kind::Read => Op::Read(VarId(intern(&mut symbols.vars, key, name)?)),
        Kind::Write => Op::Write(VarId(intern(&mut symbols.vars, key, name)?)),
        Kind::AtomicRead => Op::AtomicRead(VarId(intern(&mut symbols.vars, key, name)?)),
        Kind::AtomicWrite => Op::AtomicWrite(VarId(intern(&mut symbols.vars, key, name)?)),
        Kind::AtomicUpdate => Op::AtomicUpdate(VarId(intern(&mut symbols.vars, key, name)?)),
        Kind::Acquire => Op::Acquire(LockId(intern(&mut symbols.locks, key, name)?)),
        Kind::Release => Op::Release(LockId(intern(&mut symbols.locks, key, name)?)),
        Kind::AcquireShared => Op::AcquireShared(LockId(intern(&mut symbols.locks, key, name)?)),
        Kind::ReleaseShared => Op::ReleaseShared(LockId(intern(&mut symbols.locks, key, name)?)),
        Kind::PreWait => Op::PreWait(LockId(intern(&mut symbols.locks, key, name)?)),
        Kind::PostWait => Op::PostWait(LockId(intern(&mut symbols.locks, key, name)?)),
        Kind::Notify => Op::Notify(LockId(intern(&mut symbols.locks, key, name)?)),
        Kind::Fork => Op::Fork(ThreadId(intern(&mut symbols.threads, key, name)?)),
        Kind::Join => Op::Join(ThreadId(intern(&mut symbols.threads, key, name)?)),
        Kind::Begin => Op::Begin(label(&mut symbols.labels, key, name)?),
        Kind::End => Op::End(label(&mut symbols.labels, key, name)?),
        Kind::Yield => Op::Yield,
        Kind::Post => Op::Post(SemaphoreId(intern(&mut symbols.semaphores, key, name)?)),
        Kind::Take => Op::Take(SemaphoreId(intern(&mut symbols.semaphores, key, name)?)),
        Kind::BarrierEnter => {
            Op::BarrierEnter(BarrierId(intern(&mut symbols.barriers, key, name)?))
        }
        Kind::BarrierExit => Op::BarrierExit(BarrierId(intern(&mut symbols.barriers, key, name)?)),
    };
    Some(Event { thread: token.thread, op, site: token.site })
}

#[inline(always)]
fn label(labels: &mut Interner, key: Key, name: &[u8]) -> Option<LabelId> {
    if name.is_empty() {
        return Some(LabelId::UNNAMED);
    }
    intern(labels, key, name).map(LabelId)
}

/// The number of a name. Whether it is a name at all is only asked when it is new.
#[inline(always)]
fn intern(names: &mut Interner, key: Key, name: &[u8]) -> Option<u32> {
    match names.find(key, name) {
        Ok(id) => Some(id),
        Err(_) => intern_new(names, key, name),
    }
}

#[cold]
fn intern_new(names: &mut Interner, key: Key, name: &[u8]) -> Option<u32> {
    is_name(name).then(|| names.insert(key, name))
}

/// The longest name: far beyond any real one, and far below what would hurt.
const LONGEST_NAME: usize = 1 << 16;

/// The longest location: any 64-bit number.
const LONGEST_LOCATION: usize = 20;

/// Any characters but `|`, blanks and line ends.
pub fn is_name(name: &[u8]) -> bool {
    !name.is_empty()
        && name.len() <= LONGEST_NAME
        && !name.iter().any(|b| matches!(b, b'|' | b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c))
}

/// Whether a line is an event of an STD trace.
pub(super) fn looks_like(line: &[u8]) -> bool {
    why_not(line).is_none()
}

/// Why a line is not an event.
fn why_not(line: &[u8]) -> Option<String> {
    const FORM: &str = "an event is THREAD|OP|LOC, e.g. `T1|w(x)|17`";
    if line.len() > LONGEST_LINE {
        return Some(format!("the line is longer than {LONGEST_LINE} bytes; {FORM}"));
    }
    if line.is_empty() {
        return Some(format!("blank line; {FORM}"));
    }
    let fields: Vec<&[u8]> = line.split(|&b| b == b'|').collect();
    let [thread, op, loc] = fields[..] else {
        let n = fields.len();
        return Some(format!("{n} fields instead of 3 in {}; {FORM}", show_bytes(line)));
    };
    if !is_name(thread) {
        return Some(format!("no thread name: {}; {FORM}", show_bytes(thread)));
    }
    if operation(op, 0, op.len()).is_none() {
        return Some(why_no_operation(op));
    }
    if loc.is_empty() || loc.len() > LONGEST_LOCATION || !loc.iter().all(u8::is_ascii_digit) {
        return Some(format!("the location must be a 64-bit number, not {}", show_bytes(loc)));
    }
    let (_, start, len) = operation(op, 0, op.len())?;
    let operand = &op[start..start + len];
    (len > 0 && !is_name(operand)).then(|| {
        format!("not a name (no blanks, {LONGEST_NAME} bytes at most): {}", show_bytes(operand))
    })
}

fn why_no_operation(op: &[u8]) -> String {
    let name = op.split(|&b| b == b'(').next().unwrap_or(op);
    match Kind::from_name(name) {
        Some(Kind::Yield) => format!("`yield` takes no operand: {}", show_bytes(op)),
        Some(kind) => {
            format!("`{0}` needs one operand, {0}(NAME): {1}", kind.name(), show_bytes(op))
        }
        None => {
            let known: Vec<&str> = Kind::ALL.iter().map(|k| k.name()).collect();
            format!("unknown operation {}; known: {}", show_bytes(op), known.join(" "))
        }
    }
}

/// The operand of an operation as it stands in a trace; `None` for a bare one.
pub fn operand(op: Op, symbols: &Symbols) -> Option<&[u8]> {
    Some(match op {
        Op::Read(x)
        | Op::Write(x)
        | Op::AtomicRead(x)
        | Op::AtomicWrite(x)
        | Op::AtomicUpdate(x) => symbols.vars.name(x.0),
        Op::Acquire(l)
        | Op::Release(l)
        | Op::AcquireShared(l)
        | Op::ReleaseShared(l)
        | Op::PreWait(l)
        | Op::PostWait(l)
        | Op::Notify(l) => symbols.locks.name(l.0),
        Op::Fork(t) | Op::Join(t) => symbols.threads.name(t.0),
        Op::Begin(m) | Op::End(m) if m.is_named() => symbols.labels.name(m.0),
        Op::Begin(_) | Op::End(_) | Op::Yield => return None,
        Op::Post(s) | Op::Take(s) => symbols.semaphores.name(s.0),
        Op::BarrierEnter(b) | Op::BarrierExit(b) => symbols.barriers.name(b.0),
    })
}

/// An operation as it stands in a trace, for messages: `w(x)`.
pub fn show_op(event: &Event, symbols: &Symbols) -> String {
    let name = event.op.kind().name();
    match operand(event.op, symbols) {
        Some(operand) => format!("{name}({})", String::from_utf8_lossy(operand)),
        None => name.to_owned(),
    }
}

/// Writes STD. Source locations that are not numbers become numbers: STD has no room for them.
pub struct StdWriter<W> {
    output: W,
}

impl<W: Write> StdWriter<W> {
    /// Writes to `output`, which should be buffered.
    pub fn new(output: W) -> Self {
        StdWriter { output }
    }
}

impl<W: Write> Writer for StdWriter<W> {
    fn write(&mut self, batch: &Batch, symbols: &Symbols) -> io::Result<()> {
        for event in &batch.events {
            write_name(&mut self.output, symbols.threads.name(event.thread.0))?;
            self.output.write_all(b"|")?;
            self.output.write_all(event.op.kind().name().as_bytes())?;
            if let Some(operand) = operand(event.op, symbols) {
                self.output.write_all(b"(")?;
                write_name(&mut self.output, operand)?;
                self.output.write_all(b")")?;
            }
            self.output.write_all(b"|")?;
            write_site(&mut self.output, event.site, symbols)?;
            self.output.write_all(b"\n")?;
        }
        Ok(())
    }

    fn finish(&mut self, _symbols: &Symbols) -> io::Result<()> {
        self.output.flush()
    }
}

/// Other formats allow names that would break a line here. Their forbidden bytes are written as
/// `%XX`, and so is a `%` that could be mistaken for one: two names never become the same.
fn write_name(output: &mut impl Write, name: &[u8]) -> io::Result<()> {
    if is_name(name) && !memchr::memchr_iter(b'%', name).any(|i| is_escape(name, i)) {
        return output.write_all(name);
    }
    if name.is_empty() {
        return output.write_all(b"%");
    }
    for (i, &byte) in name.iter().enumerate() {
        if !is_name(&[byte]) || is_escape(name, i) {
            write!(output, "%{byte:02X}")?;
        } else {
            output.write_all(&[byte])?;
        }
    }
    Ok(())
}

/// Whether a `%XX` stands at `i`; a lone `%` stands for the empty name.
fn is_escape(name: &[u8], i: usize) -> bool {
    name[i] == b'%'
        && (name.len() == 1
            || name.get(i + 1..i + 3).is_some_and(|x| x.iter().all(u8::is_ascii_hexdigit)))
}

fn write_site(output: &mut impl Write, site: Site, symbols: &Symbols) -> io::Result<()> {
    match site.kind() {
        SiteKind::Number(n) => write!(output, "{n}"),
        SiteKind::Unknown => output.write_all(b"0"),
        SiteKind::Entry(i) => match symbols.site_info(site) {
            Some(info) if is_large_number(info, symbols) => {
                output.write_all(symbols.texts.name(info.file.0))
            }
            _ => write!(output, "{i}"),
        },
    }
}

fn is_large_number(info: &SiteInfo, symbols: &Symbols) -> bool {
    let file = symbols.texts.name(info.file.0);
    info.line == 0 && !file.is_empty() && file.iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::Trace;

    fn read(text: &[u8]) -> Result<Trace, Error> {
        Trace::collect(&mut StdReader::new(Box::new(io::Cursor::new(text.to_vec())), false))
    }

    fn fails(text: &[u8]) -> (u64, String) {
        let error = read(text).expect_err("malformed");
        assert_eq!(error.rule(), Some(crate::Rule::ParseError));
        (error.at.line.unwrap(), error.to_string())
    }

    #[test]
    fn every_operation_is_read() {
        let line = "1:r(x) 1:w(x) 1:acq(l) 1:rel(l) 1:racq(l) 1:rrel(l) 1:fork(2) 1:join(2) \
                    1:begin(m) 1:end(m) 1:begin 1:end 1:yield 1:prewait(l) 1:postwait(l) \
                    1:notify(l) 1:ar(x) 1:aw(x) 1:arw(x) 1:post(s) 1:take(s) 1:enter(b) 1:exit(b)";
        assert_eq!(Trace::parse(line).unwrap().to_line(), line);
    }

    #[test]
    fn an_operand_runs_to_the_last_parenthesis() {
        let trace = read(b"0|begin(A.f([I)V)|3\n").unwrap();
        assert_eq!(trace.symbols.labels.name(0), b"A.f([I)V");
    }

    #[test]
    fn line_ends_of_all_kinds() {
        for text in
            [&b"1|r(x)|1\n2|w(x)|2\n"[..], b"1|r(x)|1\r\n2|w(x)|2\r\n", b"1|r(x)|1\n2|w(x)|2"]
        {
            assert_eq!(read(text).unwrap().events.len(), 2);
        }
    }

    #[test]
    fn what_is_no_event_is_an_error_with_its_line() {
        let long =
            [b"1|r(x)|1\n1|w(".to_vec(), vec![b'y'; LONGEST_LINE], b")|1\n".to_vec()].concat();
        for bad in [
            &b"1|r(x)|1\n\n1|w(x)|2\n"[..],
            b"1|r(x)|1\n1|w(x)\n1|r(y)|1\n",
            b"1|r(x)|1\n1|w(x)|2|3\n",
            b"1|r(x)|1\n1|q(x)|2\n",
            b"1|r(x)|1\n1|w()|2\n",
            b"1|r(x)|1\n1|w(a b)|2\n",
            b"1|r(x)|1\n1|w(x) |2\n",
            b"1|r(x)|1\n|w(x)|2\n",
            b"1|r(x)|1\n1|w(x)|q\n",
            b"1|r(x)|1\n1|w(x)|\n",
            b"1|r(x)|1\n1|yield(x)|2\n",
            b"1|r(x)|1\n1|beginning|2\n",
            b"1|r(x)|1\n1|acq|2\n",
            b"1|r(x)|1\ngarbage",
            b"1|r(x)|1\n\r\n",
            &long,
        ] {
            assert_eq!(fails(bad).0, 2, "{}", show_bytes(bad));
        }
    }

    #[test]
    fn the_events_before_an_error_are_given() {
        let text = b"1|r(x)|1\n1|w(y)|2\nno\n".to_vec();
        let mut reader = StdReader::new(Box::new(io::Cursor::new(text)), false);
        let mut batch = Batch::default();
        assert!(reader.read(&mut batch).is_err());
        assert_eq!(batch.events.len(), 2);
    }

    #[test]
    fn a_lenient_reader_skips_and_counts() {
        let text = b"no\n1|r(x)|1\n\n\n1|w(y)|2\n1|r(x)|\n".to_vec();
        let mut reader = StdReader::new(Box::new(io::Cursor::new(text)), true);
        let trace = Trace::collect(&mut reader).unwrap();
        assert_eq!(trace.to_line(), "1:r(x) 1:w(y)");
        assert_eq!(reader.skipped().malformed, 4);
        assert_eq!(reader.skipped().examples[1].at.line, Some(3));
    }

    #[test]
    fn large_locations_survive() {
        let text = b"1|r(x)|98765432109876543210\n1|r(x)|2147483648\n1|r(x)|2147483647\n";
        let trace = read(text).unwrap();
        let mut out = Vec::new();
        StdWriter::new(&mut out).write(&trace.batch(), &trace.symbols).unwrap();
        assert_eq!(out, text);
    }

    #[test]
    fn names_that_std_cannot_hold_stay_distinct() {
        let written = |name: &[u8]| {
            let mut out = Vec::new();
            write_name(&mut out, name).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(written(b"a b|c"), "a%20b%7Cc");
        assert_eq!(written(b"a%20b"), "a%2520b");
        assert_eq!(written(b"100%"), "100%");
        assert_eq!(written(b""), "%");
        assert_eq!(written(b"%"), "%25");
    }
}
