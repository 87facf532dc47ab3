//! Which targets are known: a hash table for millions of them, looked into for nearly every record.
//!
//! What costs is the way to memory, so a look-up has one: the key lies beside its id, and what is
//! used together lies together: four fields of an object or four elements of an array are
//! neighbours. A whole chunk of records is looked up at a time; each slot is prefetched some
//! records ahead, so that the processor waits for many of them at once.

/// What is looked for.
pub(crate) trait TableKey: Copy + Eq + Default {
    /// Where the search starts.
    fn start(self) -> u64;
}

/// Site and object, or field and object.
impl TableKey for u64 {
    #[inline(always)]
    fn start(self) -> u64 {
        mix(self >> 2) << 2 | self & 3
    }
}

/// The same with an index.
impl TableKey for (u64, u64) {
    #[inline(always)]
    fn start(self) -> u64 {
        mix(self.0 ^ mix(self.1 >> 2)) << 2 | self.1 & 3
    }
}

/// Keys come from counters of a recorder: no attacker chooses them.
#[inline(always)]
fn mix(word: u64) -> u64 {
    let product = u128::from(word ^ 0x9e37_79b9_7f4a_7c15) * 0xd134_2543_de82_ef95;
    product as u64 ^ (product >> 64) as u64
}

#[derive(Clone, Copy)]
struct Slot<K> {
    key: K,
    id: u32,
}

const FREE: u32 = u32::MAX;

/// Ids by key.
#[derive(Clone)]
pub(crate) struct Ids<K> {
    slots: Vec<Slot<K>>,
    len: usize,
}

impl<K: TableKey> Default for Ids<K> {
    fn default() -> Ids<K> {
        Ids { slots: free(16), len: 0 }
    }
}

/// Free slots; any key will do for them.
fn free<K: TableKey>(count: usize) -> Vec<Slot<K>> {
    vec![Slot { key: K::default(), id: FREE }; count]
}

impl<K: TableKey> Ids<K> {
    /// Prefetches the slot of a key.
    #[inline(always)]
    pub(crate) fn prefetch(&self, key: K) -> u32 {
        self.slots[key.start() as usize & (self.slots.len() - 1)].id
    }

    /// The id of a key, if it is known.
    #[inline(always)]
    pub(crate) fn get(&self, key: K) -> Option<u32> {
        let mask = self.slots.len() - 1;
        let mut at = key.start() as usize & mask;
        loop {
            let slot = &self.slots[at];
            if slot.id == FREE {
                return None;
            }
            if slot.key == key {
                return Some(slot.id);
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds a key that is not there.
    pub(crate) fn insert(&mut self, key: K, id: u32) {
        self.len += 1;
        if self.len * 8 > self.slots.len() * 5 {
            self.grow();
        }
        self.place(Slot { key, id });
    }

    fn place(&mut self, slot: Slot<K>) {
        let mask = self.slots.len() - 1;
        let mut at = slot.key.start() as usize & mask;
        while self.slots[at].id != FREE {
            at = (at + 1) & mask;
        }
        self.slots[at] = slot;
    }

    fn grow(&mut self) {
        let larger = free(self.slots.len() * 2);
        let old = std::mem::replace(&mut self.slots, larger);
        old.into_iter().filter(|slot| slot.id != FREE).for_each(|slot| self.place(slot));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<K: TableKey>(key: impl Fn(u64) -> K) {
        let mut ids = Ids::default();
        for i in 0..10_000 {
            assert_eq!(ids.get(key(i)), None);
            ids.insert(key(i), i as u32);
            ids.prefetch(key(i));
        }
        for i in 0..10_000 {
            assert_eq!(ids.get(key(i)), Some(i as u32));
        }
        assert_eq!(ids.get(key(10_000)), None);
    }

    #[test]
    fn what_is_put_is_found() {
        check(|i| i);
        check(|i| i << 24);
        check(|i| (i % 7, i / 7));
        check(|i| (i, u64::MAX - i));
    }
}
