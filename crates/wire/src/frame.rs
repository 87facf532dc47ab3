//! The frames of a recorded stream, and how they are written.
//!
//! All numbers are little endian. The stream starts with [`MAGIC`] and the `u32` [`VERSION`]; then
//! come frames: `u32` length of the payload, `u8` code of the frame, payload. A *text* inside a
//! payload is a `u32` length and that many bytes; a text that ends a payload has no length.
//!
//! | frame | code | payload |
//! |---|---|---|
//! | Hello | 1 | `u32` pid, `u32` stripes, `u32` flags, text front end, text what it runs in, text version of the recorder if flag 2 is set, command line |
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
//! What the words of a record hold is in `layout.rs`.

use crate::kind::Kind;
use crate::layout::{FRAME_HEADER_LEN, FrameCode, MAGIC, ORDER_ONLY, VERSION, kind_code};

/// What a record of a site is, beyond its kind.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SiteFlags(pub u8);

impl SiteFlags {
    /// The record has an index, as for array elements.
    pub const INDEXED: SiteFlags = SiteFlags(1);
    /// All flags that there are: others are damage.
    pub(crate) const KNOWN: u8 = 1;

    /// Whether the record has an index.
    pub fn is_indexed(self) -> bool {
        self.0 & Self::INDEXED.0 != 0
    }
}

/// What sends the stream.
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
    /// The version of the recorder itself; empty if it says none.
    pub recorder: &'a [u8],
    /// The command line of the process.
    pub command: &'a [u8],
}

impl Hello<'_> {
    fn flags(&self) -> u32 {
        let all_methods = if self.all_methods { ALL_METHODS } else { 0 };
        let recorder = if self.recorder.is_empty() { 0 } else { HAS_RECORDER };
        all_methods | recorder
    }
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
    /// The key of its kind (see [`crate::NoteKind`]); readers may not know it.
    pub key: &'a [u8],
    /// In words.
    pub text: &'a [u8],
    /// How many; 0 when that says nothing.
    pub number: u64,
}

/// One frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Frame<'a> {
    /// What sends the stream.
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

/// The flag of a Hello frame for [`Hello::all_methods`].
pub(crate) const ALL_METHODS: u32 = 1;
/// The flag of a Hello frame with [`Hello::recorder`].
pub(crate) const HAS_RECORDER: u32 = 2;

/// Appends the start of a stream.
pub fn put_preamble(out: &mut Vec<u8>) {
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&VERSION.to_le_bytes());
}

/// The frame header of a chunk with this many bytes of records, which are to follow.
pub fn chunk_header(thread: u32, bytes: usize) -> [u8; 9] {
    let mut header = [0; 9];
    header[..4].copy_from_slice(&(bytes as u32 + 4).to_le_bytes());
    header[4] = FrameCode::Chunk as u8;
    header[5..].copy_from_slice(&thread.to_le_bytes());
    header
}

impl Frame<'_> {
    /// Appends the frame.
    pub fn put(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[0, 0, 0, 0, self.code() as u8]);
        self.put_payload(out);
        let len = (out.len() - start - FRAME_HEADER_LEN) as u32;
        out[start..start + 4].copy_from_slice(&len.to_le_bytes());
    }

    fn code(&self) -> FrameCode {
        match self {
            Frame::Hello(_) => FrameCode::Hello,
            Frame::Name { .. } => FrameCode::Name,
            Frame::Object { .. } => FrameCode::Object,
            Frame::Site(_) => FrameCode::Site,
            Frame::Thread { .. } => FrameCode::Thread,
            Frame::Chunk { .. } => FrameCode::Chunk,
            Frame::Note(_) => FrameCode::Note,
            Frame::End => FrameCode::End,
        }
    }

    fn put_payload(&self, out: &mut Vec<u8>) {
        match *self {
            Frame::Hello(hello) => {
                put_numbers(out, &[hello.pid, hello.stripes, hello.flags()]);
                put_text(out, hello.front_end);
                put_text(out, hello.version);
                if !hello.recorder.is_empty() {
                    put_text(out, hello.recorder);
                }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::layout::MAX_OBJECT;
    use crate::note::NoteKind;
    use crate::reader::{FrameReader, Next};

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
                recorder: b"0.1.0",
                command: b"java -jar x.jar",
            }),
            Frame::Name { id: 1, name: b"A.java" },
            Frame::Object { object: MAX_OBJECT, class: 1 },
            Frame::Site(SITE),
            Frame::Site(SiteFrame { kind: None, id: 2, ..SITE }),
            Frame::Thread { id: 0, name: b"main" },
            Frame::Chunk { thread: 0, records: &[1; 16] },
            Frame::Note(NoteFrame {
                key: NoteKind::Filter.key(),
                text: b"final fields",
                number: 3,
            }),
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
    fn damage_is_refused() {
        let refused = |bytes: &[u8], what: &str| {
            let error = count(bytes).expect_err(what).to_string();
            assert!(error.contains(what), "{error}");
        };
        refused(b"GET / HTTP/1.1", "not a recorded stream");
        refused(b"PACESTRM\x02\0\0\0", "version 2");
        refused(b"PACESTRM\x01\0\0\0\xff\xff\xff\xff\x06", "4294967295 bytes");
        refused(b"PACESTRM\x01\0\0\0\0\0\0\0\x09", "byte 12 (kind 9)");
        refused(b"PACESTRM\x01\0\0\0\x01\0\0\0\x08\0", "makes no sense");
        refused(b"PACESTRM\x01\0\0\0\x05\0\0\0\x06\0\0\0\0\0", "makes no sense");
    }
}
