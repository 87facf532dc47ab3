//! The bytes of a recorded stream: frames and records.
//!
//! All numbers are little endian. The stream starts with [`MAGIC`] and the `u32` [`VERSION`];
//! then come frames: `u32` length of the payload, `u8` kind of frame, payload. A *text* inside a
//! payload is a `u32` length and that many bytes; a text that ends a payload has no length.
//!
//! | frame | kind | payload |
//! |---|---|---|
//! | Hello | 1 | `u32` pid, `u32` stripes, `u32` flags, text front end, text version of it, command line |
//! | Name | 2 | `u32` id, the name |
//! | Object | 3 | `u64` object, `u32` name of its class |
//! | Site | 4 | `u32` id, `u8` kind of event, `u8` flags, `u32` names of file, method and target, `u32` line |
//! | Thread | 5 | `u32` id, its name |
//! | Chunk | 6 | `u32` thread, records |
//! | Note | 7 | `u64` number, text key, text |
//! | End | 8 | nothing |
//!
//! Hello is the first frame. Names, sites and threads are numbered without gaps in the order of
//! their frames: names from 1 (0 is the empty name and never sent), sites from 1, threads from 0.
//! What a frame refers to has been sent before it. End says that everything has been sent;
//! without it the stream was cut.
//!
//! A *record* is two to three words of 64 bits (one, if the event needs no stamp), and lies in one
//! chunk as a whole: site (low 24 bits) and object (40 bits); stripe (high 20 bits) and version
//! (44 bits) if the site's kind is [`is_stamped`]; the index if the site has
//! [`SiteFlags::INDEXED`]. A stripe's versions start with 0 and have no gaps: each stamp that was
//! taken is sent. For fork and join the object is the id of the thread; for everything else 0 means
//! that there is no object, as for static fields.

pub use super::frames::{FrameReader, Next};
use crate::error::{Error, Place};
use crate::event::Kind;

/// The first bytes of a stream.
pub const MAGIC: [u8; 8] = *b"PACESTRM";
/// The version of this layout.
pub const VERSION: u32 = 1;
/// No payload is longer: a longer one is damage.
pub const MAX_PAYLOAD: usize = 1 << 24;
/// How many bits of a record's first word are the site.
pub const SITE_BITS: u32 = 24;
/// The highest site.
pub const MAX_SITE: u32 = (1 << SITE_BITS) - 1;
/// The highest object id.
pub const MAX_OBJECT: u64 = (1 << (64 - SITE_BITS)) - 1;
/// How many bits of a stamp are the version; the rest is the stripe.
pub const VERSION_BITS: u32 = 44;
/// How many stripes there can be.
pub const MAX_STRIPES: u32 = 1 << (64 - VERSION_BITS);
/// The kind byte of a site whose records are stamps only: they order, and are no events. A thread
/// has one at its start (after the fork, on the same stripe) and one at its end (before a join).
pub const ORDER_ONLY: u8 = 0xff;

/// The first word of a record.
#[inline(always)]
pub fn pack(site: u32, object: u64) -> u64 {
    u64::from(site) | object << SITE_BITS
}

/// Site and object of a record's first word.
#[inline(always)]
pub fn unpack(word: u64) -> (u32, u64) {
    (word as u32 & MAX_SITE, word >> SITE_BITS)
}

/// The second word of a stamped record.
#[inline(always)]
pub fn stamp(stripe: u32, version: u64) -> u64 {
    u64::from(stripe) << VERSION_BITS | version
}

/// Stripe and version of a stamp.
#[inline(always)]
pub fn unstamp(word: u64) -> (u32, u64) {
    ((word >> VERSION_BITS) as u32, word & ((1 << VERSION_BITS) - 1))
}

/// The kinds of events in the order of their codes. It is part of the format: new kinds go to the end.
const KINDS: [Kind; Kind::ALL.len()] = [
    Kind::Read,
    Kind::Write,
    Kind::Acquire,
    Kind::Release,
    Kind::AcquireShared,
    Kind::ReleaseShared,
    Kind::Fork,
    Kind::Join,
    Kind::Begin,
    Kind::End,
    Kind::Yield,
    Kind::PreWait,
    Kind::PostWait,
    Kind::Notify,
    Kind::AtomicRead,
    Kind::AtomicWrite,
    Kind::AtomicUpdate,
    Kind::Post,
    Kind::Take,
    Kind::BarrierEnter,
    Kind::BarrierExit,
];

/// The code of a kind.
fn kind_code(kind: Kind) -> u8 {
    let code = KINDS.iter().position(|&other| other == kind);
    code.map_or(ORDER_ONLY, |code| code as u8)
}

/// Whether records of this kind carry a stamp. Those that conflict with no other thread do not.
pub fn is_stamped(kind: Kind) -> bool {
    match kind {
        Kind::Begin | Kind::End | Kind::Yield | Kind::Notify => false,
        Kind::Read
        | Kind::Write
        | Kind::Acquire
        | Kind::Release
        | Kind::AcquireShared
        | Kind::ReleaseShared
        | Kind::Fork
        | Kind::Join
        | Kind::PreWait
        | Kind::PostWait
        | Kind::AtomicRead
        | Kind::AtomicWrite
        | Kind::AtomicUpdate
        | Kind::Post
        | Kind::Take
        | Kind::BarrierEnter
        | Kind::BarrierExit => true,
    }
}

/// What a record of a site is, beyond its kind.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SiteFlags(pub u8);

impl SiteFlags {
    /// The record has an index, as for array elements.
    pub const INDEXED: SiteFlags = SiteFlags(1);
    const KNOWN: u8 = 1;

    /// Whether the record has an index.
    pub fn is_indexed(self) -> bool {
        self.0 & Self::INDEXED.0 != 0
    }
}

/// Who sends the stream.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Hello<'a> {
    /// The process.
    pub pid: u32,
    /// How many stripes there are: stamps have lower ones.
    pub stripes: u32,
    /// Whether `begin` and `end` are sent for every method, and not only for those that are meant
    /// to be atomic.
    pub all_methods: bool,
    /// The kind of recorder, such as `jvm`.
    pub front_end: &'a [u8],
    /// What it runs in, such as the name and version of a virtual machine.
    pub version: &'a [u8],
    /// The command line of the process.
    pub command: &'a [u8],
}

/// A place in the program that makes one kind of record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SiteFrame {
    /// Its number.
    pub id: u32,
    /// The kind of event; none if its records only order.
    pub kind: Option<Kind>,
    /// The form of the records.
    pub flags: SiteFlags,
    /// The name of the source file.
    pub file: u32,
    /// The name of the method.
    pub method: u32,
    /// The name of the target: a field with the class that declares it (`Account.balance`), a
    /// label, or empty where the object says it all.
    pub target: u32,
    /// The line, or 0.
    pub line: u32,
}

/// Something that the report must say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoteFrame<'a> {
    /// What kind of thing it is: one of [`note`].
    pub key: &'a [u8],
    /// In words.
    pub text: &'a [u8],
    /// How many; 0 when that says nothing.
    pub number: u64,
}

/// The keys of notes. Numbers of notes with the same key and text are added up.
pub mod note {
    /// How many of something were put under observation: the text says of what (`classes`).
    pub const OBSERVED: &[u8] = b"observed";
    /// Something could not be observed: the text says what and why.
    pub const FAILED: &[u8] = b"failed";
    /// Something was left out on purpose (`final fields`): the text says what.
    pub const FILTER: &[u8] = b"filter";
    /// The program ordered its threads in a way that is not in the trace: the text says how. What
    /// follows from the absence of an order, such as a race, is then no certainty.
    pub const UNMODELLED: &[u8] = b"unmodelled";
    /// Some events may have been recorded in another order than they happened in: the text says
    /// which and why. Then nothing that is found is a certainty.
    pub const INEXACT: &[u8] = b"inexact";
    /// Events that were not sent: the text says why.
    pub const LOST: &[u8] = b"lost";
    /// Anything else that a reader of the report should know.
    pub const REMARK: &[u8] = b"remark";
    /// A text for `FILTER`: what a block repeats without consequences.
    pub const REPEATED: &[u8] = b"accesses that repeat one of the same block (a check of other \
        blocks, of reduction or of cooperability may miss something)";
    /// The same where accesses that order threads are left out too. Then a race is no certainty.
    pub const REPEATED_ORDER: &[u8] = b"accesses that repeat one of the same block, also of \
        volatile variables (a check of anything but these blocks may miss something)";
}

/// One frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Frame<'a> {
    /// Who sends the stream.
    Hello(Hello<'a>),
    /// A name.
    Name {
        /// Its number.
        id: u32,
        /// The name.
        name: &'a [u8],
    },
    /// The class of an object.
    Object {
        /// The object.
        object: u64,
        /// The name of its class.
        class: u32,
    },
    /// A place in the program.
    Site(SiteFrame),
    /// A thread.
    Thread {
        /// Its number.
        id: u32,
        /// Its name.
        name: &'a [u8],
    },
    /// Some records of a thread.
    Chunk {
        /// The thread.
        thread: u32,
        /// The records: words of eight bytes.
        records: &'a [u8],
    },
    /// Something that the report must say.
    Note(NoteFrame<'a>),
    /// All has been sent.
    End,
}

const ALL_METHODS: u32 = 1;

/// Appends the start of a stream.
pub fn put_preamble(out: &mut Vec<u8>) {
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&VERSION.to_le_bytes());
}

/// The frame header of a chunk with this many bytes of records, which are to follow.
pub fn chunk_header(thread: u32, bytes: usize) -> [u8; 9] {
    let mut header = [0; 9];
    header[..4].copy_from_slice(&(bytes as u32 + 4).to_le_bytes());
    header[4] = 6;
    header[5..].copy_from_slice(&thread.to_le_bytes());
    header
}

impl Frame<'_> {
    /// Appends the frame.
    pub fn put(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[0, 0, 0, 0, self.code()]);
        self.put_payload(out);
        let len = (out.len() - start - 5) as u32;
        out[start..start + 4].copy_from_slice(&len.to_le_bytes());
    }

    fn code(&self) -> u8 {
        match self {
            Frame::Hello(_) => 1,
            Frame::Name { .. } => 2,
            Frame::Object { .. } => 3,
            Frame::Site(_) => 4,
            Frame::Thread { .. } => 5,
            Frame::Chunk { .. } => 6,
            Frame::Note(_) => 7,
            Frame::End => 8,
        }
    }

    fn put_payload(&self, out: &mut Vec<u8>) {
        match *self {
            Frame::Hello(hello) => {
                let flags = if hello.all_methods { ALL_METHODS } else { 0 };
                put_numbers(out, &[hello.pid, hello.stripes, flags]);
                put_text(out, hello.front_end);
                put_text(out, hello.version);
                out.extend_from_slice(hello.command);
            }
            Frame::Name { id, name } | Frame::Thread { id, name } => {
                put_numbers(out, &[id]);
                out.extend_from_slice(name);
            }
            Frame::Object { object, class } => {
                out.extend_from_slice(&object.to_le_bytes());
                put_numbers(out, &[class]);
            }
            Frame::Site(site) => {
                put_numbers(out, &[site.id]);
                out.push(site.kind.map_or(ORDER_ONLY, kind_code));
                out.push(site.flags.0);
                put_numbers(out, &[site.file, site.method, site.target, site.line]);
            }
            Frame::Chunk { thread, records } => {
                put_numbers(out, &[thread]);
                out.extend_from_slice(records);
            }
            Frame::Note(note) => {
                out.extend_from_slice(&note.number.to_le_bytes());
                put_text(out, note.key);
                out.extend_from_slice(note.text);
            }
            Frame::End => {}
        }
    }
}

fn put_numbers(out: &mut Vec<u8>, numbers: &[u32]) {
    numbers.iter().for_each(|n| out.extend_from_slice(&n.to_le_bytes()));
}

fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    put_numbers(out, &[text.len() as u32]);
    out.extend_from_slice(text);
}

/// Takes fields off the front of a payload.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    fn number(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn long(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let len = self.number()?;
        self.bytes(len as usize)
    }

    fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }
}

/// Decodes a payload; `None` if it is not what a writer makes.
pub(super) fn decode(code: u8, payload: &[u8]) -> Option<Frame<'_>> {
    let mut fields = Fields(payload);
    let frame = match code {
        1 => Frame::Hello(take_hello(&mut fields)?),
        2 => Frame::Name { id: fields.number()?, name: fields.rest() },
        3 => Frame::Object { object: fields.long()?, class: fields.number()? },
        4 => Frame::Site(take_site(&mut fields)?),
        5 => Frame::Thread { id: fields.number()?, name: fields.rest() },
        6 => {
            let thread = fields.number()?;
            let records = fields.rest();
            records.len().is_multiple_of(8).then_some(Frame::Chunk { thread, records })?
        }
        7 => {
            let (number, key) = (fields.long()?, fields.text()?);
            Frame::Note(NoteFrame { key, text: fields.rest(), number })
        }
        8 => Frame::End,
        _ => return None,
    };
    fields.0.is_empty().then_some(frame)
}

fn take_hello<'a>(fields: &mut Fields<'a>) -> Option<Hello<'a>> {
    let (pid, stripes, flags) = (fields.number()?, fields.number()?, fields.number()?);
    let known = flags <= ALL_METHODS && stripes <= MAX_STRIPES;
    known.then_some(Hello {
        pid,
        stripes,
        all_methods: flags & ALL_METHODS != 0,
        front_end: fields.text()?,
        version: fields.text()?,
        command: fields.rest(),
    })
}

fn take_site(fields: &mut Fields<'_>) -> Option<SiteFrame> {
    let id = fields.number()?;
    let [code, flags] = fields.array()?;
    let kind = match code {
        ORDER_ONLY => None,
        code => Some(*KINDS.get(usize::from(code))?),
    };
    let known = flags & !SiteFlags::KNOWN == 0;
    known.then_some(SiteFrame {
        id,
        kind,
        flags: SiteFlags(flags),
        file: fields.number()?,
        method: fields.number()?,
        target: fields.number()?,
        line: fields.number()?,
    })
}

/// What is wrong with a stream.
pub(super) fn damaged(message: String) -> Error {
    Error::damaged(Place::default(), message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITE: SiteFrame = SiteFrame {
        id: 1,
        kind: Some(Kind::Write),
        flags: SiteFlags::INDEXED,
        file: 1,
        method: 0,
        target: 2,
        line: 77,
    };

    fn frames() -> Vec<Frame<'static>> {
        vec![
            Frame::Hello(Hello {
                pid: 7,
                stripes: 1 << 16,
                all_methods: true,
                front_end: b"jvm",
                version: b"17",
                command: b"java -jar x.jar",
            }),
            Frame::Name { id: 1, name: b"A.java" },
            Frame::Object { object: MAX_OBJECT, class: 1 },
            Frame::Site(SITE),
            Frame::Site(SiteFrame { kind: None, id: 2, ..SITE }),
            Frame::Thread { id: 0, name: b"main" },
            Frame::Chunk { thread: 0, records: &[1; 16] },
            Frame::Note(NoteFrame { key: note::FILTER, text: b"final fields", number: 3 }),
            Frame::End,
        ]
    }

    fn stream() -> Vec<u8> {
        let mut bytes = Vec::new();
        put_preamble(&mut bytes);
        frames().iter().for_each(|frame| frame.put(&mut bytes));
        bytes
    }

    fn count(bytes: &[u8]) -> Result<usize, Error> {
        let mut reader = FrameReader::new(bytes)?;
        for n in 0.. {
            if matches!(reader.read()?, Next::Over) {
                return Ok(n);
            }
        }
        Ok(usize::MAX)
    }

    #[test]
    fn what_is_put_is_read() {
        let bytes = stream();
        let mut reader = FrameReader::new(&bytes[..]).expect("a stream");
        for frame in frames() {
            match reader.read().expect("a frame") {
                Next::Frame(read) => assert_eq!(read, frame),
                Next::Over => panic!("{frame:?} is missing"),
            }
        }
        assert!(matches!(reader.read(), Ok(Next::Over)));
    }

    #[test]
    fn a_chunk_may_be_written_in_two_pieces() {
        let mut whole = Vec::new();
        Frame::Chunk { thread: 9, records: &[5; 24] }.put(&mut whole);
        assert_eq!([&chunk_header(9, 24)[..], &[5; 24]].concat(), whole);
    }

    #[test]
    fn words_are_packed_without_loss() {
        assert_eq!(unpack(pack(MAX_SITE, MAX_OBJECT)), (MAX_SITE, MAX_OBJECT));
        assert_eq!(unpack(pack(5, 0)), (5, 0));
        let version = (1 << VERSION_BITS) - 1;
        assert_eq!(unstamp(stamp(MAX_STRIPES - 1, version)), (MAX_STRIPES - 1, version));
        assert_eq!(unstamp(stamp(3, 4)), (3, 4));
    }

    #[test]
    fn a_stream_may_be_cut_anywhere() {
        let bytes = stream();
        let mut seen = 0;
        for len in 0..bytes.len() {
            let n = count(&bytes[..len]).expect("cut, not damaged");
            assert!(n == seen || n == seen + 1);
            seen = n;
        }
    }

    #[test]
    fn damage_is_told() {
        let told = |bytes: &[u8], what: &str| {
            let error = count(bytes).expect_err(what).to_string();
            assert!(error.contains(what), "{error}");
        };
        told(b"GET / HTTP/1.1", "not a recorded stream");
        told(b"PACESTRM\x02\0\0\0", "version 2");
        told(b"PACESTRM\x01\0\0\0\xff\xff\xff\xff\x06", "4294967295 bytes");
        told(b"PACESTRM\x01\0\0\0\0\0\0\0\x09", "byte 12 (kind 9)");
        told(b"PACESTRM\x01\0\0\0\x01\0\0\0\x08\0", "makes no sense");
        told(b"PACESTRM\x01\0\0\0\x05\0\0\0\x06\0\0\0\0\0", "makes no sense");
    }
}
