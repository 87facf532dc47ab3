//! A recorder for programs that record themselves: the stripes, a buffer for each thread, and one
//! stream that all of them go to.
//!
//! ```
//! use paceline_wire::{Hello, Kind, Recorder, SiteText, Target};
//!
//! let recorder = Recorder::new(Vec::new(), &Hello::default())?;
//! let site = SiteText { target: b"Account.balance", file: b"bank.rs", line: 7, ..SiteText::new(Kind::Read) };
//! let read = recorder.site(&site)?;
//! let account = recorder.object(b"Account")?;
//! let mut main = recorder.thread(b"main")?;
//! let balance = main.stamped(read, Target::object(account), || 100);
//! # assert_eq!(balance, 100);
//! drop(main);
//! recorder.finish()?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Ground rules: an access runs inside [`ThreadRecorder::stamped`], so that its stamp and the
//! access are one step, and does nothing there that waits or records. What waits (a lock, a join)
//! is done outside: the acquire is recorded after it, the release before it.

use std::hint::spin_loop;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::frame::Hello;
use crate::layout::{MAX_OBJECT, is_stamped, pack, stamp};
use crate::note::NoteKind;
use crate::output::{Output, SiteText};

/// How many stripes there are: so many that two threads seldom meet at one, and few enough for the
/// second-level cache.
const STRIPES: u32 = 1 << 12;
/// A thread sends its records when it has this many words of them: 64 KiB, so that the lock of the
/// output and the system call cost little for each record.
const FULL: usize = 1 << 13;
/// A stripe is held for a few instructions; after so many looks its holder was interrupted.
const PATIENCE: u32 = 100;

/// What a record is about, besides what its site says.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Target {
    object: u64,
    index: u64,
}

impl Target {
    /// Something that has no object: a static variable.
    pub const STATIC: Target = Target { object: 0, index: 0 };

    /// An object, or a field of it.
    pub fn object(object: u64) -> Target {
        Target { object, index: 0 }
    }

    /// An element of an object.
    pub fn element(object: u64, index: u64) -> Target {
        Target { object, index }
    }
}

/// A declared site.
#[derive(Clone, Copy, Debug)]
pub struct SiteNo {
    id: u32,
    is_stamped: bool,
    is_indexed: bool,
    /// Keeps static variables apart: they have no object.
    salt: u32,
}

struct Shared {
    output: Mutex<Output<Box<dyn Write + Send>>>,
    stripes: Box<[AtomicU64]>,
    objects: AtomicU64,
    /// The buffers of the threads that are alive.
    buffers: Mutex<Vec<Weak<Buffer>>>,
    /// The stream is broken: nothing is recorded any more, and the program goes on.
    is_broken: AtomicBool,
    start_or_end: SiteNo,
}

struct Buffer {
    thread: u32,
    words: Mutex<Vec<u64>>,
}

/// Records a program.
#[derive(Clone)]
pub struct Recorder(Arc<Shared>);

/// A poisoned lock means that a thread panicked between two of our own statements; what it guards
/// is whole nevertheless.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn too_many() -> io::Error {
    io::Error::other("too many sites or objects for a recording")
}

impl Recorder {
    /// Records into `sink`. The number of stripes in `hello` is filled in.
    pub fn new(sink: impl Write + Send + 'static, hello: &Hello) -> io::Result<Recorder> {
        let hello = Hello { stripes: STRIPES, ..*hello };
        let mut output = Output::new(Box::new(sink) as Box<dyn Write + Send>, &hello);
        let start_or_end = declare(&mut output, &SiteText::ORDER)?;
        output.flush()?;
        Ok(Recorder(Arc::new(Shared {
            output: Mutex::new(output),
            stripes: (0..STRIPES).map(|_| AtomicU64::new(0)).collect(),
            objects: AtomicU64::new(1),
            buffers: Mutex::default(),
            is_broken: AtomicBool::new(false),
            start_or_end,
        })))
    }

    /// Declares a site.
    pub fn site(&self, site: &SiteText) -> io::Result<SiteNo> {
        declare(&mut lock(&self.0.output), site)
    }

    /// A new object of this class.
    pub fn object(&self, class: &[u8]) -> io::Result<u64> {
        let object = self.0.objects.fetch_add(1, Ordering::Relaxed);
        if object > MAX_OBJECT {
            return Err(too_many());
        }
        lock(&self.0.output).object(object, class);
        Ok(object)
    }

    /// A thread that no recorded thread has forked.
    pub fn thread(&self, name: &[u8]) -> io::Result<ThreadRecorder> {
        let thread = lock(&self.0.output).thread(name);
        Ok(self.recorder_of(thread))
    }

    fn recorder_of(&self, thread: u32) -> ThreadRecorder {
        let buffer = Arc::new(Buffer { thread, words: Mutex::default() });
        let mut buffers = lock(&self.0.buffers);
        buffers.retain(|buffer| buffer.strong_count() > 0);
        buffers.push(Arc::downgrade(&buffer));
        ThreadRecorder { shared: Arc::clone(&self.0), buffer }
    }

    /// Adds to what the report must say.
    pub fn note(&self, kind: NoteKind, text: &[u8], number: u64) {
        lock(&self.0.output).note(kind, text, number);
    }

    /// Sends what has been recorded so far.
    pub fn flush(&self) -> io::Result<()> {
        let buffers: Vec<_> = lock(&self.0.buffers).iter().filter_map(Weak::upgrade).collect();
        buffers.iter().for_each(|buffer| self.0.send(buffer));
        lock(&self.0.output).flush()
    }

    /// Sends what has been recorded so far every now and then, until the flusher is dropped: a
    /// thread that sleeps must not hold up a reader that waits for its records.
    pub fn flush_every(&self, pause: Duration) -> Flusher {
        let recorder = self.clone();
        let (stop, stopped) = channel();
        let thread = thread::spawn(move || {
            while stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                // A broken stream is noticed by every thread that writes into it.
                let _ = recorder.flush();
            }
        });
        Flusher { stop: Some(stop), thread: Some(thread) }
    }

    /// Sends the rest and says that it is the end. Threads that still run are cut.
    pub fn finish(&self) -> io::Result<()> {
        self.flush()?;
        self.0.is_broken.store(true, Ordering::Release);
        lock(&self.0.output).finish()
    }
}

fn declare(output: &mut Output<Box<dyn Write + Send>>, site: &SiteText) -> io::Result<SiteNo> {
    let id = output.site(site).ok_or_else(too_many)?;
    Ok(SiteNo {
        id,
        is_stamped: site.kind.is_none_or(is_stamped),
        is_indexed: site.flags.is_indexed(),
        salt: output.name(site.target),
    })
}

/// Sends records now and then.
pub struct Flusher {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Flusher {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // It has no result, and it does not panic.
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// Sends the records of a thread. The buffer stays locked meanwhile, so that later
    /// ones are not sent first.
    fn send(&self, buffer: &Buffer) {
        let mut words = lock(&buffer.words);
        if words.is_empty() {
            return;
        }
        if !self.is_broken.load(Ordering::Acquire)
            && lock(&self.output).chunk(buffer.thread, &words).is_err()
        {
            self.is_broken.store(true, Ordering::Release);
        }
        words.clear();
    }

    /// Does something while the stripe is held, and returns its stamp as well.
    #[inline]
    fn step<T>(&self, stripe: u32, act: impl FnOnce() -> T) -> (u64, T) {
        let state = &self.stripes[stripe as usize];
        let free = take(state);
        // However the act ends, the next one finds the stripe free, and the version used.
        let _held = Held { state, free };
        (stamp(stripe, free >> 1), act())
    }
}

/// Locks a stripe; returns what it was.
#[inline]
fn take(state: &AtomicU64) -> u64 {
    let mut looks = 0;
    loop {
        let free = state.load(Ordering::Relaxed) & !1;
        let taken =
            state.compare_exchange_weak(free, free | 1, Ordering::Acquire, Ordering::Relaxed);
        if taken.is_ok() {
            return free;
        }
        looks += 1;
        if looks % PATIENCE == 0 { thread::yield_now() } else { spin_loop() }
    }
}

struct Held<'a> {
    state: &'a AtomicU64,
    free: u64,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.state.store(self.free + 2, Ordering::Release);
    }
}

/// The stripe of a target.
#[inline]
fn stripe_of(salt: u32, target: Target) -> u32 {
    let mixed = target.object.wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ target.index.wrapping_mul(0xd134_2543_de82_ef95)
        ^ u64::from(salt).wrapping_mul(0xa076_1d64_78bd_642f);
    (mixed >> 40) as u32 % STRIPES
}

/// Threads are ordered by stripes of their own kind.
fn stripe_of_thread(thread: u32) -> u32 {
    stripe_of(u32::MAX, Target::object(u64::from(thread)))
}

/// Records what one thread does. It belongs to that thread; dropping it is the thread's end.
pub struct ThreadRecorder {
    shared: Arc<Shared>,
    buffer: Arc<Buffer>,
}

impl ThreadRecorder {
    /// The number of this thread.
    pub fn id(&self) -> u32 {
        self.buffer.thread
    }

    /// Does something that other threads can see, and records it.
    pub fn stamped<T>(&mut self, site: SiteNo, target: Target, act: impl FnOnce() -> T) -> T {
        debug_assert!(site.is_stamped, "{site:?}");
        self.step(site, target, stripe_of(site.salt, target), act)
    }

    fn step<T>(&mut self, site: SiteNo, target: Target, stripe: u32, act: impl FnOnce() -> T) -> T {
        let (stamp, result) = self.shared.step(stripe, act);
        let words = [pack(site.id, target.object), stamp, target.index];
        self.put(&words[..if site.is_indexed { 3 } else { 2 }]);
        result
    }

    /// Records something that no other thread can see: the begin or end of a block, a yield.
    pub fn mark(&mut self, site: SiteNo) {
        debug_assert!(!site.is_stamped, "{site:?}");
        self.put(&[pack(site.id, 0)]);
    }

    /// Records that this thread starts another; what is returned goes to that thread.
    pub fn fork(&mut self, site: SiteNo, name: &[u8]) -> io::Result<ThreadRecorder> {
        let recorder = Recorder(Arc::clone(&self.shared));
        let mut child = recorder.thread(name)?;
        let thread = child.id();
        self.step(site, Target::object(u64::from(thread)), stripe_of_thread(thread), || ());
        child.start_or_end();
        Ok(child)
    }

    /// Records that this thread has seen the end of another.
    pub fn join(&mut self, site: SiteNo, thread: u32) {
        self.step(site, Target::object(u64::from(thread)), stripe_of_thread(thread), || ());
    }

    fn start_or_end(&mut self) {
        let (site, thread) = (self.shared.start_or_end, self.id());
        self.step(site, Target::STATIC, stripe_of_thread(thread), || ());
    }

    fn put(&mut self, words: &[u64]) {
        let is_full = {
            let mut buffer = lock(&self.buffer.words);
            buffer.extend_from_slice(words);
            buffer.len() >= FULL
        };
        if is_full {
            self.shared.send(&self.buffer);
        }
    }
}

impl Drop for ThreadRecorder {
    fn drop(&mut self) {
        self.start_or_end();
        self.shared.send(&self.buffer);
    }
}
