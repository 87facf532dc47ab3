//! Sets of slots. A slot stands for a running transaction; sixty-four of them fit into one machine
//! word, which is all that most programs ever need.

use std::hash::Hash;

/// The storage of a [`SlotSet`]: slot `s` is bit `s % 64` of word `s / 64`.
///
/// Words that are not there count as zero. Two storages are equal, and have equal hashes, when
/// they hold the same slots. A fixed storage is only ever asked for slots below its capacity.
pub trait SlotWords: Clone + Eq + Hash + Send + 'static {
    /// How many slots there can be.
    const CAPACITY: usize;

    /// The storage that begins with these words, of which there are no more than fit.
    fn from_words(words: &[u64]) -> Self;

    /// The words, lowest slots first.
    fn words(&self) -> &[u64];

    /// The words, to be changed; at least as many as hold `slot`.
    fn words_for(&mut self, slot: usize) -> &mut [u64];
}

/// A set of slots.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SlotSet<W>(W);

impl<W: SlotWords> SlotSet<W> {
    /// The empty set.
    #[inline(always)]
    pub fn empty() -> Self {
        SlotSet(W::from_words(&[]))
    }

    /// The set of the same slots in another storage, in which they must fit.
    pub fn in_storage<V: SlotWords>(&self) -> SlotSet<V> {
        SlotSet(V::from_words(self.0.words()))
    }

    /// Whether `slot` is in the set.
    #[inline(always)]
    pub fn contains(&self, slot: usize) -> bool {
        self.0.words().get(slot / 64).is_some_and(|w| w >> (slot % 64) & 1 != 0)
    }

    /// Adds `slot`.
    #[inline(always)]
    pub fn insert(&mut self, slot: usize) {
        self.0.words_for(slot)[slot / 64] |= 1 << (slot % 64);
    }

    /// Removes `slot`.
    #[inline(always)]
    pub fn remove(&mut self, slot: usize) {
        self.0.words_for(slot)[slot / 64] &= !(1 << (slot % 64));
    }

    /// Whether the set has no members.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.0.words().iter().all(|&w| w == 0)
    }

    /// Adds all members of `other`.
    #[inline(always)]
    pub fn add(&mut self, other: &Self) {
        let theirs = other.0.words();
        if theirs.is_empty() {
            return;
        }
        let mine = self.0.words_for(theirs.len() * 64 - 1);
        mine.iter_mut().zip(theirs).for_each(|(m, t)| *m |= t);
    }

    /// Keeps only the members that are also in `other`.
    #[inline(always)]
    pub fn keep(&mut self, other: &Self) {
        let theirs = other.0.words();
        for (i, mine) in self.words_mut().iter_mut().enumerate() {
            *mine &= theirs.get(i).copied().unwrap_or(0);
        }
    }

    /// Removes all members of `other`.
    #[inline(always)]
    pub fn take_out(&mut self, other: &Self) {
        self.words_mut().iter_mut().zip(other.0.words()).for_each(|(m, t)| *m &= !t);
    }

    #[inline(always)]
    fn words_mut(&mut self) -> &mut [u64] {
        match self.0.words().len() {
            0 => &mut [],
            length => self.0.words_for(length * 64 - 1),
        }
    }

    /// Whether all members are also in `other`.
    #[inline(always)]
    pub fn is_within(&self, other: &Self) -> bool {
        let theirs = other.0.words();
        let mut mine = self.0.words().iter().enumerate();
        mine.all(|(i, &m)| m & !theirs.get(i).copied().unwrap_or(0) == 0)
    }

    /// Whether no member is also in `other`.
    #[inline(always)]
    pub fn is_disjoint(&self, other: &Self) -> bool {
        self.0.words().iter().zip(other.0.words()).fold(0, |sum, (m, t)| sum | m & t) == 0
    }

    /// Calls `each` for every member, in ascending order.
    #[inline(always)]
    pub fn for_each(&self, mut each: impl FnMut(usize)) {
        for (i, &word) in self.0.words().iter().enumerate() {
            let mut rest = word;
            while rest != 0 {
                each(i * 64 + rest.trailing_zeros() as usize);
                rest &= rest - 1;
            }
        }
    }
}

/// Room for `64 * N` slots.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Words<const N: usize>([u64; N]);

impl<const N: usize> SlotWords for Words<N> {
    const CAPACITY: usize = N * 64;

    #[inline(always)]
    fn from_words(words: &[u64]) -> Self {
        let mut all = [0; N];
        all[..words.len()].copy_from_slice(words);
        Words(all)
    }

    #[inline(always)]
    fn words(&self) -> &[u64] {
        &self.0
    }

    #[inline(always)]
    fn words_for(&mut self, _slot: usize) -> &mut [u64] {
        &mut self.0
    }
}

/// Room without a limit, for programs that run thousands of transactions at once. Zero words at
/// the end make no difference to equality.
#[derive(Clone, Default, Debug)]
pub struct Unlimited(Vec<u64>);

impl Unlimited {
    fn trimmed(&self) -> &[u64] {
        let used = self.0.iter().rposition(|&w| w != 0).map_or(0, |i| i + 1);
        &self.0[..used]
    }
}

impl PartialEq for Unlimited {
    fn eq(&self, other: &Self) -> bool {
        self.trimmed() == other.trimmed()
    }
}

impl Eq for Unlimited {}

impl Hash for Unlimited {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.trimmed().hash(state);
    }
}

impl SlotWords for Unlimited {
    const CAPACITY: usize = usize::MAX;

    fn from_words(words: &[u64]) -> Self {
        Unlimited(words.to_vec())
    }

    fn words(&self) -> &[u64] {
        &self.0
    }

    fn words_for(&mut self, slot: usize) -> &mut [u64] {
        if self.0.len() <= slot / 64 {
            self.0.resize(slot / 64 + 1, 0);
        }
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn behaves_like_a_set<W: SlotWords>() {
        let slots = [0, 5, 63, 64, 130];
        let mut set = SlotSet::<W>::empty();
        slots.iter().for_each(|&s| set.insert(s));
        let mut seen = Vec::new();
        set.for_each(|s| seen.push(s));
        assert_eq!(seen, slots);
        assert!(set.contains(64) && !set.contains(65) && !set.contains(100_000));

        let mut part = SlotSet::<W>::empty();
        part.insert(5);
        part.insert(6);
        assert!(!part.is_within(&set));
        part.keep(&set);
        assert!(part.is_within(&set) && !part.is_empty() && !part.contains(6));
        part.add(&set);
        assert!(part == set);
        let low = SlotSet(W::from_words(&[u64::MAX]));
        let mut rest = set.clone();
        rest.take_out(&low);
        assert!(!rest.contains(63) && rest.contains(64));
        assert!(rest.is_disjoint(&low) && !rest.is_disjoint(&set));
        assert!(set.in_storage::<W>() == set);
        assert!(set.in_storage::<Unlimited>().in_storage::<W>() == set);

        slots.iter().for_each(|&s| set.remove(s));
        assert!(set.is_empty() && set == SlotSet::empty());
    }

    #[test]
    fn every_storage_behaves_like_a_set() {
        behaves_like_a_set::<Words<4>>();
        behaves_like_a_set::<Words<16>>();
        behaves_like_a_set::<Unlimited>();
    }
}
