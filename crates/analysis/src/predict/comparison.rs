//! The long comparison of predictions with the definition: random traces of up to 4 threads and 20
//! events, against the exhaustive search; and how far the same search comes when every lock keeps the
//! order of its sections, which is a bound for sync-preserving methods.

use std::collections::BTreeSet;

use paceline_trace::validate::Validator;
use paceline_trace::{Event, EventNo, LabelId, LockId, Op, Site, ThreadId, Trace, VarId};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::{Config, RngSeed, TestRunner};

use super::reference::Reference;
use super::{Options, Predictor, Sharing, Shown};
use crate::Analysis as _;
use crate::explain::blame::Blame;
use crate::testing::random::{EVERYTHING, traces};

/// The most events of a trace: the exhaustive search takes a second for some that are longer.
pub const MOST_EVENTS: usize = 20;
/// The most threads of a trace.
pub const MOST_THREADS: usize = 4;

/// What the comparison came to. Blocks, unless it says otherwise.
#[derive(Default, Debug)]
pub struct Tally {
    /// Traces that were compared.
    pub traces: u64,
    /// Traces that were too large for the exhaustive search.
    pub too_large: u64,
    /// All blocks.
    pub blocks: u64,
    /// Refuted in the observed order.
    pub observed: u64,
    /// Refuted by another correct reordering only.
    pub beyond: u64,
    /// Of these, predicted.
    pub found: u64,
    /// Predicted when each lock keeps the order of its sections.
    pub sync_preserving: u64,
    /// Refutable, but not predicted.
    pub missed: u64,
    /// Predicted, but not refutable.
    pub invented: u64,
    /// The traces with a difference, with what was found and what should have been.
    pub differences: Vec<String>,
}

impl Tally {
    /// Compares so many random traces with every operation.
    pub fn of_everything(wanted: u64, seed: u64) -> Tally {
        let config = Config { rng_seed: RngSeed::Fixed(seed), ..Config::default() };
        let mut runner = TestRunner::new(config);
        let strategy = traces(EVERYTHING, 2 * MOST_EVENTS);
        let mut tally = Tally::default();
        while tally.traces < wanted {
            let Ok(tree) = strategy.new_tree(&mut runner) else { continue };
            let mut trace = tree.current().0;
            trace.events.truncate(MOST_EVENTS);
            let threads: BTreeSet<_> = trace.events.iter().map(|event| event.thread).collect();
            if threads.len() <= MOST_THREADS {
                tally.compare(&trace);
            }
        }
        tally
    }

    /// Compares so many random traces of threads that do everything in lock sections: a block of two
    /// or three sections, and single sections of other threads.
    pub fn of_sections(wanted: u64, seed: u64) -> Tally {
        let mut dice = Dice(seed);
        let mut tally = Tally::default();
        while tally.traces < wanted {
            tally.compare(&sections(&mut dice));
        }
        tally
    }

    /// Nothing was invented, and at most one refutable block in a thousand was missed.
    pub fn is_fine(&self) -> bool {
        self.invented == 0 && self.missed * 1000 <= self.beyond
    }

    fn compare(&mut self, trace: &Trace) {
        self.traces += 1;
        let reference = Reference::new(&trace.events);
        let mut expected = BTreeSet::new();
        for block in reference.blocks() {
            match reference.refutes(block) {
                Ok(Some(_)) => _ = expected.insert(block.0 as EventNo + 1),
                Ok(None) => {}
                Err(_) => {
                    self.too_large += 1;
                    return;
                }
            }
        }
        let mut blame = Blame::default();
        let _ = blame.events(&trace.batch());
        blame.finish();
        let observed: BTreeSet<EventNo> = blame.refuted().iter().map(|it| it.begin_event).collect();
        let found = predicted(trace, &observed, false);
        let beyond: BTreeSet<EventNo> = expected.difference(&observed).copied().collect();
        self.blocks += reference.blocks().len() as u64;
        self.observed += observed.len() as u64;
        self.beyond += beyond.len() as u64;
        self.found += beyond.intersection(&found).count() as u64;
        self.sync_preserving += predicted(trace, &observed, true).len() as u64;
        self.missed += beyond.difference(&found).count() as u64;
        self.invented += found.difference(&expected).count() as u64;
        if found != beyond {
            self.differences.push(format!("{}: {found:?}, not {beyond:?}", trace.to_line()));
        }
    }
}

fn predicted(
    trace: &Trace,
    observed: &BTreeSet<EventNo>,
    keeps_lock_order: bool,
) -> BTreeSet<EventNo> {
    let options = Options { workers: 1, budget: None, keeps_lock_order, ..Options::default() };
    let mut predictor = Predictor::new(options, Sharing::default(), observed.iter().copied());
    let _ = predictor.events(&trace.batch());
    predictor.finish();
    let begin = |shown| match shown {
        Shown::Refuted(block) => Some(block.begin_event),
        Shown::Race(..) | Shown::MissingYield(_) => None,
    };
    predictor.predicted().iter().filter_map(|it| begin(it.shown)).collect()
}

/// Numbers that look random, the same for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32 % bound
    }
}

/// A trace of threads that hold a lock whenever they access something.
fn sections(dice: &mut Dice) -> Trace {
    let threads = 2 + dice.below(MOST_THREADS as u32 - 1);
    let mut programs: Vec<Vec<Op>> = Vec::new();
    for thread in 0..threads {
        let mut ops = Vec::new();
        let count = if thread == 0 { 2 + dice.below(2) } else { 1 + dice.below(2) };
        for _ in 0..count {
            let (lock, variable) = (LockId(dice.below(2)), VarId(dice.below(2)));
            let is_read = dice.below(2) == 0;
            let access = if is_read { Op::Read(variable) } else { Op::Write(variable) };
            ops.extend([Op::Acquire(lock), access, Op::Release(lock)]);
        }
        if count > 1 {
            ops.insert(0, Op::Begin(LabelId(0)));
            ops.push(Op::End(LabelId(0)));
        }
        ops.reverse();
        programs.push(ops);
    }
    // Cut off like any other trace where there are too many.
    let mut trace = Trace::parse("1:begin(p) 1:end(p) 1:acq(l) 1:rel(l) 1:acq(m) 1:rel(m) 1:r(x) 1:r(y) 2:r(x) 3:r(x) 4:r(x)")
        .unwrap_or_default();
    trace.events.clear();
    let mut validator = Validator::default();
    validator.reserve(&trace.symbols.counts());
    while trace.events.len() < MOST_EVENTS && programs.iter().any(|ops| !ops.is_empty()) {
        let thread = dice.below(threads);
        let ops = &mut programs[thread as usize];
        let Some(&op) = ops.last() else { continue };
        let site = Site::number(trace.events.len() as u32 + 1);
        let event = Event { thread: ThreadId(thread), op, site };
        if validator.event(&event).is_ok() {
            trace.events.push(event);
            ops.pop();
        }
    }
    trace
}
