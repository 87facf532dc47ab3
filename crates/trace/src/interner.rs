//! The [`Interner`] turns a name into a dense number with one probe into one table: names of up to
//! fifteen bytes are compared inside the table itself, without a look at the text.

use std::hint::select_unpredictable;

/// How many bytes of a name fit into its key.
const INLINE: usize = 15;

/// The bits of a name of each length: what is left of its first and second eight bytes.
const MASKS: [(u64, u64); INLINE + 1] = {
    let mut masks = [(0, 0); INLINE + 1];
    let mut len = 0;
    while len <= INLINE {
        let mask = (1u128 << (8 * len)) - 1;
        masks[len] = (mask as u64, (mask >> 64) as u64);
        len += 1;
    }
    masks
};

/// A name reduced to sixteen bytes: itself and its length when short, a digest when long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Key {
    low: u64,
    high: u64,
}

impl Key {
    /// The key of the empty name.
    pub const EMPTY: Key = Key { low: 0, high: 0 };

    /// The key of a name.
    #[inline]
    pub fn new(name: &[u8]) -> Key {
        if name.len() > INLINE {
            return Key::digest(name);
        }
        let mut bytes = [0; 16];
        bytes[..name.len()].copy_from_slice(name);
        Key::leading(u128::from_le_bytes(bytes), name.len())
    }

    /// The key of a name of at most fifteen bytes that sixteen bytes of text start with.
    #[inline(always)]
    pub fn leading(text: u128, len: usize) -> Key {
        let len = len & INLINE;
        Key {
            low: text as u64 & MASKS[len].0,
            high: (text >> 64) as u64 & MASKS[len].1 | (len as u64) << 56,
        }
    }

    /// The top byte 0xff marks a digest: equal digests still have to compare their texts. The two
    /// halves do not wait for each other, and the last word overlaps the one before.
    #[inline(never)]
    fn digest(name: &[u8]) -> Key {
        let mut low = name.len() as u64;
        let mut high = 0x9e37_79b9_7f4a_7c15;
        let (words, _) = name.as_chunks::<8>();
        for word in words.iter().chain(name.last_chunk::<8>()) {
            let word = u64::from_le_bytes(*word);
            low = mix(low ^ word, 0xd134_2543_de82_ef95);
            high = mix(high ^ word, 0xa076_1d64_78bd_642f);
        }
        Key { low, high: high | 0xff << 56 }
    }

    /// Whether the name is too long to be in the key itself.
    #[inline(always)]
    pub fn is_digest(self) -> bool {
        self.high >> 56 == 0xff
    }

    /// Equality without a branch between the halves.
    #[inline(always)]
    fn is(self, other: Key) -> bool {
        (self.low ^ other.low) | (self.high ^ other.high) == 0
    }

    /// Where in a table the search for this key starts.
    #[inline(always)]
    pub fn hash(self) -> u64 {
        mix(self.low ^ 0x9e37_79b9_7f4a_7c15, self.high ^ 0xd134_2543_de82_ef95)
    }
}

/// Both halves of the full product, folded.
#[inline(always)]
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    key: Key,
    id: u32,
}

/// The id of a slot without a name.
const FREE: u32 = u32::MAX;

/// Names, numbered in the order of their first appearance.
#[derive(Clone)]
pub struct Interner {
    slots: Vec<Slot>,
    /// The end of each name in `text`; a name starts where the one before ends.
    ends: Vec<u64>,
    text: Vec<u8>,
}

impl Default for Interner {
    fn default() -> Self {
        Interner { slots: vec![EMPTY; 16], ends: Vec::new(), text: Vec::new() }
    }
}

impl std::fmt::Debug for Interner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Interner({} names)", self.len())
    }
}

const EMPTY: Slot = Slot { key: Key::EMPTY, id: FREE };

impl Interner {
    /// How many names there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The name with this number.
    ///
    /// # Panics
    /// If there is no such number.
    pub fn name(&self, id: u32) -> &[u8] {
        let i = id as usize;
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.text[start as usize..self.ends[i] as usize]
    }

    /// The number of a name that is known already.
    pub fn get(&self, name: &[u8]) -> Option<u32> {
        let key = Key::new(name);
        self.find(key, key.hash(), name)
    }

    /// The number of `name`, whether it was known or not.
    pub fn intern(&mut self, name: &[u8]) -> u32 {
        let key = Key::new(name);
        self.find(key, key.hash(), name).unwrap_or_else(|| self.insert(key, name))
    }

    /// Prefetches the part of the table where this hash leads: batches of look-ups overlap their
    /// cache misses.
    #[inline(always)]
    pub fn prefetch(&self, hash: u64) -> u32 {
        self.slots[hash as usize & (self.slots.len() - 1)].id
    }

    /// The number of the short name with this key and hash; none if it is new, or long, or not
    /// close to where its search starts. Two slots are looked at at once: to try the second only
    /// when the first is taken would be a misprediction for every seventh name.
    #[inline(always)]
    pub fn find_near(&self, key: Key, hash: u64) -> Option<u32> {
        let mask = self.slots.len() - 1;
        let first = &self.slots[hash as usize & mask];
        let second = &self.slots[(hash as usize + 1) & mask];
        let (here, there) = (first.key.is(key), second.key.is(key));
        let id = select_unpredictable(here, first.id, second.id);
        // A digest has to be compared by its text; free slots have no name's key.
        ((here | there) && !key.is_digest() && id != FREE).then_some(id)
    }

    /// The number of the name with this key and hash.
    #[inline(always)]
    pub fn find(&self, key: Key, hash: u64, name: &[u8]) -> Option<u32> {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = &self.slots[at];
            if slot.key == key && slot.id != FREE {
                if !key.is_digest() || self.name(slot.id) == name {
                    return Some(slot.id);
                }
            } else if slot.id == FREE {
                return None;
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds a name that [`Interner::find`] did not find.
    ///
    /// # Panics
    /// If there are 2^32 - 2 names already.
    #[cold]
    pub fn insert(&mut self, key: Key, name: &[u8]) -> u32 {
        // Half full at most: most searches end at the first look.
        if (self.len() + 1) * 2 > self.slots.len() {
            self.grow();
        }
        let id = u32::try_from(self.len()).ok().filter(|&id| id < FREE - 1);
        let id = id.expect("fewer than four billion names");
        self.text.extend_from_slice(name);
        self.ends.push(self.text.len() as u64);
        self.place(Slot { key, id });
        id
    }

    fn place(&mut self, slot: Slot) {
        let mut at = slot.key.hash() as usize & (self.slots.len() - 1);
        while self.slots[at].id != FREE {
            at = (at + 1) & (self.slots.len() - 1);
        }
        self.slots[at] = slot;
    }

    fn grow(&mut self) {
        let larger = vec![EMPTY; self.slots.len() * 2];
        let old = std::mem::replace(&mut self.slots, larger);
        for slot in old.into_iter().filter(|s| s.id != FREE) {
            self.place(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_numbered_by_first_appearance() {
        let mut names = Interner::default();
        assert_eq!(names.intern(b"x"), 0);
        assert_eq!(names.intern(b""), 1);
        assert_eq!(names.intern(b"x"), 0);
        assert_eq!(names.name(1), b"");
        assert_eq!(names.get(b"y"), None);
    }

    #[test]
    fn many_names_of_every_length_are_distinguished() {
        let mut names = Interner::default();
        let text = |i: u32| "ab\0".repeat(i as usize % 14) + &i.to_string();
        for i in 0..20_000 {
            assert_eq!(names.intern(text(i).as_bytes()), i);
        }
        for i in 0..20_000 {
            assert_eq!(names.get(text(i).as_bytes()), Some(i));
            assert_eq!(names.name(i), text(i).as_bytes());
        }
    }

    #[test]
    fn a_trailing_zero_byte_makes_another_name() {
        assert_ne!(Key::new(b"a"), Key::new(b"a\0"));
    }

    #[test]
    fn a_key_does_not_depend_on_what_follows_the_name() {
        let text = u128::from_le_bytes(*b"variable)|17\nabc");
        assert_eq!(Key::leading(text, 8), Key::new(b"variable"));
        assert_eq!(Key::leading(text, 15), Key::new(b"variable)|17\nab"));
    }

    #[test]
    fn digests_that_collide_are_resolved_by_text() {
        let mut names = Interner::default();
        let key = Key::new(b"a long name, digested");
        let first = names.insert(key, b"a long name, digested");
        assert_eq!(names.find(key, key.hash(), b"another name, same key"), None);
        assert_eq!(names.find(key, key.hash(), b"a long name, digested"), Some(first));
    }
}
