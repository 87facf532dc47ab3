//! The definition, as an exhaustive search: every correct reordering of a small trace is run, step by
//! step. Used by tests, and by the long comparison in `examples/predict_reference.rs`.
//!
//! What must come before what is written down as a table of bit masks, literally P4 of
//! `docs/predict.md`. A state is which events are done, which threads have diverged, the last write of each
//! variable, and which done events happen after the `begin` of the block in question.

use std::collections::{BTreeSet, HashMap, HashSet};

use paceline_trace::{BarrierId, Event, Op, ThreadId, VarId};

/// A set of events.
type Set = u64;

fn one(event: usize) -> Set {
    1 << event
}

/// The most events that the masks have room for.
pub const MOST_EVENTS: usize = 64;

/// A block: its first and its last event.
pub type Range = (usize, usize);

/// A small trace and what its definition says.
pub struct Reference<'a> {
    events: &'a [Event],
    threads: Vec<ThreadId>,
    /// The events of each thread.
    lanes: Vec<Vec<usize>>,
    source: Vec<Option<usize>>,
    must: Vec<Set>,
    rounds: Vec<u32>,
    /// At most so many states are visited for one question.
    pub most_states: usize,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    done: Vec<u8>,
    dead: Set,
    /// For each variable the last write: 0 for none, 1 for unknown, or the event plus 2.
    written: Vec<u8>,
    after_begin: Set,
}

/// The search was too large.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooMany;

fn reads(op: Op) -> bool {
    matches!(op, Op::Read(_) | Op::AtomicRead(_) | Op::AtomicUpdate(_))
}

fn writes(op: Op) -> bool {
    matches!(op, Op::Write(_) | Op::AtomicWrite(_) | Op::AtomicUpdate(_))
}

impl<'a> Reference<'a> {
    /// Reads off what the definition needs.
    ///
    /// # Panics
    /// If there are more than [`MOST_EVENTS`] events.
    pub fn new(events: &'a [Event]) -> Reference<'a> {
        assert!(events.len() <= MOST_EVENTS, "at most {MOST_EVENTS} events");
        let mut threads: Vec<ThreadId> = Vec::new();
        let mut lanes: Vec<Vec<usize>> = Vec::new();
        for (i, event) in events.iter().enumerate() {
            match threads.iter().position(|&t| t == event.thread) {
                Some(lane) => lanes[lane].push(i),
                None => {
                    threads.push(event.thread);
                    lanes.push(vec![i]);
                }
            }
        }
        let mut last: HashMap<VarId, usize> = HashMap::new();
        let mut source = Vec::new();
        for (i, event) in events.iter().enumerate() {
            let x = event.op.variable();
            source.push(x.filter(|_| reads(event.op)).and_then(|x| last.get(&x).copied()));
            if let Some(x) = x.filter(|_| writes(event.op)) {
                last.insert(x, i);
            }
        }
        let rounds = rounds(events);
        let must = (0..events.len()).map(|j| must(events, &rounds, j)).collect();
        Reference { events, threads, lanes, source, must, rounds, most_states: 300_000 }
    }

    /// The blocks of the trace, nested ones too.
    pub fn blocks(&self) -> Vec<Range> {
        let mut blocks = Vec::new();
        for lane in &self.lanes {
            let mut open = Vec::new();
            for &i in lane {
                if let Op::Begin(_) = self.events[i].op {
                    open.push(i);
                } else if let (Op::End(_), Some(begin)) = (self.events[i].op, open.last()) {
                    blocks.push((*begin, i));
                    open.pop();
                }
            }
            let last = lane.last().copied().unwrap_or(0);
            blocks.extend(open.into_iter().map(|begin| (begin, last)));
        }
        blocks.sort_unstable();
        blocks
    }

    /// The transactions between yields.
    pub fn transactions(&self) -> Vec<Range> {
        let mut all = Vec::new();
        for lane in &self.lanes {
            let mut start = 0;
            for at in 1..=lane.len() {
                let is_split = lane.get(at).is_none_or(|&i| {
                    matches!(self.events[i].op, Op::Yield | Op::Join(_))
                        || matches!(self.events[lane[at - 1]].op, Op::PreWait(_))
                });
                if is_split {
                    all.push((lane[start], lane[at - 1]));
                    start = at;
                }
            }
        }
        all
    }

    /// A correct reordering that refutes the block, if there is one.
    pub fn refutes(&self, block: Range) -> Result<Option<Vec<usize>>, TooMany> {
        let is_shown = |state: &State, next: usize, diverges: bool| {
            let thread = self.events[block.0].thread;
            let is_inside = |i: usize| (block.0..=block.1).contains(&i);
            self.events[next].thread == thread
                && is_inside(next)
                && self.conflicting(state, next, diverges) & state.after_begin & !self.of(thread)
                    != 0
        };
        self.search(Some(block), is_shown)
    }

    /// All pairs of conflicting plain accesses that a correct reordering puts side by side.
    pub fn races(&self) -> Result<BTreeSet<(usize, usize)>, TooMany> {
        let found = std::cell::RefCell::new(BTreeSet::new());
        self.search(None, |state, next, _| {
            for other in self.next_events(state) {
                if self.is_race(next, other) {
                    found.borrow_mut().insert((next.min(other), next.max(other)));
                }
            }
            false
        })?;
        Ok(found.into_inner())
    }

    /// Whether a sequence is a correct reordering: the events that diverge, if it is.
    pub fn replay(&self, order: &[usize]) -> Option<BTreeSet<usize>> {
        let mut state = self.start();
        let mut diverged = BTreeSet::new();
        for &next in order {
            if !self.next_events(&state).contains(&next) {
                return None;
            }
            let diverges = self.diverges(&state, next);
            if diverges {
                diverged.insert(next);
            }
            state = self.step(&state, next, diverges, None);
        }
        Some(diverged)
    }

    /// The events that can follow a correct reordering; and those that are next in their threads.
    pub fn following(&self, order: &[usize]) -> (Vec<usize>, Vec<usize>) {
        let mut state = self.start();
        for &next in order {
            let diverges = self.diverges(&state, next);
            state = self.step(&state, next, diverges, None);
        }
        let heads = self.lanes.iter().zip(&state.done);
        let heads = heads.filter_map(|(lane, &done)| lane.get(done as usize).copied());
        (self.next_events(&state), heads.collect())
    }

    fn start(&self) -> State {
        let variables = self.events.iter().filter_map(|e| e.op.variable()).map(|x| x.index() + 1);
        State {
            done: vec![0; self.lanes.len()],
            dead: 0,
            written: vec![0; variables.max().unwrap_or(0)],
            after_begin: 0,
        }
    }

    fn is_race(&self, a: usize, b: usize) -> bool {
        let (e, f) = (self.events[a], self.events[b]);
        let plain = |op: Op| matches!(op, Op::Read(_) | Op::Write(_));
        e.thread != f.thread
            && plain(e.op)
            && plain(f.op)
            && e.op.variable() == f.op.variable()
            && (writes(e.op) || writes(f.op))
    }

    /// All events of a thread.
    fn of(&self, thread: ThreadId) -> Set {
        let lane = self.threads.iter().position(|&t| t == thread);
        lane.map_or(0, |lane| self.lanes[lane].iter().map(|&i| one(i)).sum())
    }

    fn search(
        &self,
        block: Option<Range>,
        mut is_shown: impl FnMut(&State, usize, bool) -> bool,
    ) -> Result<Option<Vec<usize>>, TooMany> {
        let start = self.start();
        let mut seen = HashSet::from([start.clone()]);
        let mut stack = vec![(start, Vec::new())];
        while let Some((state, order)) = stack.pop() {
            for next in self.choices(&state) {
                let diverges = self.diverges(&state, next);
                let order = [&order[..], &[next]].concat();
                if is_shown(&state, next, diverges) {
                    return Ok(Some(order));
                }
                let state = self.step(&state, next, diverges, block);
                if seen.insert(state.clone()) {
                    stack.push((state, order));
                }
            }
            if seen.len() > self.most_states {
                return Err(TooMany);
            }
        }
        Ok(None)
    }

    /// The events that can come next. What neither accesses nor acquires changes nothing by coming
    /// early, so it comes at once.
    fn choices(&self, state: &State) -> Vec<usize> {
        let next: Vec<usize> = self.next_events(state);
        let is_choice = |&&i: &&usize| {
            let op = self.events[i].op;
            let acquires = matches!(op, Op::Acquire(_) | Op::AcquireShared(_) | Op::PostWait(_));
            op.variable().is_some() || acquires
        };
        match next.iter().find(|i| !is_choice(i)) {
            Some(&i) => vec![i],
            None => next,
        }
    }

    fn next_events(&self, state: &State) -> Vec<usize> {
        let lanes = self.lanes.iter().zip(&state.done).enumerate();
        let heads = lanes.filter(|(lane, _)| state.dead & one(*lane) == 0);
        let heads = heads.filter_map(|(_, (lane, &done))| lane.get(done as usize).copied());
        heads.filter(|&next| self.can_come(state, next)).collect()
    }

    fn done(&self, state: &State) -> Set {
        let lanes = self.lanes.iter().zip(&state.done);
        lanes.flat_map(|(lane, &done)| &lane[..done as usize]).map(|&i| one(i)).sum()
    }

    fn can_come(&self, state: &State, next: usize) -> bool {
        if self.must[next] & !self.done(state) != 0 {
            return false;
        }
        match self.events[next].op {
            Op::Join(child) => {
                let lane = self.threads.iter().position(|&t| t == child);
                lane.is_none_or(|lane| state.dead & one(lane) == 0)
            }
            Op::Acquire(l) | Op::PostWait(l) => self.holds(state, l.0) == (0, 0),
            Op::AcquireShared(l) => self.holds(state, l.0).0 == 0,
            Op::Read(_)
            | Op::AtomicRead(_)
            | Op::Write(_)
            | Op::AtomicWrite(_)
            | Op::AtomicUpdate(_)
            | Op::Release(_)
            | Op::ReleaseShared(_)
            | Op::Fork(_)
            | Op::Begin(_)
            | Op::End(_)
            | Op::Yield
            | Op::PreWait(_)
            | Op::Notify(_)
            | Op::Post(_)
            | Op::Take(_)
            | Op::BarrierEnter(_)
            | Op::BarrierExit(_) => true,
        }
    }

    /// How many threads hold a lock exclusively, and shared.
    fn holds(&self, state: &State, lock: u32) -> (i32, i32) {
        let (mut exclusive, mut shared) = (0, 0);
        for (lane, &done) in self.lanes.iter().zip(&state.done) {
            for &i in &lane[..done as usize] {
                let op = self.events[i].op;
                if op.lock().is_none_or(|l| l.0 != lock) {
                    continue;
                }
                if let Op::Acquire(_) | Op::PostWait(_) = op {
                    exclusive += 1;
                } else if let Op::Release(_) | Op::PreWait(_) = op {
                    exclusive -= 1;
                } else if let Op::AcquireShared(_) = op {
                    shared += 1;
                } else if let Op::ReleaseShared(_) = op {
                    shared -= 1;
                }
            }
        }
        (exclusive, shared)
    }

    fn diverges(&self, state: &State, next: usize) -> bool {
        let op = self.events[next].op;
        let Some(x) = op.variable().filter(|_| reads(op)) else { return false };
        let observed = self.source[next].map_or(0, |write| write as u8 + 2);
        state.written[x.index()] != observed
    }

    /// The done events that conflict with the next one.
    fn conflicting(&self, state: &State, next: usize, diverges: bool) -> Set {
        let mut all = 0;
        for (lane, (events, &done)) in self.lanes.iter().zip(&state.done).enumerate() {
            let events = &events[..done as usize];
            for (k, &i) in events.iter().enumerate() {
                let is_last = k + 1 == events.len();
                let diverged = is_last && state.dead & one(lane) != 0;
                if self.conflict(i, diverged, next, diverges) {
                    all |= one(i);
                }
            }
        }
        all
    }

    fn conflict(&self, i: usize, i_diverged: bool, j: usize, j_diverged: bool) -> bool {
        let (e, f) = (self.events[i], self.events[j]);
        if e.thread == f.thread {
            return true;
        }
        let acts = |event: Event, diverged: bool| {
            let update = event.op.variable().filter(|&x| event.op == Op::AtomicUpdate(x));
            update.filter(|_| diverged).map_or(event.op, Op::AtomicRead)
        };
        let (e_op, f_op) = (acts(e, i_diverged), acts(f, j_diverged));
        if let (Some(x), Some(y)) = (e_op.variable(), f_op.variable()) {
            return x == y && (writes(e_op) || writes(f_op));
        }
        let frees = matches!(e_op, Op::Release(_) | Op::PreWait(_) | Op::ReleaseShared(_));
        let takes = matches!(f_op, Op::Acquire(_) | Op::PostWait(_) | Op::AcquireShared(_));
        if frees && takes {
            let both_shared = matches!((e_op, f_op), (Op::ReleaseShared(_), Op::AcquireShared(_)));
            return e_op.lock() == f_op.lock() && !both_shared;
        }
        if let Op::Fork(child) = e_op {
            return f.thread == child || f_op == Op::Join(child);
        }
        if let Op::Join(child) = f_op {
            return e.thread == child;
        }
        match (e_op, f_op) {
            (Op::BarrierEnter(b), Op::BarrierExit(c)) => b == c && self.rounds[i] == self.rounds[j],
            (Op::Post(s), Op::Take(r)) => s == r,
            _ => false,
        }
    }

    fn step(&self, state: &State, next: usize, diverges: bool, block: Option<Range>) -> State {
        let mut after = state.clone();
        let event = self.events[next];
        let lane = self.threads.iter().position(|&t| t == event.thread).unwrap_or(0);
        if let Some((begin, _)) = block
            && (next == begin || self.conflicting(state, next, diverges) & state.after_begin != 0)
        {
            after.after_begin |= one(next);
        }
        after.done[lane] += 1;
        if diverges {
            after.dead |= one(lane);
        }
        if let Some(x) = event.op.variable().filter(|_| writes(event.op)) {
            after.written[x.index()] = if diverges { 1 } else { next as u8 + 2 };
        }
        after
    }
}

/// The round of each enter and exit.
fn rounds(events: &[Event]) -> Vec<u32> {
    let mut current: HashMap<BarrierId, (u32, bool)> = HashMap::new();
    let mut entered: HashMap<(BarrierId, ThreadId), u32> = HashMap::new();
    let mut rounds = vec![0; events.len()];
    for (i, event) in events.iter().enumerate() {
        if let Op::BarrierEnter(b) = event.op {
            let (round, left) = current.entry(b).or_insert((0, true));
            if *left {
                (*round, *left) = (*round + 1, false);
            }
            entered.insert((b, event.thread), *round);
            rounds[i] = *round;
        } else if let Op::BarrierExit(b) = event.op {
            let (round, left) = current.entry(b).or_insert((0, true));
            rounds[i] = entered.get(&(b, event.thread)).copied().unwrap_or(*round);
            *left |= rounds[i] == *round;
        }
    }
    rounds
}

/// P4: the events of other threads that must be there before event j.
fn must(events: &[Event], rounds: &[u32], j: usize) -> Set {
    let event = events[j];
    let earlier = |is_it: &dyn Fn(usize, Op) -> bool| -> Set {
        (0..j).filter(|&i| is_it(i, events[i].op)).map(one).sum()
    };
    let is_stranger = |i: usize, b: BarrierId| {
        let entered = |e: &Event| e.thread == events[i].thread && e.op == Op::BarrierEnter(b);
        !events[..i].iter().any(entered)
    };
    let is_first_exit = |i: usize, b: BarrierId| {
        (0..i).all(|k| events[k].op != Op::BarrierExit(b) || rounds[k] != rounds[i])
    };
    let fork = earlier(&|_, op| op == Op::Fork(event.thread));
    let own = match event.op {
        Op::Join(child) => earlier(&|i, op| events[i].thread == child || op == Op::Fork(child)),
        Op::Post(s) | Op::Take(s) => earlier(&|_, op| op == Op::Post(s) || op == Op::Take(s)),
        Op::PreWait(l) => earlier(&|_, op| op == Op::PreWait(l) || op == Op::Notify(l)),
        Op::Notify(l) => earlier(&|_, op| op == Op::PreWait(l)),
        Op::PostWait(l) => {
            let asleep = (0..j)
                .rfind(|&i| events[i].thread == event.thread && events[i].op == Op::PreWait(l));
            earlier(&|i, op| asleep.is_some_and(|asleep| i > asleep) && op == Op::Notify(l))
        }
        Op::BarrierEnter(b) => earlier(&|i, op| {
            let is_gate = is_stranger(i, b) || rounds[i] < rounds[j] && is_first_exit(i, b);
            op == Op::BarrierEnter(b) || op == Op::BarrierExit(b) && is_gate
        }),
        Op::BarrierExit(b) => earlier(&|i, op| {
            op == Op::BarrierEnter(b) && (rounds[i] == rounds[j] || is_stranger(j, b))
        }),
        Op::Read(_)
        | Op::AtomicRead(_)
        | Op::Write(_)
        | Op::AtomicWrite(_)
        | Op::AtomicUpdate(_)
        | Op::Acquire(_)
        | Op::Release(_)
        | Op::AcquireShared(_)
        | Op::ReleaseShared(_)
        | Op::Fork(_)
        | Op::Begin(_)
        | Op::End(_)
        | Op::Yield => 0,
    };
    let other: Set = (0..j).filter(|&i| events[i].thread != event.thread).map(one).sum();
    (fork | own) & other
}
