//! The names of variables. A program has millions of them (each field of each object is one), and
//! a report shows a few. So where a reader knows a name in parts, the parts are kept, in less room
//! than the name would take, and put together when somebody asks.

use std::borrow::Cow;
use std::io::Write as _;

use crate::symbols::{Interner, Key};

/// A name in parts: `class#object.field[index]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parts {
    /// The object and the text that stands before its number.
    pub object: Option<(u64, u32)>,
    /// The text of the field; of a static one, all of its name.
    pub field: u32,
    /// The index.
    pub index: Option<u64>,
}

/// Parts as they are kept.
#[derive(Clone, Copy, Debug)]
struct Packed {
    /// The number of the object; the highest bits say what there is.
    object: u64,
    index: u64,
    class: u32,
    field: u32,
}

impl Parts {
    fn packed(&self) -> Packed {
        let (object, class) = self.object.unwrap_or((0, 0));
        let flags = self.object.map_or(0, |_| HAS_OBJECT) | self.index.map_or(0, |_| HAS_INDEX);
        Packed {
            object: object & OBJECT | flags,
            index: self.index.unwrap_or(0),
            class,
            field: self.field,
        }
    }
}

const HAS_OBJECT: u64 = 1 << 63;
const HAS_INDEX: u64 = 1 << 62;
const OBJECT: u64 = HAS_INDEX - 1;

/// Variables, numbered in the order of their first appearance: those with a name, then those whose
/// names are put together.
#[derive(Clone, Default, Debug)]
pub struct Variables {
    named: Interner,
    composed: Vec<Packed>,
    /// What composed names are made of.
    texts: Interner,
}

impl Variables {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.named.len() + self.composed.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name of a variable.
    ///
    /// # Panics
    /// If there is no such variable.
    pub fn name(&self, id: u32) -> Cow<'_, [u8]> {
        if (id as usize) < self.named.len() {
            return Cow::Borrowed(self.named.name(id));
        }
        let mut name = Vec::new();
        self.put_name(id, &mut name);
        Cow::Owned(name)
    }

    /// Appends the name of a variable.
    ///
    /// # Panics
    /// If there is no such variable.
    pub fn put_name(&self, id: u32, out: &mut Vec<u8>) {
        match (id as usize).checked_sub(self.named.len()) {
            None => out.extend_from_slice(self.named.name(id)),
            Some(at) => self.put_composed(self.composed[at], out),
        }
    }

    fn put_composed(&self, parts: Packed, out: &mut Vec<u8>) {
        let field = self.texts.name(parts.field);
        if parts.object & HAS_OBJECT != 0 {
            out.extend_from_slice(self.texts.name(parts.class));
            put_number(out, "#", parts.object & OBJECT);
            if !field.is_empty() {
                out.push(b'.');
            }
        }
        out.extend_from_slice(field);
        if parts.object & HAS_INDEX != 0 {
            put_number(out, "[", parts.index);
            out.push(b']');
        }
    }

    /// A text for [`Parts`].
    pub fn text(&mut self, text: &[u8]) -> u32 {
        self.texts.intern(text)
    }

    /// A new variable, whose name no other has: whoever composes names has to see to that.
    ///
    /// # Panics
    /// If there are 2^32 - 2 variables already.
    pub fn compose(&mut self, parts: Parts) -> u32 {
        let id = u32::try_from(self.len()).ok().filter(|&id| id < u32::MAX - 1);
        self.composed.push(parts.packed());
        id.expect("fewer than four billion variables")
    }

    /// More is known about a composed variable; nobody else may have the new name.
    pub fn recompose(&mut self, id: u32, parts: Parts) {
        let at = (id as usize).checked_sub(self.named.len());
        if let Some(composed) = at.and_then(|at| self.composed.get_mut(at)) {
            *composed = parts.packed();
        }
    }

    /// The variables that have names. No more are to be added when others have been composed.
    #[inline(always)]
    pub fn named_mut(&mut self) -> &mut Interner {
        debug_assert!(self.composed.is_empty(), "a name after composed ones");
        &mut self.named
    }

    /// The variable with this name, new or not.
    pub fn intern(&mut self, name: &[u8]) -> u32 {
        self.named_mut().intern(name)
    }

    /// The variable that was interned with this name.
    pub fn get(&self, name: &[u8]) -> Option<u32> {
        self.named.get(name)
    }

    /// See [`Interner::warm`].
    #[inline(always)]
    pub fn warm(&self, hash: u64) -> u32 {
        self.named.warm(hash)
    }

    /// See [`Interner::find_near`].
    #[inline(always)]
    pub fn find_near(&self, key: Key, hash: u64) -> Option<u32> {
        self.named.find_near(key, hash)
    }
}

fn put_number(out: &mut Vec<u8>, before: &str, number: u64) {
    // A vector takes all that is written to it.
    let _ = write!(out, "{before}{number}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_put_together() {
        let mut vars = Variables::default();
        let [account, balance, nothing] =
            [&b"p.Account"[..], b"balance", b""].map(|t| vars.text(t));
        let cases = [
            (Some((12, account)), balance, None, "p.Account#12.balance"),
            (Some((7, account)), nothing, Some(3), "p.Account#7[3]"),
            (None, account, None, "p.Account"),
            (None, account, Some(0), "p.Account[0]"),
        ];
        for (i, (object, field, index, name)) in cases.into_iter().enumerate() {
            assert_eq!(vars.compose(Parts { object, field, index }), i as u32);
            assert_eq!(vars.name(i as u32), name.as_bytes());
        }
        assert_eq!(vars.len(), cases.len());
    }

    #[test]
    fn named_ones_come_first() {
        let mut vars = Variables::default();
        assert_eq!(vars.intern(b"x"), 0);
        let field = vars.text(b"y");
        assert_eq!(vars.compose(Parts { object: None, field, index: None }), 1);
        assert_eq!((&*vars.name(0), &*vars.name(1)), (&b"x"[..], &b"y"[..]));
        assert_eq!(vars.get(b"x"), Some(0));
    }
}
