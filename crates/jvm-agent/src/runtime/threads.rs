//! Threads: their numbers, their buffers, and whether they have ended.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::buffer::Buffer;
use super::memory::Storage;
use crate::sender::{Sender, lock};

/// Object numbers that a thread takes at a time.
const IDS: u64 = 1024;

/// What has become of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Life {
    /// It has made no records.
    #[default]
    Unrecorded,
    /// It has a buffer.
    Recording,
    /// Its last record is written.
    Ended,
}

/// All threads that the stream knows.
#[derive(Default)]
pub struct Threads {
    /// Buffers that are in use. They are boxed, since Java code has their addresses.
    #[allow(clippy::vec_box)]
    buffers: Mutex<Vec<Box<Buffer>>>,
    lives: Mutex<Vec<Life>>,
    next_id: AtomicU64,
    next_transaction: AtomicU64,
    /// Whether the program has started a thread.
    pub many: AtomicBool,
    virtual_names: AtomicU64,
}

impl Threads {
    /// The next object numbers: from the first, [`Self::ids_at_a_time`] of them.
    pub fn more_ids(&self) -> u64 {
        self.next_id.fetch_add(IDS, Ordering::Relaxed) + 1
    }

    /// The next numbers of transactions; as many.
    pub fn more_transactions(&self) -> u64 {
        self.next_transaction.fetch_add(IDS, Ordering::Relaxed) + 1
    }

    /// How many numbers that are.
    pub fn ids_at_a_time() -> u64 {
        IDS
    }

    /// A name for a thread that has none.
    pub fn virtual_name(&self) -> Vec<u8> {
        format!("virtual-{}", self.virtual_names.fetch_add(1, Ordering::Relaxed) + 1).into_bytes()
    }

    fn set(&self, thread: u32, life: Life) {
        let mut lives = lock(&self.lives);
        let index = thread as usize;
        if lives.len() <= index {
            lives.resize(index + 1, Life::default());
        }
        lives[index] = life;
    }

    /// Gives a thread a buffer; its address.
    pub fn open(&self, thread: u32, storage: Storage) -> u64 {
        self.set(thread, Life::Recording);
        self.keep(Buffer::new(thread, storage, false))
    }

    /// Gives a thread a buffer that is never sent; its address.
    pub fn open_discarded(&self, thread: u32, storage: Storage) -> u64 {
        self.keep(Buffer::new(thread, storage, true))
    }

    fn keep(&self, buffer: Box<Buffer>) -> u64 {
        let address = buffer.address();
        lock(&self.buffers).push(buffer);
        address
    }

    /// Drops the buffers of a thread that has written its last record.
    pub fn close(&self, thread: u32, addresses: [u64; 2]) {
        lock(&self.buffers).retain(|buffer| !addresses.contains(&buffer.address()));
        self.set(thread, Life::Ended);
    }

    /// Waits until a thread that is known to have ended has written its last record: a joining
    /// thread may see the end of a virtual thread a moment earlier. False if it never does.
    pub fn await_end(&self, thread: u32) -> bool {
        for _ in 0..10_000 {
            let life = lock(&self.lives).get(thread as usize).copied().unwrap_or_default();
            if life != Life::Recording {
                return true;
            }
            std::thread::sleep(Duration::from_micros(50));
        }
        false
    }

    /// Sends what all threads have written so far.
    pub fn flush(&self, sender: &Sender) {
        lock(&self.buffers).iter().for_each(|buffer| buffer.flush(sender));
    }
}
