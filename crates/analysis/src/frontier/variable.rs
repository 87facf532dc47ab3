//! What is kept of the accesses of one variable: the last writer and the readers since.
//!
//! It is small, because the variables are most of what has to stay in the cache: 16 bytes, with two
//! readers, as most variables never have more that matter. The two are in one word, so that one
//! operation looks at both.

use std::hint::select_unpredictable;

use crate::ancestors::Node;

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
        (self.readers & kept) | (u64::from(node.0) * BOTH & !kept)
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
