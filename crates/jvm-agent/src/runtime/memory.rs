//! Memory that Java code reads and writes by address: stripes, a word for each site, the owners of
//! arrays. It lives as long as the process.

use std::sync::atomic::{AtomicU64, Ordering};

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
        let base =
            unsafe { libc::mmap(std::ptr::null_mut(), len * 8, protection, flags, -1, 0) };
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
pub const STRIPE_BITS: u32 = 16;
const GOLD: u64 = 0x9E37_79B9_7F4A_7C15;

/// The stripes: each is a version, shifted by one, and a bit that says that it is held.
#[derive(Clone, Copy)]
pub struct Stripes(pub Words);

impl Stripes {
    /// Free stripes with version 0.
    pub fn new() -> Option<Stripes> {
        Words::new(1 << STRIPE_BITS).map(Stripes)
    }

    /// The stripe of a key; the hook class computes the same.
    fn of(key: u64) -> usize {
        (key.wrapping_mul(GOLD) >> (64 - STRIPE_BITS)) as usize
    }

    /// Takes the stripe of a key, does something with its stamp, and lets it go.
    pub fn stamped<T>(self, key: u64, work: impl FnOnce(u64) -> T) -> T {
        let stripe = Self::of(key);
        let word = self.0.at(stripe);
        let value = seize(word);
        let done = work(paceline_trace::record::wire::stamp(stripe as u32, value >> 1));
        word.store(value + 2, Ordering::Release);
        done
    }
}

/// Takes a stripe, waiting as long as somebody else has it.
pub fn seize(word: &AtomicU64) -> u64 {
    let mut rounds = 0u32;
    loop {
        let value = word.load(Ordering::Relaxed);
        let free = value & 1 == 0;
        if free && word.compare_exchange_weak(value, value | 1, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            return value;
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
