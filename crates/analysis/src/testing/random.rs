//! Random traces for property tests: short, well-formed, with every operation, and about as often
//! serializable as not. Shrinking works, because a trace is made from a plain list of wishes: those
//! that the rules of a well-formed trace forbid are skipped, so any part of the list makes a trace
//! again.
//!
//! Seeds are fixed: a test run is the same every time. `PROPTEST_CASES` makes it longer, and
//! `PROPTEST_RNG_SEED` gives other traces.

use std::fmt;

use paceline_trace::validate::Validator;
use paceline_trace::{
    BarrierId, Event, LabelId, LockId, Op, SemaphoreId, Site, Symbols, ThreadId, Trace, VarId,
};
use proptest::prelude::*;
use proptest::test_runner::{
    RngSeed, TestCaseError, TestCaseResult, TestRunner, contextualize_config,
};

const THREADS: usize = 8;
const TARGETS: u32 = 3;

type Make = fn(&State, u32) -> Op;

/// What a wish can ask for: simple operations first, because shrinking moves towards the front.
const BASIC: &[Make] =
    &[|_, n| Op::Read(VarId(n)), |_, n| Op::Write(VarId(n)), |s, _| s.begin(), |s, _| s.end()];

/// Operations that belong together. A trace has all of them, or only one group besides the basic
/// ones: a group on its own reaches states that a mixture hardly ever does.
const GROUPS: &[&[Make]] = &[
    &[|_, n| Op::Acquire(LockId(n)), |s, n| Op::Release(s.held(n))],
    &[
        |_, n| Op::Acquire(LockId(n)),
        |s, n| Op::PreWait(s.held(n)),
        |s, n| Op::Release(s.held(n)),
        |_, n| Op::Notify(LockId(n)),
    ],
    &[
        |_, n| Op::AcquireShared(LockId(n)),
        |_, n| Op::ReleaseShared(LockId(n)),
        |_, n| Op::Acquire(LockId(n)),
        |s, n| Op::Release(s.held(n)),
    ],
    &[
        |_, n| Op::AtomicRead(VarId(n)),
        |_, n| Op::AtomicWrite(VarId(n)),
        |_, n| Op::AtomicUpdate(VarId(n)),
    ],
    &[|s, n| Op::Fork(s.other(n)), |s, n| Op::Join(s.other(n)), |_, _| Op::Yield],
    &[|_, n| Op::Post(SemaphoreId(n)), |_, n| Op::Take(SemaphoreId(n))],
    &[|_, n| Op::BarrierEnter(BarrierId(n)), |_, n| Op::BarrierExit(BarrierId(n))],
];

/// The wishes that a trace chooses from: the group with this number, or all of them. Plain accesses
/// make most cycles; where they are rare, other operations have to.
fn choices(group: usize, accesses_are_rare: bool) -> Vec<Make> {
    let special: Vec<Make> = match GROUPS.get(group) {
        Some(one) => one.to_vec(),
        None => GROUPS.concat(),
    };
    let (basic_times, special_times) = if accesses_are_rare {
        (1, (3 * BASIC.len()).div_ceil(special.len()))
    } else {
        (special.len().div_ceil(BASIC.len()), 1)
    };
    [BASIC.to_vec(), special.repeat(special_times), BASIC.repeat(basic_times)].concat()
}

/// The kind of traces to make.
#[derive(Clone, Copy)]
pub struct Mix {
    /// More wishes, for their weight.
    more: &'static [Make],
    /// The most threads.
    threads: usize,
    /// All threads but this many have events only after they have been forked.
    roots: usize,
}

/// Every operation, and about as often serializable as not.
pub const EVERYTHING: Mix = Mix { more: &[], threads: 5, roots: 5 };

/// Much forking, joining and yielding.
pub const FORK_JOIN: Mix = Mix {
    more: &[
        |s, n| Op::Fork(s.other(n)),
        |s, n| Op::Fork(s.other(n)),
        |s, n| Op::Fork(s.other(n)),
        |s, n| Op::Join(s.other(n)),
        |_, _| Op::Yield,
    ],
    threads: 7,
    roots: 2,
};

/// A thread, the index of an operation, and its target.
type Wish = (usize, usize, u32);

/// The state that the next event depends on.
#[derive(Default)]
struct State {
    thread: usize,
    /// How many threads there can be.
    threads: usize,
    forked: [bool; THREADS],
    blocks: [Vec<LabelId>; THREADS],
    waits_on: [Option<LockId>; THREADS],
    /// The thread that holds each lock exclusively.
    holders: [Option<usize>; TARGETS as usize],
}

impl State {
    fn begin(&self) -> Op {
        Op::Begin(LabelId(self.blocks[self.thread].len() as u32 % TARGETS))
    }

    fn end(&self) -> Op {
        Op::End(self.blocks[self.thread].last().copied().unwrap_or(LabelId::UNNAMED))
    }

    /// A lock that the thread holds, if it holds one.
    fn held(&self, n: u32) -> LockId {
        let locks = (0..TARGETS).map(|i| (n + i) % TARGETS);
        let mut held = locks.filter(|&l| self.holders[l as usize] == Some(self.thread));
        LockId(held.next().unwrap_or(n))
    }

    fn other(&self, n: u32) -> ThreadId {
        ThreadId(((self.thread + 1 + n as usize) % self.threads) as u32)
    }

    fn op(&self, make: Make, target: u32) -> Op {
        // A thread that waits can do nothing but wake up.
        self.waits_on[self.thread].map_or_else(|| make(self, target), Op::PostWait)
    }

    fn done(&mut self, op: Op) {
        if let Op::Begin(label) = op {
            self.blocks[self.thread].push(label);
        } else if let Op::End(_) = op {
            self.blocks[self.thread].pop();
        } else if let Op::Fork(child) = op {
            self.forked[child.index()] = true;
        } else if let Op::Acquire(lock) | Op::PostWait(lock) = op {
            self.holders[lock.index()] = Some(self.thread);
            self.waits_on[self.thread] = None;
        } else if let Op::Release(lock) = op {
            self.holders[lock.index()] = None;
        } else if let Op::PreWait(lock) = op {
            self.holders[lock.index()] = None;
            self.waits_on[self.thread] = Some(lock);
        }
    }
}

/// A random trace; a failing test shows it in the one-line notation.
#[derive(Clone)]
pub struct RandomTrace(pub Trace);

impl fmt::Debug for RandomTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0.to_line())
    }
}

/// Random well-formed traces of fewer than `most` events.
pub fn traces(mix: Mix, most: usize) -> impl Strategy<Value = RandomTrace> {
    // A third of the traces have everything.
    let shape = (2..=mix.threads, 1..=TARGETS, 0..GROUPS.len() * 3 / 2, any::<bool>());
    shape.prop_flat_map(move |(threads, targets, group, accesses_are_rare)| {
        let choices = [&choices(group, accesses_are_rare), mix.more].concat();
        let wish = (0..threads, 0..choices.len(), 0..targets);
        proptest::collection::vec(wish, 0..most)
            .prop_map(move |wishes| grant(mix, &choices, &wishes))
    })
}

fn grant(mix: Mix, choices: &[Make], wishes: &[Wish]) -> RandomTrace {
    let mut trace = Trace { events: Vec::new(), symbols: symbols() };
    let mut validator = Validator::default();
    validator.reserve(&trace.symbols.counts());
    let mut state = State { threads: mix.threads, ..State::default() };
    for &(thread, what, target) in wishes {
        state.thread = thread;
        let op = state.op(choices[what], target);
        let site = Site::number(trace.events.len() as u32 + 1);
        let event = Event { thread: ThreadId(thread as u32), op, site };
        let may_act = thread < mix.roots || state.forked[thread];
        if may_act && validator.event(&event).is_ok() {
            state.done(op);
            trace.events.push(event);
        }
    }
    RandomTrace(trace)
}

fn symbols() -> Symbols {
    let mut symbols = Symbols::default();
    for i in 0..THREADS {
        symbols.thread((i + 1).to_string().as_bytes());
    }
    for i in 0..TARGETS as usize {
        symbols.var(&[b"xyz"[i]]);
        symbols.lock(&[b"lmn"[i]]);
        symbols.semaphore(&[b"stu"[i]]);
        symbols.barrier(&[b"bcd"[i]]);
        symbols.label(&[b"pqr"[i]]);
    }
    symbols
}

/// Runs `test` on `cases` random traces of fewer than `most` events, and panics with the smallest
/// trace on which it fails.
///
/// # Panics
/// If the test fails.
pub fn check(cases: u32, most: usize, test: impl Fn(&Trace) -> Result<(), String>) {
    check_mix(EVERYTHING, cases, most, test);
}

/// The same for a given mix.
///
/// # Panics
/// If the test fails.
pub fn check_mix(mix: Mix, cases: u32, most: usize, test: impl Fn(&Trace) -> Result<(), String>) {
    // Applied last, so that the environment overrides the defaults.
    let config = contextualize_config(ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let result = TestRunner::new(config).run(&traces(mix, most), |random| -> TestCaseResult {
        test(&random.0).map_err(TestCaseError::fail)
    });
    if let Err(failure) = result {
        panic!("{failure}");
    }
}
