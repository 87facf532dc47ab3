//! AeroDrome (Mathur, Viswanathan, ASPLOS 2020), Algorithm 1 as it stands in the paper: vector
//! clocks for threads, locks, variables, and for every pair of thread and variable. The end of a
//! transaction visits all clocks, so this is for comparison, not for long traces.
//!
//! The other operations follow the paper's pattern. Operations that do not order the threads that
//! perform them (shared releases of a lock, posts of a semaphore, arrivals of a barrier round) are
//! kept like the reads of a variable, one clock per thread.
//!
//! In two cases Algorithm 1 is not literally right for our traces:
//! - A `join` of a thread that never acted follows the `fork` alone. If both are in the same
//!   transaction this is no cycle, but the clock of the child knows the parent's begin.
//! - A cycle of which all transactions but one are open is not seen until they end. At the end of
//!   the trace, open transactions are therefore closed (`finish`), and a violation found then is
//!   reported at the last event.
//!
//! A violation at an event or at the end of a transaction is reported once per transaction. The
//! paper stops there; we join the clocks and go on.

use std::ops::ControlFlow;

use paceline_trace::{Batch, Event, EventNo, IdCounts, LockId, Op, ThreadId, VarId};

use super::{Atomicity, Options, each_event};
use crate::engine::by_thread::ByThread;
use crate::engine::clock::VectorClock;
use crate::engine::rounds::{Round, Rounds};
use crate::{Analysis, Cycle};

#[derive(Clone, Default)]
struct Thread {
    clock: VectorClock,
    begin_clock: VectorClock,
    begin: EventNo,
    depth: u32,
    reported: bool,
    acted: bool,
    forked_by: Option<ThreadId>,
}

/// The clock of the last write or release, and its thread.
#[derive(Clone, Default)]
struct Last {
    clock: VectorClock,
    by: Option<ThreadId>,
}

#[derive(Clone, Default)]
struct Var {
    written: Last,
    read: ByThread<VectorClock>,
}

#[derive(Clone, Default)]
struct Lock {
    released: Last,
    released_shared: ByThread<VectorClock>,
}

/// Algorithm 1.
pub struct AerodromeBasic {
    options: Options,
    threads: Vec<Thread>,
    vars: Vec<Var>,
    locks: Vec<Lock>,
    posts: Vec<ByThread<VectorClock>>,
    rounds: Rounds,
    entered: Vec<ByThread<VectorClock>>,
    /// The current event and its thread.
    now: (EventNo, ThreadId),
    cycles: Vec<Cycle>,
}

impl AerodromeBasic {
    /// Starts the engine.
    pub fn new(options: Options) -> AerodromeBasic {
        AerodromeBasic {
            options,
            threads: Vec::new(),
            vars: Vec::new(),
            locks: Vec::new(),
            posts: Vec::new(),
            rounds: Rounds::default(),
            entered: Vec::new(),
            now: (0, ThreadId(0)),
            cycles: Vec::new(),
        }
    }

    fn reserve(&mut self, counts: &IdCounts) {
        for t in self.threads.len()..counts.threads {
            let mut thread = Thread::default();
            thread.clock.advance(t, 1);
            self.threads.push(thread);
        }
        grow(&mut self.vars, counts.vars);
        grow(&mut self.locks, counts.locks);
        grow(&mut self.posts, counts.semaphores);
    }

    fn event(&mut self, event: &Event) {
        let t = event.thread;
        match event.op {
            Op::Read(x) | Op::AtomicRead(x) => self.read(t, x),
            Op::Write(x) | Op::AtomicWrite(x) | Op::AtomicUpdate(x) => self.write(t, x),
            Op::Acquire(l) | Op::PostWait(l) => {
                self.after_last(t, l);
                let shared = self.locks[l.index()].released_shared.clone();
                self.after_others(t, &shared);
            }
            Op::AcquireShared(l) => self.after_last(t, l),
            Op::Release(l) | Op::PreWait(l) => {
                self.locks[l.index()].released.set(t, &self.threads);
            }
            Op::ReleaseShared(l) => {
                let clock = self.clock(t);
                self.locks[l.index()].released_shared.set(t, clock);
            }
            Op::Fork(child) => self.fork(t, child),
            Op::Join(child) => self.join(t, child),
            Op::Begin(_) => self.begin(t),
            Op::End(_) => self.end(t),
            Op::Yield | Op::Notify(_) => {}
            Op::Post(s) => {
                let clock = self.clock(t);
                self.posts[s.index()].set(t, clock);
            }
            Op::Take(s) => {
                let posts = self.posts[s.index()].clone();
                self.after_others(t, &posts);
            }
            Op::BarrierEnter(b) => {
                let clock = self.clock(t);
                let round = self.rounds.enter(b, t);
                self.entered_by(round).set(t, clock);
            }
            Op::BarrierExit(b) => {
                let round = self.rounds.exit(b, t);
                let entered = self.entered_by(round).clone();
                self.after_others(t, &entered);
            }
        }
        self.threads[t.index()].acted = true;
    }

    fn clock(&self, t: ThreadId) -> VectorClock {
        self.threads[t.index()].clock.clone()
    }

    /// CHECKANDGET, lines 9 to 12.
    fn check_and_get(&mut self, clock: &VectorClock, t: ThreadId) {
        let thread = &mut self.threads[t.index()];
        let violation = thread.depth > 0 && thread.begin_clock.is_within(clock);
        thread.clock.join(clock);
        if violation {
            self.report();
        }
    }

    /// The transaction of the current event lies on a cycle.
    fn report(&mut self) {
        let (event, t) = self.now;
        let thread = &mut self.threads[t.index()];
        if !std::mem::replace(&mut thread.reported, true) {
            self.cycles.push(Cycle { event, thread: t, begin: thread.begin });
        }
    }

    fn after_others(&mut self, t: ThreadId, clocks: &ByThread<VectorClock>) {
        for (u, clock) in clocks.iter() {
            if u != t {
                self.check_and_get(clock, t);
            }
        }
    }

    /// Lines 13 to 15.
    fn after_last(&mut self, t: ThreadId, l: LockId) {
        let last = &self.locks[l.index()].released;
        if last.by != Some(t) {
            let clock = last.clock.clone();
            self.check_and_get(&clock, t);
        }
    }

    /// Lines 19 and 20.
    fn fork(&mut self, t: ThreadId, child: ThreadId) {
        let clock = self.clock(t);
        let thread = &mut self.threads[child.index()];
        thread.clock.join(&clock);
        thread.forked_by = Some(t);
    }

    /// Lines 21 and 22.
    fn join(&mut self, t: ThreadId, child: ThreadId) {
        let thread = &self.threads[child.index()];
        if thread.acted || thread.forked_by != Some(t) {
            let clock = thread.clock.clone();
            self.check_and_get(&clock, t);
        }
    }

    /// Lines 23 to 26.
    fn read(&mut self, t: ThreadId, x: VarId) {
        self.after_write(t, x);
        let clock = self.clock(t);
        self.vars[x.index()].read.set(t, clock);
    }

    /// Lines 27 to 33.
    fn write(&mut self, t: ThreadId, x: VarId) {
        self.after_write(t, x);
        let read = self.vars[x.index()].read.clone();
        self.after_others(t, &read);
        self.vars[x.index()].written.set(t, &self.threads);
    }

    fn after_write(&mut self, t: ThreadId, x: VarId) {
        let last = &self.vars[x.index()].written;
        if last.by != Some(t) {
            let clock = last.clock.clone();
            self.check_and_get(&clock, t);
        }
    }

    /// Lines 34 to 36, of outermost blocks.
    fn begin(&mut self, t: ThreadId) {
        let thread = &mut self.threads[t.index()];
        thread.depth += 1;
        if thread.depth == 1 {
            thread.clock.advance(t.index(), thread.clock.get(t.index()) + 1);
            thread.begin_clock.assign(&thread.clock);
            thread.begin = self.now.0;
            thread.reported = false;
        }
    }

    /// The end of a transaction, for outermost blocks.
    fn end(&mut self, t: ThreadId) {
        if self.threads[t.index()].depth == 1 {
            self.close(t);
        }
        self.threads[t.index()].depth -= 1;
    }

    /// Lines 37 to 46: what follows the begin of the transaction now follows all of it.
    fn close(&mut self, t: ThreadId) {
        let begin = self.threads[t.index()].begin_clock.clone();
        let clock = self.clock(t);
        for u in (0..self.threads.len() as u32).map(ThreadId) {
            if u != t && begin.is_within(&self.threads[u.index()].clock) {
                self.check_and_get(&clock, u);
            }
        }
        let vars = self.vars.iter_mut();
        let lasts = vars.map(|x| (&mut x.written, &mut x.read));
        let locks = self.locks.iter_mut();
        let lasts = lasts.chain(locks.map(|l| (&mut l.released, &mut l.released_shared)));
        for (last, each) in lasts {
            complete(&mut last.clock, &begin, &clock);
            each.values_mut().for_each(|c| complete(c, &begin, &clock));
        }
        for each in self.posts.iter_mut().chain(&mut self.entered) {
            each.values_mut().for_each(|c| complete(c, &begin, &clock));
        }
    }

    fn entered_by(&mut self, round: Round) -> &mut ByThread<VectorClock> {
        grow(&mut self.entered, round.slot + 1);
        let entered = &mut self.entered[round.slot];
        if round.fresh {
            entered.clear();
        }
        entered
    }
}

impl Last {
    fn set(&mut self, t: ThreadId, threads: &[Thread]) {
        self.clock.assign(&threads[t.index()].clock);
        self.by = Some(t);
    }
}

fn complete(clock: &mut VectorClock, begin: &VectorClock, end: &VectorClock) {
    if begin.is_within(clock) {
        clock.join(end);
    }
}

fn grow<T: Clone + Default>(state: &mut Vec<T>, len: usize) {
    if state.len() < len {
        state.resize(len, T::default());
    }
}

super::aerodrome_analysis!(AerodromeBasic);
