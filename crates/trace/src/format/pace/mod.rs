//! `pace`, Paceline's own format: for recorders, which must write it at low cost, and for
//! keeping. `docs/format.md` documents it byte by byte; this is the idea.
//!
//! A file is a header, blocks, perhaps notes of the recorder, an index and a footer. A block holds
//! up to 65,536 events and the names that they are the first to use, so the file is readable while
//! it is being written, and after a crash up to its last whole block. Names and events of a block
//! have lengths and checksums of their own: to start in the middle, a reader takes the names of the
//! blocks before and passes over their events.
//!
//! The reader trusts nothing: no length or count is believed before the bytes are there, and no
//! id leaves it that has no name.
//!
//! - this file: the fixed parts (header, block header, index, footer);
//! - `predict`: how an event is predicted and what its bytes mean;
//! - `names`, `encode`, `decode`, `seek`: the names of a block, the writer, the reader, and
//!   starting in the middle;
//! - `notes`: how the trace was recorded;
//! - `spool`: events that the process itself reads again.

mod decode;
mod encode;
mod names;
mod notes;
mod predict;
mod seek;
mod spool;
#[cfg(test)]
mod tests;

pub use decode::PaceReader;
pub use encode::PaceWriter;
pub use spool::{SpoolReader, SpoolWriter};

use crate::event::EventNo;
use crate::source::Blocks;

/// The first bytes of a file. The high bit, the line ends and the end-of-file character make
/// transfers show that take it for text.
pub const MAGIC: [u8; 8] = *b"\x89PACE\r\n\x1a";

/// The version of the format that this code writes, and the only one it reads.
const VERSION: u16 = 1;
/// The flag of a trace whose blocks are methods.
const METHODS: u16 = 1;

/// The lengths of the parts that have a fixed one; see `docs/format.md`.
const HEADER_LEN: usize = 16;
const BLOCK_HEADER_LEN: usize = 36;
const INDEX_ENTRY_LEN: usize = 24;
const FOOTER_LEN: usize = 24;

const BLOCK: [u8; 4] = *b"PBLK";
const NOTES: [u8; 4] = *b"PNOT";
const INDEX: [u8; 4] = *b"PIDX";
const END: [u8; 4] = *b"PEND";

/// The most events in a block. What a crash loses, and what a reader keeps in memory.
const BLOCK_EVENTS: u32 = 1 << 16;

fn checksum(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

/// Takes little-endian fields off the front of a part of known length.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let mut field = [0; N];
        let (front, rest) = self.0.split_at(N);
        field.copy_from_slice(front);
        self.0 = rest;
        field
    }

    fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.take())
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }
}

/// The parts joined, with the checksum of all before it in the last four bytes.
fn sealed<const N: usize>(parts: &[&[u8]]) -> [u8; N] {
    let mut bytes = [0; N];
    let mut at = 0;
    for part in parts {
        bytes[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    }
    debug_assert_eq!(at, N - 4);
    let sum = checksum(&bytes[..N - 4]);
    bytes[N - 4..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// Whether the last four bytes are the checksum of the ones before.
fn is_sealed(bytes: &[u8]) -> bool {
    let (front, sum) = bytes.split_at(bytes.len() - 4);
    checksum(front).to_le_bytes() == sum
}

/// The start of a file.
fn encode_header(blocks: Blocks) -> [u8; HEADER_LEN] {
    let flags = match blocks {
        Blocks::Declared => 0,
        Blocks::Methods => METHODS,
    };
    sealed(&[&MAGIC, &VERSION.to_le_bytes(), &flags.to_le_bytes()])
}

/// What the start of a file says, or why it cannot be read.
fn decode_header(bytes: &[u8; HEADER_LEN]) -> Result<Blocks, String> {
    let mut fields = Fields(bytes);
    if fields.take() != MAGIC {
        return Err("this is not a pace file: it does not start with the magic bytes".into());
    }
    let version = fields.u16();
    if !is_sealed(bytes) {
        return Err("the header of the file is damaged: its checksum does not match".into());
    }
    match (version, fields.u16()) {
        (VERSION, 0) => Ok(Blocks::Declared),
        (VERSION, METHODS) => Ok(Blocks::Methods),
        (version, flags) => Err(format!(
            "this pace file needs a newer Paceline: version {version}, flags {flags:#x}"
        )),
    }
}

/// The start of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct BlockHeader {
    events: u32,
    first: EventNo,
    names_len: u32,
    events_len: u32,
    names_sum: u32,
    events_sum: u32,
}

impl BlockHeader {
    fn encode(&self) -> [u8; BLOCK_HEADER_LEN] {
        sealed(&[
            &BLOCK,
            &self.events.to_le_bytes(),
            &self.first.to_le_bytes(),
            &self.names_len.to_le_bytes(),
            &self.events_len.to_le_bytes(),
            &self.names_sum.to_le_bytes(),
            &self.events_sum.to_le_bytes(),
        ])
    }

    /// `None` if the bytes are not a block header, or one that no writer makes.
    fn decode(bytes: &[u8; BLOCK_HEADER_LEN]) -> Option<BlockHeader> {
        let mut fields = Fields(bytes);
        let marker: [u8; 4] = fields.take();
        let header = BlockHeader {
            events: fields.u32(),
            first: fields.u64(),
            names_len: fields.u32(),
            events_len: fields.u32(),
            names_sum: fields.u32(),
            events_sum: fields.u32(),
        };
        (marker == BLOCK && is_sealed(bytes) && header.is_sane()).then_some(header)
    }

    /// Every event takes a byte, and none takes more than the longest; no block is empty.
    fn is_sane(&self) -> bool {
        let longest = u64::from(self.events) * predict::LONGEST_EVENT as u64;
        let len = u64::from(self.events_len);
        self.events <= BLOCK_EVENTS
            && (u64::from(self.events)..=longest).contains(&len)
            && (self.events > 0 || self.names_len > 0)
    }

    /// The number of the first event after the block; `None` if there is no such number.
    fn next(&self) -> Option<EventNo> {
        self.first.checked_add(u64::from(self.events))
    }

    fn body_len(&self) -> u64 {
        u64::from(self.names_len) + u64::from(self.events_len)
    }
}

/// What the index says about a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct IndexEntry {
    offset: u64,
    first: EventNo,
    events: u32,
    names_len: u32,
}

impl IndexEntry {
    fn new(offset: u64, block: &BlockHeader) -> IndexEntry {
        IndexEntry { offset, first: block.first, events: block.events, names_len: block.names_len }
    }

    fn encode(&self) -> [u8; INDEX_ENTRY_LEN] {
        let mut bytes = [0; INDEX_ENTRY_LEN];
        bytes[..8].copy_from_slice(&self.offset.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.first.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.events.to_le_bytes());
        bytes[20..].copy_from_slice(&self.names_len.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> IndexEntry {
        let mut fields = Fields(bytes);
        IndexEntry {
            offset: fields.u64(),
            first: fields.u64(),
            events: fields.u32(),
            names_len: fields.u32(),
        }
    }
}

/// The end of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Footer {
    index_offset: u64,
    events: u64,
}

impl Footer {
    fn encode(&self) -> [u8; FOOTER_LEN] {
        sealed(&[&END, &self.index_offset.to_le_bytes(), &self.events.to_le_bytes()])
    }

    fn decode(bytes: &[u8; FOOTER_LEN]) -> Option<Footer> {
        let mut fields = Fields(bytes);
        let marker: [u8; 4] = fields.take();
        let footer = Footer { index_offset: fields.u64(), events: fields.u64() };
        (marker == END && is_sealed(bytes)).then_some(footer)
    }
}
