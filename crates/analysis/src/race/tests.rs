//! Each kind of order by hand, then the detector against the definition, then the filter.

use std::cell::Cell;

use super::reference;
use super::*;
use crate::Cycle;
use crate::atomicity::{Engine, Options};
use crate::testing::random;
use paceline_trace::{Site, Trace};

/// Short enough for traces without a race to be frequent.
const EVENTS: usize = 40;

fn detect(trace: &Trace) -> RaceDetector {
    let mut detector = RaceDetector::default();
    let _ = detector.events(&trace.batch());
    detector.finish();
    detector
}

/// The first race of each variable, first and second event, in the order found.
fn races(line: &str) -> Vec<(EventNo, EventNo)> {
    let trace = Trace::parse(line).unwrap();
    detect(&trace).races().iter().map(|r| (r.first.event, r.second.event)).collect()
}

#[test]
fn accesses_that_nothing_orders_race() {
    assert_eq!(races("1:w(x) 2:w(x)"), [(1, 2)]);
    assert_eq!(races("1:w(x) 2:r(x)"), [(1, 2)]);
    assert_eq!(races("1:r(x) 2:w(x)"), [(1, 2)]);
    assert_eq!(races("1:r(x) 2:r(x) 3:r(x)"), []);
    assert_eq!(races("1:r(x) 1:w(x) 1:r(x) 2:w(y)"), []);
}

#[test]
fn a_write_races_with_any_of_concurrent_reads() {
    assert_eq!(races("1:acq(l) 1:r(x) 1:rel(l) 2:r(x) 3:acq(l) 3:w(x)"), [(4, 6)]);
    assert_eq!(races("1:r(x) 2:acq(l) 2:r(x) 2:rel(l) 3:acq(l) 3:w(x)"), [(1, 6)]);
    assert_eq!(races("1:fork(2) 1:fork(3) 2:r(x) 3:r(x) 1:join(2) 1:join(3) 1:w(x) 1:r(x)"), []);
}

#[test]
fn only_the_first_race_of_a_variable_is_reported() {
    assert_eq!(races("1:w(x) 2:w(x) 3:w(x) 1:w(y) 2:r(y) 3:w(y)"), [(1, 2), (4, 5)]);
}

#[test]
fn a_race_names_both_accesses() {
    let trace = Trace::parse("1:yield 1:r(x) 2:w(x)").unwrap();
    let race = detect(&trace).races()[0];
    assert_eq!(race.var, VarId(0));
    assert_eq!(race.first, Occurrence::new(2, &trace.events[1]));
    assert_eq!(race.second, Occurrence::new(3, &trace.events[2]));
}

#[test]
fn each_kind_of_synchronization_orders() {
    for ordered in [
        "1:acq(l) 1:w(x) 1:rel(l) 2:acq(l) 2:w(x)",
        "1:racq(l) 1:w(x) 1:rrel(l) 2:acq(l) 2:w(x)",
        "1:acq(l) 1:w(x) 1:rel(l) 2:racq(l) 2:w(x)",
        "1:racq(l) 2:racq(l) 1:w(x) 1:rrel(l) 2:rrel(l) 3:acq(l) 3:w(x)",
        "1:acq(l) 1:w(x) 1:prewait(l) 2:acq(l) 2:w(x) 2:rel(l) 1:postwait(l) 1:w(x)",
        "1:w(x) 1:fork(2) 2:w(x) 1:join(2) 1:w(x)",
        "1:w(x) 1:aw(v) 2:ar(v) 2:w(x)",
        "1:w(x) 1:ar(v) 2:aw(v) 2:w(x)",
        "1:w(x) 1:arw(v) 2:arw(v) 2:w(x)",
        "1:w(x) 1:aw(v) 2:aw(v) 3:ar(v) 3:w(x)",
        "1:w(x) 1:post(s) 2:post(s) 3:take(s) 3:w(x)",
        "1:w(x) 1:enter(b) 2:enter(b) 2:exit(b) 2:w(x)",
        "1:w(x) 1:enter(b) 2:enter(b) 1:exit(b) 1:enter(b) 2:exit(b) 2:w(x)",
    ] {
        assert_eq!(races(ordered), [], "{ordered}");
    }
}

#[test]
fn other_events_do_not_order() {
    for (line, race) in [
        ("1:racq(l) 1:w(x) 1:rrel(l) 2:racq(l) 2:w(x)", (2, 5)),
        ("1:acq(l) 1:rel(l) 1:w(x) 2:acq(l) 2:w(x)", (3, 5)),
        ("1:acq(l) 1:w(x) 1:rel(l) 2:acq(m) 2:w(x)", (2, 5)),
        ("1:w(x) 1:notify(l) 2:acq(l) 2:w(x)", (1, 4)),
        ("1:w(x) 1:ar(v) 2:ar(v) 2:w(x)", (1, 4)),
        ("1:w(x) 1:ar(v) 2:ar(v) 2:aw(u) 1:ar(u) 1:aw(v) 3:ar(u) 3:w(x)", (1, 8)),
        ("1:fork(2) 1:w(x) 2:w(x)", (2, 3)),
        ("1:w(x) 2:take(s) 1:post(s) 2:w(x)", (1, 4)),
        ("1:w(x) 1:enter(b) 1:exit(b) 2:enter(b) 2:exit(b) 2:w(x)", (1, 6)),
        // The second thread's round uses the memory of the first round.
        ("1:w(x) 1:enter(b) 1:exit(b) 1:enter(b) 1:exit(b) 2:enter(b) 2:exit(b) 2:w(x)", (1, 8)),
        ("1:w(x) 1:yield 2:yield 2:w(x)", (1, 4)),
        ("1:begin(m) 1:w(x) 1:end(m) 2:begin(m) 2:w(x)", (2, 5)),
    ] {
        assert_eq!(races(line), [race], "{line}");
    }
}

#[test]
fn atomic_accesses_are_no_races() {
    assert_eq!(races("1:aw(x) 2:aw(x) 3:ar(x) 1:arw(x)"), []);
    assert_eq!(races("1:w(x) 2:ar(x) 3:aw(x)"), []);
    assert_eq!(races("1:w(x) 2:ar(x) 2:w(x)"), [(1, 3)]);
}

fn agrees(trace: &Trace, detector: &RaceDetector) -> Result<(), String> {
    let expected = reference::races(trace);
    let found = detector.races();
    let known = |r: &Race| {
        expected.get(&r.var).is_some_and(|(second, firsts)| {
            *second == r.second.event && firsts.contains(&r.first.event)
        })
    };
    let racy = |&x: &VarId| detector.is_racy(x);
    let good = found.len() == expected.len()
        && found.iter().all(known)
        && expected.keys().all(racy)
        && found.is_sorted_by_key(|r| r.second.event);
    if good { Ok(()) } else { Err(format!("{found:?} instead of {expected:?}")) }
}

#[test]
fn the_detector_agrees_with_the_definition() {
    random::check(5000, EVENTS, |trace| agrees(trace, &detect(trace)));
    random::check(1000, 4 * EVENTS, |trace| agrees(trace, &detect(trace)));
}

#[test]
fn batches_make_no_difference() {
    random::check(500, EVENTS, |trace| {
        let mut detector = RaceDetector::default();
        let mut batch = trace.batch();
        for events in trace.events.chunks(3) {
            batch.events = events.to_vec();
            let _ = detector.events(&batch);
            batch.first += events.len() as u64;
        }
        agrees(trace, &detector)
    });
}

#[test]
fn both_verdicts_are_frequent() {
    let (all, racy) = (Cell::new(0), Cell::new(0));
    random::check(2000, EVENTS, |trace| {
        all.set(all.get() + 1);
        racy.set(racy.get() + usize::from(!detect(trace).races().is_empty()));
        Ok(())
    });
    let (all, racy) = (all.get(), racy.get());
    assert!(racy * 4 > all && racy * 4 < all * 3, "{racy} of {all} have a race");
}

/// The first event whose prefix is not serializable: of the whole trace, or of what the filter
/// keeps of it. And how many events were dropped.
fn first_cycles(trace: &Trace) -> (Option<EventNo>, Option<EventNo>, u64) {
    let mut whole = Engine::Reference.start(Options { first_only: true });
    let _ = whole.events(&trace.batch());
    let rest = Engine::Reference.start(Options { first_only: true });
    let mut filtered = WithoutRaceFree::new(rest, RaceFilter::new(&detect(trace)));
    let _ = filtered.events(&trace.batch());
    filtered.finish();
    let first = |cycles: &[Cycle]| cycles.first().map(|c| c.event);
    let in_rest = first(filtered.analysis().cycles()).map(|event| filtered.original(event));
    (first(whole.cycles()), in_rest, filtered.dropped())
}

#[test]
fn the_filter_changes_no_verdict() {
    let (dropped, cyclic) = (Cell::new(0), Cell::new(0));
    random::check(3000, 2 * EVENTS, |trace| {
        let (whole, filtered, left_out) = first_cycles(trace);
        if left_out > 0 {
            dropped.set(dropped.get() + 1);
            cyclic.set(cyclic.get() + usize::from(whole.is_some()));
        }
        if whole == filtered { Ok(()) } else { Err(format!("{filtered:?} instead of {whole:?}")) }
    });
    assert!(dropped.get() > 300, "the filter dropped something in {} traces", dropped.get());
    assert!(cyclic.get() > 50, "of which {} are not serializable", cyclic.get());
}

/// Records the events that it is given, by number and site.
#[derive(Default)]
struct Received(Vec<(EventNo, Site)>);

impl Analysis for Received {
    fn events(&mut self, batch: &Batch) -> ControlFlow<()> {
        self.0.extend((batch.first..).zip(batch.events.iter().map(|e| e.site)));
        ControlFlow::Continue(())
    }

    fn finish(&mut self) {}
}

#[test]
fn the_filter_numbers_what_it_keeps() {
    let line = "1:w(x) 2:w(y) 1:w(y) 1:r(x) 1:aw(v) 1:r(v) 1:yield";
    let trace = Trace::parse(&[line; 30].join(" ")).unwrap();
    let mut filtered = WithoutRaceFree::new(Received::default(), RaceFilter::new(&detect(&trace)));
    let mut batch = trace.batch();
    for events in trace.events.chunks(50) {
        batch.events = events.to_vec();
        let _ = filtered.events(&batch);
        batch.first += events.len() as u64;
    }
    // All but the first event of a thread.
    assert_eq!(filtered.dropped(), 2 * 30 - 1);
    let seen = &filtered.analysis().0;
    assert!(seen.iter().map(|s| s.0).eq(1..=5 * 30 + 1), "no gaps");
    for &(number, site) in seen {
        assert_eq!(Site::number(filtered.original(number) as u32), site);
    }
}
