//! The writer: events go into the block at once, names when the block ends.

use std::io::{self, Write};

use super::names::{Written, invalid, put_number};
use super::notes;
use super::predict::{
    LONGEST_EVENT, Limits, Memory, OTHER_KIND, WIDE, WIDE_TAG, kind_code, operand_code, site_code,
    tag, zigzag,
};
use super::{
    BLOCK_EVENTS, BlockHeader, Footer, HEADER_LEN, INDEX, IndexEntry, checksum, encode_header,
};
use crate::event::{Event, EventNo};
use crate::format::Writer;
use crate::recording::Recording;
use crate::source::{Batch, Blocks};
use crate::symbols::Symbols;

/// Writes `pace`. A crash of the process loses the events since the last whole block and no more;
/// call [`PaceWriter::end_block`] to lose fewer.
pub struct PaceWriter<W> {
    output: W,
    /// How many bytes have been written.
    offset: u64,
    /// The number of the next event.
    next: EventNo,
    written: Written,
    /// The events of the block.
    encoder: Encoder,
    /// Scratch for the names of a block.
    names: Vec<u8>,
    index: Vec<IndexEntry>,
    recording: Option<Recording>,
}

impl<W: Write> PaceWriter<W> {
    /// Starts a file. `output` need not be buffered: it gets whole blocks.
    pub fn new(mut output: W, blocks: Blocks) -> io::Result<PaceWriter<W>> {
        output.write_all(&encode_header(blocks))?;
        output.flush()?;
        Ok(PaceWriter {
            output,
            offset: HEADER_LEN as u64,
            next: 1,
            written: Written::default(),
            encoder: Encoder::new(),
            names: Vec::new(),
            index: Vec::new(),
            recording: None,
        })
    }

    /// Ends the block early, so that everything written so far can be read.
    pub fn end_block(&mut self, symbols: &Symbols) -> io::Result<()> {
        while self.written.put(symbols, &mut self.names)? {
            self.put_block(false)?;
        }
        if self.encoder.count > 0 || !self.names.is_empty() {
            self.put_block(true)?;
        }
        self.encoder.clear();
        self.output.flush()
    }

    /// Writes a block of the collected names, and the events if they have all their names now.
    fn put_block(&mut self, with_events: bool) -> io::Result<()> {
        let (count, events) = match with_events {
            true => (self.encoder.count(), self.encoder.bytes()),
            false => (0, &[][..]),
        };
        let header = BlockHeader {
            events: count,
            first: self.next,
            names_len: self.names.len() as u32,
            events_len: events.len() as u32,
            names_sum: checksum(&self.names),
            events_sum: checksum(events),
        };
        self.index.push(IndexEntry::new(self.offset, &header));
        let bytes = header.encode();
        self.output.write_all(&bytes)?;
        self.output.write_all(&self.names)?;
        self.output.write_all(events)?;
        self.offset += bytes.len() as u64 + header.body_len();
        self.next += u64::from(count);
        Ok(())
    }

    fn put_notes(&mut self) -> io::Result<()> {
        let Some(recording) = self.recording.take() else { return Ok(()) };
        let part = notes::encode(&recording);
        self.offset += part.len() as u64;
        self.output.write_all(&part)
    }

    fn put_index(&mut self) -> io::Result<()> {
        let count = u32::try_from(self.index.len()).map_err(|_| invalid("too many blocks"))?;
        let mut bytes = INDEX.to_vec();
        bytes.extend_from_slice(&count.to_le_bytes());
        bytes.extend(self.index.iter().flat_map(IndexEntry::encode));
        let sum = checksum(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        let footer = Footer { index_offset: self.offset, events: self.next - 1 };
        bytes.extend_from_slice(&footer.encode());
        self.output.write_all(&bytes)
    }
}

impl<W: Write> Writer for PaceWriter<W> {
    fn write(&mut self, batch: &Batch, symbols: &Symbols) -> io::Result<()> {
        let limits = Limits::new(symbols);
        let mut events = &batch.events[..];
        while !events.is_empty() {
            let put = self.encoder.put(events, &limits);
            let number = self.next + u64::from(self.encoder.count);
            events = &events[put.map_err(|NoName| no_name(number))?..];
            if self.encoder.is_full() {
                self.end_block(symbols)?;
            }
        }
        Ok(())
    }

    fn recording(&mut self, recording: &Recording) {
        self.recording = Some(recording.clone());
    }

    fn finish(&mut self, symbols: &Symbols) -> io::Result<()> {
        self.end_block(symbols)?;
        self.put_notes()?;
        self.put_index()?;
        self.output.flush()
    }
}

/// An event has an id without a name.
pub(super) struct NoName;

/// What to say then.
pub(super) fn no_name(number: EventNo) -> io::Error {
    invalid(format!("event {number} has an id without a name"))
}

/// Encodes the events of a block.
pub(super) struct Encoder {
    memory: Box<Memory>,
    /// The thread of the event before.
    thread: u32,
    /// The first `len` of these are written; there is always room for another event.
    bytes: Vec<u8>,
    len: usize,
    count: u32,
}

impl Encoder {
    pub(super) fn new() -> Encoder {
        Encoder { memory: Box::new(Memory::new()), thread: 0, bytes: Vec::new(), len: 0, count: 0 }
    }

    /// How many events have been put.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Whether it is time to end the block.
    pub(super) fn is_full(&self) -> bool {
        self.count == BLOCK_EVENTS
    }

    /// Puts as many events as there is room for in the block; how many.
    pub(super) fn put(&mut self, events: &[Event], limits: &Limits) -> Result<usize, NoName> {
        let some = events.len().min((BLOCK_EVENTS - self.count) as usize);
        let room = self.len + (some + 1) * LONGEST_EVENT;
        if self.bytes.len() < room {
            self.bytes.resize(room, 0);
        }
        for event in &events[..some] {
            if !put_event(event, limits, self) {
                return Err(NoName);
            }
            self.count += 1;
        }
        Ok(some)
    }

    /// Starts a new block.
    pub(super) fn clear(&mut self) {
        self.memory.clear();
        self.thread = 0;
        self.len = 0;
        self.count = 0;
    }
}

/// Appends an event, for which there must be room; false if it has an id without a name.
#[inline(always)]
fn put_event(event: &Event, limits: &Limits, out: &mut Encoder) -> bool {
    let memory = &mut *out.memory;
    let kind = kind_code(event.op.kind());
    let thread = event.thread.0;
    let operand = operand_code(event.op);
    let site = site_code(event.site);
    if !(limits.thread(thread) & limits.operation(kind, operand).1 & limits.site(site).1) {
        return false;
    }

    let switch = thread != std::mem::replace(&mut out.thread, thread);
    let last = memory.last_site(thread);
    let predicted = memory.next_site(last, kind);
    memory.learn_site(thread, last, kind, site);
    let site_diff = zigzag(site.wrapping_sub(last));
    let site_len = if site == predicted { 0 } else { byte_len(site_diff).max(1) };
    let known = std::mem::replace(memory.operand(site, kind), operand);
    let operand_diff = zigzag(operand.wrapping_sub(known));
    let operand_len = byte_len(operand_diff);

    if site_len > 3 || operand_len > 3 || (switch && thread > 0xff) {
        out.put_wide(kind, [thread, operand_diff, site_diff]);
        return true;
    }
    let direct = kind < OTHER_KIND;
    let tag = tag(switch, operand_len, site_len, kind.min(OTHER_KIND));
    // All fields at once, the unused ones cut off at the end.
    let mut fields = Packed { bytes: u128::from(tag), len: 1 };
    fields.push(u32::from(kind), u8::from(!direct));
    fields.push(thread, u8::from(switch));
    fields.push(operand_diff, operand_len);
    fields.push(site_diff, site_len);
    out.bytes[out.len..out.len + 16].copy_from_slice(&fields.bytes.to_le_bytes());
    out.len += usize::from(fields.len);
    true
}

struct Packed {
    bytes: u128,
    len: u8,
}

impl Packed {
    /// The value must fit into `len` bytes, or `len` be 0.
    #[inline(always)]
    fn push(&mut self, value: u32, len: u8) {
        let kept = u128::from(value) & ((1 << (8 * len)) - 1);
        self.bytes |= kept << (8 * self.len);
        self.len += len;
    }
}

#[inline(always)]
fn byte_len(value: u32) -> u8 {
    ((39 - value.leading_zeros()) / 8) as u8
}

impl Encoder {
    #[cold]
    fn put_wide(&mut self, kind: u8, fields: [u32; 3]) {
        let mut event = vec![WIDE_TAG, WIDE | kind];
        fields.into_iter().for_each(|field| put_number(&mut event, field));
        self.bytes[self.len..self.len + event.len()].copy_from_slice(&event);
        self.len += event.len();
    }
}
