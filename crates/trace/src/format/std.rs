//! STD, the text format of RAPID, with Paceline's operations: `THREAD|OP|LOC`, one event a line.
//!
//! Strict: a line that is not exactly this is an error with its number, and never an event. (RAPID
//! reports the previous event again on a blank line, which can flip a verdict.)
//!
//! Fast: a line is taken apart optimistically, without looking for its end. A line that breaks
//! the rules can only produce names that contain a line end or a blank, and such a name is
//! rejected when it is met for the first time; so a wrong line never gets through, and a right
//! one pays nothing. Look-ups of names are done a group at a time, so that their cache misses
//! overlap.

mod short;
mod write;

use short::{ThreadCache, known_access, short_line};
pub use write::{StdWriter, operand, show_op};

use std::io::Read;

use crate::error::{Error, show_bytes};
use crate::event::{Event, Kind, Op};
use crate::ids::{LabelId, Site, ThreadId};
use crate::interner::{Interner, Key};
use crate::lines::{LONGEST_LINE, LineBlocks, line_at};
use crate::sites::SiteInfo;
use crate::source::{BATCH, Batch, Lines, Skipped, Source};
use crate::symbols::Symbols;

/// A table of no more names than this is in the cache anyway, so that nothing need be prefetched.
const FEW_NAMES: usize = 1 << 14;

/// How many lines are taken apart before their names are looked up, so that cache misses overlap:
/// more than a core has under way at once, and few enough for the first-level cache.
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
    hash: u64,
}

const NO_TOKEN: Token = Token {
    line_start: 0,
    operand: 0,
    operand_len: 0,
    thread: ThreadId(0),
    kind: Kind::Yield,
    site: Site::UNKNOWN,
    key: Key::EMPTY,
    hash: 0,
};

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
    threads: ThreadCache,
    tokens: Box<[Token; GROUP]>,
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
            threads: ThreadCache::default(),
            tokens: Box::new([NO_TOKEN; GROUP]),
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
                        outcome = Err(Error { at: crate::Position::line(self.line), ..error });
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
        events.reserve(GROUP);
        if self.symbols.vars.len() > FEW_NAMES {
            self.in_two_steps(events)
        } else {
            self.one_by_one(events)
        }
    }

    /// Few names: their table is in the cache, so each line is finished at once.
    fn one_by_one(&mut self, events: &mut Vec<Event>) -> bool {
        let StdReader { blocks, at, symbols, threads, .. } = self;
        let text = blocks.text();
        for _ in 0..GROUP {
            // The usual line goes through registers only; the other way is out of line.
            if let Some((event, next)) = known_access(text, *at, symbols, threads) {
                events.push(event);
                *at = next;
                continue;
            }
            let Some((token, next)) = any_line(text, *at, symbols, threads) else {
                return *at == text.len();
            };
            let Some(event) = resolve(text, token, symbols) else { return false };
            events.push(event);
            *at = next;
        }
        true
    }

    /// Many names: every table entry is touched before the first is needed, because the loads are
    /// independent and overlap.
    fn in_two_steps(&mut self, events: &mut Vec<Event>) -> bool {
        let StdReader { blocks, at, symbols, threads, tokens, .. } = self;
        let text = blocks.text();
        let mut taken = 0;
        for place in tokens.iter_mut() {
            let Some((token, next)) = any_line(text, *at, symbols, threads) else { break };
            *place = token;
            *at = next;
            taken += 1;
        }
        let good = taken == GROUP || *at == text.len();
        let tokens = &tokens[..taken];
        let touched = tokens.iter().fold(0, |sum, token| sum ^ symbols.vars.prefetch(token.hash));
        std::hint::black_box(touched);
        for &token in tokens {
            let Some(event) = resolve(text, token, symbols) else {
                *at = token.line_start as usize;
                return false;
            };
            events.push(event);
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

/// Takes apart any line.
#[inline(always)]
fn any_line(
    text: &[u8],
    at: usize,
    symbols: &mut Symbols,
    threads: &mut ThreadCache,
) -> Option<(Token, usize)> {
    match short_line(text, at, symbols, threads) {
        Some(taken) => Some(taken),
        None => long_line(text, at, symbols),
    }
}

/// Takes apart a line without any assumption about it.
#[inline(never)]
fn long_line(text: &[u8], at: usize, symbols: &mut Symbols) -> Option<(Token, usize)> {
    let bar = at + memchr::memchr(b'|', text.get(at..)?)?;
    let thread = ThreadId(intern_name(&mut symbols.threads, &text[at..bar])?);
    let op = bar + 1;
    let bar = op + memchr::memchr(b'|', &text[op..])?;
    let (kind, operand, operand_len) = operation(text, op, bar)?;
    let (site, next) = location(text, bar + 1, symbols)?;
    let key = Key::new(&text[operand..operand + operand_len]);
    let token = Token {
        line_start: at as u32,
        operand: operand as u32,
        operand_len: operand_len as u32,
        thread,
        kind,
        site,
        key,
        hash: key.hash(),
    };
    Some((token, next))
}

/// The operation in `text[start..end]`, with the place and length of its operand. The length of
/// an absent operand is zero; an empty operand is malformed.
#[inline(always)]
fn operation(text: &[u8], start: usize, end: usize) -> Option<(Kind, usize, usize)> {
    let field = &text[start..end];
    if let [name, b'(', operand @ .., b')'] = field {
        let kind = Kind::from_name(std::slice::from_ref(name))?;
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
fn location(text: &[u8], at: usize, symbols: &mut Symbols) -> Option<(Site, usize)> {
    let digits = text[at..].iter().take_while(|b| b.is_ascii_digit()).count();
    let end = at + digits;
    let next = match text.get(end) {
        Some(b'\n') => end + 1,
        None => end,
        Some(b'\r') if text.get(end + 1) == Some(&b'\n') => end + 2,
        Some(b'\r') if end + 1 == text.len() => end + 1,
        Some(_) => return None,
    };
    if digits == 0 || digits > LONGEST_LOCATION {
        return None;
    }
    let number = text[at..end].iter().try_fold(0u32, |number, &digit| {
        number.checked_mul(10)?.checked_add(u32::from(digit - b'0'))
    });
    let site = match number {
        Some(number) if number <= Site::MAX_NUMBER => Site::number(number),
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
fn resolve(text: &[u8], token: Token, symbols: &mut Symbols) -> Option<Event> {
    let is_access = matches!(token.kind, Kind::Read | Kind::Write);
    let known = if is_access { symbols.vars.find_near(token.key, token.hash) } else { None };
    let id = match known {
        Some(id) => id,
        None => target(text, token, symbols)?,
    };
    Some(Event { thread: token.thread, op: Op::new(token.kind, id), site: token.site })
}

/// The number of any operand.
#[inline(always)]
fn target(text: &[u8], token: Token, symbols: &mut Symbols) -> Option<u32> {
    let Token { kind, operand, operand_len, key, hash, .. } = token;
    let operand = operand as usize..(operand + operand_len) as usize;
    target_of(kind, key, hash, &text[operand], symbols)
}

#[inline(never)]
fn target_of(kind: Kind, key: Key, hash: u64, name: &[u8], symbols: &mut Symbols) -> Option<u32> {
    match symbols.name_space(kind) {
        Some(_) if name.is_empty() => Some(LabelId::UNNAMED.0),
        Some(names) => intern(names, key, hash, name),
        None => Some(0),
    }
}

/// The number of a name. Whether it is a name at all is only asked when it is new.
#[inline(always)]
fn intern(names: &mut Interner, key: Key, hash: u64, name: &[u8]) -> Option<u32> {
    match names.find(key, hash, name) {
        Some(id) => Some(id),
        None => intern_new(names, key, name),
    }
}

/// The same, from the name alone.
#[cold]
fn intern_name(names: &mut Interner, name: &[u8]) -> Option<u32> {
    let key = Key::new(name);
    intern(names, key, key.hash(), name)
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

#[cfg(test)]
mod tests;
