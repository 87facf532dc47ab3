//! Big-endian numbers in bytes, without a panic when there are too few.

use super::{Failure, Outcome};

const CUT: Failure = Failure::Malformed("it ends too early");

/// The number in two bytes.
pub fn u2_at(bytes: &[u8], at: usize) -> Outcome<u16> {
    let two = bytes.get(at..at + 2).and_then(|b| b.try_into().ok());
    two.map(u16::from_be_bytes).ok_or(CUT)
}

/// The number in four bytes.
pub fn u4_at(bytes: &[u8], at: usize) -> Outcome<u32> {
    let four = bytes.get(at..at + 4).and_then(|b| b.try_into().ok());
    four.map(u32::from_be_bytes).ok_or(CUT)
}

/// Appends two bytes.
pub fn put2(out: &mut Vec<u8>, number: u16) {
    out.extend_from_slice(&number.to_be_bytes());
}

/// Appends four bytes.
pub fn put4(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&number.to_be_bytes());
}

/// Takes numbers off the front.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Starts at an offset.
    pub fn new(bytes: &'a [u8], at: usize) -> Reader<'a> {
        Reader { bytes, at }
    }

    /// Where it is.
    pub fn at(&self) -> usize {
        self.at
    }

    /// One byte.
    pub fn u1(&mut self) -> Outcome<u8> {
        let byte = self.bytes.get(self.at).copied().ok_or(CUT);
        self.at += 1;
        byte
    }

    /// Two bytes.
    pub fn u2(&mut self) -> Outcome<u16> {
        self.at += 2;
        u2_at(self.bytes, self.at - 2)
    }

    /// Four bytes.
    pub fn u4(&mut self) -> Outcome<u32> {
        self.at += 4;
        u4_at(self.bytes, self.at - 4)
    }

    /// So many bytes.
    pub fn bytes(&mut self, len: usize) -> Outcome<&'a [u8]> {
        let end = self.at.checked_add(len).ok_or(CUT)?;
        let bytes = self.bytes.get(self.at..end).ok_or(CUT);
        self.at = end;
        bytes
    }

    /// What lies between here and where a later copy has come to.
    pub fn until(&self, later: &Reader<'a>) -> &'a [u8] {
        &self.bytes[self.at..later.at]
    }
}
