//! The sending end: numbers names, sites and threads, and puts their frames before the records
//! that use them. A recorder keeps one under a lock. Declarations are collected and go out
//! with the next chunk, so that loading a class costs no system call.

use std::collections::HashMap;
use std::io::{self, Write};

use crate::frame::{Frame, Hello, NoteFrame, SiteFlags, SiteFrame, chunk_header, put_preamble};
use crate::kind::Kind;
use crate::layout::MAX_SITE;
use crate::note::NoteKind;

/// Declarations are sent without a chunk when they have become this long: a system call for each
/// class that is loaded would slow down the start of a program.
const ENOUGH: usize = 1 << 16;

/// A site with its names in full.
#[derive(Clone, Copy, Debug)]
pub struct SiteText<'a> {
    /// The kind of event; none if its records only order.
    pub kind: Option<Kind>,
    /// The form of the records.
    pub flags: SiteFlags,
    /// The source file.
    pub file: &'a [u8],
    /// The method.
    pub method: &'a [u8],
    /// The target: a field with the class that declares it, a label, or nothing.
    pub target: &'a [u8],
    /// The line, or 0.
    pub line: u32,
}

impl SiteText<'_> {
    /// A site with records that only order.
    pub const ORDER: SiteText<'static> =
        SiteText { kind: None, flags: SiteFlags(0), file: b"", method: b"", target: b"", line: 0 };

    /// A site of this kind of which nothing else is known.
    pub fn new(kind: Kind) -> SiteText<'static> {
        SiteText { kind: Some(kind), ..SiteText::ORDER }
    }
}

/// A stream under construction.
pub struct Output<W> {
    sink: W,
    /// Frames that have not been written yet.
    pending: Vec<u8>,
    names: HashMap<Box<[u8]>, u32>,
    sites: u32,
    threads: u32,
}

impl<W: Write> Output<W> {
    /// Starts a stream.
    pub fn new(sink: W, hello: &Hello) -> Output<W> {
        let mut pending = Vec::new();
        put_preamble(&mut pending);
        Frame::Hello(*hello).put(&mut pending);
        Output { sink, pending, names: HashMap::new(), sites: 0, threads: 0 }
    }

    /// The number of a name, new or not.
    pub fn name(&mut self, name: &[u8]) -> u32 {
        if name.is_empty() {
            return 0;
        }
        if let Some(&id) = self.names.get(name) {
            return id;
        }
        let id = self.names.len() as u32 + 1;
        self.names.insert(name.into(), id);
        Frame::Name { id, name }.put(&mut self.pending);
        id
    }

    /// Declares a site; each call makes another one. `None` when there are too many.
    pub fn site(&mut self, site: &SiteText) -> Option<u32> {
        let id = self.sites + 1;
        if id > MAX_SITE {
            return None;
        }
        self.sites = id;
        let [file, method, target] = [site.file, site.method, site.target].map(|t| self.name(t));
        let SiteText { kind, flags, line, .. } = *site;
        let frame = SiteFrame { id, kind, flags, file, method, target, line };
        Frame::Site(frame).put(&mut self.pending);
        Some(id)
    }

    /// Declares a thread.
    pub fn thread(&mut self, name: &[u8]) -> u32 {
        let id = self.threads;
        self.threads += 1;
        Frame::Thread { id, name }.put(&mut self.pending);
        id
    }

    /// Declares the class of an object.
    pub fn object(&mut self, object: u64, class: &[u8]) {
        let class = self.name(class);
        Frame::Object { object, class }.put(&mut self.pending);
    }

    /// Adds to what the report must say.
    pub fn note(&mut self, kind: NoteKind, text: &[u8], number: u64) {
        Frame::Note(NoteFrame { key: kind.key(), text, number }).put(&mut self.pending);
    }

    /// Sends records, and before them what was declared.
    pub fn chunk(&mut self, thread: u32, records: &[u64]) -> io::Result<()> {
        self.pending.extend_from_slice(&chunk_header(thread, size_of_val(records)));
        self.pending.extend(records.iter().flat_map(|word| word.to_le_bytes()));
        self.write_pending()
    }

    /// Sends records that are bytes already (little endian), and before them what was declared.
    pub fn chunk_bytes(&mut self, thread: u32, records: &[u8]) -> io::Result<()> {
        self.pending.extend_from_slice(&chunk_header(thread, records.len()));
        self.write_pending()?;
        self.sink.write_all(records)
    }

    /// Sends the declarations if there are many, so that they do not pile up while nothing is
    /// recorded.
    pub fn relieve(&mut self) -> io::Result<()> {
        if self.pending.len() < ENOUGH { Ok(()) } else { self.write_pending() }
    }

    /// Sends everything that was declared.
    pub fn flush(&mut self) -> io::Result<()> {
        self.write_pending()?;
        self.sink.flush()
    }

    /// Says that everything has been sent; nothing may be sent after it.
    pub fn finish(&mut self) -> io::Result<()> {
        Frame::End.put(&mut self.pending);
        self.flush()
    }

    fn write_pending(&mut self) -> io::Result<()> {
        let outcome = self.sink.write_all(&self.pending);
        self.pending.clear();
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::{FrameReader, Next};

    fn read(bytes: &[u8]) -> Vec<String> {
        let mut reader = FrameReader::new(bytes).expect("a stream");
        let mut shown = Vec::new();
        while let Next::Frame(frame) = reader.read().expect("a frame") {
            shown.push(match frame {
                Frame::Name { id, name } => format!("{id}={}", crate::show_bytes(name)),
                Frame::Site(site) => format!("site {}: {:?}", site.id, site.kind),
                Frame::Thread { id, .. } => format!("thread {id}"),
                Frame::Chunk { records, .. } => format!("chunk of {}", records.len()),
                Frame::Hello(_) | Frame::Object { .. } | Frame::Note(_) | Frame::End => {
                    format!("{frame:?}")
                }
            });
        }
        shown
    }

    #[test]
    fn declarations_come_before_the_records_and_once() {
        let mut bytes = Vec::new();
        let mut output = Output::new(&mut bytes, &Hello::default());
        let site = SiteText { file: b"f", target: b"f", ..SiteText::new(Kind::Read) };
        assert_eq!((output.thread(b"main"), output.thread(b"main")), (0, 1));
        assert_eq!((output.site(&site), output.site(&site)), (Some(1), Some(2)));
        output.chunk(0, &[1, 2]).expect("written");
        output.chunk_bytes(1, &[0; 8]).expect("written");
        output.finish().expect("written");
        let frames = read(&bytes);
        assert_eq!(frames[1..3], ["thread 0", "thread 1"]);
        assert_eq!(frames[3..6], ["1=`f`", "site 1: Some(Read)", "site 2: Some(Read)"]);
        assert_eq!(frames[6..], ["chunk of 16", "chunk of 8", "End"]);
    }

    #[test]
    fn few_declarations_wait_and_many_do_not() {
        let mut output = Output::new(Vec::new(), &Hello::default());
        output.relieve().expect("nothing to do");
        assert!(output.sink.is_empty());
        (0..20_000u32).for_each(|i| assert_eq!(output.name(&i.to_le_bytes()), i + 1));
        output.relieve().expect("written");
        assert!(output.pending.is_empty() && output.sink.len() > ENOUGH);
    }
}
