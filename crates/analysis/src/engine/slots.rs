//! Sets of slots. A slot stands for a transaction that runs; sixty-four of them fit into one
//! machine word, which is all that most programs ever need.

/// A set of small numbers.
pub trait SlotSet: Clone + Eq + std::hash::Hash + Send + 'static {
    /// How many slots there can be.
    const CAPACITY: usize;

    /// The empty set.
    fn empty() -> Self;

    /// The words of the set, lowest slots first.
    fn words(&self) -> &[u64];

    /// The words of the set, long enough to hold `slot`.
    fn words_for(&mut self, slot: usize) -> &mut [u64];

    /// Makes a set of its words.
    fn from_words(words: &[u64]) -> Self;

    /// Whether `slot` is in the set.
    #[inline(always)]
    fn contains(&self, slot: usize) -> bool {
        self.words().get(slot / 64).is_some_and(|w| w >> (slot % 64) & 1 != 0)
    }

    /// Adds `slot`.
    #[inline(always)]
    fn insert(&mut self, slot: usize) {
        self.words_for(slot)[slot / 64] |= 1 << (slot % 64);
    }

    /// Takes `slot` out.
    #[inline(always)]
    fn remove(&mut self, slot: usize) {
        self.words_for(slot)[slot / 64] &= !(1 << (slot % 64));
    }

    /// Whether nothing is in the set.
    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.words().iter().all(|&w| w == 0)
    }

    /// Adds everything that is in `other`.
    #[inline(always)]
    fn add(&mut self, other: &Self) {
        let theirs = other.words();
        if theirs.is_empty() {
            return;
        }
        let mine = self.words_for(theirs.len() * 64 - 1);
        mine.iter_mut().zip(theirs).for_each(|(m, t)| *m |= t);
    }

    /// Keeps only what is also in `other`.
    #[inline(always)]
    fn keep(&mut self, other: &Self) {
        let theirs = other.words();
        if self.words().is_empty() {
            return;
        }
        let last = self.words().len() * 64 - 1;
        for (i, mine) in self.words_for(last).iter_mut().enumerate() {
            *mine &= theirs.get(i).copied().unwrap_or(0);
        }
    }

    /// Whether everything in this set is also in `other`.
    #[inline(always)]
    fn is_within(&self, other: &Self) -> bool {
        let theirs = other.words();
        self.words().iter().enumerate().all(|(i, &m)| m & !theirs.get(i).copied().unwrap_or(0) == 0)
    }

    /// Whether nothing is in both sets.
    #[inline(always)]
    fn is_disjoint(&self, other: &Self) -> bool {
        self.words().iter().zip(other.words()).fold(0, |sum, (m, t)| sum | m & t) == 0
    }

    /// Takes everything out that is in `other`.
    #[inline(always)]
    fn take_out(&mut self, other: &Self) {
        if self.words().is_empty() {
            return;
        }
        let last = self.words().len() * 64 - 1;
        let mine = self.words_for(last);
        mine.iter_mut().zip(other.words()).for_each(|(m, t)| *m &= !t);
    }

    /// Calls `each` for every slot in the set, in order.
    #[inline(always)]
    fn for_each(&self, mut each: impl FnMut(usize)) {
        for (i, &word) in self.words().iter().enumerate() {
            let mut rest = word;
            while rest != 0 {
                each(i * 64 + rest.trailing_zeros() as usize);
                rest &= rest - 1;
            }
        }
    }
}

/// A set in `N` words.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Words<const N: usize>([u64; N]);

impl<const N: usize> SlotSet for Words<N> {
    const CAPACITY: usize = N * 64;

    #[inline(always)]
    fn empty() -> Self {
        Words([0; N])
    }

    #[inline(always)]
    fn words(&self) -> &[u64] {
        &self.0
    }

    #[inline(always)]
    fn words_for(&mut self, _slot: usize) -> &mut [u64] {
        &mut self.0
    }

    fn from_words(words: &[u64]) -> Self {
        let mut set = Self::empty();
        set.0[..words.len()].copy_from_slice(words);
        set
    }
}

/// A set without a limit, for programs with thousands of transactions at once. Two equal sets
/// have equal words: there are no zero words at the end.
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

impl std::hash::Hash for Unlimited {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.trimmed().hash(state);
    }
}

impl SlotSet for Unlimited {
    const CAPACITY: usize = usize::MAX;

    fn empty() -> Self {
        Unlimited::default()
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

    fn from_words(words: &[u64]) -> Self {
        Unlimited(words.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn behaves_like_a_set<S: SlotSet>() {
        let slots = [0, 5, 63, 64, 130];
        let mut set = S::empty();
        slots.iter().for_each(|&s| set.insert(s));
        let mut seen = Vec::new();
        set.for_each(|s| seen.push(s));
        assert_eq!(seen, slots);
        assert!(set.contains(64) && !set.contains(65) && !set.contains(100_000));

        let mut part = S::empty();
        part.insert(5);
        part.insert(6);
        assert!(!part.is_within(&set));
        part.keep(&set);
        assert!(part.is_within(&set) && !part.is_empty() && !part.contains(6));
        part.add(&set);
        assert!(part == set);
        let mut rest = set.clone();
        rest.take_out(&S::from_words(&[u64::MAX]));
        assert!(!rest.contains(63) && rest.contains(64));
        assert!(rest.is_disjoint(&S::from_words(&[u64::MAX])) && !rest.is_disjoint(&set));
        assert!(S::from_words(set.words()) == set);

        slots.iter().for_each(|&s| set.remove(s));
        assert!(set.is_empty() && set == S::empty());
    }

    #[test]
    fn every_width_behaves_like_a_set() {
        behaves_like_a_set::<Words<4>>();
        behaves_like_a_set::<Words<16>>();
        behaves_like_a_set::<Unlimited>();
    }
}
