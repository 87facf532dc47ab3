//! What is kept of the accesses of one variable: the last writer and the readers since.
//!
//! It is small, because the variables are most of what has to stay in the cache: 16 bytes, with two
//! readers, as most variables never have more that matter. The two are in one word, so that one
//! operation looks at both.

use std::hint::select_unpredictable;

use crate::engine::ancestors::Node;

/// The accesses that a later one can be in conflict with.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub struct Variable {
    /// The first one in the lower half. Instead of the second one there may be a [`LIST`].
    readers: u64,
    pub writer: Node,
}

const _: () = assert!(size_of::<Variable>() == 16);

/// Which of the two readers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    First,
    Second,
}

impl Place {
    /// All there are.
    pub const BOTH: [Place; 2] = [Place::First, Place::Second];

    /// How far it is from the lower end of a word.
    #[inline(always)]
    fn shift(self) -> u32 {
        32 * self as u32
    }
}

/// Stands for a list of further readers, with its number, where a node is expected: it looks like one
/// that is younger than all others.
const LIST: u32 = 1 << 30;

/// Nodes have lower numbers than this.
pub const MOST_NODES: usize = LIST as usize;

/// One in both halves.
const BOTH: u64 = 1 << 32 | 1;

/// All of the lower half.
const LOWER: u64 = u32::MAX as u64;

/// The highest bit of both halves, which no node and no list has.
const HIGH: u64 = BOTH << 31;

impl Variable {
    /// Nobody was here.
    pub const UNTOUCHED: Variable = Variable { readers: 0, writer: Node::DEAD };

    /// Remembers an access of `node`, unless an earlier one may be of consequence to it:
    /// then nothing is done, and false returned. Nothing before `horizon` is of consequence.
    ///
    /// Reads and writes, of the first and of the second reader, all go the same way, and there is one
    /// branch for all reasons: what cannot be foretold costs more as a branch than as arithmetic.
    #[inline(always)]
    pub fn access(
        &mut self,
        writes: bool,
        node: Node,
        horizon: Node,
        is_gone: impl Fn(Node) -> bool,
    ) -> bool {
        let busy = self.busy(node, horizon);
        // A read has a place unless both are busy, a write is in conflict with either.
        let too_busy = busy >= select_unpredictable(writes, 1, HIGH);
        let writer = self.writer;
        if too_busy | ((writer >= horizon) & (writer != node) & !is_gone(writer)) {
            return false;
        }
        // A write leaves no readers.
        self.readers = select_unpredictable(writes, 0, self.with_reader(node, busy));
        self.writer = select_unpredictable(writes, node, self.writer);
        true
    }

    /// Remembers a reader, if there is room. Nothing before `horizon` is of consequence.
    #[inline(always)]
    pub fn read(&mut self, node: Node, horizon: Node) -> bool {
        let busy = self.busy(node, horizon);
        self.readers =
            select_unpredictable(busy < HIGH, self.with_reader(node, busy), self.readers);
        busy < HIGH
    }

    /// Remembers the writer, and no readers.
    #[inline(always)]
    pub fn write(&mut self, node: Node) {
        (self.writer, self.readers) = (node, 0);
    }

    /// The high bits of those readers that are of consequence.
    #[inline(always)]
    fn busy(&self, node: Node, horizon: Node) -> u64 {
        let younger = (self.readers | HIGH).wrapping_sub(u64::from(horizon.0) * BOTH);
        let other = (self.readers ^ (u64::from(node.0) * BOTH) | HIGH).wrapping_sub(BOTH);
        younger & other & HIGH
    }

    /// The readers, with another one in the first place that is not busy.
    #[inline(always)]
    fn with_reader(&self, node: Node, busy: u64) -> u64 {
        let kept = select_unpredictable(busy as u32 == 0, LOWER << 32, LOWER);
        (self.readers & kept) | ((u64::from(node.0) * BOTH) & !kept)
    }

    /// One of the readers.
    #[inline(always)]
    pub fn reader(&self, place: Place) -> Node {
        Node((self.readers >> place.shift()) as u32)
    }

    /// Puts a reader into a place.
    #[inline(always)]
    pub fn set_reader(&mut self, place: Place, node: Node) {
        let place = place.shift();
        self.readers = (self.readers & !(LOWER << place)) | u64::from(node.0) << place;
    }

    /// The list that is in the second place, if one is.
    #[inline(always)]
    pub fn list(&self) -> Option<usize> {
        let Node(last) = self.reader(Place::Second);
        (last >= LIST).then_some((last ^ LIST) as usize)
    }

    /// Puts a list into the second place.
    pub fn set_list(&mut self, list: u32) {
        self.set_reader(Place::Second, Node(list | LIST));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the arithmetic must come to, told at length.
    fn expected(before: Variable, writes: bool, node: Node, horizon: Node) -> Option<Variable> {
        let matters = |other: Node| other >= horizon && other != node;
        let busy = Place::BOTH.map(|place| matters(before.reader(place)));
        let mut after = before;
        match (writes, busy) {
            _ if matters(before.writer) => return None,
            (true, [true, _] | [_, true]) | (false, [true, true]) => return None,
            (true, [false, false]) => (after.writer, after.readers) = (node, 0),
            (false, [false, _]) => after.set_reader(Place::First, node),
            (false, [true, false]) => after.set_reader(Place::Second, node),
        }
        Some(after)
    }

    #[test]
    fn an_access_is_remembered_unless_an_earlier_one_matters() {
        let nodes = [Node::DEAD, Node(4), Node(5), Node(6), Node(LIST - 1)];
        let readers = [Node::DEAD, Node(4), Node(5), Node(6), Node(LIST), Node(LIST | 7)];
        for (writer, first, second) in
            nodes.iter().flat_map(|w| nodes.iter().flat_map(move |f| readers.map(|s| (*w, *f, s))))
        {
            let mut before = Variable { writer, ..Variable::UNTOUCHED };
            before.set_reader(Place::First, first);
            before.set_reader(Place::Second, second);
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
    fn a_writer_that_is_gone_does_not_matter() {
        let mut variable = Variable { writer: Node(9), ..Variable::UNTOUCHED };
        assert!(!variable.access(false, Node(10), Node(3), |_| false));
        assert!(variable.access(false, Node(10), Node(3), |writer| writer == Node(9)));
        assert_eq!(variable.reader(Place::First), Node(10));
    }

    #[test]
    fn a_list_is_in_the_second_place() {
        let mut variable = Variable::UNTOUCHED;
        variable.set_reader(Place::First, Node(3));
        variable.set_list(12);
        assert_eq!((variable.list(), variable.reader(Place::First)), (Some(12), Node(3)));
        variable.set_reader(Place::Second, Node(4));
        assert_eq!(variable.list(), None);
    }
}
