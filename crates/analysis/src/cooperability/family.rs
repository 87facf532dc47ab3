//! A join that yields only to the joined thread: the paper's proposal for fork/join programs, which
//! need no yields then.
//!
//! # What it means
//! A join does not split its transaction. The *family* of a thread t, at an event, are the threads
//! that t has joined (by this event at the latest) and the families of those. They have ended, and
//! t has waited for them: what they did to each other and to t is what t asked for. So an event of
//! transaction D of thread t closes a cycle when D -> .. -> X -> .. -> D, with the event's edges,
//! for some transaction X of a thread that is *not* in the family of t. A path back to D through
//! family members only is no cycle. Before the join, the child is a stranger like any other; and
//! what precedes a child precedes the thread that joins it.
//!
//! In other words, the trace is equivalent to one in which threads are switched at yields and at
//! the end of threads, and at a join to members of the family only.
//!
//! # How it is decided
//! D may precede itself now, by paths through the family, so that alone says nothing. When D
//! precedes an event of D, one has to know whether a stranger X is on one of the paths, even if X
//! has finished since and is part of a class. Of each other thread x, only the first transaction
//! after D matters: the later ones happen after it, so if one of them is on the path, the first is.
//! These first transactions are *pinned*: the graph keeps treating them as running, so that all
//! sets mention them. There are never more of them than threads times running transactions, and
//! none in a fork/join program without yields:
//! - A transaction that ends is pinned if a running transaction precedes it that does not precede
//!   an earlier pinned one of its thread; and unpinned some time after that is no longer so.
//! - A child's transactions after D need no pin once D has joined the child: for D they are
//!   family, and for a transaction that precedes D, the path leads through D, whose thread is a
//!   stranger unless the child is family as well.

use hashbrown::HashSet;
use paceline_trace::ThreadId;

use super::Thread;
use crate::engine::ancestors::Ancestors;
use crate::engine::precedence::{Node, Precedence, Renumbering};
use crate::engine::slots::{SlotSet, SlotWords};

/// The joins so far, and the pinned transactions.
#[derive(Default)]
pub struct Family {
    /// For each thread, the threads that it has joined.
    joined: Vec<Vec<ThreadId>>,
    /// Per thread, in the order of time.
    pinned: Vec<Vec<Node>>,
    /// How many are pinned, and how many of them were needed at the last [`Family::prune`].
    count: usize,
    needed: usize,
}

/// This many may be pinned needlessly before it is worth checking all of them.
const FEW: usize = 8;

impl Family {
    /// Makes room for this many threads.
    pub fn reserve(&mut self, threads: usize) {
        self.joined.resize_with(threads, Vec::new);
        self.pinned.resize_with(threads, Vec::new);
    }

    /// Exchanges every pinned node.
    pub fn renumber(&mut self, new: &Renumbering) {
        self.pinned.iter_mut().flatten().for_each(|node| *node = new.of(*node));
    }

    /// `parent` joins `child`.
    pub fn join(&mut self, parent: ThreadId, child: ThreadId) {
        self.joined[parent.index()].push(child);
    }

    /// The members of a thread's family.
    fn of(&self, thread: ThreadId) -> HashSet<ThreadId> {
        let mut members = HashSet::new();
        let mut todo = vec![thread];
        while let Some(next) = todo.pop() {
            todo.extend(self.joined[next.index()].iter().filter(|&&child| members.insert(child)));
        }
        members
    }

    /// Pins a transaction that has just ended, until [`Family::prune`] finds it needless.
    pub(super) fn pin(&mut self, thread: ThreadId, node: Node) {
        self.pinned[thread.index()].push(node);
        self.count += 1;
    }

    /// Whether it is time for [`Family::prune`]. A needless pin does no harm, but takes a slot.
    pub(super) fn has_many_pinned(&self) -> bool {
        self.count > 2 * self.needed + FEW
    }

    /// Unpins what need not be pinned (any more).
    pub(super) fn prune<W: SlotWords>(&mut self, threads: &[Thread], graph: &mut Ancestors<W>) {
        let mut running = SlotSet::empty();
        for thread in threads.iter().filter(|t| t.current != Node::DEAD) {
            running.insert(graph.slot_of(thread.current));
        }
        for pinned in &mut self.pinned {
            let mut known = SlotSet::empty();
            pinned.retain(|&node| {
                let mut before = graph.before(node).clone();
                before.keep(&running);
                let needed = !before.is_within(&known);
                if needed {
                    known.add(&before);
                } else {
                    graph.end(node);
                }
                needed
            });
        }
        self.needed = self.pinned.iter().map(Vec::len).sum();
        self.count = self.needed;
    }

    /// Unpins the transactions of a child that happen after the transaction that has joined it.
    pub(super) fn release<W: SlotWords>(
        &mut self,
        child: ThreadId,
        joiner: Node,
        graph: &mut Ancestors<W>,
    ) {
        let slot = graph.slot_of(joiner);
        let pinned = &mut self.pinned[child.index()];
        let before = pinned.len();
        pinned.retain(|&node| {
            let stays = !graph.before(node).contains(slot);
            if !stays {
                graph.end(node);
            }
            stays
        });
        self.count -= before - pinned.len();
    }

    /// Whether a stranger is on a path from `current`, a transaction of `thread`, to a member of
    /// `set`, which is closed.
    pub(super) fn is_interfered<W: SlotWords>(
        &self,
        thread: ThreadId,
        current: Node,
        set: &SlotSet<W>,
        threads: &[Thread],
        graph: &Ancestors<W>,
    ) -> bool {
        let slot = graph.slot_of(current);
        let after_current = |node: Node| {
            node != current
                && set.contains(graph.slot_of(node))
                && graph.before(node).contains(slot)
        };
        let mut members = None;
        (0..threads.len()).any(|other| {
            let running = Some(threads[other].current).filter(|&node| node != Node::DEAD);
            let mut nodes = self.pinned[other].iter().copied().chain(running);
            nodes.any(after_current)
                && !members.get_or_insert_with(|| self.of(thread)).contains(&ThreadId(other as u32))
        })
    }
}
