//! From the records of a thread to the stream: numbers the sites that are really used, and
//! declares what must be known before the records.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use paceline_wire::{self as wire, Hello, NoteKind, Output, SiteFlags, SiteText};

use crate::options::Destination;
use crate::program::Facts;

/// The site of records that say the class of an object: its second word is a class.
pub const OBJECT_SITE: u32 = wire::MAX_SITE;

/// Locks, even if a thread panicked with it: what it guards is valid at every step.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where the bytes go.
pub enum Sink {
    /// To a listener.
    Socket(UnixStream),
    /// Into a file.
    File(File),
}

impl Sink {
    /// Opens what the options say.
    pub fn open(destination: &Destination) -> io::Result<Sink> {
        match destination {
            Destination::Socket(path) => UnixStream::connect(path).map(Sink::Socket),
            Destination::File(path) => File::create(path).map(Sink::File),
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Sink::Socket(socket) => socket.write(bytes),
            Sink::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Sink::Socket(socket) => socket.flush(),
            Sink::File(file) => file.flush(),
        }
    }
}

const OVERLAPPED: &[u8] =
    b"calls of atomic or concurrent objects that overlapped and run code of the application";
const OVERFLOWED: &[u8] = b"a stack overflowed, and ends of blocks or releases may be missing";
const STRAY: &[u8] = b"releases of locks by threads that did not take them";

const CHUNK: usize = 1 << 12;
const DECLARED: u32 = 1 << 26;
const STAMPED: u32 = 1 << 24;
const INDEXED: u32 = 1 << 25;

/// For each site its number in the stream, and the form of its records; 0 if not declared yet.
struct WireSites(Vec<OnceLock<Box<[AtomicU32]>>>);

impl WireSites {
    fn new() -> WireSites {
        WireSites((0..(wire::MAX_SITE as usize + 1) / CHUNK).map(|_| OnceLock::new()).collect())
    }

    fn at(&self, site: u32) -> &AtomicU32 {
        let site = site as usize;
        let chunk =
            self.0[site / CHUNK].get_or_init(|| (0..CHUNK).map(|_| AtomicU32::new(0)).collect());
        &chunk[site % CHUNK]
    }
}

/// What the report must say, with numbers.
pub type Notes = BTreeMap<(NoteKind, Vec<u8>), u64>;

/// The sending side of the agent.
pub struct Sender {
    /// Sites and classes.
    pub facts: Mutex<Facts>,
    output: Mutex<Output<Sink>>,
    wire_sites: WireSites,
    /// The names of the classes of objects, by number.
    classes: Mutex<Vec<Vec<u8>>>,
    notes: Mutex<Notes>,
    /// Nothing is sent any more.
    closed: AtomicBool,
    /// The agent has failed: the stream has no end.
    failed: AtomicBool,
    inexact: AtomicU64,
    stray: AtomicU64,
}

impl Sender {
    /// Starts a stream.
    pub fn new(sink: Sink, hello: &Hello) -> Sender {
        Sender {
            facts: Mutex::default(),
            output: Mutex::new(Output::new(sink, hello)),
            wire_sites: WireSites::new(),
            classes: Mutex::default(),
            notes: Mutex::default(),
            closed: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            inexact: AtomicU64::new(0),
            stray: AtomicU64::new(0),
        }
    }

    /// Declares a thread.
    pub fn thread(&self, name: &[u8]) -> u32 {
        lock(&self.output).thread(name)
    }

    /// Numbers a class of objects.
    pub fn class(&self, readable: Vec<u8>) -> u32 {
        let mut classes = lock(&self.classes);
        classes.push(readable);
        classes.len() as u32 - 1
    }

    /// Adds to what the report must say.
    pub fn note(&self, kind: NoteKind, text: &[u8], number: u64) {
        let mut is_new = false;
        *lock(&self.notes).entry((kind, text.to_vec())).or_insert_with(|| {
            is_new = true;
            0
        }) += number;
        if is_new && matches!(kind, NoteKind::Unmodelled | NoteKind::Inexact) {
            self.warn(kind, text);
        }
    }

    /// Counts an event whose place in the order may be wrong.
    pub fn inexact(&self) {
        if self.inexact.fetch_add(1, Ordering::Relaxed) == 0 {
            self.warn(NoteKind::Inexact, OVERLAPPED);
        }
    }

    /// A stack was full, maybe too full for what had to be recorded.
    pub fn overflowed(&self) {
        self.note(NoteKind::Inexact, OVERFLOWED, 1);
    }

    /// Counts a lock operation that fits to none before.
    pub fn stray(&self) {
        if self.stray.fetch_add(1, Ordering::Relaxed) == 0 {
            self.warn(NoteKind::Unmodelled, STRAY);
        }
    }

    /// Says, before the events that it is about, what makes findings less certain: it must not be
    /// lost when the program is killed. How often comes at the end.
    fn warn(&self, kind: NoteKind, text: &[u8]) {
        lock(&self.output).note(kind, text, 0);
    }

    /// Sends records of a thread. `scratch` is room to work in.
    pub fn send(&self, thread: u32, records: &[u64], scratch: &mut Vec<u8>) {
        if records.is_empty() || self.closed.load(Ordering::Relaxed) {
            return;
        }
        scratch.clear();
        let mut objects = Vec::new();
        self.translate(records, scratch, &mut objects);
        let mut output = lock(&self.output);
        if !objects.is_empty() {
            let classes = lock(&self.classes);
            for (object, class) in objects {
                let name = classes.get(class as usize).map_or(&b"?"[..], Vec::as_slice);
                output.object(object, name);
            }
        }
        if scratch.is_empty() {
            return;
        }
        if output.chunk_bytes(thread, scratch).is_err() {
            self.closed.store(true, Ordering::Relaxed);
        }
    }

    fn translate(&self, records: &[u64], out: &mut Vec<u8>, objects: &mut Vec<(u64, u64)>) {
        let mut words = records.iter().copied();
        while let Some(first) = words.next() {
            let (site, object) = wire::unpack(first);
            if site == OBJECT_SITE {
                objects.push((object, words.next().unwrap_or_default()));
                continue;
            }
            let form = match self.wire_sites.at(site).load(Ordering::Acquire) {
                0 => self.declare(site),
                form => form,
            };
            out.extend_from_slice(&wire::pack(form & wire::MAX_SITE, object).to_le_bytes());
            let more = usize::from(form & STAMPED != 0) + usize::from(form & INDEXED != 0);
            for word in words.by_ref().take(more) {
                out.extend_from_slice(&word.to_le_bytes());
            }
        }
    }

    /// Declares a site at its first use; only then is known what its field is.
    fn declare(&self, number: u32) -> u32 {
        let facts = lock(&self.facts);
        let mut output = lock(&self.output);
        let entry = self.wire_sites.at(number);
        let known = entry.load(Ordering::Acquire);
        if known != 0 {
            return known;
        }
        let Some(site) = facts.site(number) else { return DECLARED };
        let declared = facts.declared(site);
        let flags = if declared.indexed { SiteFlags::INDEXED } else { SiteFlags::default() };
        let text = SiteText {
            kind: declared.kind,
            flags,
            file: &site.file,
            method: &site.method,
            target: &declared.target,
            line: site.line.into(),
        };
        let stamped = declared.kind.is_none_or(wire::is_stamped);
        let form = DECLARED
            | output.site(&text).unwrap_or_default()
            | if stamped { STAMPED } else { 0 }
            | if declared.indexed { INDEXED } else { 0 };
        entry.store(form, Ordering::Release);
        form
    }

    /// Sends declarations if there are many.
    pub fn relieve(&self) {
        if lock(&self.output).relieve().is_err() {
            self.closed.store(true, Ordering::Relaxed);
        }
    }

    /// Ends the stream early, without its end: the agent has failed.
    pub fn abandon(&self, why: &str) {
        if self.failed.swap(true, Ordering::Relaxed) {
            return;
        }
        self.closed.store(true, Ordering::Relaxed);
        let mut output = lock(&self.output);
        let text = format!("all events after a failure of the agent: {why}");
        output.note(NoteKind::Lost, text.as_bytes(), 0);
        // If that fails too, the stream is cut all the same.
        let _ = output.flush();
    }

    /// Ends the stream: all notes, then the end.
    pub fn finish(&self) {
        let mut output = lock(&self.output);
        for ((kind, text), number) in lock(&self.notes).iter() {
            output.note(*kind, text, *number);
        }
        let inexact = self.inexact.load(Ordering::Relaxed);
        if inexact > 0 {
            output.note(NoteKind::Inexact, OVERLAPPED, inexact);
        }
        let stray = self.stray.load(Ordering::Relaxed);
        if stray > 0 {
            output.note(NoteKind::Unmodelled, STRAY, stray);
        }
        let failed = self.failed.load(Ordering::Relaxed);
        // If it fails, the stream is cut: its reader sees that.
        let _ = if failed { output.flush() } else { output.finish() };
        self.closed.store(true, Ordering::Relaxed);
    }
}
