//! The certifier against the definition, and faults seeded into it: on the same sequences, a certifier
//! that leaves out one rule must come to another result. Otherwise these sequences would not test that
//! rule.

use std::cell::Cell;
use std::collections::BTreeSet;

use paceline_trace::Trace;

use super::super::certify::{Flaw, Rule, certify, certify_without};
use super::super::reference::Reference;
use super::super::reordering::Stretch;
use crate::testing::random::{self, EVERYTHING, FORK_JOIN, Mix};

const RULES: &[Rule] = &[
    Rule::ReadsFrom,
    Rule::InitialValue,
    Rule::DivergingUpdate,
    Rule::Exclusive,
    Rule::Shared,
    Rule::Fork,
    Rule::Join,
    Rule::JoinOfDiverged,
    Rule::Notify,
    Rule::PreWait,
    Rule::Semaphore,
    Rule::Exit,
    Rule::Enter,
];

/// Numbers that look random, the same for the same trace.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

/// Correct reorderings, each with one more event that is the next of its thread and may break a rule.
fn sequences(trace: &Trace) -> Vec<Vec<usize>> {
    let reference = Reference::new(&trace.events);
    let mut dice = Dice(trace.events.len() as u64 + 1);
    let mut sequences = Vec::new();
    for _ in 0..WALKS {
        let mut order = Vec::new();
        loop {
            let (can_come, heads) = reference.following(&order);
            sequences.extend(heads.iter().map(|&head| [&order[..], &[head]].concat()));
            if can_come.is_empty() {
                break;
            }
            order.push(can_come[dice.below(can_come.len())]);
        }
    }
    sequences
}

const WALKS: usize = 3;

fn agrees(trace: &Trace, order: &[usize], verdict: Result<Vec<usize>, Flaw>) -> bool {
    let verdict = verdict.ok().map(BTreeSet::from_iter);
    verdict == Reference::new(&trace.events).replay(order)
}

const TRACES: &[(Mix, u32, usize)] = &[(EVERYTHING, 250, 40), (FORK_JOIN, 60, 40)];

#[test]
fn the_certifier_accepts_what_the_definition_does() {
    for &(mix, cases, most) in TRACES {
        random::check_mix(mix, cases, most, |trace| {
            let stretch = Stretch::whole(&trace.events);
            for order in sequences(trace) {
                let verdict = certify(&stretch, &order);
                if !agrees(trace, &order, verdict.clone()) {
                    return Err(format!("{order:?}: {verdict:?}"));
                }
            }
            Ok(())
        });
    }
}

#[test]
fn a_certifier_without_one_rule_is_noticed() {
    for &rule in RULES {
        let noticed = Cell::new(0);
        for &(mix, cases, most) in TRACES {
            random::check_mix(mix, cases, most, |trace| {
                if noticed.get() > 0 {
                    return Ok(());
                }
                let stretch = Stretch::whole(&trace.events);
                let orders = sequences(trace);
                let differs = |order: &&Vec<usize>| {
                    !agrees(trace, order, certify_without(&stretch, order, Some(rule)))
                };
                noticed.set(noticed.get() + orders.iter().filter(differs).count());
                Ok(())
            });
        }
        assert!(noticed.get() > 0, "a certifier without {rule:?} is not noticed");
    }
}

#[test]
fn what_is_carried_must_not_move() {
    let trace = Trace::parse("1:acq(l) 2:w(x) 1:rel(l)").expect("a trace");
    let stretch = Stretch { events: trace.events, carried: vec![1], first: 2 };
    assert_eq!(certify(&stretch, &[0, 1]), Ok(vec![]));
    assert_eq!(certify(&stretch, &[1, 0]), Err(Flaw::Carried));
    assert_eq!(certify(&stretch, &[]), Err(Flaw::Carried));
}
