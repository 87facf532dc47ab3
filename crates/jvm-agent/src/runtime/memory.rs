//! Memory that Java code reads and writes by address: stripes, a word for each site, the owners of
//! arrays. It lives as long as the process.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A row of words at a fixed address, all zero at first. Pages that nobody touches cost nothing.
#[derive(Clone, Copy)]
pub struct Words {
    base: u64,
    len: usize,
}

impl Words {
    /// Asks the system for so many words.
    pub fn new(len: usize) -> Option<Words> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a fresh anonymous mapping overlaps nothing.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), len * 8, protection, flags, -1, 0) };
        (base != libc::MAP_FAILED).then_some(Words { base: base as u64, len })
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

/// How many bits number a stripe.
pub const STRIPE_BITS: u32 = 14;
const GOLD: u64 = 0x9E37_79B9_7F4A_7C15;

/// Words of a stripe. Behind the first are two that tell who had it last, for the hook class.
const STRIPE: usize = 4;

/// The stripes: each is a version, shifted by one, and a bit that says that it is held.
#[derive(Clone, Copy)]
pub struct Stripes(pub Words);

impl Stripes {
    /// Free stripes with version 0, and one more.
    pub fn new() -> Option<Stripes> {
        Words::new(STRIPE * ((1 << STRIPE_BITS) + 1)).map(Stripes)
    }

    /// The address of the one that has no number.
    pub fn nobodys(self) -> u64 {
        self.0.base() + ((8 * STRIPE as u64) << STRIPE_BITS)
    }

    /// The stripe of a key; the hook class computes the same.
    fn of(key: u64) -> usize {
        (key.wrapping_mul(GOLD) >> (64 - STRIPE_BITS)) as usize
    }

    /// Takes the stripe of a key, does something with its stamp, and lets it go.
    pub fn stamped<T>(self, key: u64, work: impl FnOnce(u64) -> T) -> T {
        let stripe = Self::of(key);
        let word = self.0.at(STRIPE * stripe);
        let stamp = |value: u64| paceline_wire::stamp(stripe as u32, value >> 1);
        match seize(word) {
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
    /// Somebody else holds it and does not let it go; the version of this value is the caller's.
    Guest(u64),
}

/// How long to wait for a stripe before asking for a stamp as a guest. Who holds one runs a few
/// instructions, unless it waits inside a call of the platform for somebody who waits for the stripe.
const PATIENCE: Duration = Duration::from_millis(50);

/// Takes a stripe, or at least a stamp of it.
pub fn seize(word: &AtomicU64) -> Seized {
    let mut rounds = 0u32;
    let mut since = None;
    loop {
        let value = word.load(Ordering::Relaxed);
        let patient = rounds < 256 || since.get_or_insert_with(Instant::now).elapsed() < PATIENCE;
        let swap = |new| {
            word.compare_exchange_weak(value, new, Ordering::Acquire, Ordering::Relaxed).is_ok()
        };
        if value & 1 == 0 {
            if swap(value | 1) {
                return Seized::Held(value);
            }
        } else if !patient && swap(value + 2) {
            return Seized::Guest(value + 1);
        }
        rounds += 1;
        if rounds < 64 { std::hint::spin_loop() } else { std::thread::yield_now() }
    }
}

/// The word at an address that the hook class computed.
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
    fn who_waits_for_ever_gets_a_version_as_a_guest() {
        let word = AtomicU64::new(0);
        assert_eq!(seize(&word), Seized::Held(0));
        assert_eq!(seize(&word), Seized::Guest(2));
        assert_eq!(seize(&word), Seized::Guest(4));
        assert_eq!(word.load(Ordering::Relaxed), 5);
    }
}
