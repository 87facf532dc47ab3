//! The certificate check: is a sequence of events a correct reordering of a stretch?
//!
//! Soundness of every prediction rests on this file, so it is plain, linear, and shares no code with
//! the search that made the sequence. The rules P1 to P4 are those of `docs/predict.md`:
//!
//! - P1: of each thread a prefix, in the observed order;
//! - P2: a read that sees another write than observed diverges, and nothing of its thread follows;
//!   so does one that sees what a diverging update wrote. No join of a diverged thread;
//! - P3: mutual exclusion;
//! - P4: kept orders of fork, join, wait and notify, semaphores and barriers.

use std::fmt;

use hashbrown::{HashMap, HashSet};
use paceline_trace::{BarrierId, Event, LockId, Op, SemaphoreId, ThreadId, VarId};

use super::reordering::Stretch;

/// Why a sequence is no correct reordering.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flaw {
    /// The sequence does not start with the carried events.
    Carried,
    /// Not the next event of its thread.
    Thread(usize),
    /// It follows an event of its thread that saw another write.
    AfterDivergence(usize),
    /// It takes a lock that is held.
    Held(usize),
    /// It comes before the fork of its thread.
    Fork(usize),
    /// It joins a thread that is not over, or not forked yet.
    Join(usize),
    /// It joins a thread that saw another write, and need not end.
    JoinOfDiverged(usize),
    /// It changes the order of waits and notifies.
    Wait(usize),
    /// It changes the order of a semaphore.
    Semaphore(usize),
    /// It changes the rounds of a barrier.
    Barrier(usize),
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (at, what) = match *self {
            Flaw::Carried => return write!(f, "what was before the stretch has moved"),
            Flaw::Thread(at) => (at, "is not the next of its thread"),
            Flaw::AfterDivergence(at) => (at, "follows a read that saw another write"),
            Flaw::Held(at) => (at, "takes a lock that is held"),
            Flaw::Fork(at) => (at, "comes before the fork of its thread"),
            Flaw::Join(at) => (at, "joins a thread that is not over"),
            Flaw::JoinOfDiverged(at) => (at, "joins a thread that need not end"),
            Flaw::Wait(at) => (at, "changes the order of waits and notifies"),
            Flaw::Semaphore(at) => (at, "changes the order of a semaphore"),
            Flaw::Barrier(at) => (at, "changes the rounds of a barrier"),
        };
        write!(f, "event {at} of the stretch {what}")
    }
}

/// A rule that a test leaves out, to see that some trace notices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Rule {
    ReadsFrom,
    InitialValue,
    DivergingUpdate,
    Exclusive,
    Shared,
    Fork,
    Join,
    JoinOfDiverged,
    Notify,
    PreWait,
    Semaphore,
    Exit,
    Enter,
}

/// Checks a sequence of indices into the stretch. Returns those that diverge.
pub fn certify(stretch: &Stretch, order: &[usize]) -> Result<Vec<usize>, Flaw> {
    certify_without(stretch, order, None)
}

/// The same without one of the rules: for tests only.
pub(super) fn certify_without(
    stretch: &Stretch,
    order: &[usize],
    rule: Option<Rule>,
) -> Result<Vec<usize>, Flaw> {
    let carried = stretch.carried.len();
    if order.len() < carried || !order[..carried].iter().copied().eq(0..carried) {
        return Err(Flaw::Carried);
    }
    let observed = Observed::new(&stretch.events);
    let mut replay = Replay::new(&observed, rule);
    for &at in order {
        replay.event(at)?;
    }
    Ok(replay.diverged)
}

/// The write that a read sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Seen {
    /// None of the stretch.
    Initial,
    Write(usize),
    /// What an update wrote that itself saw another write than observed.
    Unknown,
}

/// What the observed order says about each event, read off in one pass.
struct Observed<'a> {
    events: &'a [Event],
    /// The position of each event in its thread.
    position: Vec<usize>,
    /// How many events each thread has.
    length: HashMap<ThreadId, usize>,
    fork: HashMap<ThreadId, usize>,
    seen: Vec<Seen>,
    /// The position of each post and take among those of its semaphore, of each prewait among those
    /// of its lock, of each enter among those of its barrier.
    rank: Vec<usize>,
    waits: HashMap<LockId, Waits>,
    /// The `prewait` of each `postwait`.
    asleep_since: HashMap<usize, usize>,
    barriers: HashMap<BarrierId, Gates>,
    /// How many enters of its barrier must precede each exit.
    enters_before: Vec<usize>,
}

#[derive(Default)]
struct Waits {
    prewaits: Vec<usize>,
    /// All notifies, in observed order, each with the number of prewaits before it.
    notifies: Vec<(usize, usize)>,
}

#[derive(Default)]
struct Gates {
    round: usize,
    /// An exit of the current round has been.
    is_left: bool,
    enters: Vec<usize>,
    /// For each thread: the round that it entered last.
    entered: HashMap<ThreadId, usize>,
    /// The number of enters up to the last one of each round.
    enters_of_round: HashMap<usize, usize>,
    rounds_left: HashSet<usize>,
    /// Exits that hold up all later enters: the first of each round, and those of strangers.
    exits: Vec<usize>,
}

impl<'a> Observed<'a> {
    fn new(events: &'a [Event]) -> Observed<'a> {
        let mut observed = Observed {
            events,
            position: Vec::new(),
            length: HashMap::new(),
            fork: HashMap::new(),
            seen: vec![Seen::Initial; events.len()],
            rank: vec![0; events.len()],
            waits: HashMap::new(),
            asleep_since: HashMap::new(),
            barriers: HashMap::new(),
            enters_before: vec![0; events.len()],
        };
        let mut written: HashMap<VarId, usize> = HashMap::new();
        let mut semaphores: HashMap<SemaphoreId, usize> = HashMap::new();
        let mut asleep: HashMap<ThreadId, usize> = HashMap::new();
        for (at, event) in events.iter().enumerate() {
            let length = observed.length.entry(event.thread).or_default();
            observed.position.push(*length);
            *length += 1;
            match event.op {
                Op::Read(x) | Op::AtomicRead(x) => {
                    observed.seen[at] = written.get(&x).map_or(Seen::Initial, |&w| Seen::Write(w));
                }
                Op::Write(x) | Op::AtomicWrite(x) => {
                    written.insert(x, at);
                }
                Op::AtomicUpdate(x) => {
                    let before = written.insert(x, at);
                    observed.seen[at] = before.map_or(Seen::Initial, Seen::Write);
                }
                Op::Fork(child) => {
                    observed.fork.insert(child, at);
                }
                Op::Post(s) | Op::Take(s) => {
                    let rank = semaphores.entry(s).or_default();
                    observed.rank[at] = *rank;
                    *rank += 1;
                }
                Op::PreWait(l) => {
                    let waits = observed.waits.entry(l).or_default();
                    observed.rank[at] = waits.prewaits.len();
                    waits.prewaits.push(at);
                    asleep.insert(event.thread, at);
                }
                Op::Notify(l) => {
                    let waits = observed.waits.entry(l).or_default();
                    waits.notifies.push((at, waits.prewaits.len()));
                }
                Op::PostWait(_) => {
                    if let Some(prewait) = asleep.remove(&event.thread) {
                        observed.asleep_since.insert(at, prewait);
                    }
                }
                Op::BarrierEnter(b) => observed.enter(at, b, event.thread),
                Op::BarrierExit(b) => observed.exit(at, b, event.thread),
                Op::Acquire(_)
                | Op::Release(_)
                | Op::AcquireShared(_)
                | Op::ReleaseShared(_)
                | Op::Join(_)
                | Op::Begin(_)
                | Op::End(_)
                | Op::Yield => {}
            }
        }
        observed
    }

    fn enter(&mut self, at: usize, barrier: BarrierId, thread: ThreadId) {
        let gates = self.barriers.entry(barrier).or_default();
        if gates.round == 0 || gates.is_left {
            gates.round += 1;
            gates.is_left = false;
        }
        self.rank[at] = gates.enters.len();
        gates.enters.push(at);
        gates.entered.insert(thread, gates.round);
        gates.enters_of_round.insert(gates.round, gates.enters.len());
    }

    fn exit(&mut self, at: usize, barrier: BarrierId, thread: ThreadId) {
        let gates = self.barriers.entry(barrier).or_default();
        let entered = gates.entered.get(&thread).copied();
        let round = entered.unwrap_or(gates.round);
        gates.is_left |= round == gates.round;
        let is_first = gates.rounds_left.insert(round);
        if is_first || entered.is_none() {
            gates.exits.push(at);
        }
        self.enters_before[at] = match entered {
            Some(round) => gates.enters_of_round.get(&round).copied().unwrap_or(0),
            None => gates.enters.len(),
        };
    }
}

#[derive(Default)]
struct Holders {
    exclusive: Option<ThreadId>,
    shared: HashSet<ThreadId>,
}

/// The new order so far.
struct Replay<'a> {
    observed: &'a Observed<'a>,
    without: Option<Rule>,
    done: Vec<bool>,
    length: HashMap<ThreadId, usize>,
    dead: HashSet<ThreadId>,
    diverged: Vec<usize>,
    seen: HashMap<VarId, Seen>,
    locks: HashMap<LockId, Holders>,
    semaphores: HashMap<SemaphoreId, usize>,
    prewaits: HashMap<LockId, usize>,
    enters: HashMap<BarrierId, usize>,
}

impl<'a> Replay<'a> {
    fn new(observed: &'a Observed<'a>, without: Option<Rule>) -> Replay<'a> {
        Replay {
            observed,
            without,
            done: vec![false; observed.events.len()],
            length: HashMap::new(),
            dead: HashSet::new(),
            diverged: Vec::new(),
            seen: HashMap::new(),
            locks: HashMap::new(),
            semaphores: HashMap::new(),
            prewaits: HashMap::new(),
            enters: HashMap::new(),
        }
    }

    fn has(&self, rule: Rule) -> bool {
        self.without != Some(rule)
    }

    fn event(&mut self, at: usize) -> Result<(), Flaw> {
        let event = *self.observed.events.get(at).ok_or(Flaw::Thread(at))?;
        self.threads(at, event.thread)?;
        match event.op {
            Op::Read(x) | Op::AtomicRead(x) => {
                self.read(at, event.thread, x);
            }
            Op::Write(x) | Op::AtomicWrite(x) => {
                self.seen.insert(x, Seen::Write(at));
            }
            Op::AtomicUpdate(x) => {
                let diverges = self.read(at, event.thread, x) && self.has(Rule::DivergingUpdate);
                self.seen.insert(x, if diverges { Seen::Unknown } else { Seen::Write(at) });
            }
            Op::Acquire(l) => self.acquire(at, event.thread, l)?,
            Op::PostWait(l) => {
                self.wake_up(at, l)?;
                self.acquire(at, event.thread, l)?;
            }
            Op::AcquireShared(l) => self.acquire_shared(at, event.thread, l)?,
            Op::Release(l) => self.locks.entry(l).or_default().exclusive = None,
            Op::PreWait(l) => {
                self.fall_asleep(at, l)?;
                self.locks.entry(l).or_default().exclusive = None;
            }
            Op::ReleaseShared(l) => {
                self.locks.entry(l).or_default().shared.remove(&event.thread);
            }
            Op::Notify(l) => self.notify(at, l)?,
            Op::Join(child) => self.join(at, child)?,
            Op::Post(s) | Op::Take(s) => {
                let next = self.semaphores.entry(s).or_default();
                if *next != self.observed.rank[at] && self.without != Some(Rule::Semaphore) {
                    return Err(Flaw::Semaphore(at));
                }
                *next += 1;
            }
            Op::BarrierEnter(b) => self.enter(at, b)?,
            Op::BarrierExit(b) => {
                let enters = self.enters.get(&b).copied().unwrap_or(0);
                if enters < self.observed.enters_before[at] && self.has(Rule::Exit) {
                    return Err(Flaw::Barrier(at));
                }
            }
            Op::Fork(_) | Op::Begin(_) | Op::End(_) | Op::Yield => {}
        }
        self.done[at] = true;
        Ok(())
    }

    /// P1, and what must be there before any event of a thread.
    fn threads(&mut self, at: usize, thread: ThreadId) -> Result<(), Flaw> {
        let length = self.length.entry(thread).or_default();
        if *length != self.observed.position[at] {
            return Err(Flaw::Thread(at));
        }
        *length += 1;
        if self.dead.contains(&thread) {
            return Err(Flaw::AfterDivergence(at));
        }
        // A fork that was observed only after the thread's event is no matter of this event.
        let fork = self.observed.fork.get(&thread).filter(|&&fork| fork < at);
        if fork.is_some_and(|&fork| !self.done[fork]) && self.has(Rule::Fork) {
            return Err(Flaw::Fork(at));
        }
        Ok(())
    }

    /// P2. Whether the read diverges.
    fn read(&mut self, at: usize, thread: ThreadId, x: VarId) -> bool {
        let sees = self.seen.get(&x).copied().unwrap_or(Seen::Initial);
        let observed = self.observed.seen[at];
        let is_checked = match observed {
            Seen::Initial => self.has(Rule::InitialValue),
            Seen::Write(_) | Seen::Unknown => self.has(Rule::ReadsFrom),
        };
        let diverges = sees != observed && is_checked;
        if diverges {
            self.diverged.push(at);
            self.dead.insert(thread);
        }
        diverges
    }

    fn acquire(&mut self, at: usize, thread: ThreadId, lock: LockId) -> Result<(), Flaw> {
        let (exclusive, shared) = (self.has(Rule::Exclusive), self.has(Rule::Shared));
        let holders = self.locks.entry(lock).or_default();
        if holders.exclusive.is_some() && exclusive || !holders.shared.is_empty() && shared {
            return Err(Flaw::Held(at));
        }
        holders.exclusive = Some(thread);
        Ok(())
    }

    fn acquire_shared(&mut self, at: usize, thread: ThreadId, lock: LockId) -> Result<(), Flaw> {
        let exclusive = self.has(Rule::Exclusive);
        let holders = self.locks.entry(lock).or_default();
        if holders.exclusive.is_some() && exclusive {
            return Err(Flaw::Held(at));
        }
        holders.shared.insert(thread);
        Ok(())
    }

    fn join(&mut self, at: usize, child: ThreadId) -> Result<(), Flaw> {
        let fork = self.observed.fork.get(&child).filter(|&&fork| fork < at);
        if fork.is_some_and(|&fork| !self.done[fork]) {
            return Err(Flaw::Join(at));
        }
        let length = self.length.get(&child).copied().unwrap_or(0);
        if length < self.observed.length.get(&child).copied().unwrap_or(0) && self.has(Rule::Join) {
            return Err(Flaw::Join(at));
        }
        if self.dead.contains(&child) && self.has(Rule::JoinOfDiverged) {
            return Err(Flaw::JoinOfDiverged(at));
        }
        Ok(())
    }

    /// A prewait comes after all earlier prewaits and notifies of its lock. The prewait before it has
    /// seen to the notifies before that one.
    fn fall_asleep(&mut self, at: usize, lock: LockId) -> Result<(), Flaw> {
        let next = self.prewaits.entry(lock).or_default();
        let rank = self.observed.rank[at];
        let is_next = *next == rank;
        *next += 1;
        let before = rank.checked_sub(1).map_or(0, |i| self.observed.waits[&lock].prewaits[i]);
        if (!is_next || self.is_notify_missing(lock, before, at)) && self.has(Rule::PreWait) {
            return Err(Flaw::Wait(at));
        }
        Ok(())
    }

    /// A notify comes after all earlier prewaits of its lock.
    fn notify(&mut self, at: usize, lock: LockId) -> Result<(), Flaw> {
        let prewaits = self.prewaits.get(&lock).copied().unwrap_or(0);
        let notifies = self.observed.waits.get(&lock).map_or(&[][..], |w| &w.notifies);
        let index = notifies.partition_point(|&(other, _)| other < at);
        let needed = notifies.get(index).map_or(0, |&(_, prewaits)| prewaits);
        if prewaits < needed && self.has(Rule::PreWait) {
            return Err(Flaw::Wait(at));
        }
        Ok(())
    }

    /// A postwait comes after all notifies since its own prewait.
    fn wake_up(&mut self, at: usize, lock: LockId) -> Result<(), Flaw> {
        let Some(&since) = self.observed.asleep_since.get(&at) else { return Ok(()) };
        if self.is_notify_missing(lock, since, at) && self.has(Rule::Notify) {
            return Err(Flaw::Wait(at));
        }
        Ok(())
    }

    /// Whether a notify that was observed between two events is missing so far.
    fn is_notify_missing(&self, lock: LockId, since: usize, until: usize) -> bool {
        let Some(waits) = self.observed.waits.get(&lock) else { return false };
        let first = waits.notifies.partition_point(|&(at, _)| at < since);
        let mut between = waits.notifies[first..].iter().take_while(|&&(at, _)| at < until);
        between.any(|&(at, _)| !self.done[at])
    }

    fn enter(&mut self, at: usize, barrier: BarrierId) -> Result<(), Flaw> {
        let next = self.enters.entry(barrier).or_default();
        let rank = self.observed.rank[at];
        let is_next = *next == rank;
        *next += 1;
        // The enter before it has seen to the exits before that one.
        let gates = &self.observed.barriers[&barrier];
        let before = rank.checked_sub(1).map_or(0, |i| gates.enters[i]);
        let exits = &gates.exits[gates.exits.partition_point(|&exit| exit < before)..];
        let mut earlier = exits.iter().take_while(|&&exit| exit < at);
        if (!is_next || earlier.any(|&exit| !self.done[exit])) && self.has(Rule::Enter) {
            return Err(Flaw::Barrier(at));
        }
        Ok(())
    }
}
