//! Starting in the middle of a file.

use std::io::{self, Read, Seek, SeekFrom};

use super::decode::{PaceReader, read_header, read_part, read_up_to};
use super::names::take_names;
use super::{
    BLOCK_HEADER_LEN, BlockHeader, FOOTER_LEN, Footer, HEADER_LEN, INDEX, INDEX_ENTRY_LEN,
    IndexEntry, checksum, is_sealed,
};
use crate::error::{Error, Position};
use crate::event::EventNo;
use crate::symbols::Symbols;

impl PaceReader {
    /// Starts with the block that holds `event`, or at the end if there is no such event. Also
    /// gives the number of the first event that will be read. Names of earlier blocks are read,
    /// their events are not.
    ///
    /// With an index only the blocks that bring names are visited. A file without one, cut off
    /// or still growing, is walked from block to block.
    pub fn open_at<R: Read + Seek + Send + 'static>(
        mut file: R,
        event: EventNo,
    ) -> Result<(PaceReader, EventNo), Error> {
        file.seek(SeekFrom::Start(0))?;
        let blocks = read_header(&mut file)?;
        let mut walk = Walk { symbols: Symbols::default(), offset: HEADER_LEN as u64, next: 1 };
        match read_index(&mut file)? {
            Some(index) => walk.by_index(&mut file, &index, event)?,
            None => while walk.step(&mut file, event)? {},
        }
        file.seek(SeekFrom::Start(walk.offset))?;
        let mut reader = PaceReader::at_block(Box::new(file), blocks, walk.offset, walk.next);
        reader.set_symbols(walk.symbols);
        Ok((reader, walk.next))
    }
}

/// A walk from block to block, taking only the names.
struct Walk {
    symbols: Symbols,
    /// Where the next block starts.
    offset: u64,
    /// The number of its first event.
    next: EventNo,
}

impl Walk {
    fn by_index(
        &mut self,
        file: &mut (impl Read + Seek),
        index: &[IndexEntry],
        event: EventNo,
    ) -> Result<(), Error> {
        for (i, entry) in index.iter().enumerate() {
            (self.offset, self.next) = (entry.offset, entry.first);
            let is_last = i + 1 == index.len();
            if entry.names_len > 0 || is_last {
                if !self.step(file, event)? {
                    return Ok(());
                }
            } else if event < entry.first.saturating_add(u64::from(entry.events)) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Passes over a block; false if it holds the event, or is not a whole block. What is wrong
    /// with it is for the reader to say.
    fn step(&mut self, file: &mut (impl Read + Seek), event: EventNo) -> Result<bool, Error> {
        let Some(header) = read_block_header(file, self.offset)? else {
            return Ok(false);
        };
        let Some(next) = header.next().filter(|&next| header.first == self.next && next <= event)
        else {
            return Ok(false);
        };
        let mut names = Vec::new();
        let whole =
            read_part(file, header.names_len, &mut names)? && is_there(file, header.events_len)?;
        if !whole {
            return Ok(false);
        }
        if checksum(&names) != header.names_sum || take_names(&names, &mut self.symbols).is_none() {
            let at = Position { line: None, event: Some(header.first) };
            return Err(Error::damaged(at, "a block with damaged names"));
        }
        self.offset += BLOCK_HEADER_LEN as u64 + header.body_len();
        self.next = next;
        Ok(true)
    }
}

fn read_block_header(
    file: &mut (impl Read + Seek),
    offset: u64,
) -> io::Result<Option<BlockHeader>> {
    let mut bytes = [0; BLOCK_HEADER_LEN];
    file.seek(SeekFrom::Start(offset))?;
    let len = read_up_to(file, &mut bytes)?;
    Ok(BlockHeader::decode(&bytes).filter(|_| len == BLOCK_HEADER_LEN))
}

/// Whether the file goes on for `len` bytes.
fn is_there(file: &mut (impl Read + Seek), len: u32) -> io::Result<bool> {
    let end = file.stream_position()? + u64::from(len);
    Ok(len == 0 || end <= file.seek(SeekFrom::End(0))?)
}

/// The index, if the file has a sound one.
fn read_index(file: &mut (impl Read + Seek)) -> io::Result<Option<Vec<IndexEntry>>> {
    let size = file.seek(SeekFrom::End(0))?;
    let Some(footer_at) = size.checked_sub(FOOTER_LEN as u64) else {
        return Ok(None);
    };
    file.seek(SeekFrom::Start(footer_at))?;
    let mut footer = [0; FOOTER_LEN];
    read_up_to(file, &mut footer)?;
    let Some(footer) = Footer::decode(&footer) else {
        return Ok(None);
    };
    let Some(len) = footer_at.checked_sub(footer.index_offset) else {
        return Ok(None);
    };
    file.seek(SeekFrom::Start(footer.index_offset))?;
    let mut bytes = Vec::new();
    file.take(len).read_to_end(&mut bytes)?;
    Ok(decode_index(&bytes).filter(|index| is_sane(index, footer.index_offset)))
}

/// Whether the blocks follow each other from the first event on, in front of the index.
fn is_sane(index: &[IndexEntry], end: u64) -> bool {
    let mut next = 1;
    let mut offset = HEADER_LEN as u64;
    index.iter().all(|entry| {
        let fits = entry.first == next && (offset..end).contains(&entry.offset);
        next = next.saturating_add(u64::from(entry.events));
        offset = entry.offset.saturating_add(BLOCK_HEADER_LEN as u64);
        fits
    })
}

fn decode_index(bytes: &[u8]) -> Option<Vec<IndexEntry>> {
    let entries = bytes.strip_prefix(&INDEX)?.get(4..)?;
    let entries = &entries[..entries.len().checked_sub(4)?];
    let count = bytes.get(4..8)?;
    let right = entries.len().is_multiple_of(INDEX_ENTRY_LEN)
        && ((entries.len() / INDEX_ENTRY_LEN) as u32).to_le_bytes() == count
        && is_sealed(bytes);
    right.then(|| entries.chunks_exact(INDEX_ENTRY_LEN).map(IndexEntry::decode).collect())
}
