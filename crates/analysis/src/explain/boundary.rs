//! Which events make up a transaction, and which transactions run: what the search for a cycle
//! needs to know besides conflicts. For atomicity a transaction is an outermost block of one
//! thread; for determinism the threads that were forked inside belong to it as well. Every other
//! event is a transaction by itself.

use std::sync::{Arc, OnceLock};

use paceline_trace::{Event, EventNo, Op, ThreadId};

use super::{BlockRef, EventRef, TransactionRef};

/// What a transaction is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Boundaries {
    /// An outermost block.
    Blocks,
    /// An outermost block and the threads that were forked inside of it, until they are joined.
    BlocksWithThreads,
}

/// The owner of a transaction. It runs one transaction at a time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Owner {
    /// A thread.
    Thread(ThreadId),
    /// The threads inside of the block that begins here.
    Inside(EventNo),
}

/// A transaction that may turn out to lie on a cycle. All paths through it share it, so that its
/// end, which comes later, is known to all of them.
pub(super) struct TracedTxn {
    pub(super) first: EventRef,
    unary: bool,
    pub(super) end: OnceLock<EventRef>,
    /// Set instead of `end` when the trace is over.
    last_seen: OnceLock<EventRef>,
}

impl TracedTxn {
    pub(super) fn unary(at: EventRef) -> TracedTxn {
        TracedTxn { first: at, unary: true, end: OnceLock::from(at), last_seen: OnceLock::new() }
    }

    pub(super) fn block(first: EventRef) -> TracedTxn {
        TracedTxn { first, unary: false, end: OnceLock::new(), last_seen: OnceLock::new() }
    }

    pub(super) fn describe(&self) -> TransactionRef {
        let Event { thread, op, site } = self.first.event;
        let last = self.end.get().or(self.last_seen.get()).unwrap_or(&self.first);
        TransactionRef {
            thread,
            label: if let Op::Begin(label) = op { Some(label) } else { None },
            site,
            unary: self.unary,
            first_event: self.first.number,
            last_event: last.number,
            ended: self.end.get().is_some(),
        }
    }
}

#[derive(Default)]
struct Thread {
    /// The blocks that are open, outermost first.
    blocks: Vec<BlockRef>,
    /// The slot of the transaction that the thread is inside of.
    inside: Option<usize>,
    /// Whether the thread was forked inside of a transaction, so that it never leaves it.
    member: bool,
}

/// A block that is running.
struct RunningBlock {
    owner: Owner,
    first: EventRef,
    last: EventRef,
    /// Set when it was asked for.
    txn: Option<Arc<TracedTxn>>,
    /// Whether the block has not ended.
    open: bool,
    /// How many threads that were forked inside have not been joined.
    members: u32,
}

impl RunningBlock {
    fn new(owner: Owner, first: EventRef) -> RunningBlock {
        RunningBlock { owner, first, last: first, txn: None, open: true, members: 0 }
    }

    fn txn(&mut self) -> Arc<TracedTxn> {
        self.txn.get_or_insert_with(|| Arc::new(TracedTxn::block(self.first))).clone()
    }
}

/// The transaction of an event.
#[derive(Clone, Copy)]
pub(super) struct EventContext {
    /// The owner of its transaction.
    pub(super) owner: Owner,
    /// Whether its transaction starts here.
    pub(super) starts: bool,
    /// The slot of its block; none for an event outside every block.
    slot: Option<usize>,
}

/// The transactions of a trace, as far as it has been read.
pub(super) struct Transactions {
    boundaries: Boundaries,
    threads: Vec<Thread>,
    /// Slots for running blocks; those of ended ones are used again.
    blocks: Vec<Option<RunningBlock>>,
    free: Vec<usize>,
    /// The event since which some block has been running.
    pub(super) busy_since: EventNo,
}

impl Transactions {
    pub(super) fn new(boundaries: Boundaries) -> Transactions {
        let (threads, blocks, free) = (Vec::new(), Vec::new(), Vec::new());
        Transactions { boundaries, threads, blocks, free, busy_since: 0 }
    }

    /// Makes room for this many threads.
    pub(super) fn reserve(&mut self, threads: usize) {
        if self.threads.len() < threads {
            self.threads.resize_with(threads, Thread::default);
        }
    }

    /// Back to the start of the trace.
    pub(super) fn restart(&mut self) {
        *self = Transactions::new(self.boundaries);
    }

    /// Takes an event, before its effects on those that follow ([`Transactions::leave`]).
    pub(super) fn enter(&mut self, at: EventRef) -> EventContext {
        let Event { thread: id, op, site } = at.event;
        let thread = &mut self.threads[id.index()];
        let begins = if let Op::Begin(label) = op {
            thread.blocks.push(BlockRef { thread: id, label, site, begin_event: at.number });
            true
        } else {
            false
        };
        if let Some(running) = thread.inside.and_then(|slot| self.blocks[slot].as_mut()) {
            running.last = at;
            return EventContext { owner: running.owner, starts: false, slot: thread.inside };
        }
        if !begins {
            return EventContext { owner: Owner::Thread(id), starts: true, slot: None };
        }
        let owner = match self.boundaries {
            Boundaries::Blocks => Owner::Thread(id),
            Boundaries::BlocksWithThreads => Owner::Inside(at.number),
        };
        let slot = Some(self.start(RunningBlock::new(owner, at)));
        self.threads[id.index()].inside = slot;
        EventContext { owner, starts: true, slot }
    }

    fn start(&mut self, running: RunningBlock) -> usize {
        if self.free.len() == self.blocks.len() {
            self.busy_since = running.first.number;
        }
        let slot = self.free.pop().unwrap_or(self.blocks.len());
        if slot == self.blocks.len() {
            self.blocks.push(None);
        }
        self.blocks[slot] = Some(running);
        slot
    }

    /// Applies the effects of an event on those that follow.
    pub(super) fn leave(&mut self, at: EventRef) {
        let thread = &mut self.threads[at.event.thread.index()];
        if let Op::End(_) = at.event.op {
            thread.blocks.pop();
            if thread.blocks.is_empty() && !thread.member {
                let slot = thread.inside.take();
                self.change(slot, |running| running.open = false);
            }
        } else if self.boundaries == Boundaries::BlocksWithThreads {
            self.follow_threads(at.event);
        }
    }

    fn follow_threads(&mut self, event: Event) {
        if let Op::Fork(child) = event.op {
            let slot = self.threads[event.thread.index()].inside;
            let child = &mut self.threads[child.index()];
            (child.inside, child.member) = (slot, slot.is_some());
            self.change(slot, |running| running.members += 1);
        } else if let Op::Join(child) = event.op
            && self.threads[child.index()].member
        {
            let slot = self.threads[child.index()].inside.take();
            self.change(slot, |running| running.members -= 1);
        }
    }

    /// Changes a block, which is over if no thread is inside of it any more.
    fn change(&mut self, slot: Option<usize>, change: impl FnOnce(&mut RunningBlock)) {
        let Some(slot) = slot else { return };
        let Some(running) = &mut self.blocks[slot] else { return };
        change(running);
        if running.open || running.members > 0 {
            return;
        }
        if let Some(txn) = &running.txn {
            let _ = txn.end.set(running.last);
        }
        self.blocks[slot] = None;
        self.free.push(slot);
    }

    /// The transaction of an event that was just taken.
    pub(super) fn of(&mut self, context: EventContext, at: EventRef) -> Arc<TracedTxn> {
        match context.slot.and_then(|slot| self.blocks[slot].as_mut()) {
            Some(running) => running.txn(),
            None => Arc::new(TracedTxn::unary(at)),
        }
    }

    /// The block that began with this event, if it is still running.
    pub(super) fn still_running(&mut self, first: EventNo) -> Option<Arc<TracedTxn>> {
        let mut running = self.blocks.iter_mut().flatten();
        running.find(|r| r.first.number == first).map(RunningBlock::txn)
    }

    /// The enclosing blocks of an event that may be refuted, outermost first. Where threads share a
    /// transaction, that is its block only.
    pub(super) fn open_blocks(&self, context: EventContext) -> Vec<BlockRef> {
        match context.owner {
            Owner::Thread(thread) => self.threads[thread.index()].blocks.clone(),
            Owner::Inside(_) => {
                let running = context.slot.and_then(|slot| self.blocks[slot].as_ref());
                running.and_then(RunningBlock::block).into_iter().collect()
            }
        }
    }

    /// Whether the ends of all transactions that were asked for are known.
    pub(super) fn are_complete(&self) -> bool {
        self.blocks.iter().flatten().all(|running| running.txn.is_none())
    }

    /// The trace is over.
    pub(super) fn finish(&mut self) {
        for running in self.blocks.iter_mut().flatten() {
            if let Some(txn) = running.txn.take() {
                let _ = txn.last_seen.set(running.last);
            }
        }
    }
}

impl RunningBlock {
    fn block(&self) -> Option<BlockRef> {
        let Event { thread, op: Op::Begin(label), site } = self.first.event else { return None };
        Some(BlockRef { thread, label, site, begin_event: self.first.number })
    }
}
