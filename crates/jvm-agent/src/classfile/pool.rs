//! The constant pool: reads what is there, appends what is needed, and finds equal entries again.

use std::collections::HashMap;

use super::{Failure, Outcome, Reader, put2, put4, u2_at};

const UTF8: u8 = 1;
const INTEGER: u8 = 3;
const LONG: u8 = 5;
const CLASS: u8 = 7;
const STRING: u8 = 8;
const FIELD: u8 = 9;
const METHOD: u8 = 10;
const INTERFACE_METHOD: u8 = 11;
const NAME_AND_TYPE: u8 = 12;
const METHOD_HANDLE: u8 = 15;
const METHOD_TYPE: u8 = 16;

/// A field or method as code names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reference<'a> {
    /// The class that is named, which may be a subclass of the one that declares it.
    pub owner: &'a [u8],
    /// The name.
    pub name: &'a [u8],
    /// The type.
    pub descriptor: &'a [u8],
    /// Whether it names a method of an interface.
    pub interface: bool,
}

/// The constants of a class.
#[derive(Clone, Debug)]
pub struct Pool<'a> {
    bytes: &'a [u8],
    /// Where each entry starts; 0 for the unusable ones.
    offsets: Vec<usize>,
    end: usize,
    added: Vec<u8>,
    count: usize,
    known: HashMap<Vec<u8>, u16>,
}

impl<'a> Pool<'a> {
    /// Reads the pool of a class file.
    pub fn parse(bytes: &'a [u8]) -> Outcome<Pool<'a>> {
        let count = usize::from(u2_at(bytes, 8)?);
        let mut offsets = vec![0; count];
        let mut reader = Reader::new(bytes, 10);
        let mut index = 1;
        while index < count {
            offsets[index] = reader.at();
            index += skip_entry(&mut reader)?;
        }
        let end = reader.at();
        if end > bytes.len() {
            return Err(Failure::Malformed("constant pool"));
        }
        Ok(Pool { bytes, offsets, end, added: Vec::new(), count, known: HashMap::new() })
    }

    /// An empty pool, for a class that is made from nothing.
    pub fn empty() -> Pool<'static> {
        Pool {
            bytes: &[],
            offsets: vec![0],
            end: 10,
            added: Vec::new(),
            count: 1,
            known: HashMap::new(),
        }
    }

    /// Where the pool ends in the class file.
    pub fn end(&self) -> usize {
        self.end
    }

    fn entry(&self, index: u16, tag: &[u8]) -> Outcome<Reader<'a>> {
        let offset = self.offsets.get(usize::from(index)).copied().unwrap_or(0);
        match self.bytes.get(offset) {
            Some(found) if offset != 0 && tag.contains(found) => {
                Ok(Reader::new(self.bytes, offset + 1))
            }
            _ => Err(Failure::Malformed("constant")),
        }
    }

    /// The text of a constant.
    pub fn text(&self, index: u16) -> Outcome<&'a [u8]> {
        let mut entry = self.entry(index, &[UTF8])?;
        let len = usize::from(entry.u2()?);
        entry.bytes(len)
    }

    /// The name of a class constant; empty for index 0.
    pub fn class(&self, index: u16) -> Outcome<&'a [u8]> {
        if index == 0 {
            return Ok(b"");
        }
        self.text(self.entry(index, &[CLASS])?.u2()?)
    }

    /// The field or method that a constant names.
    pub fn reference(&self, index: u16) -> Outcome<Reference<'a>> {
        let mut entry = self.entry(index, &[FIELD, METHOD, INTERFACE_METHOD])?;
        let owner = self.class(entry.u2()?)?;
        let mut both = self.entry(entry.u2()?, &[NAME_AND_TYPE])?;
        let name = self.text(both.u2()?)?;
        let descriptor = self.text(both.u2()?)?;
        let interface = self.entry(index, &[INTERFACE_METHOD]).is_ok();
        Ok(Reference { owner, name, descriptor, interface })
    }

    /// The methods, constructors and fields that the class has handles of, such as `map::get`.
    pub fn referred_methods(&self) -> Outcome<Vec<Reference<'a>>> {
        let mut found = Vec::new();
        for index in 1..self.offsets.len() as u16 {
            if let Ok(mut entry) = self.entry(index, &[METHOD_HANDLE]) {
                entry.bytes(1)?;
                found.push(self.reference(entry.u2()?)?);
            }
        }
        Ok(found)
    }

    fn add(&mut self, entry: Vec<u8>) -> Outcome<u16> {
        if let Some(&index) = self.known.get(&entry) {
            return Ok(index);
        }
        let slots = if entry[0] == LONG { 2 } else { 1 };
        if self.count + slots > usize::from(u16::MAX) {
            return Err(Failure::PoolFull);
        }
        let index = self.count as u16;
        self.added.extend_from_slice(&entry);
        self.known.insert(entry, index);
        self.count += slots;
        Ok(index)
    }

    /// A constant with this text.
    pub fn add_text(&mut self, text: &[u8]) -> Outcome<u16> {
        let mut entry = vec![UTF8];
        put2(&mut entry, text.len() as u16);
        entry.extend_from_slice(text);
        self.add(entry)
    }

    /// A class.
    pub fn add_class(&mut self, name: &[u8]) -> Outcome<u16> {
        let name = self.add_text(name)?;
        self.add_pair(CLASS, &[name])
    }

    /// A string.
    pub fn add_string(&mut self, text: &[u8]) -> Outcome<u16> {
        let text = self.add_text(text)?;
        self.add_pair(STRING, &[text])
    }

    /// The type of a method.
    pub fn add_method_type(&mut self, descriptor: &[u8]) -> Outcome<u16> {
        let descriptor = self.add_text(descriptor)?;
        self.add_pair(METHOD_TYPE, &[descriptor])
    }

    /// A number of 32 bits.
    pub fn add_int(&mut self, number: u32) -> Outcome<u16> {
        let mut entry = vec![INTEGER];
        put4(&mut entry, number);
        self.add(entry)
    }

    /// A number of 64 bits.
    pub fn add_long(&mut self, number: u64) -> Outcome<u16> {
        let mut entry = vec![LONG];
        entry.extend_from_slice(&number.to_be_bytes());
        self.add(entry)
    }

    /// A field.
    pub fn add_field(&mut self, owner: &[u8], name: &[u8], descriptor: &[u8]) -> Outcome<u16> {
        self.add_reference(FIELD, owner, name, descriptor)
    }

    /// A method of a class.
    pub fn add_method(&mut self, owner: &[u8], name: &[u8], descriptor: &[u8]) -> Outcome<u16> {
        self.add_reference(METHOD, owner, name, descriptor)
    }

    /// A method of an interface.
    pub fn add_interface_method(
        &mut self,
        owner: &[u8],
        name: &[u8],
        descriptor: &[u8],
    ) -> Outcome<u16> {
        self.add_reference(INTERFACE_METHOD, owner, name, descriptor)
    }

    fn add_reference(
        &mut self,
        tag: u8,
        owner: &[u8],
        name: &[u8],
        descriptor: &[u8],
    ) -> Outcome<u16> {
        let owner = self.add_class(owner)?;
        let name = self.add_text(name)?;
        let descriptor = self.add_text(descriptor)?;
        let both = self.add_pair(NAME_AND_TYPE, &[name, descriptor])?;
        self.add_pair(tag, &[owner, both])
    }

    fn add_pair(&mut self, tag: u8, parts: &[u16]) -> Outcome<u16> {
        let mut entry = vec![tag];
        parts.iter().for_each(|&part| put2(&mut entry, part));
        self.add(entry)
    }

    /// Writes number and entries.
    pub fn put(&self, out: &mut Vec<u8>) {
        put2(out, self.count as u16);
        out.extend_from_slice(self.bytes.get(10..self.end).unwrap_or_default());
        out.extend_from_slice(&self.added);
    }

    /// What was there before something was tried that may have to be taken back.
    pub fn mark(&self) -> PoolMark {
        PoolMark { added: self.added.len(), count: self.count }
    }

    /// Takes back what was added since.
    pub fn reset(&mut self, mark: PoolMark) {
        self.added.truncate(mark.added);
        self.count = mark.count;
        self.known.retain(|_, &mut index| usize::from(index) < mark.count);
    }
}

/// A state of a pool to go back to.
#[derive(Clone, Copy, Debug)]
pub struct PoolMark {
    added: usize,
    count: usize,
}

/// Skips an entry; how many numbers it takes.
fn skip_entry(reader: &mut Reader) -> Outcome<usize> {
    let tag = reader.u1()?;
    let len = match tag {
        UTF8 => usize::from(reader.u2()?),
        3 | 4 | 9..=12 | 17 | 18 => 4,
        5 | 6 => 8,
        7 | 8 | 16 | 19 | 20 => 2,
        15 => 3,
        _ => return Err(Failure::Malformed("kind of constant")),
    };
    reader.bytes(len)?;
    Ok(if tag == 5 || tag == 6 { 2 } else { 1 })
}
