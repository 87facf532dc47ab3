//! Whole lines of a text, a block at a time, through one buffer that is reused.

use std::io::{ErrorKind as IoKind, Read};

use crate::error::Error;

/// How much is read at once: some thousand lines, and half of a usual second-level cache.
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
    /// Why nothing more could be read: reported after the lines before it.
    failed: Option<Error>,
    /// The beginning of an overlong line has been given out: the rest of it is dropped.
    in_overlong: bool,
}

impl LineBlocks {
    /// Reads from `input`.
    pub fn new(input: Box<dyn Read + Send>) -> Self {
        LineBlocks {
            input,
            buffer: vec![0; CHUNK],
            start: 0,
            end: 0,
            at_end: false,
            failed: None,
            in_overlong: false,
        }
    }

    /// Goes on to the next block: whole lines, the last line end included where the text has one.
    /// Of a line longer than [`LONGEST_LINE`] only the beginning is given, which is recognised by
    /// its length. Returns false at the end. [`LineBlocks::text`] then shows the block.
    pub fn advance(&mut self, used: usize) -> Result<bool, Error> {
        self.start += used;
        loop {
            if self.at_end {
                self.drop_overlong();
                if self.start < self.end {
                    return Ok(true);
                }
                return self.failed.take().map_or(Ok(false), Err);
            }
            self.make_room();
            self.fill();
            self.drop_overlong();
            let unread = &self.buffer[self.start..self.end];
            let whole = memchr::memrchr(b'\n', unread).is_some();
            if whole || unread.len() > LONGEST_LINE {
                self.in_overlong = !whole;
                return Ok(true);
            }
        }
    }

    /// Drops the rest of a line that has been given out in part.
    fn drop_overlong(&mut self) {
        if self.in_overlong {
            let line_end = memchr::memchr(b'\n', &self.buffer[self.start..self.end]);
            self.start = line_end.map_or(self.end, |i| self.start + i + 1);
            self.in_overlong = line_end.is_none();
        }
    }

    /// The current block.
    pub fn text(&self) -> &[u8] {
        let text = &self.buffer[self.start..self.end];
        if self.at_end {
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

    fn fill(&mut self) {
        while self.end < self.buffer.len() {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => {
                    self.at_end = true;
                    return;
                }
                Ok(n) => self.end += n,
                Err(e) if e.kind() == IoKind::Interrupted => {}
                Err(e) => return self.fail(e.into()),
            }
        }
    }

    /// Ends here. A line that was not read to its end is none.
    fn fail(&mut self, error: Error) {
        let unread = &self.buffer[self.start..self.end];
        self.end = self.start + memchr::memrchr(b'\n', unread).map_or(0, |i| i + 1);
        self.at_end = true;
        self.failed = Some(error);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(text: &[u8]) -> Vec<Vec<u8>> {
        let mut blocks = LineBlocks::new(Box::new(std::io::Cursor::new(text.to_vec())));
        let mut lines = Vec::new();
        let mut used = 0;
        while blocks.advance(used).unwrap() {
            let mut at = 0;
            while at < blocks.text().len() {
                let (line, next) = line_at(blocks.text(), at);
                lines.push(line.to_vec());
                at = next;
            }
            used = at;
        }
        lines
    }

    #[test]
    fn lines_of_every_length_come_out_whole() {
        for length in [CHUNK - 1, CHUNK, LONGEST_LINE * 9 / 10, LONGEST_LINE - 1] {
            let mut text = vec![b'x'; length];
            for i in 0..400_000 {
                text.extend_from_slice(format!("\n{i}").as_bytes());
            }
            let lines = lines_of(&text);
            assert_eq!(lines[0].len(), length);
            assert!(lines[1..].iter().enumerate().all(|(i, l)| l == i.to_string().as_bytes()));
        }
    }

    #[test]
    fn the_end_of_an_overlong_line_is_not_taken_for_a_line() {
        for length in [LONGEST_LINE + 1, 2 * LONGEST_LINE, 5 * LONGEST_LINE + 77] {
            let text = [b"a\n".to_vec(), vec![b'x'; length], b"\nb".to_vec()].concat();
            let lines = lines_of(&text);
            assert_eq!(lines.len(), 3);
            assert!(lines[1].len() > LONGEST_LINE);
            assert_eq!(lines[2], b"b");
            let unended = &text[..text.len() - 2];
            assert_eq!(lines_of(unended).len(), 2);
        }
    }
}
