//! Which transaction is a thread in, and which blocks is an event in?
//!
//! Only transactions with several threads are kept: until a block forks, it has one thread, which
//! cannot conflict with itself; and all that it did until then is ordered before the fork, hence
//! before everything that the other threads of the transaction ever do. So a transaction is
//! created at its first fork, and a block that never forks costs nothing.
//!
//! Threads are numbered within their transaction, so that clocks are as long as the transaction
//! has threads, however many the trace has.
//!
//! A transaction is one outermost block, but a finding should name the nested blocks that are
//! violated as well: those that hold both events. A block holds what its thread does in it, and
//! everything that threads forked in it do. Blocks are recorded ([`ForkingBlock`]) when they fork;
//! the others matter to their own thread only.

use paceline_trace::{EventNo, LabelId, Site, ThreadId};

use crate::engine::clock::{Epoch, VectorClock, pair};
use crate::occurrence::Block;

/// A transaction with several threads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct SharedTxn(u32);

/// An index into the list of all blocks that have forked.
type BlockId = u32;

/// A block that has forked.
struct ForkingBlock {
    block: Block,
    /// The last event of the block; `EventNo::MAX` while it runs.
    end: EventNo,
    parent: Option<BlockId>,
}

/// A block that runs.
struct Open {
    block: Block,
    id: Option<BlockId>,
}

/// A thread of the trace.
#[derive(Default)]
pub(super) struct Thread {
    /// The blocks that it runs, outermost first.
    open: Vec<Open>,
    /// The innermost block that it was forked in.
    origin: Option<BlockId>,
    /// Its part in the transaction that it is in, if that has several threads.
    pub membership: Option<Membership>,
    /// What it knows of the other threads of its transaction.
    pub clock: VectorClock,
    joined: bool,
}

/// A thread as a member of a transaction.
#[derive(Clone, Copy)]
pub(super) struct Membership {
    pub txn: SharedTxn,
    /// The thread's number in the transaction.
    pub number: usize,
    /// Its first event since it last published its clock.
    pub start: Epoch,
}

struct Members {
    threads: Vec<ThreadId>,
    /// How many of them may still act in the transaction.
    alive: usize,
    /// What the first thread knew when it left the transaction: other threads may still join it.
    left: Option<VectorClock>,
}

/// All threads, blocks and transactions.
#[derive(Default)]
pub(super) struct Transactions {
    threads: Vec<Thread>,
    blocks: Vec<ForkingBlock>,
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
    pub fn is_alive(&self, txn: SharedTxn) -> bool {
        self.members[txn.0 as usize].alive > 0
    }

    /// The thread that is number `member` in the transaction.
    pub fn member(&self, txn: SharedTxn, member: usize) -> ThreadId {
        self.members[txn.0 as usize].threads[member]
    }

    pub fn begin(&mut self, thread: ThreadId, label: LabelId, site: Site, number: EventNo) {
        let block = Block { begin: number, thread, label, site };
        self.threads[thread.index()].open.push(Open { block, id: None });
    }

    pub fn end(&mut self, thread: ThreadId, number: EventNo) {
        let state = &mut self.threads[thread.index()];
        let ended = state.open.pop();
        if let Some(id) = ended.and_then(|open| open.id) {
            self.blocks[id as usize].end = number;
        }
        // A thread that was forked in a transaction stays there.
        if state.open.is_empty()
            && state.origin.is_none()
            && let Some(Membership { txn, .. }) = state.membership.take()
        {
            let clock = std::mem::take(&mut state.clock);
            self.members[txn.0 as usize].left = Some(clock);
            self.leave(txn);
        }
    }

    /// The thread's clock as of event `number`, for other members to learn from.
    pub fn publish(&mut self, thread: ThreadId, number: EventNo) -> &VectorClock {
        let state = &mut self.threads[thread.index()];
        if let Some(membership) = &mut state.membership {
            state.clock.advance(membership.number, number);
            membership.start = Epoch::new(membership.number, number + 1);
        }
        &state.clock
    }

    pub fn fork(&mut self, thread: ThreadId, child: ThreadId, number: EventNo) {
        let Some(origin) = self.record_blocks(thread) else { return };
        let txn = match self.thread(thread).membership {
            Some(membership) => membership.txn,
            None => self.start(thread, number),
        };
        self.publish(thread, number);
        let membership = self.enter(txn, child, number);
        let (parent, state) = pair(&mut self.threads, thread.index(), child.index());
        state.clock.assign(&parent.clock);
        state.membership = Some(membership);
        state.origin = Some(origin);
    }

    /// Only what the child did in the thread's own transaction matters.
    pub fn join(&mut self, thread: ThreadId, child: ThreadId, number: EventNo) {
        let theirs = self.thread(child).membership;
        if let Some(mine) = self.thread(thread).membership {
            let members = &self.members[mine.txn.0 as usize];
            if let Some(theirs) = theirs.filter(|theirs| theirs.txn == mine.txn) {
                let (from, to) = pair(&mut self.threads, child.index(), thread.index());
                to.clock.join(&from.clock);
                to.clock.advance(theirs.number, number);
            } else if let Some(left) = members.left.as_ref().filter(|_| members.threads[0] == child)
            {
                let clock = &mut self.threads[thread.index()].clock;
                clock.join(left);
                clock.advance(0, number);
            }
        }
        self.end_thread(child);
    }

    fn end_thread(&mut self, thread: ThreadId) {
        let state = &mut self.threads[thread.index()];
        if !std::mem::replace(&mut state.joined, true)
            && let Some(Membership { txn, .. }) = state.membership
        {
            self.leave(txn);
        }
    }

    /// One thread less can act in the transaction. Without any, it is never asked for again.
    fn leave(&mut self, txn: SharedTxn) {
        let members = &mut self.members[txn.0 as usize];
        members.alive -= 1;
        if members.alive == 0 {
            *members = Members { threads: Vec::new(), alive: 0, left: None };
        }
    }

    /// A transaction whose only thread, up to now, is `root`.
    fn start(&mut self, root: ThreadId, number: EventNo) -> SharedTxn {
        let txn = SharedTxn(self.members.len() as u32);
        self.members.push(Members { threads: Vec::new(), alive: 0, left: None });
        self.threads[root.index()].membership = Some(self.enter(txn, root, number));
        txn
    }

    fn enter(&mut self, txn: SharedTxn, thread: ThreadId, number: EventNo) -> Membership {
        let members = &mut self.members[txn.0 as usize];
        let member = members.threads.len();
        members.threads.push(thread);
        members.alive += 1;
        Membership { txn, number: member, start: Epoch::new(member, number) }
    }

    /// Records the blocks that `thread` is in, and returns the innermost.
    fn record_blocks(&mut self, thread: ThreadId) -> Option<BlockId> {
        let state = &mut self.threads[thread.index()];
        let mut innermost = state.origin;
        for open in &mut state.open {
            let parent = innermost;
            innermost = Some(*open.id.get_or_insert_with(|| {
                self.blocks.push(ForkingBlock { block: open.block, end: EventNo::MAX, parent });
                (self.blocks.len() - 1) as BlockId
            }));
        }
        innermost
    }

    /// The blocks that hold both the current event of `later` and event `number` of `earlier`,
    /// outermost first.
    pub fn common_blocks(
        &mut self,
        later: ThreadId,
        earlier: ThreadId,
        number: EventNo,
    ) -> Vec<Block> {
        let innermost = self.record_blocks(later);
        let mut blocks: Vec<Block> = self
            .ancestors(innermost)
            .filter(|&id| self.holds(id, earlier, number))
            .map(|id| self.blocks[id as usize].block)
            .collect();
        blocks.reverse();
        blocks
    }

    fn holds(&self, id: BlockId, thread: ThreadId, number: EventNo) -> bool {
        let ForkingBlock { block, end, .. } = &self.blocks[id as usize];
        block.thread == thread && (block.begin..=*end).contains(&number)
            || self.ancestors(self.thread(thread).origin).any(|ancestor| ancestor == id)
    }

    fn ancestors(&self, innermost: Option<BlockId>) -> impl Iterator<Item = BlockId> {
        std::iter::successors(innermost, |&id| self.blocks[id as usize].parent)
    }
}
