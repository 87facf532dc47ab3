//! What is kept of the accesses to one variable: the last writer and the readers since.
//!
//! It is small, because variables are most of what has to stay in the cache: 16 bytes, with two
//! readers, since most variables never have more that matter. Both readers are in one word, so
//! that one operation checks both.

use std::hint::select_unpredictable;

use crate::engine::precedence::Node;

/// The accesses that a later one can conflict with.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub struct Variable {
    /// The first reader in the lower half, the second or a [`LIST`] in the upper half.
    readers: u64,
    pub writer: Node,
}

const _: () = assert!(size_of::<Variable>() == 16);

/// Which of the two readers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReaderSlot {
    First,
    Second,
}

impl ReaderSlot {
    /// Both slots.
    pub const BOTH: [ReaderSlot; 2] = [ReaderSlot::First, ReaderSlot::Second];

    /// The position of its lowest bit in the word.
    #[inline(always)]
    fn shift(self) -> u32 {
        32 * self as u32
    }
}

/// Marks, where a node is expected, the number of a list of further readers. As a node it would be
/// younger than all others, so it always seems to matter.
const LIST: u32 = 1 << 30;

/// Nodes have lower numbers than this.
pub const MOST_NODES: usize = LIST as usize;

/// One in both halves.
const BOTH: u64 = 1 << 32 | 1;

/// All of the lower half.
const LOWER: u64 = u32::MAX as u64;

/// The highest bit of both halves, which neither nodes nor lists use.
const HIGH: u64 = BOTH << 31;

impl Variable {
    /// Without any access so far.
    pub const UNTOUCHED: Variable = Variable { readers: 0, writer: Node::DEAD };

    /// Records an access of `node`, unless an earlier access may matter to it: then nothing is
    /// changed, and false returned. Nothing older than `horizon` matters.
    ///
    /// Reads and writes, the first and the second reader all take the same path, and one branch
    /// serves for all reasons to refuse: an unpredictable branch costs more than the arithmetic.
    #[inline(always)]
    pub fn access(
        &mut self,
        writes: bool,
        node: Node,
        horizon: Node,
        is_retired: impl Fn(Node) -> bool,
    ) -> bool {
        let occupied = self.occupied(node, horizon);
        // A read needs a slot that is not occupied; a write conflicts with either reader.
        let refused = occupied >= select_unpredictable(writes, 1, HIGH);
        let writer = self.writer;
        if refused | ((writer >= horizon) & (writer != node) & !is_retired(writer)) {
            return false;
        }
        // A write leaves no readers.
        self.readers = select_unpredictable(writes, 0, self.with_reader(node, occupied));
        self.writer = select_unpredictable(writes, node, self.writer);
        true
    }

    /// Records a reader if there is room. Nothing older than `horizon` matters.
    #[inline(always)]
    pub fn read(&mut self, node: Node, horizon: Node) -> bool {
        let occupied = self.occupied(node, horizon);
        self.readers =
            select_unpredictable(occupied < HIGH, self.with_reader(node, occupied), self.readers);
        occupied < HIGH
    }

    /// Records the writer, and no readers.
    #[inline(always)]
    pub fn write(&mut self, node: Node) {
        (self.writer, self.readers) = (node, 0);
    }

    /// For each slot whose reader matters to `node`, the highest bit of its half.
    #[inline(always)]
    fn occupied(&self, node: Node, horizon: Node) -> u64 {
        let younger = (self.readers | HIGH).wrapping_sub(u64::from(horizon.0) * BOTH);
        let other = (self.readers ^ (u64::from(node.0) * BOTH) | HIGH).wrapping_sub(BOTH);
        younger & other & HIGH
    }

    /// The readers, with `node` in the first slot that is not occupied.
    #[inline(always)]
    fn with_reader(&self, node: Node, occupied: u64) -> u64 {
        let kept = select_unpredictable(occupied as u32 == 0, LOWER << 32, LOWER);
        (self.readers & kept) | ((u64::from(node.0) * BOTH) & !kept)
    }

    /// One of the readers.
    #[inline(always)]
    pub fn reader(&self, slot: ReaderSlot) -> Node {
        Node((self.readers >> slot.shift()) as u32)
    }

    /// Puts a reader into a slot.
    #[inline(always)]
    pub fn set_reader(&mut self, slot: ReaderSlot, node: Node) {
        let shift = slot.shift();
        self.readers = (self.readers & !(LOWER << shift)) | u64::from(node.0) << shift;
    }

    /// The list in the second slot, if there is one.
    #[inline(always)]
    pub fn list(&self) -> Option<usize> {
        let Node(last) = self.reader(ReaderSlot::Second);
        (last >= LIST).then_some((last ^ LIST) as usize)
    }

    /// Puts a list into the second slot.
    pub fn set_list(&mut self, list: u32) {
        self.set_reader(ReaderSlot::Second, Node(list | LIST));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the arithmetic must come to, case by case.
    fn expected(before: Variable, writes: bool, node: Node, horizon: Node) -> Option<Variable> {
        let matters = |other: Node| other >= horizon && other != node;
        let occupied = ReaderSlot::BOTH.map(|slot| matters(before.reader(slot)));
        let mut after = before;
        match (writes, occupied) {
            _ if matters(before.writer) => return None,
            (true, [true, _] | [_, true]) | (false, [true, true]) => return None,
            (true, [false, false]) => (after.writer, after.readers) = (node, 0),
            (false, [false, _]) => after.set_reader(ReaderSlot::First, node),
            (false, [true, false]) => after.set_reader(ReaderSlot::Second, node),
        }
        Some(after)
    }

    #[test]
    fn an_access_is_recorded_unless_an_earlier_one_matters() {
        let nodes = [Node::DEAD, Node(4), Node(5), Node(6), Node(LIST - 1)];
        let readers = [Node::DEAD, Node(4), Node(5), Node(6), Node(LIST), Node(LIST | 7)];
        for (writer, first, second) in
            nodes.iter().flat_map(|w| nodes.iter().flat_map(move |f| readers.map(|s| (*w, *f, s))))
        {
            let mut before = Variable { writer, ..Variable::UNTOUCHED };
            before.set_reader(ReaderSlot::First, first);
            before.set_reader(ReaderSlot::Second, second);
            for (writes, node, horizon) in [true, false].into_iter().flat_map(|writes| {
                nodes.into_iter().flat_map(move |n| nodes.map(|horizon| (writes, n, horizon)))
            }) {
                let mut after = before;
                let passed = after.access(writes, node, horizon, |_| false);
                let expected = expected(before, writes, node, horizon);
                assert_eq!(passed, expected.is_some());
                let Variable { readers, writer } = expected.unwrap_or(before);
                assert_eq!((after.readers, after.writer), (readers, writer));
            }
        }
    }

    #[test]
    fn a_retired_writer_does_not_matter() {
        let mut variable = Variable { writer: Node(9), ..Variable::UNTOUCHED };
        assert!(!variable.access(false, Node(10), Node(3), |_| false));
        assert!(variable.access(false, Node(10), Node(3), |writer| writer == Node(9)));
        assert_eq!(variable.reader(ReaderSlot::First), Node(10));
    }

    #[test]
    fn a_list_is_in_the_second_slot() {
        let mut variable = Variable::UNTOUCHED;
        variable.set_reader(ReaderSlot::First, Node(3));
        variable.set_list(12);
        assert_eq!((variable.list(), variable.reader(ReaderSlot::First)), (Some(12), Node(3)));
        variable.set_reader(ReaderSlot::Second, Node(4));
        assert_eq!(variable.list(), None);
    }
}
