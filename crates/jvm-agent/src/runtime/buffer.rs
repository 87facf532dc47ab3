//! The records of a thread until they are sent.
//!
//! The thread writes; it moves the end of what is written with a release store. Another thread,
//! the flusher, may send what is there meanwhile. Only the owner starts again at the front.
//!
//! There is one question about room, asked just before a record is written: is `next` beyond
//! `last_place`? Then the buffer is drained first. The hook asks it in `PacelineRecords.place`, the
//! agent in [`Buffer::push`]; nothing is written anywhere else.

use std::mem::offset_of;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::memory::{Storage, Stripes};
use crate::holds::Holds;
use crate::sender::{Sender, lock};
use paceline_wire as wire;

/// The words of the longest record: site and object, stamp, index.
pub const LONGEST: usize = 3;
/// What an event can need while its stripe is held: its record, one that only orders, and one that
/// says the class of an object. If less is free, the buffer is drained before.
const PENDING: usize = 8;

/// The buffer of a thread. The first three fields are used by the hook.
#[repr(C)]
pub struct Buffer {
    /// The address of the next free word.
    next: AtomicU64,
    /// If `next` is above, the buffer should be drained before a stripe is taken.
    early_limit: u64,
    /// If `next` is above, the buffer must be drained before a record is written.
    last_place: u64,
    /// The thread.
    pub thread: u32,
    /// Nothing of it is sent.
    pub is_discarded: bool,
    storage: Storage,
    sending: Mutex<Sending>,
    /// Locks of java.util.concurrent; only the owner uses it.
    pub holds: Mutex<Holds>,
}

/// Where the hook finds the limits of a buffer.
pub const EARLY_LIMIT: usize = offset_of!(Buffer, early_limit);
/// The same for the last place.
pub const LAST_PLACE: usize = offset_of!(Buffer, last_place);
const _: () = assert!(offset_of!(Buffer, next) == 0);

#[derive(Default)]
struct Sending {
    /// Words that have been sent.
    sent: usize,
    copy: Vec<u64>,
    scratch: Vec<u8>,
}

impl Buffer {
    /// An empty buffer in storage for at least [`LONGEST`] words.
    pub fn new(thread: u32, storage: Storage, is_discarded: bool) -> Box<Buffer> {
        let start = storage.start();
        let words = storage.words().len();
        let before_end = |count: usize| start + 8 * words.saturating_sub(count) as u64;
        Box::new(Buffer {
            next: AtomicU64::new(start),
            early_limit: before_end(PENDING),
            last_place: before_end(LONGEST),
            thread,
            is_discarded,
            storage,
            sending: Mutex::default(),
            holds: Mutex::default(),
        })
    }

    /// Where Java code finds it.
    pub fn address(&self) -> u64 {
        std::ptr::from_ref(self) as u64
    }

    fn written(&self) -> usize {
        ((self.next.load(Ordering::Acquire) - self.storage.start()) / 8) as usize
    }

    /// Sends what is there; for any thread.
    pub fn flush(&self, sender: &Sender) {
        let mut sending = lock(&self.sending);
        self.send_rest(&mut sending, sender);
    }

    fn send_rest(&self, sending: &mut Sending, sender: &Sender) {
        let written = self.written();
        let Sending { sent, copy, scratch } = sending;
        let Some(new) = self.storage.words().get(*sent..written) else {
            panic!("a buffer was overrun: {sent}..{written}");
        };
        *sent = written;
        if self.is_discarded || new.is_empty() {
            return;
        }
        copy.clear();
        copy.extend(new.iter().map(|w| w.load(Ordering::Relaxed)));
        sender.send(self.thread, copy, scratch);
    }

    /// Sends what is there and starts at the front; for the owner only.
    pub fn drain(&self, sender: &Sender) {
        let mut sending = lock(&self.sending);
        self.send_rest(&mut sending, sender);
        self.start_again(&mut sending);
    }

    /// Starts at the front, whatever has been sent; for the owner only.
    pub fn restart(&self) {
        self.start_again(&mut lock(&self.sending));
    }

    fn start_again(&self, sending: &mut Sending) {
        sending.sent = 0;
        self.next.store(self.storage.start(), Ordering::Release);
    }

    /// Adds a record; for the owner only.
    fn push(&self, words: [u64; 2], sender: &Sender) {
        if self.next.load(Ordering::Relaxed) > self.last_place {
            self.drain(sender);
        }
        let at = self.written();
        for (slot, word) in self.storage.words()[at..].iter().zip(words) {
            slot.store(word, Ordering::Relaxed);
        }
        self.next.fetch_add(8 * words.len() as u64, Ordering::Release);
    }

    /// Adds a record with a stamp; for the owner only.
    pub fn stamped(&self, sender: &Sender, stripes: Stripes, site: u32, object: u64, key: u64) {
        if self.is_discarded {
            return;
        }
        // Not while the stripe is held: others may wait for it.
        if self.next.load(Ordering::Relaxed) > self.early_limit {
            self.drain(sender);
        }
        stripes.stamped(key, |stamp| self.push([wire::pack(site, object), stamp], sender));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(words: usize, events: u64) -> u64 {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let sink = crate::sender::Sink::File(file.reopen().expect("a file"));
        let hello = wire::Hello {
            pid: 1,
            stripes: 4,
            all_methods: false,
            front_end: b"",
            version: b"",
            recorder: b"",
            command: b"",
        };
        let sender = Sender::new(sink, &hello);
        let stripes = Stripes::new().expect("memory");
        let storage = Storage::new(words, true).expect("memory");
        let buffer = Buffer::new(0, storage, false);
        sender.thread(b"main");
        for object in 0..events {
            buffer.stamped(&sender, stripes, 1, object, object);
        }
        buffer.flush(&sender);
        sender.finish();
        std::fs::metadata(file.path()).expect("a file").len()
    }

    #[test]
    fn the_smallest_buffer_loses_nothing_and_is_not_overrun() {
        let size = |words: usize, chunks: u64| sent(words, 100) - 9 * chunks;
        // The same records; only the headers of the chunks differ.
        assert_eq!(size(4, 100), size(1 << 14, 1));
    }
}
