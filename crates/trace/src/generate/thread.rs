//! What a thread does when it has its turn.

use super::order::{Hold, Rank};
use super::{Generator, LABELS, SEMAPHORES, rng};
use crate::event::Op;
use crate::ids::{LabelId, LockId, SemaphoreId, VarId};

/// Something that a thread has opened and will close.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Item {
    Block(LabelId),
    Lock(LockId, Hold),
}

/// Whether a thread can act.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum State {
    #[default]
    Free,
    /// Between the halves of a wait.
    Waiting(LockId),
    /// Has entered the barrier and not left it.
    AtBarrier,
}

#[derive(Clone, Default)]
pub(super) struct Thread {
    pub(super) state: State,
    /// Shall come to the barrier as soon as it has nothing open.
    pub(super) called: bool,
    /// What is open, innermost last.
    pub(super) stack: Vec<Item>,
    /// How many blocks and locks are in it.
    pub(super) blocks: u32,
    locks: u32,
    /// The running transaction: its rank in the hidden order, where it starts in the stack, and
    /// how many events it still has.
    pub(super) rank: Rank,
    pub(super) base: usize,
    pub(super) left: u64,
    /// The variable of its last successful access.
    recent: u32,
}

impl Thread {
    pub(super) fn push(&mut self, item: Item) {
        self.stack.push(item);
        match item {
            Item::Block(_) => self.blocks += 1,
            Item::Lock(..) => self.locks += 1,
        }
    }

    fn pop(&mut self) {
        match self.stack.pop() {
            Some(Item::Block(_)) => self.blocks -= 1,
            Some(Item::Lock(..)) => self.locks -= 1,
            None => {}
        }
    }

    /// The rank of the running transaction; after all others when none runs.
    pub(super) fn running_rank(&self) -> Rank {
        if self.blocks > 0 { self.rank } else { Rank::MAX }
    }

    fn has(&self, lock: LockId) -> bool {
        self.stack.iter().any(|item| matches!(item, Item::Lock(held, _) if *held == lock))
    }
}

/// One throw of the dice for all choices of a turn: the low byte says what to do (in parts of
/// 256), the bytes above it how, the upper half which variable.
#[derive(Clone, Copy)]
struct Dice(u64);

impl Dice {
    const ACQUIRE: std::ops::Range<u8> = 0..24;
    const NEST: std::ops::Range<u8> = 24..40;
    const SEMAPHORE: std::ops::Range<u8> = 40..56;
    const WAIT: std::ops::Range<u8> = 56..64;
    const NOTIFY: std::ops::Range<u8> = 64..72;
    const CLOSE_LOCK: std::ops::Range<u8> = 72..136;
    const CLOSE_BLOCK: std::ops::Range<u8> = 72..96;
    /// Everything from here on is an access; it is tested first, because it is most of all.
    const ACCESS_FROM: u8 = 136;

    fn action(self) -> u8 {
        self.0 as u8
    }

    fn one_in(self, n: u64) -> bool {
        (self.0 >> 8 & 0xff).is_multiple_of(n)
    }

    /// Three accesses of eight are writes.
    #[inline(always)]
    fn writes(self) -> bool {
        self.0 >> 16 & 7 < 3
    }

    #[inline(always)]
    fn updates(self) -> bool {
        self.0 >> 19 & 1 == 0
    }
}

impl Generator {
    /// One event of this thread, if it can act.
    #[inline]
    pub(super) fn act(&mut self, thread: usize) -> Option<Op> {
        match self.threads[thread].state {
            State::Free if self.threads[thread].blocks > 0 => Some(self.inside(thread)),
            State::Free if self.threads[thread].called => self.close(thread),
            State::Free => Some(self.outside(thread)),
            State::AtBarrier => self.close(thread),
            State::Waiting(lock) => {
                let wakes = self.rng.next().is_multiple_of(16) || self.shared.is_notified(lock);
                if wakes { self.close(thread) } else { None }
            }
        }
    }

    #[inline]
    fn inside(&mut self, thread: usize) -> Op {
        let dice = Dice(self.rng.next());
        let state = &mut self.threads[thread];
        let open = (state.stack.len() - state.base) as u64;
        let left = state.left;
        state.left = left.saturating_sub(1);
        if left <= open {
            return self.close(thread).unwrap_or_else(|| self.access(thread, dice));
        }
        if dice.action() >= Dice::ACCESS_FROM {
            return self.access(thread, dice);
        }
        let op = self.close_early(thread, dice).or_else(|| {
            let fits = left >= open + 2;
            if fits { self.open(thread, dice) } else { None }
        });
        op.or_else(|| self.signal(thread, dice)).unwrap_or_else(|| self.access(thread, dice))
    }

    #[inline]
    fn outside(&mut self, thread: usize) -> Op {
        let dice = Dice(self.rng.next());
        if dice.0 & 0xffff_ffff < self.begin_below && self.slack >= 2 {
            self.slack -= 2;
            let length = self.rng.skewed(2, self.shape.transaction_length);
            return self.begin(thread, length);
        }
        if dice.action() >= Dice::ACCESS_FROM {
            return self.access(thread, dice);
        }
        let op = self.close_early(thread, dice);
        let op = op.or_else(|| {
            if self.is_set_aside(thread) { None } else { self.open_outside(thread, dice) }
        });
        op.or_else(|| self.signal(thread, dice)).unwrap_or_else(|| self.access(thread, dice))
    }

    fn open_outside(&mut self, thread: usize, dice: Dice) -> Option<Op> {
        if Dice::WAIT.contains(&dice.action()) {
            let calls = dice.one_in(4);
            return self
                .wait(thread)
                .or_else(|| if calls { self.call_round(thread) } else { None });
        }
        self.open(thread, dice)
    }

    /// A lock, or a nested block.
    fn open(&mut self, thread: usize, dice: Dice) -> Option<Op> {
        if self.slack < 2 {
            return None;
        }
        let (item, op) = match dice.action() {
            a if Dice::ACQUIRE.contains(&a) => self.acquire(thread, dice)?,
            a if Dice::NEST.contains(&a) => self.nest(thread)?,
            _ => return None,
        };
        self.slack -= 2;
        self.threads[thread].push(item);
        Some(op)
    }

    fn acquire(&mut self, thread: usize, dice: Dice) -> Option<(Item, Op)> {
        /// Two show every way in which locks nest, and leave others for other threads.
        const MOST_HELD: u32 = 2;
        if self.shape.locks == 0 || self.threads[thread].locks == MOST_HELD {
            return None;
        }
        let lock = LockId(rng::scale(dice.0, self.shape.locks));
        let shared = self.shape.shared_locks && dice.one_in(2);
        let hold = if shared { Hold::Shared } else { Hold::Exclusive };
        if self.threads[thread].has(lock) {
            return None;
        }
        let rank = self.rank_of(thread);
        let op = if shared { Op::AcquireShared(lock) } else { Op::Acquire(lock) };
        self.shared.acquire(lock, hold, rank).then_some((Item::Lock(lock, hold), op))
    }

    fn nest(&mut self, thread: usize) -> Option<(Item, Op)> {
        let depth = self.threads[thread].blocks;
        if depth == 0 || depth >= self.shape.nesting {
            return None;
        }
        let label = LabelId(self.rng.below(LABELS));
        Some((Item::Block(label), Op::Begin(label)))
    }

    /// Closes the innermost lock or nested block before it must be.
    fn close_early(&mut self, thread: usize, dice: Dice) -> Option<Op> {
        let state = &self.threads[thread];
        let parts = match state.stack.last()? {
            Item::Lock(..) => Dice::CLOSE_LOCK,
            Item::Block(_) if state.blocks > 1 => Dice::CLOSE_BLOCK,
            Item::Block(_) => return None,
        };
        if parts.contains(&dice.action()) { self.close(thread) } else { None }
    }

    /// Closes what must be closed next, if that is possible now.
    pub(super) fn close(&mut self, thread: usize) -> Option<Op> {
        let state = &self.threads[thread];
        match (state.state, state.stack.last()) {
            (State::AtBarrier, _) => self.leave(thread),
            (State::Waiting(lock), _) => {
                let rank = self.rank_of(thread);
                self.shared.wake(lock, rank).then(|| {
                    self.threads[thread].state = State::Free;
                    Op::PostWait(lock)
                })
            }
            (State::Free, None) => state.called.then(|| self.enter(thread)),
            (State::Free, Some(&item)) => self.close_item(thread, item),
        }
    }

    fn close_item(&mut self, thread: usize, item: Item) -> Option<Op> {
        let op = match item {
            Item::Block(label) => {
                if self.threads[thread].blocks == 1 && self.must_stay_open(thread) {
                    return None;
                }
                Op::End(label)
            }
            Item::Lock(lock, hold) => {
                let rank = self.rank_of(thread);
                self.shared.release(lock, hold, rank);
                match hold {
                    Hold::Exclusive => Op::Release(lock),
                    Hold::Shared => Op::ReleaseShared(lock),
                }
            }
        };
        self.threads[thread].pop();
        Some(op)
    }

    /// The first half of a wait. The thread must hold this lock and nothing else, or it could
    /// sleep on what others need to go on.
    fn wait(&mut self, thread: usize) -> Option<Op> {
        let &[Item::Lock(lock, Hold::Exclusive)] = self.threads[thread].stack.as_slice() else {
            return None;
        };
        if !self.shape.waits || self.slack < 2 {
            return None;
        }
        self.slack -= 2;
        let rank = self.rank_of(thread);
        self.shared.sleep(lock, rank);
        self.threads[thread].state = State::Waiting(lock);
        Some(Op::PreWait(lock))
    }

    /// What stands for itself, other than accesses.
    fn signal(&mut self, thread: usize, dice: Dice) -> Option<Op> {
        let op = match dice.action() {
            a if Dice::SEMAPHORE.contains(&a) => self.post_or_take(thread, dice)?,
            a if Dice::NOTIFY.contains(&a) => self.notify(thread)?,
            _ => return None,
        };
        self.slack -= 1;
        Some(op)
    }

    fn post_or_take(&mut self, thread: usize, dice: Dice) -> Option<Op> {
        if !self.shape.semaphores {
            return None;
        }
        let semaphore = SemaphoreId(rng::scale(dice.0, SEMAPHORES));
        let rank = self.rank_of(thread);
        if dice.one_in(2) {
            self.shared.post(semaphore, rank);
            return Some(Op::Post(semaphore));
        }
        self.shared.take(semaphore, rank).then_some(Op::Take(semaphore))
    }

    fn notify(&mut self, thread: usize) -> Option<Op> {
        match self.threads[thread].stack.last()? {
            &Item::Lock(lock, Hold::Exclusive) if self.shape.waits => {
                self.shared.notify(lock);
                Some(Op::Notify(lock))
            }
            Item::Lock(..) | Item::Block(_) => None,
        }
    }

    /// Accesses a variable. When the order forbids the first ones that come to mind, looks at the
    /// last one again, and if that has been changed as well, does nothing for once.
    #[inline]
    fn access(&mut self, thread: usize, dice: Dice) -> Op {
        /// A bound, so that every event takes constant time.
        const ATTEMPTS: u32 = 3;
        self.slack -= 1;
        let rank = self.rank_of(thread);
        let is_long = self.is_long(thread);
        let from = if is_long { self.published_from } else { 0 };
        let mut dice = dice;
        for _ in 0..ATTEMPTS {
            let variable = from + rng::scale(dice.0, self.shape.variables - from);
            let writes = dice.writes() && (is_long || variable < self.published_from);
            if self.may_access(variable, writes, rank) {
                self.threads[thread].recent = variable;
                return self.access_op(variable, writes, dice);
            }
            dice = Dice(self.rng.next());
        }
        let recent = self.threads[thread].recent;
        if self.may_access(recent, false, rank) {
            return self.access_op(recent, false, dice);
        }
        Op::Yield
    }

    #[inline(always)]
    fn may_access(&mut self, variable: u32, writes: bool, rank: Rank) -> bool {
        let variable = VarId(variable);
        if writes { self.shared.write(variable, rank) } else { self.shared.read(variable, rank) }
    }

    #[inline(always)]
    fn access_op(&self, variable: u32, writes: bool, dice: Dice) -> Op {
        let is_volatile = variable < self.volatile_below;
        let variable = VarId(variable);
        match (is_volatile, writes) {
            (false, false) => Op::Read(variable),
            (false, true) => Op::Write(variable),
            (true, false) => Op::AtomicRead(variable),
            (true, true) if dice.updates() => Op::AtomicUpdate(variable),
            (true, true) => Op::AtomicWrite(variable),
        }
    }
}
