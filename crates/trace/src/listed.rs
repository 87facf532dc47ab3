//! Names of variables as a file lists them: each once, in the order of their numbers. There may be
//! millions, and a report shows a few, so there is no table to find a number by its name as an
//! [`crate::Interner`] has it: it would take most of the time of loading them. That no name is
//! there twice is seen in the end, by sorting, which needs no look-ups all over the memory either.

use crate::interner::Key;

/// Names, numbered in their order.
#[derive(Clone, Default)]
pub(crate) struct Listed {
    /// The end of each name in `text`; a name starts where the one before ends.
    ends: Vec<u64>,
    text: Vec<u8>,
}

impl Listed {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn name(&self, id: u32) -> &[u8] {
        let i = id as usize;
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.text[start as usize..self.ends[i] as usize]
    }

    fn names(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len() as u32).map(|id| self.name(id))
    }

    /// Looks at one name after the other.
    pub(crate) fn find(&self, name: &[u8]) -> Option<u32> {
        self.names().position(|other| other == name).map(|id| id as u32)
    }

    pub(crate) fn add(&mut self, name: &[u8]) {
        self.text.extend_from_slice(name);
        self.ends.push(self.text.len() as u64);
    }

    /// Whether no name is there twice. Different names seldom have the same hash; only then they
    /// are compared themselves.
    pub(crate) fn are_different(&self) -> bool {
        let mut hashes: Vec<u64> = self.names().map(|name| Key::new(name).hash()).collect();
        all_differ(&mut hashes) || all_differ(&mut self.names().collect::<Vec<_>>())
    }
}

fn all_differ<T: Ord>(all: &mut [T]) -> bool {
    all.sort_unstable();
    all.array_windows().all(|[a, b]| a != b)
}

impl std::fmt::Debug for Listed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Listed({} names)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_compared() {
        let mut names = Listed::default();
        let text = |i: u32| format!("a.long.name.of.a.Variable.{}", i * 7);
        (0..500).for_each(|i| names.add(text(i).as_bytes()));
        names.add(b"");
        assert_eq!(names.find(text(300).as_bytes()), Some(300));
        assert_eq!((names.len(), names.find(b"x"), names.name(500)), (501, None, &b""[..]));
        assert!(names.are_different());
        names.add(text(300).as_bytes());
        assert!(!names.are_different());
    }
}
