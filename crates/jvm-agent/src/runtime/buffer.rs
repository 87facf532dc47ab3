//! The records of a thread until they are sent.
//!
//! The thread writes; it moves the end of what is written with a release store. Another thread,
//! the flusher, may send what is there meanwhile. Only the owner starts again at the front.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::memory::Stripes;
use crate::holds::Holds;
use crate::sender::{Sender, lock};
use paceline_wire as wire;

/// Words that are free whenever there is said to be room.
const SLACK: usize = 4;

/// The buffer of a thread. The first two fields are read and written by the hook class.
#[repr(C)]
pub struct Buffer {
    /// The address of the next free word.
    next: AtomicU64,
    /// If `next` is above, the buffer must be sent.
    limit: AtomicU64,
    /// The thread.
    pub thread: u32,
    /// Nothing of it is sent.
    pub is_trash: bool,
    words: Box<[AtomicU64]>,
    sending: Mutex<Sending>,
    /// Locks of java.util.concurrent; only the owner uses it.
    pub holds: Mutex<Holds>,
}

#[derive(Default)]
struct Sending {
    /// Words that have been sent.
    sent: usize,
    copy: Vec<u64>,
    scratch: Vec<u8>,
}

impl Buffer {
    /// An empty buffer of so many words.
    pub fn new(thread: u32, len: usize, is_trash: bool) -> Box<Buffer> {
        let words: Box<[AtomicU64]> = (0..len).map(|_| AtomicU64::new(0)).collect();
        let start = words.as_ptr() as u64;
        Box::new(Buffer {
            next: AtomicU64::new(start),
            limit: AtomicU64::new(start + 8 * (len - SLACK) as u64),
            thread,
            is_trash,
            words,
            sending: Mutex::default(),
            holds: Mutex::default(),
        })
    }

    /// Where Java code finds it.
    pub fn address(&self) -> u64 {
        std::ptr::from_ref(self) as u64
    }

    fn start(&self) -> u64 {
        self.words.as_ptr() as u64
    }

    fn written(&self) -> usize {
        ((self.next.load(Ordering::Acquire) - self.start()) / 8) as usize
    }

    /// Sends what is there; for anybody.
    pub fn flush(&self, sender: &Sender) {
        let mut sending = lock(&self.sending);
        self.send_rest(&mut sending, sender);
    }

    fn send_rest(&self, sending: &mut Sending, sender: &Sender) {
        let written = self.written();
        if written == sending.sent {
            return;
        }
        let new = &self.words[sending.sent..written];
        let Sending { sent, copy, scratch } = sending;
        *sent = written;
        if self.is_trash {
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
        sending.sent = 0;
        self.next.store(self.start(), Ordering::Release);
    }

    /// Adds a record; for the owner only.
    fn push(&self, words: &[u64], sender: &Sender) {
        if self.next.load(Ordering::Relaxed) > self.limit.load(Ordering::Relaxed) {
            self.drain(sender);
        }
        let at = self.written();
        for (slot, &word) in self.words[at..].iter().zip(words) {
            slot.store(word, Ordering::Relaxed);
        }
        self.next.fetch_add(8 * words.len() as u64, Ordering::Release);
    }

    /// Adds a record with a stamp; for the owner only.
    pub fn stamped(&self, sender: &Sender, stripes: Stripes, site: u32, object: u64, key: u64) {
        if self.is_trash {
            return;
        }
        // Room first: a full buffer is not to be sent while the stripe is held.
        self.push(&[], sender);
        stripes.stamped(key, |stamp| self.push(&[wire::pack(site, object), stamp], sender));
    }
}
