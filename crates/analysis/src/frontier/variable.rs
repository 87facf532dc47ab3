//! What is kept of the accesses of one variable: the last writer and the readers since.
//!
//! It is small, because the variables are most of what has to stay in the cache: 16 bytes, with two
//! readers, as most variables never have more that matter. The two are in one word, so that one
//! operation looks at both.

use std::hint::select_unpredictable;

use paceline_trace::ThreadId;

use crate::ancestors::Node;

/// The accesses that a later one can be in conflict with.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub struct Variable {
    /// The first one in the lower half. Instead of the second one there may be a [`LIST`].
    readers: u64,
    pub writer: Node,
    /// Of the readers, the first one in the lower half.
    threads: u32,
}

const _: () = assert!(size_of::<Variable>() == 16);

/// Which of the two readers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    First,
    Second,
}

/// Stands for a list of further readers, with its number, where a node is expected: it looks like one
/// that is younger than all others.
const LIST: u32 = 1 << 30;

/// Nodes have lower numbers than this.
pub const MOST_NODES: usize = LIST as usize;

/// One in both halves.
const BOTH: u64 = 1 << 32 | 1;

/// The highest bit of both halves, which no node and no list has.
const HIGH: u64 = BOTH << 31;

impl Variable {
    /// Nobody was here.
    pub const UNTOUCHED: Variable = Variable { readers: 0, writer: Node::DEAD, threads: u32::MAX };

    /// Remembers an access of `thread` in `node`, unless an earlier one may be of consequence to it:
    /// then nothing is done, and false returned. Nothing before `horizon` is of consequence.
    ///
    /// Reads and writes, of the first and of the second reader, all go the same way, and there is one
    /// branch for all reasons: what cannot be foretold costs more as a branch than as arithmetic.
    #[inline(always)]
    pub fn access(&mut self, writes: bool, thread: Short, node: Node, horizon: Node) -> bool {
        // The high bit of a half says that the reader is of consequence.
        let younger = (self.readers | HIGH).wrapping_sub(u64::from(horizon.0) * BOTH);
        let other = (self.readers ^ (u64::from(node.0) * BOTH) | HIGH).wrapping_sub(BOTH);
        let busy = younger & other & HIGH;
        // A read has a place unless both are busy, a write is in conflict with either.
        let too_busy = busy >= select_unpredictable(writes, 1, HIGH);
        if too_busy | ((self.writer >= horizon) & (self.writer != node)) {
            return false;
        }
        let both = u64::from(node.0) * BOTH;
        let is_first = busy as u32 == 0;
        let kept = select_unpredictable(is_first, u64::from(u32::MAX) << 32, u64::from(u32::MAX));
        // A write leaves no readers.
        self.readers = select_unpredictable(writes, 0, (self.readers & kept) | (both & !kept));
        let kept = (kept >> 16) as u32;
        self.threads = (self.threads & kept) | (thread.both() & !kept);
        self.writer = select_unpredictable(writes, node, self.writer);
        true
    }

    /// One of the readers, and its thread.
    #[inline(always)]
    pub fn reader(&self, place: Place) -> (Node, Short) {
        match place {
            Place::First => (Node(self.readers as u32), Short(self.threads as u16)),
            Place::Second => {
                (Node((self.readers >> 32) as u32), Short((self.threads >> 16) as u16))
            }
        }
    }

    /// Puts a reader into a place.
    #[inline(always)]
    pub fn set_reader(&mut self, place: Place, node: Node, thread: Short) {
        let shift = 32 * place as u32;
        self.readers =
            (self.readers & !(u64::from(u32::MAX) << shift)) | u64::from(node.0) << shift;
        self.threads =
            (self.threads & !(0xffff << (shift / 2))) | u32::from(thread.0) << (shift / 2);
    }

    /// Forgets the readers.
    pub fn clear_readers(&mut self) {
        self.readers = 0;
    }

    /// The list that is in the second place, if one is.
    #[inline(always)]
    pub fn list(&self) -> Option<usize> {
        let (Node(last), _) = self.reader(Place::Second);
        (last >= LIST).then_some((last ^ LIST) as usize)
    }

    /// Puts a list into the second place.
    pub fn set_list(&mut self, list: u32) {
        self.set_reader(Place::Second, Node(list | LIST), Short::NOBODY);
    }
}

/// A thread, if its number is a short one. The others are nobody, and take what they did themselves
/// for what others did. That is only slower: it comes before what they do now anyway.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Short(u16);

impl Short {
    const NOBODY: Short = Short(u16::MAX);

    /// The short number of a thread.
    #[inline(always)]
    pub fn of(thread: ThreadId) -> Short {
        Short(thread.0.min(u32::from(u16::MAX)) as u16)
    }

    #[inline(always)]
    fn both(self) -> u32 {
        u32::from(self.0) * 0x1_0001
    }

    /// Nobody's number is that of no thread.
    pub fn long(self) -> ThreadId {
        ThreadId(if self == Short::NOBODY { u32::MAX } else { self.0.into() })
    }

    /// Whether it is this very thread.
    #[inline(always)]
    pub fn is(self, thread: Short) -> bool {
        (self == thread) & (thread != Short::NOBODY)
    }
}
