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
//! posts before takes, where all events on the way belong to the transaction. Locks and atomic
//! variables order nothing here: who comes first is for the scheduler to say.
//!
//! This is FastTrack with the clocks of a transaction (see `history.rs`): a variable is what
//! it is there; an acquire and its release are writes or, if shared, reads. Per thing and transaction the first conflict is found exactly.
//!
//! The rules of the paper's Figure 4, read literally, are wrong in two places. A `begin` resets the
//! clock of its thread, but other threads may still have the clock's old time: here clocks belong to
//! a transaction, and a thread that enters another one takes part under another number. And a join
//! takes over the joined thread's clock, whatever transaction that is in: here only what
//! happens inside the transaction makes order, so nothing flows through threads outside.

mod members;
#[cfg(test)]
mod reference;
mod shelf;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;

use hashbrown::HashSet;
use paceline_trace::{
    BarrierId, Batch, Event, EventNo, IdCounts, LockId, Op, SemaphoreId, ThreadId, VarId,
};

use crate::Analysis;
use crate::engine::clock::{Epoch, VectorClock};
use crate::engine::history::{Access, History, Lists, NO_THREAD};
use crate::engine::rounds::{Round, Rounds};
use crate::occurrence::{Block, Occurrence, Target};
use members::{Place, Transactions, Txn};
use shelf::Shelf;

/// Two events of one transaction whose order the scheduler decides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conflict {
    /// What they are about.
    pub target: Target,
    /// The one that came first in the trace.
    pub first: Occurrence,
    /// The one that came second.
    pub second: Occurrence,
    /// The outermost block that holds both: the transaction.
    pub transaction: Block,
    /// The blocks that hold both, and in which no conflict has been found before; outermost first.
    pub blocks: Vec<Block>,
}

/// What those who entered a round of a barrier knew, for each of their transactions.
#[derive(Default)]
struct RoundClocks {
    /// Those without a transaction wait to be used again.
    clocks: Vec<(Option<Txn>, VectorClock)>,
}

/// Something that accesses can conflict on.
#[derive(Clone, Copy)]
struct Thing {
    shelf: ShelfOf,
    index: usize,
    target: Target,
}

/// Posts and takes of a semaphore conflict among themselves, so they are two things.
#[derive(Clone, Copy)]
enum ShelfOf {
    Vars,
    Locks,
    Posts,
    Takes,
}

fn var(var: VarId) -> Thing {
    Thing { shelf: ShelfOf::Vars, index: var.index(), target: Target::Var(var) }
}

fn lock(lock: LockId) -> Thing {
    Thing { shelf: ShelfOf::Locks, index: lock.index(), target: Target::Lock(lock) }
}

fn semaphore(shelf: ShelfOf, semaphore: SemaphoreId) -> Thing {
    Thing { shelf, index: semaphore.index(), target: Target::Semaphore(semaphore) }
}

/// An event of a thread that is in a transaction with several threads.
#[derive(Clone, Copy)]
struct Step {
    thread: ThreadId,
    place: Place,
    access: Access,
}

/// Checks all transactions for conflict freedom.
#[derive(Default)]
pub struct ConflictFreedom {
    transactions: Transactions,
    /// By [`ShelfOf`].
    histories: [Shelf<History>; 4],
    lists: Lists,
    /// What those who have posted knew.
    posted: Shelf<VectorClock>,
    rounds: Rounds,
    entered: Vec<RoundClocks>,
    /// The `begin` events of blocks with conflicts.
    violated: HashSet<EventNo>,
    conflicts: Vec<Conflict>,
}

impl ConflictFreedom {
    /// Conflicts in the order of their second events; empty after the whole trace: conflict-free.
    /// Each names at least one block that no other names. The first conflict of every transaction
    /// is among them. A nested block may be missing if all its conflicts are about things that had
    /// a conflict in the transaction before: these are not followed any further.
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
            Op::Read(_)
            | Op::Write(_)
            | Op::Acquire(_)
            | Op::Release(_)
            | Op::AcquireShared(_)
            | Op::ReleaseShared(_)
            | Op::PreWait(_)
            | Op::PostWait(_)
            | Op::AtomicRead(_)
            | Op::AtomicWrite(_)
            | Op::AtomicUpdate(_)
            | Op::Post(_)
            | Op::Take(_) => {
                if let Some(place) = self.transactions.thread(thread).place {
                    let epoch = Epoch::new(place.member, number);
                    let access = Access { epoch, site: event.site, kind: event.op.kind() };
                    self.step(event.op, Step { thread, place, access });
                }
            }
        }
    }

    /// A release counts like its acquire. It cannot be the second of two that conflict: others
    /// had to be done with the lock before the acquire; or, if that was before the transaction
    /// had other threads, they have not touched the lock yet.
    fn step(&mut self, op: Op, step: Step) {
        match op {
            Op::Read(x) | Op::AtomicRead(x) => self.shared(var(x), step),
            Op::Write(x) | Op::AtomicWrite(x) | Op::AtomicUpdate(x) => self.exclusive(var(x), step),
            Op::Acquire(l) | Op::PostWait(l) | Op::Release(l) | Op::PreWait(l) => {
                self.exclusive(lock(l), step);
            }
            Op::AcquireShared(l) | Op::ReleaseShared(l) => self.shared(lock(l), step),
            Op::Post(s) => self.post(s, step),
            Op::Take(s) => self.take(s, step),
            Op::Begin(_)
            | Op::End(_)
            | Op::Fork(_)
            | Op::Join(_)
            | Op::BarrierEnter(_)
            | Op::BarrierExit(_)
            | Op::Yield
            | Op::Notify(_) => {}
        }
    }

    fn shared(&mut self, thing: Thing, step: Step) {
        let history = self.histories[thing.shelf as usize].get(
            thing.index,
            step.place.txn,
            &self.transactions,
            |mut old| old.forget_shared(&mut self.lists),
        );
        if history.is_shared_since(step.place.start) || history.is_over() {
            return;
        }
        let clock = &self.transactions.thread(step.thread).clock;
        match history.unordered_exclusive(step.place.member, clock) {
            Some(first) => {
                history.close(&mut self.lists);
                self.report(thing.target, first, step);
            }
            None => history.share(step.access, clock, &mut self.lists),
        }
    }

    fn exclusive(&mut self, thing: Thing, step: Step) {
        let history = self.histories[thing.shelf as usize].get(
            thing.index,
            step.place.txn,
            &self.transactions,
            |mut old| old.forget_shared(&mut self.lists),
        );
        if history.is_exclusive_since(step.place.start) || history.is_over() {
            return;
        }
        let clock = &self.transactions.thread(step.thread).clock;
        let member = step.place.member;
        let unordered = history
            .unordered_exclusive(member, clock)
            .or_else(|| history.unordered_shared(member, clock, &self.lists));
        match unordered {
            Some(first) => {
                history.close(&mut self.lists);
                self.report(thing.target, first, step);
            }
            None => history.exclude(step.access, &mut self.lists),
        }
    }

    fn post(&mut self, s: SemaphoreId, step: Step) {
        self.exclusive(semaphore(ShelfOf::Posts, s), step);
        self.transactions.tell(step.thread, step.access.epoch.number());
        let posted = self.posted.get(s.index(), step.place.txn, &self.transactions, drop);
        posted.join(&self.transactions.thread(step.thread).clock);
    }

    /// An earlier take may be ordered by a post that this one takes, so learning comes first.
    fn take(&mut self, s: SemaphoreId, step: Step) {
        let posted = self.posted.get(s.index(), step.place.txn, &self.transactions, drop);
        self.transactions.clock(step.thread).join(posted);
        self.exclusive(semaphore(ShelfOf::Takes, s), step);
    }

    /// All threads take part in the rounds, but order flows inside a transaction only.
    fn enter(&mut self, barrier: BarrierId, thread: ThreadId, number: EventNo) {
        let round = self.rounds.enter(barrier, thread);
        let entered = entered(&mut self.entered, round);
        if let Some(place) = self.transactions.thread(thread).place {
            entered.of(place.txn).join(self.transactions.tell(thread, number));
        }
    }

    fn exit(&mut self, barrier: BarrierId, thread: ThreadId) {
        let round = self.rounds.exit(barrier, thread);
        let entered = entered(&mut self.entered, round);
        if let Some(place) = self.transactions.thread(thread).place {
            self.transactions.clock(thread).join(entered.of(place.txn));
        }
    }

    #[cold]
    fn report(&mut self, target: Target, first: Access, step: Step) {
        let thread = self.transactions.member(step.place.txn, first.epoch.thread());
        let number = first.epoch.number();
        let mut blocks = self.transactions.common_blocks(step.thread, thread, number);
        let Some(&transaction) = blocks.first() else { return };
        blocks.retain(|block| self.violated.insert(block.begin));
        if !blocks.is_empty() {
            let (first, second) = (first.by(thread), step.access.by(step.thread));
            self.conflicts.push(Conflict { target, first, second, transaction, blocks });
        }
    }
}

/// What those who entered the round knew.
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
    fn of(&mut self, txn: Txn) -> &mut VectorClock {
        let known = self.clocks.iter().position(|(t, _)| *t == Some(txn));
        let at = known.unwrap_or_else(|| self.start(txn));
        &mut self.clocks[at].1
    }

    fn start(&mut self, txn: Txn) -> usize {
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
