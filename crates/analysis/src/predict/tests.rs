//! The search against the definition, on random traces and on named ones.

mod faults;
mod serial;

use std::collections::BTreeSet;

use paceline_trace::{EventNo, Site, Trace};

use super::certify::certify;
use super::comparison::Tally;
use super::judge::Renamed;
use super::reference::Reference;
use super::search::{Known, search};
use super::{Goal, Options, Predictor, Sharing, Shown, Stretch};
use crate::Analysis as _;
use crate::cooperability::{self, Cooperability};
use crate::explain::blame::Blame;
use crate::testing::random::{self, EVERYTHING, FORK_JOIN};

fn observed(trace: &Trace) -> Vec<EventNo> {
    let mut blame = Blame::default();
    let _ = blame.events(&trace.batch());
    blame.finish();
    blame.refuted().iter().map(|block| block.begin_event).collect()
}

fn predict(trace: &Trace, options: Options, observed: Vec<EventNo>) -> Predictor {
    let mut predictor = Predictor::new(options, Sharing::default(), observed);
    let _ = predictor.events(&trace.batch());
    predictor.finish();
    predictor
}

fn options(goal: Goal) -> Options {
    Options { goal, workers: 1, budget: None, ..Options::default() }
}

/// The `begin`s of the blocks that are predicted.
fn begins(predictor: &Predictor) -> BTreeSet<EventNo> {
    let begin = |shown: Shown| match shown {
        Shown::Refuted(block) => block.begin_event,
        Shown::Race(..) | Shown::MissingYield(_) => panic!("not asked for"),
    };
    predictor.predicted().iter().map(|it| begin(it.shown)).collect()
}

fn predicted(line: &str) -> Vec<EventNo> {
    let trace = Trace::parse(line).expect("a trace");
    begins(&predict(&trace, options(Goal::Atomicity), observed(&trace))).into_iter().collect()
}

/// What the definition says, beyond what was observed.
fn expected(trace: &Trace) -> Option<BTreeSet<EventNo>> {
    let reference = Reference::new(&trace.events);
    let mut blocks = BTreeSet::new();
    for block in reference.blocks() {
        if reference.refutes(block).ok()?.is_some() {
            blocks.insert(block.0 as EventNo + 1);
        }
    }
    observed(trace).iter().for_each(|begin| _ = blocks.remove(begin));
    Some(blocks)
}

fn same<T: PartialEq + std::fmt::Debug>(found: &T, expected: &T) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{found:?}, not {expected:?}")) }
}

#[test]
fn predictions_are_those_of_the_definition() {
    for mix in [EVERYTHING, FORK_JOIN] {
        random::check_mix(mix, 400, 24, |trace| {
            let Some(expected) = expected(trace) else { return Ok(()) };
            let predictor = predict(trace, options(Goal::Atomicity), observed(trace));
            same(&begins(&predictor), &expected)
        });
    }
}

/// `./check --long` compares 100,000 traces of each kind, other runs a hundredth of that.
#[test]
fn predictions_are_those_of_the_definition_on_many_traces() {
    let is_long = std::env::var("PACELINE_LONG").as_deref() == Ok("1");
    let wanted = if is_long { 100_000 } else { 1_000 };
    for tally in [Tally::of_everything(wanted, 11), Tally::of_sections(wanted, 11)] {
        assert!(tally.is_fine(), "{tally:#?}");
        assert!(tally.beyond * 20 > tally.traces, "too little to find: {tally:#?}");
        assert!(tally.too_large * 100 <= tally.traces, "{tally:#?}");
        assert!(tally.sync_preserving < tally.found, "no section needs to be reversed: {tally:#?}");
    }
}

#[test]
fn races_are_those_of_the_definition() {
    for mix in [EVERYTHING, FORK_JOIN] {
        random::check_mix(mix, 300, 24, |trace| {
            let Ok(expected) = Reference::new(&trace.events).races() else { return Ok(()) };
            let predictor = predict(trace, options(Goal::Races), Vec::new());
            let pair = |shown: Shown| match shown {
                Shown::Race(a, b) => (a as usize - 1, b as usize - 1),
                Shown::Refuted(_) | Shown::MissingYield(_) => panic!("not asked for"),
            };
            let found = predictor.predicted().iter().map(|it| pair(it.shown)).collect();
            same(&found, &expected)
        });
    }
}

/// Where every observed transaction is serializable, a reordering that enters one is not
/// cooperable, and the search finds one if there is any.
#[test]
fn missing_yields_are_found_where_the_definition_has_some() {
    random::check(300, 24, |trace| {
        let mut yields = Cooperability::new(cooperability::Options::default());
        let _ = yields.events(&trace.batch());
        yields.finish();
        if !yields.inferred().is_empty() {
            return Ok(());
        }
        let reference = Reference::new(&trace.events);
        let mut expected = false;
        for transaction in reference.transactions() {
            let Ok(order) = reference.refutes(transaction) else { return Ok(()) };
            expected |= order.is_some();
        }
        let predictor = predict(trace, options(Goal::Cooperability), Vec::new());
        same(&!predictor.predicted().is_empty(), &expected)
    });
}

/// A prediction in a window is one of the whole trace: what happened before stays, the window follows.
#[test]
fn windows_predict_what_the_whole_trace_allows() {
    let found = std::cell::Cell::new(0);
    for mix in [EVERYTHING, FORK_JOIN] {
        random::check_mix(mix, 250, 120, |trace| {
            let whole = Stretch::whole(&trace.events);
            let renamed = Renamed::new(&whole);
            for window in [6, 12, 24] {
                let options = Options { window, ..options(Goal::Atomicity) };
                let predictor = predict(trace, options, observed(trace));
                for it in predictor.predicted() {
                    let Shown::Refuted(block) = it.shown else { continue };
                    let prefix = 1..=it.after;
                    let order: Vec<usize> =
                        prefix.chain(it.witness.iter().copied()).map(|n| n as usize - 1).collect();
                    let diverged = certify(&whole, &order).map_err(|flaw| flaw.to_string())?;
                    let refuted = renamed.refuted(&order, &diverged);
                    if !refuted.contains(&(block.begin_event as usize - 1)) {
                        return Err(format!("{block:?} is not refuted by {order:?}"));
                    }
                    found.set(found.get() + usize::from(it.after > 0));
                }
            }
            Ok(())
        });
    }
    assert!(found.get() > 100, "windows predict {}", found.get());
}

#[test]
fn the_number_of_workers_makes_no_difference() {
    random::check(60, 200, |trace| {
        let with = |workers| {
            let options = Options { window: 16, workers, ..options(Goal::Atomicity) };
            predict(trace, options, observed(trace)).predicted().to_vec()
        };
        same(&with(3), &with(1))
    });
}

#[test]
fn a_section_that_fits_between_two_is_predicted_with_its_reversal() {
    let line = "B:acq(l) B:w(x) B:rel(l) A:begin(m) A:acq(l) A:w(x) A:rel(l) A:acq(l) A:w(x) A:rel(l) A:end(m)";
    let trace = Trace::parse(line).expect("a trace");
    let predictor = predict(&trace, options(Goal::Atomicity), Vec::new());
    let [it] = predictor.predicted() else { panic!("one block: {:?}", predictor.predicted()) };
    assert_eq!(it.reversed, [(1, 5)]);
    assert_eq!(it.after, 0);
    assert!(it.diverging.is_empty());
    let explanation = it.explanation.as_ref().expect("a cycle");
    let numbers: Vec<EventNo> = explanation.interleaving.iter().map(|e| e.number).collect();
    assert_eq!(explanation.refuted[0].begin_event, 4);
    assert!(!numbers.is_sorted(), "{numbers:?} is in the new order");
    // Without reversals, as in sync-preserving methods, there is nothing.
    let kept = Options { keeps_lock_order: true, ..options(Goal::Atomicity) };
    assert!(predict(&trace, kept, Vec::new()).predicted().is_empty());
}

#[test]
fn what_only_values_forbid_is_a_target() {
    let increments = "A:begin(m) A:acq(l) A:r(x) A:rel(l) A:acq(l) A:w(x) A:rel(l) A:end(m) \
                      B:begin(m) B:acq(l) B:r(x) B:rel(l) B:acq(l) B:w(x) B:rel(l) B:end(m)";
    let trace = Trace::parse(increments).expect("a trace");
    let predictor = predict(&trace, options(Goal::Atomicity), Vec::new());
    assert!(predictor.predicted().is_empty());
    let begins: Vec<EventNo> = predictor.targets().iter().map(|t| t.block.begin_event).collect();
    assert!(begins.contains(&1) && begins.contains(&9), "{begins:?}");
    assert!(predictor.counts().other_value >= 2);
}

/// In a large stretch only the nearest ways are listed, and fewer cuts are tried: targets are found all
/// the same, whether the trace has sites or not.
#[test]
fn what_only_values_forbid_is_a_target_in_a_large_stretch() {
    let others = "C:w(y) D:r(y) D:w(z) C:r(z) ".repeat(100);
    let increment = "begin(m) acq(l) r(x) rel(l) acq(l) w(x) rel(l) end(m)";
    let of =
        |thread: &str| increment.split(' ').map(|op| format!("{thread}:{op} ")).collect::<String>();
    let line = [&others, &*of("A"), &*of("B"), &others].concat();
    let mut trace = Trace::parse(line.trim()).expect("a trace");
    for _ in 0..2 {
        let predictor = predict(&trace, options(Goal::Atomicity), Vec::new());
        assert!(predictor.predicted().is_empty());
        let targets = predictor.targets();
        let begins: BTreeSet<EventNo> = targets.iter().map(|t| t.block.begin_event).collect();
        assert_eq!(begins.into_iter().collect::<Vec<_>>(), [401, 409]);
        for (index, event) in trace.events.iter_mut().enumerate() {
            event.site = Site::number(index as u32);
        }
    }
}

#[test]
fn chains_run_through_several_threads() {
    assert_eq!(predicted("A:begin(m) A:w(x) A:w(y) A:end(m) B:r(x) B:w(z) C:r(z) C:w(y)"), [1]);
    let of_four = "A:begin(m) A:w(x) A:w(v) A:end(m) B:r(x) B:w(y) C:r(y) C:w(z) D:r(z) D:w(v)";
    assert_eq!(predicted(of_four), [1]);
    assert_eq!(predicted("A:begin(m) A:w(x) A:w(y) A:end(m) C:r(z) C:w(y) B:r(x) B:w(z)"), []);
}

#[test]
fn an_update_that_may_fail_is_no_write() {
    assert_eq!(predicted("A:begin(m) A:ar(x) A:arw(x) A:end(m) B:aw(x)"), [1]);
    assert_eq!(predicted("A:begin(m) A:ar(x) A:arw(x) A:end(m) B:arw(x)"), []);
}

#[test]
fn what_is_not_tried_is_counted() {
    let trace = Trace::parse("A:begin(m) A:r(x) A:w(x) A:end(m) B:w(x)").expect("a trace");
    let stretch = Stretch::whole(&trace.events);
    let known = Known {
        observed: &hashbrown::HashSet::new(),
        tries: &hashbrown::HashMap::new(),
        keeps_lock_order: false,
    };
    let counts = |deadline| search(&stretch, Goal::Atomicity, &known, deadline).counts;
    let over = std::time::Instant::now() - std::time::Duration::from_secs(1);
    let (free, late) = (counts(None), counts(Some(over)));
    assert_eq!((free.tried, free.certified, free.not_tried), (1, 1, 0));
    assert_eq!((late.tried, late.certified, late.not_tried), (0, 0, 1));
}
