//! The reader: one block in memory, decoded a batch at a time.

use std::hint::select_unpredictable;
use std::io::{self, Read};

use super::names::{take_names, take_number};
use super::notes;
use super::predict::{
    FieldLayout, HAS_SITE, HAS_THREAD, LAYOUTS, LENGTHS, LOOK, Limits, Memory, OTHER_TAGS, WIDE,
    WIDE_TAG, unzigzag,
};
use super::{
    BLOCK, BLOCK_HEADER_LEN, BlockHeader, FOOTER_LEN, Footer, HEADER_LEN, INDEX, INDEX_ENTRY_LEN,
    IndexEntry, NOTES, checksum, decode_header,
};
use crate::error::{Error, Position};
use crate::event::{Event, EventNo, Op};
use crate::ids::{Site, ThreadId};
use crate::source::{BATCH, Batch, Blocks, Lines, Skipped, Source};
use crate::symbols::Symbols;

/// Reads `pace`.
pub struct PaceReader {
    input: Box<dyn Read + Send>,
    blocks: Blocks,
    /// What was wrong with the header: said when the first event is asked for.
    refusal: Option<Error>,
    symbols: Symbols,
    skipped: Skipped,
    block: Block,
    /// The number of the next event.
    next: EventNo,
    /// How many bytes have been read; where the next block starts.
    offset: u64,
    ended: bool,
    /// The checksum that the index must have, if all blocks before it were seen.
    index_sum: Option<IndexSum>,
}

/// What the index must be, without keeping it.
#[derive(Clone, Default)]
struct IndexSum {
    entries: u32,
    sum: crc32fast::Hasher,
}

impl IndexSum {
    fn add(&mut self, entry: &IndexEntry) {
        self.entries = self.entries.wrapping_add(1);
        self.sum.update(&entry.encode());
    }
}

/// The rest of the current block.
pub(super) struct Block {
    /// Its events, with [`LOOK`] bytes after them so that a look never goes beyond.
    bytes: Vec<u8>,
    at: usize,
    /// The thread of the event before.
    thread: u32,
    left: u32,
    state: Box<State>,
}

/// All that is looked up to decode an event: in one piece, so that one register finds it.
struct State {
    memory: Memory,
    /// [`LENGTHS`], apart from the layouts: each event waits for the length of the one before.
    lengths: [u8; 256],
    /// [`LAYOUTS`].
    layouts: [FieldLayout; 256],
    limits: Limits,
}

const FILLER: Event = Event { thread: ThreadId(0), op: Op::Yield, site: Site::UNKNOWN };

impl PaceReader {
    /// Reads from `input`, which need not be buffered.
    pub fn new(mut input: Box<dyn Read + Send>) -> PaceReader {
        let opened = read_header(&mut input);
        let mut reader = PaceReader::at_block(input, Blocks::Declared, HEADER_LEN as u64, 1);
        reader.index_sum = Some(IndexSum::default());
        match opened {
            Ok(blocks) => reader.blocks = blocks,
            Err(error) => reader.refusal = Some(error),
        }
        reader
    }

    /// Reads from `input`, whose next byte is the start of a block.
    pub(super) fn at_block(
        input: Box<dyn Read + Send>,
        blocks: Blocks,
        offset: u64,
        next: EventNo,
    ) -> PaceReader {
        let symbols = Symbols::default();
        let block = Block::new(&symbols);
        PaceReader {
            input,
            blocks,
            refusal: None,
            symbols,
            skipped: Skipped::default(),
            block,
            next,
            offset,
            ended: false,
            index_sum: None,
        }
    }

    /// What `begin` and `end` stand for in this trace.
    pub fn blocks(&self) -> Blocks {
        self.blocks
    }

    pub(super) fn set_symbols(&mut self, symbols: Symbols) {
        self.symbols = symbols;
    }

    /// Reads blocks until there is an event or the end.
    fn advance(&mut self) -> Result<(), Error> {
        while self.block.left == 0 && !self.ended {
            let mut marker = [0; 4];
            match read_up_to(&mut self.input, &mut marker)? {
                4 if marker == BLOCK => self.read_block()?,
                4 if marker == NOTES => self.read_notes()?,
                4 if marker == INDEX => self.read_end()?,
                4 => return Err(self.damaged("neither a block nor the index starts here")),
                0 => self.cut_off("the file has no end mark"),
                _ => self.cut_off("the file ends in the first bytes of a block"),
            }
            if self.ended && !self.symbols.vars.listed().are_different() {
                return Err(self.damaged("two variables of the trace have the same name"));
            }
        }
        Ok(())
    }

    fn read_block(&mut self) -> Result<(), Error> {
        let mut bytes = [0; BLOCK_HEADER_LEN];
        bytes[..4].copy_from_slice(&BLOCK);
        if read_up_to(&mut self.input, &mut bytes[4..])? < BLOCK_HEADER_LEN - 4 {
            self.cut_off("the file ends in the header of a block");
            return Ok(());
        }
        let header = BlockHeader::decode(&bytes);
        let header = header.ok_or_else(|| self.damaged("a damaged block header"))?;
        if header.first != self.next || header.next().is_none() {
            return Err(self.damaged(format!("the block claims to start at {}", header.first)));
        }
        let mut names = Vec::new();
        let whole = read_part(&mut self.input, header.names_len, &mut names)?
            && read_part(&mut self.input, header.events_len, &mut self.block.bytes)?;
        if !whole {
            self.cut_off_in(&header);
            return Ok(());
        }
        self.start_block(&header, &names)
    }

    fn start_block(&mut self, header: &BlockHeader, names: &[u8]) -> Result<(), Error> {
        if checksum(names) != header.names_sum || checksum(&self.block.bytes) != header.events_sum {
            return Err(self.damaged("a damaged block: its checksum does not match"));
        }
        take_names(names, &mut self.symbols)
            .ok_or_else(|| self.damaged("a block with a wrong list of names"))?;
        self.block.state.limits = Limits::new(&self.symbols);
        self.block.start(header.events);
        if let Some(index) = &mut self.index_sum {
            index.add(&IndexEntry::new(self.offset, header));
        }
        self.offset += BLOCK_HEADER_LEN as u64 + header.body_len();
        Ok(())
    }

    fn read_notes(&mut self) -> Result<(), Error> {
        let (mut len, mut stream, mut sum) = ([0; 4], Vec::new(), [0; 4]);
        let whole = read_up_to(&mut self.input, &mut len)? == 4
            && read_part(&mut self.input, u32::from_le_bytes(len), &mut stream)?
            && read_up_to(&mut self.input, &mut sum)? == 4;
        if !whole {
            self.cut_off("all events are there, but the file ends in the notes of the recorder");
            return Ok(());
        }
        let recording = notes::decode(&stream, sum);
        self.offset += (NOTES.len() + len.len() + stream.len() + sum.len()) as u64;
        self.skipped.recording =
            Some(recording.ok_or_else(|| self.damaged("damaged notes of the recorder"))?);
        Ok(())
    }

    /// Reads the index and the footer: proof that nothing is missing.
    fn read_end(&mut self) -> Result<(), Error> {
        self.ended = true;
        let Some((entries, sum)) = self.read_index()? else {
            self.cut_off("all events are there, but the file ends in its index");
            return Ok(());
        };
        let mut bytes = [0; FOOTER_LEN];
        if read_up_to(&mut self.input, &mut bytes)? < FOOTER_LEN {
            self.cut_off("all events are there, but the file ends in its footer");
            return Ok(());
        }
        let footer = Footer { index_offset: self.offset, events: self.next - 1 };
        let expected = self.index_sum.take();
        let index_is_right =
            expected.is_none_or(|e| (e.entries, e.sum.finalize()) == (entries, sum));
        if Footer::decode(&bytes) != Some(footer) || !index_is_right {
            return Err(self.damaged("the footer or the index does not match the blocks"));
        }
        if read_up_to(&mut self.input, &mut [0])? > 0 {
            return Err(self.damaged("something follows the end of the trace"));
        }
        Ok(())
    }

    /// The number of entries of the index and their checksum; `None` if it is cut off.
    fn read_index(&mut self) -> Result<Option<(u32, u32)>, Error> {
        let mut count = [0; 4];
        let mut whole = crc32fast::Hasher::new();
        let mut entries = crc32fast::Hasher::new();
        if read_up_to(&mut self.input, &mut count)? < 4 {
            return Ok(None);
        }
        whole.update(&INDEX);
        whole.update(&count);
        let count = u32::from_le_bytes(count);
        for _ in 0..count {
            let mut entry = [0; INDEX_ENTRY_LEN];
            if read_up_to(&mut self.input, &mut entry)? < INDEX_ENTRY_LEN {
                return Ok(None);
            }
            whole.update(&entry);
            entries.update(&entry);
        }
        let mut sum = [0; 4];
        if read_up_to(&mut self.input, &mut sum)? < 4 {
            return Ok(None);
        }
        if whole.finalize().to_le_bytes() != sum {
            return Err(self.damaged("a damaged index: its checksum does not match"));
        }
        Ok(Some((count, entries.finalize())))
    }

    fn cut_off(&mut self, what: &str) {
        self.ended = true;
        let read = self.next - 1;
        self.skipped.cut_off = Some(format!(
            "{what}: it was cut off, or is still being written; {read} events could be read"
        ));
    }

    fn cut_off_in(&mut self, header: &BlockHeader) {
        let (events, last) = (header.events, header.first + u64::from(header.events));
        self.cut_off(&format!(
            "the file ends in the block of events {} to {}, so at least {events} events are lost",
            header.first,
            last - 1,
        ));
    }

    fn damaged(&self, message: impl Into<String>) -> Error {
        Error::damaged(Position { line: None, event: Some(self.next) }, message)
    }
}

impl Source for PaceReader {
    fn read(&mut self, batch: &mut Batch) -> Result<(), Error> {
        batch.lines = Lines::None;
        if let Err(error) = self.refusal.take().map_or(Ok(()), Err).and_then(|()| self.advance()) {
            batch.events.clear();
            return Err(error);
        }
        batch.counts = self.symbols.counts();
        let is_sound = self.block.read(BATCH, &mut batch.events);
        self.next += batch.events.len() as u64;
        if !is_sound {
            return Err(self.damaged("the checksum is right but this is no event of the format"));
        }
        Ok(())
    }

    fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    fn is_quick(&self) -> bool {
        true
    }
}

impl Block {
    /// An empty one, whose ids `symbols` know.
    pub(super) fn new(symbols: &Symbols) -> Block {
        let state = State {
            memory: Memory::new(),
            layouts: LAYOUTS,
            lengths: LENGTHS,
            limits: Limits::new(symbols),
        };
        Block { bytes: Vec::new(), at: 0, thread: 0, left: 0, state: Box::new(state) }
    }

    /// Where the bytes of the next block are to be put.
    pub(super) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// The bytes are there, for this many events.
    pub(super) fn start(&mut self, events: u32) {
        self.bytes.extend_from_slice(&[0; LOOK]);
        self.at = 0;
        self.thread = 0;
        self.left = events;
        self.state.memory.clear();
    }

    /// Whether all events have been read.
    pub(super) fn is_over(&self) -> bool {
        self.left == 0
    }

    /// Reads at most so many events. Returns whether all was as a writer makes it.
    pub(super) fn read(&mut self, most: usize, events: &mut Vec<Event>) -> bool {
        let wanted = most.min(self.left as usize);
        if wanted == 0 {
            // The bytes may be those of a block that is cut off and has not been started.
            events.clear();
            return true;
        }
        // Batches come back with their old events: only the first ones are filled for nothing.
        events.resize(wanted, FILLER);
        let read = self.decode(events);
        events.truncate(read);
        let left_over = self.left == 0 && !self.is_used_up();
        read == wanted && !left_over
    }

    fn is_used_up(&self) -> bool {
        self.at + LOOK == self.bytes.len()
    }

    /// Fills `events`; returns how many before the first one that is not allowed.
    #[inline(never)]
    fn decode(&mut self, events: &mut [Event]) -> usize {
        let wanted = events.len();
        let state = &mut *self.state;
        let mut rest = &self.bytes[self.at..];
        let mut before = Before { thread: self.thread, site: state.memory.last_site(self.thread) };
        let mut slots = events.iter_mut();
        let is_bad = slots.any(|slot| {
            let Some(taken) = state.take_event(rest, before, slot) else { return true };
            let Some(next) = rest.get(taken.len..) else { return true };
            (rest, before) = (next, taken.event);
            false
        });
        let good = wanted - slots.len() - usize::from(is_bad);
        self.at = self.bytes.len() - rest.len();
        self.thread = before.thread;
        self.left -= good as u32;
        good
    }
}

/// What the next event needs of the one before. The site is in the memory, too, but from there it
/// would come later, and the next site waits for it.
#[derive(Clone, Copy)]
struct Before {
    thread: u32,
    site: u32,
}

/// An event has been taken.
struct Taken {
    /// How many bytes it had.
    len: usize,
    event: Before,
}

impl State {
    /// Takes the event that `rest` starts with; `None` if it is none. Nothing here branches on
    /// what the event is, except for the rare kinds and the wide ones: guesses that fail half of
    /// the time would cost more than all the rest. For the same reason the event is written in
    /// place, field by field.
    #[inline(always)]
    fn take_event(&mut self, rest: &[u8], before: Before, slot: &mut Event) -> Option<Taken> {
        let look: &[u8; LOOK] = rest.first_chunk()?;
        let tag = look[0];
        if tag >= OTHER_TAGS {
            return self.take_other(rest, before, slot);
        }
        self.take_fields(tag, tag >> 5, &look[1..], before, slot)
    }

    /// Takes the event with this tag and kind, whose other fields `fields` start with.
    #[inline(always)]
    fn take_fields(
        &mut self,
        tag: u8,
        kind: u8,
        fields: &[u8],
        before: Before,
        slot: &mut Event,
    ) -> Option<Taken> {
        let layout = &self.layouts[usize::from(tag)];
        let has_thread = tag & HAS_THREAD;
        let named = u32::from(fields[0]);
        let fields = u64::from_le_bytes(*fields[usize::from(has_thread)..].first_chunk()?);
        let thread = select_unpredictable(has_thread == 0, before.thread, named);
        let last_of_named = self.memory.last_site(named);
        let last = select_unpredictable(has_thread == 0, before.site, last_of_named);
        let predicted = self.memory.next_site(last, kind);
        let base = select_unpredictable(tag & HAS_SITE == 0, predicted, last);
        let site_diff = (fields >> layout.site_shift) as u32 & layout.site_mask;
        let codes = Codes {
            kind,
            thread,
            site: base.wrapping_add(unzigzag(site_diff)),
            last_site: last,
            operand_diff: fields as u32 & layout.operand_mask,
        };
        let len = usize::from(self.lengths[usize::from(tag)]);
        codes.learn(&self.limits, &mut self.memory, slot)?;
        Some(Taken { len, event: Before { thread, site: codes.site } })
    }

    /// Takes an event whose kind follows the tag.
    #[cold]
    #[inline(never)]
    fn take_other(&mut self, rest: &[u8], before: Before, slot: &mut Event) -> Option<Taken> {
        let [tag, kind, fields @ ..] = rest.first_chunk::<LOOK>()?;
        if *kind >= 32 {
            return self.take_wide(rest, slot);
        }
        self.take_fields(*tag, *kind, fields, before, slot)
    }

    fn take_wide(&mut self, rest: &[u8], slot: &mut Event) -> Option<Taken> {
        let event = &rest[..rest.len() - LOOK];
        let [WIDE_TAG, kind, numbers @ ..] = event else {
            return None;
        };
        let mut numbers = numbers;
        let kind = kind ^ WIDE;
        let thread = take_number(&mut numbers)?;
        let operand_diff = take_number(&mut numbers)?;
        let last_site = self.memory.last_site(thread);
        let site = last_site.wrapping_add(unzigzag(take_number(&mut numbers)?));
        let codes = Codes { kind, thread, site, last_site, operand_diff };
        if kind >= 32 {
            return None;
        }
        codes.learn(&self.limits, &mut self.memory, slot)?;
        Some(Taken { len: event.len() - numbers.len(), event: Before { thread, site } })
    }
}

/// An event as it is written.
struct Codes {
    kind: u8,
    thread: u32,
    site: u32,
    last_site: u32,
    operand_diff: u32,
}

impl Codes {
    /// Makes the event and remembers it; `None` if it has an id without a name.
    #[inline(always)]
    fn learn(&self, limits: &Limits, memory: &mut Memory, slot: &mut Event) -> Option<()> {
        memory.learn_site(self.thread, self.last_site, self.kind, self.site);
        let known = memory.operand(self.site, self.kind);
        let operand = known.wrapping_add(unzigzag(self.operand_diff));
        *known = operand;
        let (op, op_is_good) = limits.operation(self.kind, operand);
        let (site, site_is_good) = limits.site(self.site);
        *slot = Event { thread: ThreadId(self.thread), op, site };
        (op_is_good & site_is_good & limits.thread(self.thread)).then_some(())
    }
}

/// The header of the file.
pub(super) fn read_header(input: &mut impl Read) -> Result<Blocks, Error> {
    let mut bytes = [0; HEADER_LEN];
    let refuse = |message: String| Error::damaged(Position::default(), message);
    if read_up_to(input, &mut bytes)? < HEADER_LEN {
        return Err(refuse("this is not a pace file: it is shorter than a header".into()));
    }
    decode_header(&bytes).map_err(refuse)
}

/// Fills `buffer` as far as the input goes.
pub(super) fn read_up_to(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match input.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Reads a part of `len` bytes; false if the input ends before. Memory grows with what is really
/// there, not with what is claimed.
pub(super) fn read_part(input: &mut impl Read, len: u32, part: &mut Vec<u8>) -> io::Result<bool> {
    part.clear();
    input.take(u64::from(len)).read_to_end(part)?;
    Ok(part.len() == len as usize)
}
