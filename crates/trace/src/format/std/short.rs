//! The usual line, of at most thirty-two bytes with short names: bars and line ends are found for
//! all of them at once, and what the line consists of follows without a loop.

use std::hint::select_unpredictable;

use wide::u8x16;

use super::{Token, intern_name};
use crate::event::{Event, Kind, Op};
use crate::ids::{Site, ThreadId};
use crate::interner::{Interner, Key};
use crate::symbols::Symbols;

/// As much text as is looked at: nothing that starts within the first half goes beyond it.
type Window = [u8; 64];

/// The line at `at` if it is what most lines are: a plain access, by a thread and to a variable
/// that are known. Nothing is left to be done for it.
#[inline(always)]
pub fn known_access(
    text: &[u8],
    at: usize,
    symbols: &Symbols,
    threads: &ThreadCache,
) -> Option<(Event, usize)> {
    let window: &Window = text.get(at..)?.first_chunk()?;
    let bars = positions(window, b'|');
    let thread_len = bars.trailing_zeros() as usize;
    let op = thread_len + 1;
    let op_end = (bars & bars.wrapping_sub(1)).trailing_zeros() as usize;
    let kind = access(eight(window, op))?;
    // Letter and parentheses are not part of it.
    let operand_len = op_end.wrapping_sub(op + 3);
    if operand_len.wrapping_sub(1) >= LONGEST || window[(op_end - 1) & 63] != b')' {
        return None;
    }
    let (number, digits) = leading_number(eight(window, op_end + 1))?;
    let line_end = op_end + 1 + digits;
    if window[line_end & 63] != b'\n' {
        return None;
    }
    let key = Key::leading(u128::from_le_bytes(sixteen(window, op + 2)), operand_len);
    let id = symbols.vars.find_near(key, key.hash())?;
    let thread = threads.known(window, thread_len)?;
    Some((Event { thread, op: Op::new(kind, id), site: Site::number(number) }, at + line_end + 1))
}

/// Takes apart the line at `at` if it is short; returns where the next one starts.
#[inline(always)]
pub fn short_line(
    text: &[u8],
    at: usize,
    symbols: &mut Symbols,
    threads: &mut ThreadCache,
) -> Option<(Token, usize)> {
    let window: &Window = text.get(at..)?.first_chunk()?;
    let bars = positions(window, b'|');
    let thread_len = bars.trailing_zeros() as usize;
    let op = thread_len + 1;
    let op_end = (bars & bars.wrapping_sub(1)).trailing_zeros() as usize;
    let number_at = op_end + 1;
    let (number, digits) = leading_number(eight(window, number_at))?;
    let line_end = number_at + digits;
    if op_end == 32 || thread_len.wrapping_sub(1) > 6 || window[line_end & 63] != b'\n' {
        return None;
    }
    let (kind, name_len) = short_operation(window, op, op_end - op)?;
    let (operand, operand_len) = match op_end - op - name_len {
        0 => (op + name_len, 0),
        // Parentheses are not part of it.
        1..=2 => return None,
        rest => (op + name_len + 1, rest - 2),
    };
    if operand_len > LONGEST || operand_len > 0 && window[(op_end - 1) & 63] != b')' {
        return None;
    }
    let key = Key::leading(u128::from_le_bytes(sixteen(window, operand)), operand_len);
    let token = Token {
        line_start: at as u32,
        operand: (at + operand) as u32,
        operand_len: operand_len as u32,
        thread: threads.find(window, thread_len, &mut symbols.threads)?,
        kind,
        site: Site::number(number),
        key,
        hash: key.hash(),
    };
    Some((token, at + line_end + 1))
}

/// The threads with names of up to seven bytes that were met last. It is so large that hundreds of
/// threads that take turns seldom push each other out.
pub struct ThreadCache(Box<[(u64, ThreadId); CACHED]>);

/// Sixteen kilobytes: half of a usual first-level cache.
const CACHED: usize = 1024;

impl Default for ThreadCache {
    fn default() -> Self {
        // No thread has an empty name.
        ThreadCache(Box::new([(0, ThreadId(0)); CACHED]))
    }
}

impl ThreadCache {
    /// The name of up to seven bytes that the window starts with, and its place.
    #[inline(always)]
    fn place(window: &Window, len: usize) -> (u64, usize) {
        let name = eight(window, 0) & ((1 << (8 * (len & 7))) - 1) | (len as u64) << 56;
        (name, (name.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize % CACHED)
    }

    /// The thread with the name that the window starts with, if it is here.
    #[inline(always)]
    fn known(&self, window: &Window, len: usize) -> Option<ThreadId> {
        let (name, place) = Self::place(window, len);
        (len.wrapping_sub(1) < 7 && self.0[place].0 == name).then_some(self.0[place].1)
    }

    /// The thread with the name that the window starts with.
    #[inline(always)]
    fn find(&mut self, window: &Window, len: usize, names: &mut Interner) -> Option<ThreadId> {
        if let Some(thread) = self.known(window, len) {
            return Some(thread);
        }
        let thread = ThreadId(intern_name(names, &window[..len])?);
        let (name, place) = Self::place(window, len);
        self.0[place] = (name, thread);
        Some(thread)
    }
}

/// The longest operand that is in its key itself.
const LONGEST: usize = 15;

#[inline(always)]
fn sixteen(window: &Window, at: usize) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&window[at..at + 16]);
    bytes
}

#[inline(always)]
fn eight(window: &Window, at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&window[at..at + 8]);
    u64::from_le_bytes(bytes)
}

/// A bit for each place among the first thirty-two where the byte stands.
#[inline(always)]
fn positions(window: &Window, byte: u8) -> u32 {
    let [low, high] =
        [0, 16].map(|at| u8x16::new(sixteen(window, at)).simd_eq(u8x16::splat(byte)).to_bitmask());
    low | high << 16
}

/// The kind of the operation if its name has one letter.
#[inline(always)]
fn access(text: u64) -> Option<Kind> {
    // Reads and writes come in any order: this must not be a branch.
    let (reads, writes) =
        (text as u16 == u16::from_le_bytes(*b"r("), text as u16 == u16::from_le_bytes(*b"w("));
    let kind = select_unpredictable(writes, Kind::Write, Kind::Read);
    (reads | writes).then_some(kind)
}

/// The operation that fills `len` bytes from `at` on, and the length of its name.
#[inline(always)]
fn short_operation(window: &Window, at: usize, len: usize) -> Option<(Kind, usize)> {
    let start = eight(window, at);
    if let Some(kind) = access(start) {
        return Some((kind, 1));
    }
    const OPEN: u64 = (b'(' as u64) << 24;
    const ACQUIRE: u64 = name("acq") | OPEN;
    const RELEASE: u64 = name("rel") | OPEN;
    const END: u64 = name("end") | OPEN;
    // A name of three letters and the parenthesis after it, or a bare one.
    match start & 0xffff_ffff {
        ACQUIRE => return Some((Kind::Acquire, 3)),
        RELEASE => return Some((Kind::Release, 3)),
        END => return Some((Kind::End, 3)),
        _ => {}
    }
    const BEGIN: u64 = name("begin");
    let after = (start >> 40) as u8;
    match start & 0xff_ffff_ffff {
        BEGIN if after == b'(' || len == 5 => Some((Kind::Begin, 5)),
        word if len == 3 && word & 0xff_ffff == name("end") => Some((Kind::End, 3)),
        _ => None,
    }
}

/// A name as the number that its bytes make.
const fn name(text: &str) -> u64 {
    let mut packed = 0;
    let mut i = text.len();
    while i > 0 {
        i -= 1;
        packed = packed << 8 | text.as_bytes()[i] as u64;
    }
    packed
}

/// The decimal number that eight bytes of text start with, and its length of one to seven digits.
/// Digit by digit, every other line would be a misprediction.
#[inline(always)]
fn leading_number(text: u64) -> Option<(u32, usize)> {
    let values = text ^ u64::from_ne_bytes([b'0'; 8]);
    let not_digits = (values.wrapping_add(u64::from_ne_bytes([0x76; 8])) | values)
        & u64::from_ne_bytes([0x80; 8]);
    let digits = not_digits.trailing_zeros() / 8;
    if digits == 0 || digits == 8 {
        return None;
    }
    // Zeros in front, then pairs of digits, fours, and all eight.
    let ones = values << (64 - 8 * digits);
    let pairs = (ones.wrapping_mul(10) + (ones >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100) + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    let all = (fours.wrapping_mul(10_000) + (fours >> 32)) & 0xffff_ffff;
    Some((all as u32, digits as usize))
}
