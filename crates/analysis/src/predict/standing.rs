//! What of the past still matters at some point of a trace: held locks, open blocks, pending waits,
//! and the barrier rounds that threads are in. A window starts with these events, *carried*.

use hashbrown::HashMap;
use paceline_trace::{BarrierId, Event, EventNo, LockId, Op, ThreadId};

type Numbered = (EventNo, Event);

#[derive(Default)]
struct Thread {
    blocks: Vec<Numbered>,
    held: Vec<(LockId, Numbered)>,
    /// The acquire and the prewait of a pending wait.
    waits: Vec<Numbered>,
}

#[derive(Default)]
struct Barrier {
    round: u32,
    is_left: bool,
    entered: HashMap<ThreadId, (u32, Numbered)>,
    first_exits: HashMap<u32, Numbered>,
}

/// The state of the program, as far as later events depend on it.
#[derive(Default)]
pub(super) struct Standing {
    threads: Vec<Thread>,
    barriers: HashMap<BarrierId, Barrier>,
}

impl Standing {
    pub fn event(&mut self, number: EventNo, event: &Event) {
        if self.threads.len() <= event.thread.index() {
            self.threads.resize_with(event.thread.index() + 1, Thread::default);
        }
        let thread = &mut self.threads[event.thread.index()];
        let this = (number, *event);
        match event.op {
            Op::Begin(_) => thread.blocks.push(this),
            Op::End(_) => {
                thread.blocks.pop();
            }
            Op::Acquire(l) | Op::AcquireShared(l) => thread.held.push((l, this)),
            Op::Release(l) | Op::ReleaseShared(l) => {
                thread.give_up(l);
            }
            Op::PreWait(l) => {
                let acquire = thread.give_up(l);
                thread.waits.extend(acquire);
                thread.waits.push(this);
            }
            Op::PostWait(l) => {
                thread.waits.clear();
                thread.held.push((l, this));
            }
            Op::BarrierEnter(b) => self.enter(b, this),
            Op::BarrierExit(b) => self.exit(b, this),
            Op::Read(_)
            | Op::AtomicRead(_)
            | Op::Write(_)
            | Op::AtomicWrite(_)
            | Op::AtomicUpdate(_)
            | Op::Fork(_)
            | Op::Join(_)
            | Op::Yield
            | Op::Notify(_)
            | Op::Post(_)
            | Op::Take(_) => {}
        }
    }

    fn enter(&mut self, barrier: BarrierId, this: Numbered) {
        let barrier = self.barriers.entry(barrier).or_default();
        if barrier.round == 0 || barrier.is_left {
            barrier.round += 1;
            barrier.is_left = false;
        }
        barrier.entered.insert(this.1.thread, (barrier.round, this));
        let Barrier { round, entered, first_exits, .. } = barrier;
        // Rounds that no thread was in last cannot be met again.
        first_exits.retain(|left, _| left == round || entered.values().any(|it| it.0 == *left));
    }

    fn exit(&mut self, barrier: BarrierId, this: Numbered) {
        let barrier = self.barriers.entry(barrier).or_default();
        let round = barrier.entered.get(&this.1.thread).map_or(barrier.round, |it| it.0);
        barrier.is_left |= round == barrier.round;
        barrier.first_exits.entry(round).or_insert(this);
    }

    /// The events that a window starts with, in observed order.
    pub fn carried(&self) -> Vec<(EventNo, Event)> {
        let mut carried: Vec<Numbered> = Vec::new();
        for thread in &self.threads {
            carried.extend(&thread.blocks);
            carried.extend(thread.held.iter().map(|(_, this)| this));
            carried.extend(&thread.waits);
        }
        for barrier in self.barriers.values() {
            carried.extend(barrier.entered.values().map(|(_, this)| this));
            carried.extend(barrier.first_exits.values());
        }
        carried.sort_by_key(|(number, _)| *number);
        carried.dedup();
        carried
    }
}

impl Thread {
    /// The acquire of a section that ends.
    fn give_up(&mut self, lock: LockId) -> Option<Numbered> {
        let at = self.held.iter().rposition(|(held, _)| *held == lock)?;
        Some(self.held.remove(at).1)
    }
}
