//! Which transaction is a thread in, and which blocks is an event in?
//!
//! Only transactions with several threads are kept: until a block forks, it has one thread, which
//! cannot conflict with itself; and all that it did until then is ordered before the fork, hence
//! before everything that the other threads of the transaction ever do. So a transaction is made
//! at its first fork, and a block that never forks costs nothing.
//!
//! Threads are numbered within their transaction, so that clocks are as long as the transaction
//! has threads, however many the trace has.
//!
//! A transaction is one outermost block, but a finding should name the nested blocks that are
//! violated as well: those that hold both events. A block holds what its thread does in it, and
//! all that threads do which are forked in it. Blocks are noted down (a [`Node`]) when they fork;
//! the others need not be known by anybody but their own thread.

use paceline_trace::{EventNo, LabelId, Site, ThreadId};

use crate::engine::clock::{Epoch, VectorClock, pair};
use crate::occurrence::Block;

/// A transaction with several threads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Txn(u32);

/// A block that has forked, by its place in the list of all of them.
type NodeId = u32;

struct Node {
    block: Block,
    /// The last event of the block; `EventNo::MAX` while it runs.
    end: EventNo,
    parent: Option<NodeId>,
}

/// A block that runs.
struct Open {
    block: Block,
    node: Option<NodeId>,
}

/// A thread of the trace.
#[derive(Default)]
pub(super) struct Thread {
    /// The blocks that it runs, outermost first.
    open: Vec<Open>,
    /// The innermost block that it was forked in.
    origin: Option<NodeId>,
    /// Where it is now, if that is a transaction with several threads.
    pub place: Option<Place>,
    /// What it knows of the other threads of its transaction.
    pub clock: VectorClock,
    joined: bool,
}

/// A thread's place in its transaction.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub txn: Txn,
    /// The thread's number in the transaction.
    pub member: usize,
    /// Its first event that it has told no other thread about.
    pub start: Epoch,
}

struct Members {
    threads: Vec<ThreadId>,
    /// How many of them may still act in the transaction.
    alive: usize,
    /// What the first thread knew when it left the transaction: the others may still join it.
    left: Option<VectorClock>,
}

/// All threads, blocks and transactions.
#[derive(Default)]
pub(super) struct Transactions {
    threads: Vec<Thread>,
    nodes: Vec<Node>,
    members: Vec<Members>,
}

impl Transactions {
    pub fn reserve(&mut self, threads: usize) {
        if self.threads.len() < threads {
            self.threads.resize_with(threads, Thread::default);
        }
    }

    #[inline(always)]
    pub fn thread(&self, thread: ThreadId) -> &Thread {
        &self.threads[thread.index()]
    }

    #[inline(always)]
    pub fn clock(&mut self, thread: ThreadId) -> &mut VectorClock {
        &mut self.threads[thread.index()].clock
    }

    /// Whether some thread may still act in the transaction.
    pub fn is_alive(&self, txn: Txn) -> bool {
        self.members[txn.0 as usize].alive > 0
    }

    /// The thread that is number `member` in the transaction.
    pub fn member(&self, txn: Txn, member: usize) -> ThreadId {
        self.members[txn.0 as usize].threads[member]
    }

    pub fn begin(&mut self, thread: ThreadId, label: LabelId, site: Site, number: EventNo) {
        let block = Block { begin: number, thread, label, site };
        self.threads[thread.index()].open.push(Open { block, node: None });
    }

    pub fn end(&mut self, thread: ThreadId, number: EventNo) {
        let state = &mut self.threads[thread.index()];
        let ended = state.open.pop();
        if let Some(node) = ended.and_then(|open| open.node) {
            self.nodes[node as usize].end = number;
        }
        // A thread that was forked in a transaction stays there.
        if state.open.is_empty()
            && state.origin.is_none()
            && let Some(place) = state.place.take()
        {
            let clock = std::mem::take(&mut state.clock);
            self.members[place.txn.0 as usize].left = Some(clock);
            self.leave(place.txn);
        }
    }

    /// The thread makes known all that it did up to event `number`.
    pub fn tell(&mut self, thread: ThreadId, number: EventNo) -> &VectorClock {
        let state = &mut self.threads[thread.index()];
        if let Some(place) = &mut state.place {
            state.clock.advance(place.member, number);
            place.start = Epoch::new(place.member, number + 1);
        }
        &state.clock
    }

    pub fn fork(&mut self, thread: ThreadId, child: ThreadId, number: EventNo) {
        let Some(origin) = self.note_blocks(thread) else { return };
        let txn = match self.thread(thread).place {
            Some(place) => place.txn,
            None => self.start(thread, number),
        };
        self.tell(thread, number);
        let place = self.enter(txn, child, number);
        let (parent, state) = pair(&mut self.threads, thread.index(), child.index());
        state.clock.assign(&parent.clock);
        state.place = Some(place);
        state.origin = Some(origin);
    }

    /// Only what the child did in the thread's own transaction matters.
    pub fn join(&mut self, thread: ThreadId, child: ThreadId, number: EventNo) {
        let theirs = self.thread(child).place;
        if let Some(mine) = self.thread(thread).place {
            let members = &self.members[mine.txn.0 as usize];
            if let Some(theirs) = theirs.filter(|theirs| theirs.txn == mine.txn) {
                let (from, to) = pair(&mut self.threads, child.index(), thread.index());
                to.clock.join(&from.clock);
                to.clock.advance(theirs.member, number);
            } else if let Some(left) = members.left.as_ref().filter(|_| members.threads[0] == child)
            {
                let clock = &mut self.threads[thread.index()].clock;
                clock.join(left);
                clock.advance(0, number);
            }
        }
        self.bury(child);
    }

    fn bury(&mut self, thread: ThreadId) {
        let state = &mut self.threads[thread.index()];
        if !std::mem::replace(&mut state.joined, true)
            && let Some(place) = state.place
        {
            self.leave(place.txn);
        }
    }

    /// One thread less can act in the transaction; without any, nobody asks for it any more.
    fn leave(&mut self, txn: Txn) {
        let members = &mut self.members[txn.0 as usize];
        members.alive -= 1;
        if members.alive == 0 {
            *members = Members { threads: Vec::new(), alive: 0, left: None };
        }
    }

    /// A transaction whose only thread, up to now, is `root`.
    fn start(&mut self, root: ThreadId, number: EventNo) -> Txn {
        let txn = Txn(self.members.len() as u32);
        self.members.push(Members { threads: Vec::new(), alive: 0, left: None });
        self.threads[root.index()].place = Some(self.enter(txn, root, number));
        txn
    }

    fn enter(&mut self, txn: Txn, thread: ThreadId, number: EventNo) -> Place {
        let members = &mut self.members[txn.0 as usize];
        let member = members.threads.len();
        members.threads.push(thread);
        members.alive += 1;
        Place { txn, member, start: Epoch::new(member, number) }
    }

    /// Notes the blocks that `thread` is in, and returns the innermost.
    fn note_blocks(&mut self, thread: ThreadId) -> Option<NodeId> {
        let state = &mut self.threads[thread.index()];
        let mut innermost = state.origin;
        for open in &mut state.open {
            let parent = innermost;
            innermost = Some(*open.node.get_or_insert_with(|| {
                self.nodes.push(Node { block: open.block, end: EventNo::MAX, parent });
                (self.nodes.len() - 1) as NodeId
            }));
        }
        innermost
    }

    /// The blocks that hold both what `later` does now and the event `number` of `earlier`,
    /// outermost first.
    pub fn common_blocks(
        &mut self,
        later: ThreadId,
        earlier: ThreadId,
        number: EventNo,
    ) -> Vec<Block> {
        let innermost = self.note_blocks(later);
        let mut blocks: Vec<Block> = self
            .ancestors(innermost)
            .filter(|&node| self.holds(node, earlier, number))
            .map(|node| self.nodes[node as usize].block)
            .collect();
        blocks.reverse();
        blocks
    }

    fn holds(&self, node: NodeId, thread: ThreadId, number: EventNo) -> bool {
        let Node { block, end, .. } = &self.nodes[node as usize];
        block.thread == thread && (block.begin..=*end).contains(&number)
            || self.ancestors(self.thread(thread).origin).any(|n| n == node)
    }

    fn ancestors(&self, innermost: Option<NodeId>) -> impl Iterator<Item = NodeId> {
        std::iter::successors(innermost, |&node| self.nodes[node as usize].parent)
    }
}
