//! Reads the frames of a stream where they lie: a stream has millions of them, and most of its
//! bytes are looked at once, so they are not copied.

use std::io::{ErrorKind as IoErrorKind, Read};

use crate::decode::decode;
use crate::error::Error;
use crate::frame::Frame;
use crate::layout::{FRAME_HEADER_LEN, MAGIC, MAX_PAYLOAD, VERSION};
use crate::text::show_bytes;

/// What reading on has brought.
#[derive(Debug)]
pub enum Next<'a> {
    /// A frame.
    Frame(Frame<'a>),
    /// The stream is over, between two frames or in the middle of one.
    Over,
}

/// Reads frames. It needs no buffered input.
pub struct FrameReader<R> {
    input: R,
    /// What has been read; from `start` to `end` it has not been used.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Where the next frame starts, for messages.
    offset: u64,
}

/// Enough for a system call to count little; what is there is taken at once, so no read waits for
/// a full one.
const BUFFER: usize = 1 << 17;

impl<R: Read> FrameReader<R> {
    /// Checks the start of a stream. An input that ends before it is over at once.
    pub fn new(input: R) -> Result<FrameReader<R>, Error> {
        let mut reader =
            FrameReader { input, buffer: vec![0; BUFFER], start: 0, end: 0, offset: 0 };
        let preamble = MAGIC.len() + 4;
        let is_whole = reader.fill(preamble)?;
        let bytes = &reader.buffer[..reader.end.min(preamble)];
        let magic = bytes.len().min(MAGIC.len());
        if bytes[..magic] != MAGIC[..magic] {
            let shown = show_bytes(&bytes[..magic]);
            return Err(Error::Damaged(format!("not a recorded stream: it starts with {shown}")));
        }
        let version = bytes.last_chunk().map_or(0, |version| u32::from_le_bytes(*version));
        if is_whole && version != VERSION {
            return Err(Error::Damaged(format!(
                "a stream of version {version}: this program reads version {VERSION}, so recorder \
                 and paceline are not of the same release"
            )));
        }
        reader.take(bytes.len());
        Ok(reader)
    }

    /// Reads the next frame.
    pub fn read(&mut self) -> Result<Next<'_>, Error> {
        if !self.fill(FRAME_HEADER_LEN)? {
            return Ok(Next::Over);
        }
        let header = &self.buffer[self.start..self.start + FRAME_HEADER_LEN];
        let (code, len) = (header[4], header.first_chunk().map_or(0, |n| u32::from_le_bytes(*n)));
        let (at, len) = (self.offset, len as usize);
        if len > MAX_PAYLOAD {
            return Err(Error::Damaged(format!("the frame at byte {at} would have {len} bytes")));
        }
        if !self.fill(FRAME_HEADER_LEN + len)? {
            return Ok(Next::Over);
        }
        let payload = self.start + FRAME_HEADER_LEN..self.start + FRAME_HEADER_LEN + len;
        self.take(FRAME_HEADER_LEN + len);
        match decode(code, &self.buffer[payload]) {
            Some(frame) => Ok(Next::Frame(frame)),
            None => {
                Err(Error::Damaged(format!("the frame at byte {at} (kind {code}) makes no sense")))
            }
        }
    }

    /// The next `len` bytes are used up.
    fn take(&mut self, len: usize) {
        self.start += len;
        self.offset += len as u64;
    }

    /// Whether the next `len` bytes are there; if not, the input is over before. A peer that died
    /// is the end of the input.
    #[inline]
    fn fill(&mut self, len: usize) -> Result<bool, Error> {
        while self.end - self.start < len {
            self.make_room(len);
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => return Ok(false),
                Ok(n) => self.end += n,
                Err(error) if error.kind() == IoErrorKind::Interrupted => {}
                Err(error) if error.kind() == IoErrorKind::ConnectionReset => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }

    /// Makes room for `len` bytes from `start` on. Only a part of a frame is moved for that.
    fn make_room(&mut self, len: usize) {
        if self.start == self.end || self.start + len > self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        // It only grows.
        if self.buffer.len() < len {
            self.buffer.resize(len, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::put_preamble;

    /// Gives few bytes at a time.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let some = buffer.len().min(self.1).min(self.0.len());
            self.0.read(&mut buffer[..some])
        }
    }

    #[test]
    fn frames_are_the_same_however_they_arrive() {
        let mut bytes = Vec::new();
        put_preamble(&mut bytes);
        let lens = [0, 8, BUFFER - 8, 16, BUFFER, 24, 3 * BUFFER, 8, 8];
        for (thread, len) in (0..).zip(lens) {
            Frame::Chunk { thread, records: &vec![thread as u8; len] }.put(&mut bytes);
        }
        for piece in [1, 7, 1000, BUFFER - 1, usize::MAX] {
            let mut reader = FrameReader::new(Slow(&bytes, piece)).expect("a stream");
            for (expected, len) in (0..).zip(lens) {
                let Ok(Next::Frame(Frame::Chunk { thread, records })) = reader.read() else {
                    panic!("chunk {expected} is missing");
                };
                assert_eq!((thread, records.len()), (expected, len));
                assert!(records.iter().all(|&byte| byte == expected as u8));
            }
            assert!(matches!(reader.read(), Ok(Next::Over)));
        }
    }
}
