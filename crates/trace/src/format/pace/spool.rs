//! Events kept for reading them again in the same process: the events of `pace` without anything
//! that such a reader has no need of. The names are at hand already, so none are written; no other
//! program reads the file, so there is no header, checksum or index.
//!
//! A block is `u32` number of events, `u32` bytes, and the events.

use std::io::{self, Read, Write};
use std::sync::Arc;

use super::decode::{Block, read_part, read_up_to};
use super::encode::{Encoder, NoName, no_name};
use super::predict::Limits;
use crate::error::{Error, Position};
use crate::source::{BATCH, Batch, Lines, Skipped, Source};
use crate::symbols::Symbols;

/// Writes events.
pub struct SpoolWriter<W> {
    output: W,
    encoder: Encoder,
}

impl<W: Write> SpoolWriter<W> {
    /// Writes to `output`, which gets whole blocks.
    pub fn new(output: W) -> SpoolWriter<W> {
        SpoolWriter { output, encoder: Encoder::new() }
    }

    /// Writes the events of a batch, whose ids `symbols` know.
    pub fn write(&mut self, batch: &Batch, symbols: &Symbols) -> io::Result<()> {
        let limits = Limits::new(symbols);
        let mut events = &batch.events[..];
        while !events.is_empty() {
            let put = self.encoder.put(events, &limits).map_err(|NoName| no_name(batch.first))?;
            events = &events[put..];
            if self.encoder.is_full() {
                self.end_block()?;
            }
        }
        Ok(())
    }

    /// Writes what is left.
    pub fn finish(&mut self) -> io::Result<()> {
        self.end_block()?;
        self.output.flush()
    }

    fn end_block(&mut self) -> io::Result<()> {
        let (count, bytes) = (self.encoder.count(), self.encoder.bytes());
        self.output.write_all(&count.to_le_bytes())?;
        self.output.write_all(&(bytes.len() as u32).to_le_bytes())?;
        self.output.write_all(bytes)?;
        self.encoder.clear();
        Ok(())
    }
}

/// Reads what a [`SpoolWriter`] has written.
pub struct SpoolReader<R> {
    input: R,
    symbols: Arc<Symbols>,
    skipped: Skipped,
    block: Block,
}

impl<R: Read> SpoolReader<R> {
    /// Reads from `input`; `symbols` know all ids.
    pub fn new(input: R, symbols: Arc<Symbols>) -> SpoolReader<R> {
        let block = Block::new(&symbols);
        SpoolReader { input, symbols, skipped: Skipped::default(), block }
    }

    /// Reads blocks until there is an event or the end.
    fn advance(&mut self) -> Result<(), Error> {
        let mut header = [0; 8];
        while self.block.is_over() && read_up_to(&mut self.input, &mut header)? == header.len() {
            let [a, b, c, d, len @ ..] = header;
            if !read_part(&mut self.input, u32::from_le_bytes(len), self.block.bytes())? {
                return Err(changed());
            }
            self.block.start(u32::from_le_bytes([a, b, c, d]));
        }
        Ok(())
    }
}

fn changed() -> Error {
    Error::damaged(Position::default(), "the copy of the events was changed while it was in use")
}

impl<R: Read + Send> Source for SpoolReader<R> {
    fn read(&mut self, batch: &mut Batch) -> Result<(), Error> {
        batch.lines = Lines::None;
        self.advance()?;
        batch.counts = self.symbols.counts();
        match self.block.read(BATCH, &mut batch.events) {
            true => Ok(()),
            false => Err(changed()),
        }
    }

    fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    fn skipped(&self) -> &Skipped {
        &self.skipped
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Generator, Shape};
    use crate::notation::Trace;

    #[test]
    fn events_come_back() {
        let shape = Shape { events: 200_000, ..Shape::default() };
        let trace = Trace::collect(&mut Generator::new(shape).expect("a shape")).expect("a trace");
        let mut bytes = Vec::new();
        let mut writer = SpoolWriter::new(&mut bytes);
        for events in trace.events.chunks(5000) {
            let batch = Batch { events: events.to_vec(), ..Batch::default() };
            writer.write(&batch, &trace.symbols).expect("written");
        }
        writer.finish().expect("written");
        let symbols = Arc::new(trace.symbols.clone());
        let again = Trace::collect(&mut SpoolReader::new(&bytes[..], Arc::clone(&symbols)));
        assert_eq!(again.expect("read").events, trace.events);
        let cut = Trace::collect(&mut SpoolReader::new(&bytes[..bytes.len() - 1], symbols));
        assert!(cut.is_err());
    }
}
