//! The engine against the definition, on random traces with every operation.

use std::cell::Cell;

use paceline_trace::{Event, EventNo, Op, Trace};

use super::reference::{explained_yields, missing_yields};
use super::{Cooperability, Options, Reasons, Yields};
use crate::Analysis;
use crate::engine::ancestors::Ancestors;
use crate::engine::driver::{On, Property, under_stress};
use crate::engine::frontier::Frontier;
use crate::engine::slots::Words;
use crate::testing::random::{self, EVERYTHING, FORK_JOIN, Mix};

const BOTH_KINDS_OF_JOIN: [Options; 2] = [
    Options { first_only: false, join_yields_to_child: false },
    Options { first_only: false, join_yields_to_child: true },
];

/// Mixes of events, and how long their traces are made so that both verdicts are frequent.
const MIXES: [(Mix, usize); 2] = [(EVERYTHING, 50), (FORK_JOIN, 150)];

fn run(trace: &Trace, options: Options) -> Cooperability {
    let mut analysis = Cooperability::new(options);
    if analysis.events(&trace.batch()).is_continue() {
        analysis.finish();
    }
    analysis
}

fn same(found: &[EventNo], expected: &[EventNo]) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{found:?} not {expected:?}")) }
}

fn check_all(cases: u32, test: impl Fn(&Trace, Options) -> Result<(), String>) {
    for options in BOTH_KINDS_OF_JOIN {
        for (mix, most) in MIXES {
            random::check_mix(mix, cases, most, |trace| test(trace, options));
        }
    }
}

#[test]
fn missing_yields_are_those_of_the_definition() {
    check_all(2000, |trace, options| {
        let expected = missing_yields(trace, options);
        same(run(trace, options).inferred().positions(), &expected)
    });
}

#[test]
fn the_first_violation_is_the_first_missing_yield() {
    check_all(500, |trace, options| {
        let expected = missing_yields(trace, options).first().copied();
        let found = run(trace, Options { first_only: true, ..options });
        same(found.inferred().positions(), expected.as_slice())
    });
}

#[test]
fn housekeeping_changes_nothing() {
    check_all(1000, |trace, options| {
        let stressed = under_stress(Yields::new(options), trace);
        same(stressed.inferred.positions(), &missing_yields(trace, options))
    });
}

/// The trace with a yield before each of these events.
fn with_yields(trace: &Trace, positions: &[EventNo]) -> Trace {
    let mut fixed = Trace { events: Vec::new(), symbols: trace.symbols.clone() };
    for (number, event) in (1..).zip(&trace.events) {
        if positions.contains(&number) {
            fixed.events.push(Event { op: Op::Yield, ..*event });
        }
        fixed.events.push(*event);
    }
    fixed
}

#[test]
fn with_the_missing_yields_a_trace_is_cooperable() {
    check_all(1000, |trace, options| {
        let fixed = with_yields(trace, run(trace, options).inferred().positions());
        same(run(&fixed, options).inferred().positions(), &[])
    });
}

#[test]
fn both_verdicts_are_frequent() {
    for options in BOTH_KINDS_OF_JOIN {
        for (mix, most) in MIXES {
            let counts = Cell::new((0, 0));
            random::check_mix(mix, 1000, most, |trace| {
                let (all, bad) = counts.get();
                let is_bad = !missing_yields(trace, options).is_empty();
                counts.set((all + 1, bad + usize::from(is_bad)));
                Ok(())
            });
            let (all, bad) = counts.get();
            assert!(bad * 4 > all && bad * 4 < all * 3, "{bad} of {all} are not cooperable");
        }
    }
}

#[test]
fn every_reason_is_part_of_a_cycle() {
    check_all(1000, |trace, options| {
        let inferred = run(trace, options);
        let mut reasons = Reasons::new(options, inferred.inferred());
        let _ = reasons.events(&trace.batch());
        let expected = explained_yields(trace, options);
        same(&[reasons.reasons().len() as u64], &[expected.len() as u64])?;
        for (found, expected) in reasons.reasons().iter().zip(&expected) {
            same(&[found.missing.event], &[expected.event])?;
            if !expected.causes.contains(&found.earlier) {
                return Err(format!("{found:?} is none of {:?}", expected.causes));
            }
        }
        Ok(())
    });
}

/// More transactions at once than fit into the widest fixed set.
#[test]
fn thousands_of_threads_at_once() {
    let threads = 3000;
    let mut line = String::new();
    (0..threads).for_each(|t| line += &format!("{t}:w(x{t}) "));
    // Each reads what the next one wrote: a chain, until the last one closes the cycle.
    (0..threads).for_each(|t| line += &format!("{t}:r(x{}) ", (t + 1) % threads));
    let trace = Trace::parse(&line).unwrap();
    for options in BOTH_KINDS_OF_JOIN {
        assert_eq!(run(&trace, options).inferred().positions(), [2 * threads]);
    }
}

/// A thread that has been joined frees its slot.
#[test]
fn one_thread_after_the_other_needs_few_slots() {
    let line: String = (1..200).map(|t| format!("0:fork({t}) {t}:w(x) 0:join({t}) ")).collect();
    for options in BOTH_KINDS_OF_JOIN {
        let mut graph = Ancestors::<Words<1>>::default();
        let mut frontier = Frontier::default();
        let mut yields = Yields::new(options);
        let trace = Trace::parse(&line).unwrap();
        frontier.reserve(&trace.symbols.counts());
        yields.reserve(trace.symbols.counts().threads);
        for (number, event) in (1..).zip(&trace.events) {
            yields.event(number, event, &mut graph, &mut frontier).unwrap();
        }
        assert!(yields.inferred.is_empty());
    }
}

/// The second thread has already entered the next round: the first one does not wait for that.
#[test]
fn a_reason_is_of_the_same_barrier_round() {
    let line = "1:w(x) 2:r(x) 1:enter(b) 2:enter(b) 2:exit(b) 2:enter(b) 1:exit(b)";
    let trace = Trace::parse(line).unwrap();
    let analysis = run(&trace, Options::default());
    let mut reasons = Reasons::new(Options::default(), analysis.inferred());
    let _ = reasons.events(&trace.batch());
    let pairs: Vec<_> = reasons.reasons().iter().map(|r| (r.earlier, r.missing.event)).collect();
    assert_eq!(pairs, [(4, 7)]);
}
