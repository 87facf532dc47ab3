//! Every rule, and that a stretch of events is checked like its events.

use super::*;
use crate::ids::Site;
use crate::notation::Trace;

/// The first broken rule and its event.
fn broken(line: &str) -> Option<(u64, Rule)> {
    let trace = Trace::parse(line).unwrap();
    let mut batch = trace.batch();
    let malformed = Validator::default().check(&mut batch).err()?;
    let number = malformed.at.event.unwrap();
    assert_eq!(batch.events.len() as u64, number - 1);
    assert!(!malformed.explain(&trace.symbols).to_string().is_empty());
    Some((number, malformed.rule))
}

#[test]
fn every_rule_is_noticed() {
    let cases = [
        ("2:r(x) 1:join(2) 2:r(x)", 3, Rule::EventAfterJoin),
        ("1:acq(l) 1:prewait(l) 1:r(x)", 3, Rule::EventWhileWaiting),
        ("1:acq(l) 1:prewait(l) 1:postwait(m)", 3, Rule::EventWhileWaiting),
        ("1:acq(l) 1:acq(l)", 2, Rule::AcquireReentrant),
        ("1:racq(l) 1:racq(l)", 2, Rule::AcquireReentrant),
        ("1:racq(l) 1:acq(l)", 2, Rule::AcquireReentrant),
        ("1:acq(l) 1:racq(l)", 2, Rule::AcquireReentrant),
        ("1:acq(l) 2:acq(l)", 2, Rule::AcquireHeld),
        ("1:racq(l) 2:acq(l)", 2, Rule::AcquireHeld),
        ("1:acq(l) 2:racq(l)", 2, Rule::AcquireHeld),
        ("1:acq(l) 2:rel(l)", 2, Rule::ReleaseNotHeld),
        ("1:racq(l) 1:rel(l)", 2, Rule::ReleaseNotHeld),
        ("1:acq(l) 1:rrel(l)", 2, Rule::ReleaseNotHeld),
        ("1:prewait(l)", 1, Rule::PrewaitNotHeld),
        ("1:racq(l) 1:prewait(l)", 2, Rule::PrewaitNotHeld),
        ("1:acq(l) 1:postwait(l)", 2, Rule::PostwaitWithoutPrewait),
        ("1:acq(l) 1:prewait(l) 2:acq(l) 1:postwait(l)", 4, Rule::PostwaitLockHeld),
        ("1:begin(m) 2:end(m)", 2, Rule::EndWithoutBegin),
        ("1:begin(m) 1:end(n)", 2, Rule::EndLabelMismatch),
        ("1:begin(m) 1:begin(n) 1:end(m)", 3, Rule::EndLabelMismatch),
        ("1:begin(m) 1:begin(n) 1:end(n) 1:end(n)", 4, Rule::EndLabelMismatch),
        ("1:begin(m) 1:begin(n) 1:end(n) 1:end(m) 1:end(m)", 5, Rule::EndWithoutBegin),
        ("1:fork(1)", 1, Rule::ForkSelf),
        ("1:fork(2) 3:fork(2)", 2, Rule::ForkTwice),
        ("1:join(2) 1:fork(2)", 2, Rule::ForkAfterJoin),
        ("2:r(x) 1:fork(2)", 2, Rule::ForkAfterChildStart),
        ("1:join(1)", 1, Rule::JoinSelf),
    ];
    for (line, event, rule) in cases {
        assert_eq!(broken(line), Some((event, rule)), "{line}");
    }
    let covered: HashSet<Rule> = cases.iter().map(|c| c.2).collect();
    assert_eq!(covered.len() + 1, Rule::ALL.len(), "all rules but parse_error");
}

#[test]
fn what_is_allowed() {
    for line in [
        "1:acq(l) 1:begin(m) 1:acq(n) 1:prewait(n)",
        "1:begin 1:end(m) 1:begin(m) 1:end",
        "1:begin(m) 1:begin(n) 1:begin(m) 1:end(m) 1:end(n) 1:begin(n) 1:end(n) 1:end(m)",
        "1:fork(2) 1:join(2) 3:join(2)",
        "1:racq(l) 2:racq(l) 1:rrel(l) 2:rrel(l) 3:acq(l)",
        "1:acq(l) 1:prewait(l) 2:acq(l) 2:rel(l) 1:postwait(l) 1:rel(l)",
        "1:take(s) 1:exit(b) 1:notify(l) 1:yield",
    ] {
        assert_eq!(broken(line), None, "{line}");
    }
}

#[test]
fn skipped_events_leave_no_trace() {
    let trace = Trace::parse("1:acq(l) 2:acq(l) 2:r(x) 2:rel(l) 1:rel(l) 2:acq(l)").unwrap();
    let mut batch = trace.batch();
    batch.lines = Lines::From(1);
    let mut rules = Vec::new();
    Validator::default().skip_malformed(&mut batch, |m| rules.push((m.at.line, m.rule)));
    assert_eq!(rules, [(Some(2), Rule::AcquireHeld), (Some(4), Rule::ReleaseNotHeld)]);
    assert_eq!(batch.events.len(), 4);
    assert_eq!(batch.line(3), Some(6));
}

/// Events of few threads, locks and labels, so that they get in each other's way.
fn any_events(count: usize) -> Vec<Event> {
    let mut state = 1_u64;
    let mut below = |end: u32| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as u32 % end
    };
    let event = |_| {
        // Mostly what a stretch is made for.
        let usual = [Kind::Acquire, Kind::Release, Kind::Begin, Kind::End, Kind::Read];
        let kinds = if below(100) < 97 { &usual[..] } else { Kind::ALL };
        let kind = kinds[below(kinds.len() as u32) as usize];
        // A thread that has been joined is out of the game.
        let kind = if kind == Kind::Join && below(50) > 0 { Kind::Yield } else { kind };
        let is_bare = below(3) == 0 && matches!(kind, Kind::Begin | Kind::End);
        let op = Op::new(kind, if is_bare { LabelId::UNNAMED.0 } else { below(3) });
        Event { thread: ThreadId(below(3)), op, site: Site::UNKNOWN }
    };
    (0..count).map(event).collect()
}

#[test]
fn a_stretch_is_checked_like_its_events() {
    let counts = IdCounts { threads: 3, locks: 3, labels: 3, ..IdCounts::default() };
    let mut rules = HashSet::new();
    for events in any_events(100_000).chunks(500) {
        let mut alone = Validator::default();
        alone.reserve(&counts);
        // Those that are right are kept, so that the one that is not comes late.
        let mut good = Vec::new();
        for event in events {
            let Err(rule) = alone.event(event) else {
                good.push(*event);
                continue;
            };
            rules.insert(rule);
            let with_it = good.iter().chain([event, event]).copied().collect();
            let mut batch = Batch { events: with_it, counts, ..Batch::default() };
            let malformed = Validator::default().check(&mut batch).expect_err("malformed");
            assert_eq!((malformed.at.event, malformed.rule), (Some(good.len() as u64), rule));
        }
        let mut batch = Batch { events: good, counts, ..Batch::default() };
        let mut together = Validator::default();
        assert!(together.check(&mut batch).is_ok());
        assert_eq!(together.outermost_blocks(), alone.outermost_blocks());
    }
    assert!(rules.len() > 10, "{rules:?}");
}
