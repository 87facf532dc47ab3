//! The long comparison of predictions with the definition: random traces of up to 4 threads and 20
//! events with every operation, against the exhaustive search.
//!
//! ```text
//! cargo run --release -p paceline-analysis --features testing --example predict_reference [TRACES] [SEED]
//! ```
//!
//! Prints how many blocks the definition refutes, how many of them the observed order does, and what
//! the search found, missed or (never) invented. Exit status 1 if anything was invented, or more than
//! one block in a thousand was missed.

use std::collections::BTreeSet;
use std::process::ExitCode;

use paceline_analysis::Analysis as _;
use paceline_analysis::explain::blame::Blame;
use paceline_analysis::predict::reference::Reference;
use paceline_analysis::predict::{Options, Predictor, Sharing, Shown};
use paceline_analysis::testing::random::{EVERYTHING, traces};
use paceline_trace::Trace;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::{Config, RngSeed, TestRunner};

const MOST_EVENTS: usize = 20;
const MOST_THREADS: usize = 4;

#[derive(Default, Debug)]
struct Tally {
    traces: u64,
    too_large: u64,
    blocks: u64,
    observed: u64,
    beyond: u64,
    found: u64,
    sync_preserving: u64,
    missed: u64,
    invented: u64,
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).map(|it| it.parse::<u64>().unwrap_or(1));
    let (wanted, seed) = (arguments.next().unwrap_or(100_000), arguments.next().unwrap_or(1));
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
            compare(&trace, &mut tally);
        }
    }
    println!("{tally:#?}");
    let is_fine = tally.invented == 0 && tally.missed * 1000 <= tally.beyond;
    if is_fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn compare(trace: &Trace, tally: &mut Tally) {
    tally.traces += 1;
    let reference = Reference::new(&trace.events);
    let mut expected = BTreeSet::new();
    for block in reference.blocks() {
        match reference.refutes(block) {
            Ok(Some(_)) => _ = expected.insert(block.0 as u64 + 1),
            Ok(None) => {}
            Err(_) => {
                tally.too_large += 1;
                return;
            }
        }
    }
    let mut blame = Blame::default();
    let _ = blame.events(&trace.batch());
    blame.finish();
    let observed: BTreeSet<u64> = blame.refuted().iter().map(|it| it.begin_event).collect();
    let predicted = |keeps_lock_order| predicted(trace, &observed, keeps_lock_order);
    let found = predicted(false);
    let beyond: BTreeSet<u64> = expected.difference(&observed).copied().collect();
    tally.blocks += reference.blocks().len() as u64;
    tally.observed += observed.len() as u64;
    tally.beyond += beyond.len() as u64;
    tally.found += beyond.intersection(&found).count() as u64;
    tally.sync_preserving += predicted(true).len() as u64;
    tally.missed += beyond.difference(&found).count() as u64;
    tally.invented += found.difference(&expected).count() as u64;
    if found != beyond {
        println!("{}\n  found {found:?}, not {beyond:?}", trace.to_line());
    }
}

fn predicted(trace: &Trace, observed: &BTreeSet<u64>, keeps_lock_order: bool) -> BTreeSet<u64> {
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
