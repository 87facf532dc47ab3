//! Fills the tables of a stretch, in one pass over its events.

use hashbrown::HashMap;
use paceline_trace::{Event, LockId, Op, ThreadId, VarId};

use super::reordering::Stretch;
use super::table::{Act, Channel, Index, Item, Lane, Lock, Section, Table, Variable, note};

/// The table of a stretch.
pub(super) fn table(stretch: &Stretch) -> Table {
    Builder::new(stretch).build(stretch)
}

/// What is touched by several threads, and how.
#[derive(Clone, Copy)]
struct Touched {
    thread: ThreadId,
    by_several: bool,
    written: bool,
}

/// The space of a name and its number.
type Name = (u8, u32);

fn name(op: Op) -> Option<(Name, bool)> {
    match op {
        Op::Read(x) | Op::AtomicRead(x) => Some(((0, x.0), false)),
        Op::Write(x) | Op::AtomicWrite(x) | Op::AtomicUpdate(x) => Some(((0, x.0), true)),
        Op::Acquire(l)
        | Op::Release(l)
        | Op::AcquireShared(l)
        | Op::ReleaseShared(l)
        | Op::PreWait(l)
        | Op::PostWait(l)
        | Op::Notify(l) => Some(((1, l.0), true)),
        Op::Post(s) | Op::Take(s) => Some(((2, s.0), true)),
        Op::BarrierEnter(b) | Op::BarrierExit(b) => Some(((3, b.0), true)),
        Op::Fork(_) | Op::Join(_) | Op::Begin(_) | Op::End(_) | Op::Yield => None,
    }
}

/// What is known at some point of the pass over a stretch.
#[derive(Default)]
struct Builder {
    table: Table,
    touched: HashMap<Name, Touched>,
    lane_of: HashMap<ThreadId, Lane>,
    variable_of: HashMap<VarId, u32>,
    lock_of: HashMap<LockId, u32>,
    semaphore_of: HashMap<u32, u32>,
    round_of: HashMap<(u32, u32), u32>,
    written: HashMap<u32, Index>,
    open: HashMap<(Lane, u32), u32>,
    holds: HashMap<Lane, Vec<u32>>,
    held_set: HashMap<Lane, u32>,
    forks: HashMap<ThreadId, Index>,
    last_on_semaphore: HashMap<u32, Index>,
    waits: HashMap<LockId, Waits>,
    asleep: HashMap<Lane, usize>,
    barriers: HashMap<u32, Barrier>,
}

#[derive(Default)]
struct Waits {
    last: Option<Index>,
    /// All notifies; from `fresh` on, those since the last prewait.
    notifies: Vec<Index>,
    fresh: usize,
}

#[derive(Default)]
struct Barrier {
    round: u32,
    is_left: bool,
    entered: HashMap<Lane, u32>,
    last_enter: Option<Index>,
    last_of_round: HashMap<u32, Index>,
    rounds_left: Vec<u32>,
    /// Exits that the next enter must wait for.
    gates: Vec<Index>,
}

impl Builder {
    fn new(stretch: &Stretch) -> Builder {
        let mut builder = Builder::default();
        for event in &stretch.events {
            let Some((name, writes)) = name(event.op) else { continue };
            let first = Touched { thread: event.thread, by_several: false, written: false };
            let touched = builder.touched.entry(name).or_insert(first);
            touched.by_several |= touched.thread != event.thread;
            touched.written |= writes;
        }
        builder
    }

    fn matters(&self, op: Op) -> bool {
        match name(op) {
            Some((name, _)) => {
                self.touched.get(&name).is_some_and(|it| it.by_several && it.written)
            }
            None => matches!(op, Op::Fork(_) | Op::Join(_)),
        }
    }

    fn build(mut self, stretch: &Stretch) -> Table {
        self.table.held_sets.push(Vec::new());
        let carried = stretch.carried.len();
        for (at, event) in stretch.events.iter().enumerate() {
            if self.matters(event.op) {
                self.event(at, event, at < carried);
            }
        }
        let Table { needs, needed_by, .. } = &mut self.table;
        needed_by.resize(needs.len(), Vec::new());
        for (index, needs) in needs.iter().enumerate() {
            needs.iter().for_each(|&need| needed_by[need as usize].push(index as Index));
        }
        self.table
    }

    fn lane(&mut self, thread: ThreadId) -> Lane {
        let table = &mut self.table;
        *self.lane_of.entry(thread).or_insert_with(|| {
            table.lanes.push(Vec::new());
            table.threads.push(thread);
            table.lanes.len() as Lane - 1
        })
    }

    fn event(&mut self, at: usize, event: &Event, is_carried: bool) {
        let lane = self.lane(event.thread);
        let index = self.table.items.len() as Index;
        let position = self.table.lanes[lane as usize].len() as u32;
        let mut needs = Vec::new();
        if is_carried {
            needs.extend(index.checked_sub(1));
            self.table.carried = index as usize + 1;
        } else if position == 0
            || self.table.event(lane, position - 1) < self.table.carried as Index
        {
            needs.extend((self.table.carried as Index).checked_sub(1));
        }
        if position == 0 {
            needs.extend(self.forks.get(&event.thread));
        }
        self.table.lanes[lane as usize].push(index);
        self.table.source.push(None);
        self.table.readers.push(Vec::new());
        let before = self.held_set.get(&lane).copied().unwrap_or(0);
        let act = self.act(index, lane, position, event, &mut needs);
        needs.retain(|&need| self.table.items[need as usize].lane != lane);
        needs.dedup();
        let after = self.held_set.get(&lane).copied().unwrap_or(0);
        let held = if matches!(act, Act::Acquire(_)) { after } else { before };
        self.table.held.push(held);
        self.table.needs.push(needs);
        let at = at as u32;
        self.table.items.push(Item { at, lane, position, act, site: event.site });
    }

    fn act(
        &mut self,
        index: Index,
        lane: Lane,
        position: u32,
        event: &Event,
        needs: &mut Vec<Index>,
    ) -> Act {
        match event.op {
            Op::Read(x) | Op::AtomicRead(x) => {
                let x = self.variable(x);
                self.read(index, x, lane, position);
                note(&mut self.table.variables[x as usize].reads, lane, position);
                Act::Read(x)
            }
            Op::Write(x) | Op::AtomicWrite(x) => {
                let x = self.variable(x);
                self.write(index, x, lane, position);
                Act::Write(x)
            }
            Op::AtomicUpdate(x) => {
                let x = self.variable(x);
                self.read(index, x, lane, position);
                self.write(index, x, lane, position);
                Act::Update(x)
            }
            Op::Acquire(l) => self.acquire(index, lane, position, l, false),
            Op::AcquireShared(l) => self.acquire(index, lane, position, l, true),
            Op::PostWait(l) => {
                self.wake_up(lane, l, needs);
                self.acquire(index, lane, position, l, false)
            }
            Op::Release(l) | Op::ReleaseShared(l) => self.release(index, lane, l),
            Op::PreWait(l) => {
                self.fall_asleep(index, lane, l, needs);
                self.release(index, lane, l)
            }
            Op::Notify(l) => {
                let waits = self.waits.entry(l).or_default();
                needs.extend(waits.last);
                waits.notifies.push(index);
                Act::Notify
            }
            Op::Fork(child) => {
                self.forks.insert(child, index);
                Act::Fork(child)
            }
            Op::Join(child) => {
                needs.extend(self.forks.get(&child));
                let lane = self.lane_of.get(&child);
                needs.extend(lane.and_then(|&lane| self.table.lanes[lane as usize].last()));
                Act::Join(child)
            }
            Op::Post(s) => {
                let s = self.semaphore(index, s.0, needs);
                note(&mut self.table.channels[s as usize].senders, lane, position);
                Act::Post(s)
            }
            Op::Take(s) => {
                let s = self.semaphore(index, s.0, needs);
                note(&mut self.table.channels[s as usize].receivers, lane, position);
                Act::Take(s)
            }
            Op::BarrierEnter(b) => {
                let round = self.enter(index, lane, b.0, needs);
                note(&mut self.table.channels[round as usize].senders, lane, position);
                Act::Enter(round)
            }
            Op::BarrierExit(b) => {
                let round = self.exit(index, lane, b.0, needs);
                note(&mut self.table.channels[round as usize].receivers, lane, position);
                Act::Exit(round)
            }
            Op::Begin(_) | Op::End(_) | Op::Yield => Act::Notify,
        }
    }

    fn variable(&mut self, x: VarId) -> u32 {
        let variables = &mut self.table.variables;
        *self.variable_of.entry(x).or_insert_with(|| {
            variables.push(Variable::default());
            variables.len() as u32 - 1
        })
    }

    fn read(&mut self, index: Index, x: u32, lane: Lane, position: u32) {
        let source = self.written.get(&x).copied();
        self.table.source[index as usize] = source;
        match source {
            Some(write) => note(&mut self.table.readers[write as usize], lane, position),
            None => note(&mut self.table.variables[x as usize].initial, lane, position),
        }
    }

    fn write(&mut self, index: Index, x: u32, lane: Lane, position: u32) {
        self.written.insert(x, index);
        note(&mut self.table.variables[x as usize].writes, lane, position);
    }

    fn acquire(&mut self, index: Index, lane: Lane, position: u32, l: LockId, shared: bool) -> Act {
        let locks = &mut self.table.locks;
        let lock = *self.lock_of.entry(l).or_insert_with(|| {
            locks.push(Lock::default());
            locks.len() as u32 - 1
        });
        let by_lane = &mut locks[lock as usize];
        note(&mut by_lane.all, lane, position);
        note(if shared { &mut by_lane.shared } else { &mut by_lane.exclusive }, lane, position);
        let section = self.table.sections.len() as u32;
        let opened = Section { lock, shared, lane, acquire: index, release: None };
        self.table.sections.push(opened);
        self.open.insert((lane, lock), section);
        self.holds.entry(lane).or_default().push(section);
        self.hold(lane);
        Act::Acquire(section)
    }

    fn release(&mut self, index: Index, lane: Lane, l: LockId) -> Act {
        let lock = self.lock_of.get(&l).copied();
        let section = lock.and_then(|lock| self.open.remove(&(lane, lock)));
        // A well-formed stretch releases what it holds; anything else orders nothing.
        let Some(section) = section else { return Act::Notify };
        self.table.sections[section as usize].release = Some(index);
        self.holds.entry(lane).or_default().retain(|&held| held != section);
        self.hold(lane);
        Act::Release(section)
    }

    fn hold(&mut self, lane: Lane) {
        let holds = self.holds.entry(lane).or_default().clone();
        let set = if holds.is_empty() { 0 } else { self.table.held_sets.len() as u32 };
        if set > 0 {
            self.table.held_sets.push(holds);
        }
        self.held_set.insert(lane, set);
    }

    fn fall_asleep(&mut self, index: Index, lane: Lane, l: LockId, needs: &mut Vec<Index>) {
        let waits = self.waits.entry(l).or_default();
        needs.extend(waits.last.replace(index));
        needs.extend(&waits.notifies[waits.fresh..]);
        waits.fresh = waits.notifies.len();
        self.asleep.insert(lane, waits.fresh);
    }

    fn wake_up(&mut self, lane: Lane, l: LockId, needs: &mut Vec<Index>) {
        let since = self.asleep.remove(&lane);
        if let (Some(since), Some(waits)) = (since, self.waits.get(&l)) {
            needs.extend(&waits.notifies[since..]);
        }
    }

    fn channel(&mut self) -> u32 {
        self.table.channels.push(Channel::default());
        self.table.channels.len() as u32 - 1
    }

    fn semaphore(&mut self, index: Index, s: u32, needs: &mut Vec<Index>) -> u32 {
        let known = self.semaphore_of.get(&s).copied();
        let number = known.unwrap_or_else(|| self.channel());
        self.semaphore_of.insert(s, number);
        needs.extend(self.last_on_semaphore.insert(s, index));
        number
    }

    fn round(&mut self, barrier: u32, round: u32) -> u32 {
        let known = self.round_of.get(&(barrier, round)).copied();
        let number = known.unwrap_or_else(|| self.channel());
        self.round_of.insert((barrier, round), number);
        number
    }

    fn enter(&mut self, index: Index, lane: Lane, b: u32, needs: &mut Vec<Index>) -> u32 {
        let barrier = self.barriers.entry(b).or_default();
        if barrier.round == 0 || barrier.is_left {
            barrier.round += 1;
            barrier.is_left = false;
        }
        let round = barrier.round;
        needs.extend(barrier.last_enter.replace(index));
        needs.append(&mut barrier.gates);
        barrier.entered.insert(lane, round);
        barrier.last_of_round.insert(round, index);
        self.round(b, round)
    }

    fn exit(&mut self, index: Index, lane: Lane, b: u32, needs: &mut Vec<Index>) -> u32 {
        let barrier = self.barriers.entry(b).or_default();
        let entered = barrier.entered.get(&lane).copied();
        let round = entered.unwrap_or(barrier.round);
        barrier.is_left |= round == barrier.round;
        let is_first = !barrier.rounds_left.contains(&round);
        if is_first {
            barrier.rounds_left.push(round);
        }
        if is_first || entered.is_none() {
            barrier.gates.push(index);
        }
        needs.extend(match entered {
            Some(round) => barrier.last_of_round.get(&round).copied(),
            None => barrier.last_enter,
        });
        self.round(b, round)
    }
}
