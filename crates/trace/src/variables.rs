//! Variables and their names. A program has millions of them (each field of each object is one),
//! and a report shows a few. So where a reader knows what a variable is made of, that is kept
//! ([`crate::composed`]), and put together when a name is asked for.

use std::borrow::Cow;

use crate::composed::Composed;
use crate::interner::{Interner, Key};
use crate::listed::Listed;

/// Variables, numbered in the order of their first appearance. All of a trace are of one sort: with
/// names that can be found, with names that a file lists, or with names that are put together.
#[derive(Clone, Default, Debug)]
pub struct Variables {
    named: Interner,
    listed: Listed,
    composed: Composed,
}

impl Variables {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.named.len() + self.listed.len() + self.composed.len()
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
        if (id as usize) < self.listed.len() {
            return Cow::Borrowed(self.listed.name(id));
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
        match id.checked_sub(self.named.len() as u32) {
            None => out.extend_from_slice(self.named.name(id)),
            Some(at) if self.listed.len() > 0 => out.extend_from_slice(self.listed.name(at)),
            Some(at) => self.composed.put_name(at, out),
        }
    }

    /// The variables that have no names of their own. Their numbers start at 0 here: a trace has
    /// one sort of variables or the other.
    #[inline(always)]
    pub(crate) fn composed(&self) -> &Composed {
        &self.composed
    }

    /// The same, to be added to.
    #[inline(always)]
    pub(crate) fn composed_mut(&mut self) -> &mut Composed {
        debug_assert!(self.named.is_empty(), "composed ones after names");
        &mut self.composed
    }

    /// The variables that have names. No more are to be added when others have been composed.
    #[inline(always)]
    pub fn named_mut(&mut self) -> &mut Interner {
        debug_assert!(self.named.len() == self.len(), "a name after those of another sort");
        &mut self.named
    }

    /// The variable with this name, new or not.
    pub fn intern(&mut self, name: &[u8]) -> u32 {
        self.named_mut().intern(name)
    }

    /// Adds a name that a file lists.
    #[inline(always)]
    pub(crate) fn list(&mut self, name: &[u8]) {
        debug_assert!(self.listed.len() == self.len(), "a listed name after those of another sort");
        self.listed.add(name);
    }

    /// The names that a file lists.
    pub(crate) fn listed(&self) -> &Listed {
        &self.listed
    }

    /// The variable that was interned or listed with this name. This takes its time for the latter.
    pub fn get(&self, name: &[u8]) -> Option<u32> {
        self.named.get(name).or_else(|| self.listed.find(name))
    }

    /// See [`Interner::prefetch`].
    #[inline(always)]
    pub fn prefetch(&self, hash: u64) -> u32 {
        self.named.prefetch(hash)
    }

    /// See [`Interner::find_near`].
    #[inline(always)]
    pub fn find_near(&self, key: Key, hash: u64) -> Option<u32> {
        self.named.find_near(key, hash)
    }
}
