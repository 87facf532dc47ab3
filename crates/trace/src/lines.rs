//! Whole lines of a text, a block at a time, through one buffer that is reused.

use std::io::{ErrorKind as IoKind, Read};

use crate::error::Error;

/// How much is read at once.
const CHUNK: usize = 256 * 1024;

/// The longest line that is taken for one. A trace line is some dozens of bytes; a file without
/// line ends must not fill the memory before it is refused.
pub const LONGEST_LINE: usize = 1 << 20;

/// Splits an input into blocks of whole lines.
pub struct LineBlocks {
    input: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    /// The part of `buffer` that holds text not yet given out.
    start: usize,
    end: usize,
    at_end: bool,
}

impl LineBlocks {
    /// Reads from `input`.
    pub fn new(input: Box<dyn Read + Send>) -> Self {
        LineBlocks { input, buffer: vec![0; CHUNK], start: 0, end: 0, at_end: false }
    }

    /// Goes on to the next block: whole lines, the last line end included where the text has one.
    /// A line longer than [`LONGEST_LINE`] comes in pieces; the first is recognised by its length.
    /// Returns false at the end. [`LineBlocks::text`] then shows the block.
    pub fn advance(&mut self, used: usize) -> Result<bool, Error> {
        self.start += used;
        loop {
            if self.at_end {
                return Ok(self.start < self.end);
            }
            self.make_room();
            let before = self.end;
            self.fill()?;
            let fresh = &self.buffer[before..self.end];
            let whole = memchr::memrchr(b'\n', fresh).is_some();
            if whole || self.end - self.start > LONGEST_LINE {
                return Ok(true);
            }
        }
    }

    /// The current block, possibly with the beginning of a line that is not whole yet behind it.
    pub fn text(&self) -> &[u8] {
        let text = &self.buffer[self.start..self.end];
        if self.at_end || text.len() > LONGEST_LINE {
            return text;
        }
        let lines = memchr::memrchr(b'\n', text).map_or(text.len(), |i| i + 1);
        &text[..lines]
    }

    /// Moves the rest to the front, and makes the buffer larger when a line fills it.
    fn make_room(&mut self) {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.buffer.len() - self.end < CHUNK / 2 {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
    }

    fn fill(&mut self) -> Result<(), Error> {
        while self.end < self.buffer.len() {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => {
                    self.at_end = true;
                    return Ok(());
                }
                Ok(n) => self.end += n,
                Err(e) if e.kind() == IoKind::Interrupted => {}
                Err(e) => return Err(e.into()),
            }
        }
        Ok(())
    }
}

/// The line that starts at `at`, without its line end, and where the next one starts.
pub fn line_at(text: &[u8], at: usize) -> (&[u8], usize) {
    let (end, next) = match memchr::memchr(b'\n', &text[at..]) {
        Some(i) => (at + i, at + i + 1),
        None => (text.len(), text.len()),
    };
    let line = &text[at..end];
    (line.strip_suffix(b"\r").unwrap_or(line), next)
}
