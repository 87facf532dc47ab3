//! Conflict freedom, one half of determinism (SingleTrack, Sadowski, Freund and Flanagan 2009):
//! threads of one transaction must not depend on how they are scheduled against each other.
//!
//! A transaction is an outermost block with all events of the threads that are forked in it,
//! transitively, even after the block's end. Two events of different threads of one transaction
//! conflict when they
//! - access one variable, plainly or atomically, and not both only read;
//! - are an acquire or release, and a later acquire, of one lock, and not both are shared;
//! - are two posts, or two takes, of one semaphore.
//!
//! They must be ordered *inside the transaction*: by program order, fork, join, barrier rounds and
//! posts before takes, where all events on the path belong to the transaction. Locks and atomic
//! variables order nothing here: the scheduler decides which thread comes first.
//!
//! This is FastTrack with the clocks of a transaction (see `engine::history`): variables are
//! treated as there; an acquire and its release count as writes or, if shared, as reads. For each
//! object and transaction the first conflict is found exactly.
//!
//! The rules of the paper's Figure 4, read literally, are wrong in two respects. A `begin` resets
//! the clock of its thread, but other threads may still hold the clock's old time: here clocks
//! belong to a transaction, and a thread that enters another one takes part under another number.
//! And a join takes over the joined thread's clock, whatever transaction that is in: here only what
//! happens inside the transaction orders events, so nothing flows through threads outside.

mod members;
#[cfg(test)]
mod reference;
mod shelf;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;

use hashbrown::HashSet;
use paceline_trace::{
    BarrierId, Batch, Event, EventNo, IdCounts, LockId, Op, SemaphoreId, ThreadId, VarId, ops,
};

use crate::Analysis;
use crate::engine::clock::{Epoch, VectorClock};
use crate::engine::history::{AccessRecord, History, Lists, NO_THREAD};
use crate::engine::rounds::{Round, Rounds};
use crate::occurrence::{Block, Occurrence, Target};
use members::{Membership, SharedTxn, Transactions};
use shelf::Shelf;

/// Two events of one transaction whose order the scheduler decides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conflict {
    /// What they conflict on.
    pub target: Target,
    /// The earlier one.
    pub first: Occurrence,
    /// The later one.
    pub second: Occurrence,
    /// The outermost block that holds both: the transaction.
    pub transaction: Block,
    /// The blocks that hold both, and in which no conflict has been found before; outermost first.
    pub blocks: Vec<Block>,
}

/// For each transaction, what its threads knew that entered a round of a barrier.
#[derive(Default)]
struct RoundClocks {
    /// Entries without a transaction are free.
    clocks: Vec<(Option<SharedTxn>, VectorClock)>,
}

/// Something that accesses can conflict on.
#[derive(Clone, Copy)]
struct Object {
    shelf: ShelfOf,
    index: usize,
    target: Target,
}

/// Posts and takes of a semaphore conflict among themselves, so they are two objects.
#[derive(Clone, Copy)]
enum ShelfOf {
    Vars,
    Locks,
    Posts,
    Takes,
}

fn var(var: VarId) -> Object {
    Object { shelf: ShelfOf::Vars, index: var.index(), target: Target::Var(var) }
}

fn lock(lock: LockId) -> Object {
    Object { shelf: ShelfOf::Locks, index: lock.index(), target: Target::Lock(lock) }
}

fn semaphore(shelf: ShelfOf, semaphore: SemaphoreId) -> Object {
    Object { shelf, index: semaphore.index(), target: Target::Semaphore(semaphore) }
}

/// An event of a thread that is in a transaction with several threads.
#[derive(Clone, Copy)]
struct MemberEvent {
    thread: ThreadId,
    membership: Membership,
    access: AccessRecord,
}

/// Checks all transactions for conflict freedom.
#[derive(Default)]
pub struct ConflictFreedom {
    transactions: Transactions,
    /// By [`ShelfOf`].
    histories: [Shelf<History>; 4],
    lists: Lists,
    /// What the threads that have posted knew.
    posted: Shelf<VectorClock>,
    rounds: Rounds,
    entered: Vec<RoundClocks>,
    /// The `begin` events of blocks with conflicts.
    violated: HashSet<EventNo>,
    conflicts: Vec<Conflict>,
}

impl ConflictFreedom {
    /// Conflicts in the order of their second events. If there are none after the whole trace, it
    /// is conflict-free. Each names at least one block that no other names. The first conflict of
    /// every transaction is among them. A nested block may be missing if all its conflicts are
    /// about objects that already had a conflict in the transaction: these are not followed any
    /// further.
    pub fn conflicts(&self) -> &[Conflict] {
        &self.conflicts
    }

    fn reserve(&mut self, counts: &IdCounts) {
        assert!(counts.threads < NO_THREAD, "fewer than {NO_THREAD} threads");
        self.transactions.reserve(counts.threads);
    }

    #[inline]
    fn event(&mut self, number: EventNo, event: &Event) {
        let thread = event.thread;
        match event.op {
            Op::Begin(label) => self.transactions.begin(thread, label, event.site, number),
            Op::End(_) => self.transactions.end(thread, number),
            Op::Fork(child) => self.transactions.fork(thread, child, number),
            Op::Join(child) => self.transactions.join(thread, child, number),
            Op::BarrierEnter(barrier) => self.enter(barrier, thread, number),
            Op::BarrierExit(barrier) => self.exit(barrier, thread),
            Op::Yield | Op::Notify(_) => {}
            ops!(Access | Semaphore)
            | Op::Acquire(_)
            | Op::Release(_)
            | Op::AcquireShared(_)
            | Op::ReleaseShared(_)
            | Op::PreWait(_)
            | Op::PostWait(_) => {
                if let Some(membership) = self.transactions.thread(thread).membership {
                    let epoch = Epoch::new(membership.number, number);
                    let access = AccessRecord { epoch, site: event.site, kind: event.op.kind() };
                    self.member_event(event.op, MemberEvent { thread, membership, access });
                }
            }
        }
    }

    /// A release counts like its acquire. It cannot be the second of two events that conflict:
    /// other threads had released the lock before the acquire; or, if that was before the
    /// transaction had other threads, they have not touched the lock yet.
    fn member_event(&mut self, op: Op, event: MemberEvent) {
        match op {
            Op::Read(x) | Op::AtomicRead(x) => self.shared(var(x), event),
            Op::Write(x) | Op::AtomicWrite(x) | Op::AtomicUpdate(x) => {
                self.exclusive(var(x), event);
            }
            Op::Acquire(l) | Op::PostWait(l) | Op::Release(l) | Op::PreWait(l) => {
                self.exclusive(lock(l), event);
            }
            Op::AcquireShared(l) | Op::ReleaseShared(l) => self.shared(lock(l), event),
            Op::Post(s) => self.post(s, event),
            Op::Take(s) => self.take(s, event),
            ops!(Block | Thread | Barrier) | Op::Yield | Op::Notify(_) => {}
        }
    }

    fn shared(&mut self, object: Object, event: MemberEvent) {
        let history = self.histories[object.shelf as usize].get(
            object.index,
            event.membership.txn,
            &self.transactions,
            |mut old| old.forget_shared(&mut self.lists),
        );
        if history.is_shared_since(event.membership.start) || history.is_closed() {
            return;
        }
        let clock = &self.transactions.thread(event.thread).clock;
        match history.unordered_exclusive(event.membership.number, clock) {
            Some(first) => {
                history.close(&mut self.lists);
                self.report(object.target, first, event);
            }
            None => history.share(event.access, clock, &mut self.lists),
        }
    }

    fn exclusive(&mut self, object: Object, event: MemberEvent) {
        let history = self.histories[object.shelf as usize].get(
            object.index,
            event.membership.txn,
            &self.transactions,
            |mut old| old.forget_shared(&mut self.lists),
        );
        if history.is_exclusive_since(event.membership.start) || history.is_closed() {
            return;
        }
        let clock = &self.transactions.thread(event.thread).clock;
        let member = event.membership.number;
        let unordered = history
            .unordered_exclusive(member, clock)
            .or_else(|| history.unordered_shared(member, clock, &self.lists));
        match unordered {
            Some(first) => {
                history.close(&mut self.lists);
                self.report(object.target, first, event);
            }
            None => history.exclude(event.access, &mut self.lists),
        }
    }

    fn post(&mut self, s: SemaphoreId, event: MemberEvent) {
        self.exclusive(semaphore(ShelfOf::Posts, s), event);
        self.transactions.publish(event.thread, event.access.epoch.number());
        let posted = self.posted.get(s.index(), event.membership.txn, &self.transactions, drop);
        posted.join(&self.transactions.thread(event.thread).clock);
    }

    /// An earlier take may be ordered by a post that this one takes, so learning comes first.
    fn take(&mut self, s: SemaphoreId, event: MemberEvent) {
        let posted = self.posted.get(s.index(), event.membership.txn, &self.transactions, drop);
        self.transactions.clock(event.thread).join(posted);
        self.exclusive(semaphore(ShelfOf::Takes, s), event);
    }

    /// All threads take part in the rounds, but order flows inside a transaction only.
    fn enter(&mut self, barrier: BarrierId, thread: ThreadId, number: EventNo) {
        let round = self.rounds.enter(barrier, thread);
        let entered = entered(&mut self.entered, round);
        if let Some(Membership { txn, .. }) = self.transactions.thread(thread).membership {
            entered.of(txn).join(self.transactions.publish(thread, number));
        }
    }

    fn exit(&mut self, barrier: BarrierId, thread: ThreadId) {
        let round = self.rounds.exit(barrier, thread);
        let entered = entered(&mut self.entered, round);
        if let Some(Membership { txn, .. }) = self.transactions.thread(thread).membership {
            self.transactions.clock(thread).join(entered.of(txn));
        }
    }

    #[cold]
    fn report(&mut self, target: Target, first: AccessRecord, event: MemberEvent) {
        let thread = self.transactions.member(event.membership.txn, first.epoch.thread());
        let number = first.epoch.number();
        let mut blocks = self.transactions.common_blocks(event.thread, thread, number);
        let Some(&transaction) = blocks.first() else { return };
        blocks.retain(|block| self.violated.insert(block.begin));
        if !blocks.is_empty() {
            let (first, second) = (first.by(thread), event.access.by(event.thread));
            self.conflicts.push(Conflict { target, first, second, transaction, blocks });
        }
    }
}

/// What the threads that entered the round knew.
fn entered(clocks: &mut Vec<RoundClocks>, round: Round) -> &mut RoundClocks {
    if clocks.len() <= round.slot {
        clocks.resize_with(round.slot + 1, RoundClocks::default);
    }
    let entered = &mut clocks[round.slot];
    if round.fresh {
        entered.clocks.iter_mut().for_each(|(txn, _)| *txn = None);
    }
    entered
}

impl RoundClocks {
    fn of(&mut self, txn: SharedTxn) -> &mut VectorClock {
        let known = self.clocks.iter().position(|(t, _)| *t == Some(txn));
        let at = known.unwrap_or_else(|| self.start(txn));
        &mut self.clocks[at].1
    }

    fn start(&mut self, txn: SharedTxn) -> usize {
        let unused = self.clocks.iter().position(|(t, _)| t.is_none());
        let at = unused.unwrap_or(self.clocks.len());
        if at == self.clocks.len() {
            self.clocks.push((None, VectorClock::default()));
        }
        self.clocks[at].0 = Some(txn);
        self.clocks[at].1.clear();
        at
    }
}

impl Analysis for ConflictFreedom {
    fn events(&mut self, batch: &Batch) -> ControlFlow<()> {
        self.reserve(&batch.counts);
        for (number, event) in (batch.first..).zip(&batch.events) {
            self.event(number, event);
        }
        ControlFlow::Continue(())
    }

    fn finish(&mut self) {}
}
