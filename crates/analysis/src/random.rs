//! Random traces for property tests: short, well-formed, with every operation, and about as often
//! serializable as not. Shrinking works, because a trace is made from a plain list of wishes: those
//! that the rules of a well-formed trace forbid at their place are passed over, so any part of the
//! list makes a trace again.
//!
//! Seeds are fixed: a test run is the same every time. `PROPTEST_CASES` makes it longer, and
//! `PROPTEST_RNG_SEED` takes it elsewhere.

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

/// What a wish can ask for: simple operations first, because shrinking moves towards the front;
/// frequent ones more than once.
const WISHES: &[fn(&State, u32) -> Op] = &[
    |_, n| Op::Read(VarId(n)),
    |_, n| Op::Write(VarId(n)),
    |s, _| s.begin(),
    |s, _| s.end(),
    |_, n| Op::Acquire(LockId(n)),
    |_, n| Op::Release(LockId(n)),
    |_, n| Op::AcquireShared(LockId(n)),
    |_, n| Op::ReleaseShared(LockId(n)),
    |_, n| Op::AtomicRead(VarId(n)),
    |_, n| Op::AtomicWrite(VarId(n)),
    |_, n| Op::AtomicUpdate(VarId(n)),
    |s, n| Op::Fork(s.other(n)),
    |_, n| Op::PreWait(LockId(n)),
    |_, n| Op::Post(SemaphoreId(n)),
    |_, n| Op::Take(SemaphoreId(n)),
    |_, n| Op::BarrierEnter(BarrierId(n)),
    |_, n| Op::BarrierExit(BarrierId(n)),
    |_, n| Op::Notify(LockId(n)),
    |_, _| Op::Yield,
    |s, n| Op::Join(s.other(n)),
    // Again, for their weight.
    |_, n| Op::Read(VarId(n)),
    |_, n| Op::Write(VarId(n)),
    |_, n| Op::Read(VarId(n)),
    |_, n| Op::Write(VarId(n)),
    |s, _| s.begin(),
    |s, _| s.begin(),
    |s, _| s.end(),
    |_, n| Op::Release(LockId(n)),
    |_, n| Op::ReleaseShared(LockId(n)),
    |_, n| Op::BarrierExit(BarrierId(n)),
];

/// What random traces are made of.
#[derive(Clone, Copy)]
pub struct Mix {
    /// Wishes for these come on top, for their weight.
    more: &'static [fn(&State, u32) -> Op],
    /// The most threads.
    threads: usize,
    /// All threads but that many act only when they have been forked.
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
        |s, n| Op::Fork(s.other(n)),
        |s, n| Op::Fork(s.other(n)),
        |s, n| Op::Join(s.other(n)),
        |s, n| Op::Join(s.other(n)),
        |_, _| Op::Yield,
        |_, _| Op::Yield,
        |_, _| Op::Yield,
    ],
    threads: 7,
    roots: 2,
};

/// Who, what, to what.
type Wish = (usize, usize, u32);

/// What the next event depends on.
struct State {
    mix: Mix,
    thread: usize,
    forked: [bool; THREADS],
    blocks: [Vec<LabelId>; THREADS],
    waits_on: [Option<LockId>; THREADS],
}

impl State {
    fn begin(&self) -> Op {
        Op::Begin(LabelId(self.blocks[self.thread].len() as u32 % TARGETS))
    }

    fn end(&self) -> Op {
        Op::End(self.blocks[self.thread].last().copied().unwrap_or(LabelId::UNNAMED))
    }

    fn other(&self, n: u32) -> ThreadId {
        ThreadId(((self.thread + 1 + n as usize) % self.mix.threads) as u32)
    }

    fn op(&self, (_, what, target): Wish) -> Op {
        // A thread that waits can do nothing but wake up.
        let wish = WISHES.iter().chain(self.mix.more).nth(what);
        let wished = wish.map_or(Op::Yield, |wish| wish(self, target));
        self.waits_on[self.thread].map_or(wished, Op::PostWait)
    }

    fn may_act(&self) -> bool {
        self.thread < self.mix.roots || self.forked[self.thread]
    }

    fn done(&mut self, op: Op) {
        if let Op::Begin(label) = op {
            self.blocks[self.thread].push(label);
        } else if let Op::End(_) = op {
            self.blocks[self.thread].pop();
        } else if let Op::Fork(child) = op {
            self.forked[child.index()] = true;
        } else if let Op::PreWait(lock) = op {
            self.waits_on[self.thread] = Some(lock);
        } else if let Op::PostWait(_) = op {
            self.waits_on[self.thread] = None;
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
    (2..=mix.threads, 1..=TARGETS).prop_flat_map(move |(threads, targets)| {
        let wish = (0..threads, 0..WISHES.len() + mix.more.len(), 0..targets);
        proptest::collection::vec(wish, 0..most).prop_map(move |wishes| grant(mix, &wishes))
    })
}

fn grant(mix: Mix, wishes: &[Wish]) -> RandomTrace {
    let mut trace = Trace { events: Vec::new(), symbols: symbols() };
    let mut validator = Validator::default();
    validator.reserve(&trace.symbols.counts());
    let mut state = State {
        mix,
        thread: 0,
        forked: Default::default(),
        blocks: Default::default(),
        waits_on: Default::default(),
    };
    for &wish in wishes {
        state.thread = wish.0;
        let op = state.op(wish);
        let site = Site::number(trace.events.len() as u32 + 1);
        let event = Event { thread: ThreadId(wish.0 as u32), op, site };
        if state.may_act() && validator.event(&event).is_ok() {
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
    // Applied last, so that the environment has the last word.
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
