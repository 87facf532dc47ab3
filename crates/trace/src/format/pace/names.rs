//! The names and sites that a block brings.
//!
//! Seven lists of names (threads, variables, locks, semaphores, barriers, labels, texts) and one
//! of sites, each with its count. Their ids are not written: they go on where the block before
//! stopped.

use std::io;

use crate::ids::TextId;
use crate::interner::Interner;
use crate::sites::SiteInfo;
use crate::symbols::Symbols;

/// How many lists of names there are.
const LISTS: usize = 7;

/// A block takes no further names when it has this many bytes of them; more go into blocks of
/// their own. It bounds what a reader keeps in memory besides the names themselves.
const ENOUGH: usize = 1 << 20;

/// The list of variables, which need not have names of their own.
const VARIABLES: usize = 1;

fn lens(symbols: &Symbols) -> [usize; LISTS] {
    let Symbols { threads, vars, locks, semaphores, barriers, labels, texts, .. } = symbols;
    let [a, c, d, e, f, g] =
        [threads, locks, semaphores, barriers, labels, texts].map(Interner::len);
    [a, vars.len(), c, d, e, f, g]
}

fn put_name(symbols: &Symbols, list: usize, id: u32, out: &mut Vec<u8>) {
    let Symbols { threads, vars, locks, semaphores, barriers, labels, texts, .. } = symbols;
    if list == VARIABLES {
        return vars.put_name(id, out);
    }
    let names = [threads, threads, locks, semaphores, barriers, labels, texts][list];
    out.extend_from_slice(names.name(id));
}

/// The names of a list, unless they are those of variables.
#[inline(always)]
fn list_mut(symbols: &mut Symbols, list: usize) -> Option<&mut Interner> {
    let Symbols { threads, locks, semaphores, barriers, labels, texts, .. } = symbols;
    let [c, d, e, f, g] = [locks, semaphores, barriers, labels, texts].map(Some);
    [Some(threads), None, c, d, e, f, g].into_iter().nth(list).flatten()
}

/// Appends a number, seven bits a byte, lowest first; a set high bit says that more follow.
pub(super) fn put_number(out: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Takes a number off the front. `None` if it is cut off or does not fit.
pub(super) fn take_number(bytes: &mut &[u8]) -> Option<u32> {
    let mut number = 0u64;
    for shift in [0, 7, 14, 21, 28] {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return u32::try_from(number).ok();
        }
    }
    None
}

/// What the caller gave the writer cannot be written.
pub(super) fn invalid(message: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message.into())
}

/// Appends a text after its length, which is known after it: most are short enough for one byte.
fn put_with_len(out: &mut Vec<u8>, put: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
    let start = out.len();
    out.push(0);
    put(out);
    let len = out.len() - start - 1;
    if len < 0x80 {
        out[start] = len as u8;
        return Ok(());
    }
    let len = u32::try_from(len).ok().filter(|&len| len <= u32::MAX / 2);
    let text = out.split_off(start + 1);
    out.truncate(start);
    put_number(out, len.ok_or_else(|| invalid("a name longer than 2 GB"))?);
    out.extend_from_slice(&text);
    Ok(())
}

/// How many names and sites have been written.
#[derive(Default)]
pub(super) struct Written {
    names: [usize; LISTS],
    sites: usize,
    /// Scratch for one list: its count stands before it but is known after it.
    list: Vec<u8>,
}

impl Written {
    /// Puts names that have not been written yet into `out`, up to [`ENOUGH`]; nothing if there
    /// are none. Returns whether there are more.
    pub(super) fn put(&mut self, symbols: &Symbols, out: &mut Vec<u8>) -> io::Result<bool> {
        out.clear();
        if self.is_complete(symbols) {
            return Ok(false);
        }
        let before = (self.names, self.sites);
        for list in 0..LISTS {
            self.put_list(list, symbols, out)?;
        }
        self.put_sites(symbols, out);
        if before == (self.names, self.sites) {
            return Err(invalid("a site has a file or method that is no text of the trace"));
        }
        Ok(!self.is_complete(symbols))
    }

    fn is_complete(&self, symbols: &Symbols) -> bool {
        self.sites == symbols.sites().len() && self.names == lens(symbols)
    }

    fn put_list(&mut self, list: usize, symbols: &Symbols, out: &mut Vec<u8>) -> io::Result<()> {
        self.list.clear();
        let (first, len) = (self.names[list], lens(symbols)[list]);
        let mut next = first;
        while next < len && out.len() + self.list.len() < ENOUGH {
            put_with_len(&mut self.list, |text| put_name(symbols, list, next as u32, text))?;
            next += 1;
        }
        self.names[list] = next;
        put_number(out, (next - first) as u32);
        out.extend_from_slice(&self.list);
        Ok(())
    }

    /// Sites come last: all texts must have been written before them.
    fn put_sites(&mut self, symbols: &Symbols, out: &mut Vec<u8>) {
        self.list.clear();
        let first = self.sites;
        let texts = self.names[LISTS - 1];
        for site in &symbols.sites()[first..] {
            let known = site.file.index() < texts && site.method.index() < texts;
            if !known || out.len() + self.list.len() >= ENOUGH {
                break;
            }
            for number in [site.file.0, site.method.0, site.line, site.column] {
                put_number(&mut self.list, number);
            }
            self.sites += 1;
        }
        put_number(out, (self.sites - first) as u32);
        out.extend_from_slice(&self.list);
    }
}

/// Adds the names of a block to `symbols`. `None` if they are not what a writer makes.
pub(super) fn take_names(mut bytes: &[u8], symbols: &mut Symbols) -> Option<()> {
    if bytes.is_empty() {
        return Some(());
    }
    for list in 0..LISTS {
        for _ in 0..take_number(&mut bytes)? {
            let name = take_name(&mut bytes)?;
            add_name(list, name, symbols).then_some(())?;
        }
    }
    for _ in 0..take_number(&mut bytes)? {
        take_site(&mut bytes, symbols)?;
    }
    bytes.is_empty().then_some(())
}

fn take_name<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = take_number(bytes)? as usize;
    let (name, rest) = bytes.split_at_checked(len)?;
    *bytes = rest;
    Some(name)
}

/// A name that is there already would shift all ids after it; of variables, of which there are
/// many, that is found out in the end.
#[inline(always)]
fn add_name(list: usize, name: &[u8], symbols: &mut Symbols) -> bool {
    let Some(names) = list_mut(symbols, list) else {
        symbols.vars.list(name);
        return symbols.vars.len() <= MOST_NAMES;
    };
    let expected = names.len();
    expected < MOST_NAMES && names.intern(name) as usize == expected
}

/// Fewer than an [`Interner`] or a site table can hold.
const MOST_NAMES: usize = (1 << 31) - 2;

fn take_site(bytes: &mut &[u8], symbols: &mut Symbols) -> Option<()> {
    let mut number = || take_number(bytes);
    let (file, method) = (TextId(number()?), TextId(number()?));
    let info = SiteInfo { file, method, line: number()?, column: number()? };
    let expected = symbols.sites().len();
    let known = file.index() < symbols.texts.len() && method.index() < symbols.texts.len();
    let new = known && expected < MOST_NAMES && {
        symbols.site(info);
        symbols.sites().len() == expected + 1
    };
    new.then_some(())
}
