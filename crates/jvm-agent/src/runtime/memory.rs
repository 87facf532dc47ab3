//! Memory that Java code reads and writes by address: stripes, a word for each site, the owners of
//! arrays, which live as long as the process; and the storage of buffers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Fresh memory of the system, all zero. Pages that are never touched cost nothing.
fn map(bytes: usize) -> Option<u64> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a fresh anonymous mapping overlaps nothing.
    let base = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
    (base != libc::MAP_FAILED).then_some(base as u64)
}

/// A row of words at a fixed address, all zero at first.
#[derive(Clone, Copy)]
pub struct Words {
    base: u64,
    len: usize,
}

impl Words {
    /// Asks the system for so many words.
    pub fn new(len: usize) -> Option<Words> {
        map(len * 8).map(|base| Words { base, len })
    }

    /// The address of the first word.
    pub fn base(self) -> u64 {
        self.base
    }

    /// A word.
    pub fn at(self, index: usize) -> &'static AtomicU64 {
        assert!(index < self.len);
        // SAFETY: the mapping is never unmapped, is aligned to pages, and the index is inside.
        // Java code accesses it with whole words only.
        unsafe { &*((self.base as usize + index * 8) as *const AtomicU64) }
    }
}

/// The words of a buffer.
pub enum Storage {
    /// In ordinary memory.
    Plain(Box<[AtomicU64]>),
    /// At the end of a mapping, whose last page must not be touched: whatever writes past the end
    /// stops the process there and then. For tests.
    Guarded {
        /// The mapping and its size.
        base: u64,
        /// In bytes.
        bytes: usize,
        /// Where the words start.
        start: u64,
        /// How many there are.
        len: usize,
    },
}

impl Storage {
    /// Room for so many words, with a guard page after them if one is wanted.
    pub fn new(len: usize, guarded: bool) -> Option<Storage> {
        if !guarded {
            return Some(Storage::Plain((0..len).map(|_| AtomicU64::new(0)).collect()));
        }
        // SAFETY: asks for a number only.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(4096) as usize;
        let used = (len * 8).next_multiple_of(page);
        let bytes = used + page;
        let base = map(bytes)?;
        let storage = Storage::Guarded { base, bytes, start: base + (used - len * 8) as u64, len };
        // SAFETY: the last page of the mapping above.
        let guard = unsafe {
            libc::mprotect((base as usize + used) as *mut libc::c_void, page, libc::PROT_NONE)
        };
        (guard == 0).then_some(storage)
    }

    /// All words.
    pub fn words(&self) -> &[AtomicU64] {
        match self {
            Storage::Plain(words) => words,
            // SAFETY: the words are inside of the mapping, before its guard page, and live as long
            // as this does.
            Storage::Guarded { start, len, .. } => unsafe {
                std::slice::from_raw_parts(*start as *const AtomicU64, *len)
            },
        }
    }

    /// The address of the first word.
    pub fn start(&self) -> u64 {
        self.words().as_ptr() as u64
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        if let Storage::Guarded { base, bytes, .. } = *self {
            // SAFETY: the mapping came from `new`, and no reference to its words is left.
            unsafe { libc::munmap(base as *mut libc::c_void, bytes) };
        }
    }
}

/// How many bits number a stripe.
pub const STRIPE_BITS: u32 = 14;
const GOLD: u64 = 0x9E37_79B9_7F4A_7C15;

/// Words of a stripe. After the first come two that say which transactions had it last, for the
/// hook (`PacelineFilter`); the fourth makes it a power of two.
const STRIPE: usize = 4;
/// The same in bytes.
pub const STRIPE_BYTES: usize = 8 * STRIPE;

/// In the word of a stripe: it is held.
const HELD: u64 = 1;
/// In the word of a stripe: it is held for a call, and let go by an atomic addition.
const CALL: u64 = 1 << 63;

/// The stripes: each is a version, shifted by one, and a bit that says that it is held.
#[derive(Clone, Copy)]
pub struct Stripes(pub Words);

impl Stripes {
    /// Free stripes with version 0, and one more.
    pub fn new() -> Option<Stripes> {
        Words::new(STRIPE * ((1 << STRIPE_BITS) + 1)).map(Stripes)
    }

    /// The address of the one that has no number: no thread waits for it.
    pub fn spare(self) -> u64 {
        self.0.base() + ((8 * STRIPE as u64) << STRIPE_BITS)
    }

    /// The stripe of a key; the hook computes the same.
    fn of(key: u64) -> usize {
        (key.wrapping_mul(GOLD) >> (64 - STRIPE_BITS)) as usize
    }

    /// Takes the stripe of a key, does something with its stamp, and lets it go.
    pub fn stamped<T>(self, key: u64, work: impl FnOnce(u64) -> T) -> T {
        let stripe = Self::of(key);
        let word = self.0.at(STRIPE * stripe);
        let stamp = |value: u64| paceline_wire::stamp(stripe as u32, value >> 1);
        match seize(word, HELD) {
            Seized::Held(value) => {
                let done = work(stamp(value));
                // Not a store: guests may have come meanwhile.
                word.fetch_add(1, Ordering::Release);
                done
            }
            Seized::Guest(value) => work(stamp(value)),
        }
    }
}

/// How a stripe was got.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seized {
    /// It is held; this was its value.
    Held(u64),
    /// Another thread holds it and does not let it go; the version of this value is the caller's.
    Guest(u64),
}

/// How long to wait for a stripe that is held for a call before asking for a stamp as a guest. The
/// call runs code of the platform or the application, which may wait for the thread that waits
/// here.
const PATIENCE: Duration = Duration::from_millis(50);
/// The same for any other stripe. Its holder runs a few instructions, so it was stopped by the
/// system; only a class that is loaded in between could wait for the thread that waits here. Under
/// a load of eight threads a core, 50 ms were too short: its version was given twice, and the order
/// was called inexact without need.
const LONG_PATIENCE: Duration = Duration::from_secs(5);

/// Takes a stripe and sets flags in it, or at least takes a stamp of it.
pub fn seize(word: &AtomicU64, flags: u64) -> Seized {
    let mut rounds = 0u32;
    let mut since = None;
    loop {
        let value = word.load(Ordering::Relaxed);
        let swap = |new| {
            word.compare_exchange_weak(value, new, Ordering::Acquire, Ordering::Relaxed).is_ok()
        };
        if value & HELD == 0 {
            if swap(value | flags) {
                return Seized::Held(value);
            }
        } else if rounds >= 256 {
            let patience = if value & CALL == 0 { LONG_PATIENCE } else { PATIENCE };
            let waited = since.get_or_insert_with(Instant::now).elapsed();
            if waited >= patience && swap(value + 2) {
                return Seized::Guest((value & !CALL) + 1);
            }
        }
        rounds += 1;
        if rounds < 64 { std::hint::spin_loop() } else { std::thread::yield_now() }
    }
}

/// The word at an address that the hook computed.
///
/// # Safety
/// The address must be that of a word in one of the mappings here.
pub unsafe fn word_at(address: u64) -> &'static AtomicU64 {
    // SAFETY: by contract; mappings live for ever.
    unsafe { &*(address as *const AtomicU64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_given_once_each() {
        let stripes = Stripes::new().expect("memory");
        let versions: Vec<u64> = (0..3).map(|_| stripes.stamped(7, |stamp| stamp)).collect();
        assert_eq!([versions[1] - versions[0], versions[2] - versions[1]], [1, 1]);
    }

    #[test]
    fn a_thread_that_waits_for_a_call_gets_a_version_as_a_guest() {
        let word = AtomicU64::new(0);
        assert_eq!(seize(&word, HELD | CALL), Seized::Held(0));
        assert_eq!(seize(&word, HELD), Seized::Guest(2));
        assert_eq!(seize(&word, HELD), Seized::Guest(4));
        // As the hook lets it go: the sign goes by overflow.
        word.fetch_add(CALL + 1, Ordering::Release);
        assert_eq!(word.load(Ordering::Relaxed), 6);
    }

    #[test]
    fn a_stripe_that_is_held_for_a_moment_has_no_guests() {
        let word = AtomicU64::new(HELD);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| seize(&word, HELD));
            std::thread::sleep(4 * PATIENCE);
            word.fetch_add(1, Ordering::Release);
            assert_eq!(waiting.join().expect("a stripe"), Seized::Held(2));
        });
    }
}
