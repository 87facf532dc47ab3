//! The pattern by hand, then against a matcher for the regular expression.

use super::*;
use crate::testing::random;
use paceline_trace::{LabelId, Trace};

fn check(trace: &Trace) -> Atomizer {
    let mut atomizer = Atomizer::default();
    let _ = atomizer.events(&trace.batch());
    atomizer.finish();
    atomizer
}

/// The `begin` of the block, the commit and the breaker of each warning.
fn warnings(line: &str) -> Vec<(EventNo, EventNo, EventNo)> {
    let atomizer = check(&Trace::parse(line).unwrap());
    let numbers = |w: &AtomizerWarning| (w.block.begin, w.commit.event, w.breaker.event);
    atomizer.warnings().iter().map(numbers).collect()
}

#[test]
fn blocks_of_the_pattern_pass() {
    for line in [
        "1:begin(m) 1:acq(l) 1:acq(k) 1:w(x) 1:rel(k) 1:r(x) 1:rel(l) 1:end(m)",
        "1:begin(m) 1:acq(l) 1:aw(v) 1:rel(l) 1:end(m)",
        "1:begin(m) 1:take(s) 1:join(2) 1:exit(b) 1:enter(b) 1:fork(3) 1:post(s) 1:end(m)",
        "1:acq(l) 1:rel(l) 1:acq(l) 1:begin(m) 1:rel(l) 1:end(m) 1:acq(l) 1:begin(m) 1:yield",
        "1:begin(m) 1:racq(l) 1:notify(l) 1:rrel(l) 1:end(m) 1:begin(m) 1:racq(l) 1:rrel(l)",
    ] {
        assert_eq!(warnings(line), [], "{line}");
    }
}

#[test]
fn other_blocks_are_warned_about() {
    for (line, warning) in [
        ("1:begin(m) 1:acq(l) 1:rel(l) 1:acq(k)", (1, 3, 4)),
        ("1:begin(m) 1:racq(l) 1:rrel(l) 1:racq(l)", (1, 3, 4)),
        ("1:begin(m) 1:aw(v) 1:ar(v)", (1, 2, 3)),
        ("1:begin(m) 1:acq(l) 1:rel(l) 1:arw(v)", (1, 3, 4)),
        ("1:acq(l) 1:begin(m) 1:prewait(l) 1:postwait(l)", (2, 3, 4)),
        ("1:begin(m) 1:fork(2) 1:join(2)", (1, 2, 3)),
        ("1:begin(m) 1:post(s) 1:take(s)", (1, 2, 3)),
        ("1:begin(m) 1:enter(b) 1:exit(b)", (1, 2, 3)),
        ("1:w(x) 2:w(x) 1:begin(m) 1:r(x) 1:w(x)", (3, 4, 5)),
    ] {
        assert_eq!(warnings(line), [warning], "{line}");
    }
}

#[test]
fn nested_blocks_are_judged_by_themselves() {
    let inner = "1:begin(p) 1:acq(l) 1:rel(l) 1:begin(q) 1:acq(l) 1:rel(l) 1:end(q)";
    assert_eq!(warnings(inner), [(1, 3, 5)]);
    assert_eq!(warnings(&format!("{inner} 1:begin(r) 1:aw(v) 1:acq(k)")), [(1, 3, 5), (8, 9, 10)]);
    let later = "1:begin(p) 1:acq(l) 1:rel(l) 1:begin(q) 1:post(s) 1:acq(l)";
    assert_eq!(warnings(later), [(1, 3, 6), (4, 5, 6)], "each has a commit of its own");
    let both = "1:begin(p) 1:begin(q) 1:acq(l) 1:rel(l) 1:acq(l)";
    assert_eq!(warnings(both), [(1, 4, 5), (2, 4, 5)]);
}

#[test]
fn a_warning_has_the_breaking_event_and_the_locks_held() {
    let trace = Trace::parse("1:begin(m) 1:acq(l) 1:acq(k) 1:rel(k) 1:acq(k)").unwrap();
    let atomizer = check(&trace);
    let [warning] = atomizer.warnings() else { panic!("{:?}", atomizer.warnings()) };
    assert_eq!(warning.breaker, Occurrence::new(5, &trace.events[4]));
    assert_eq!(warning.op, Op::Acquire(LockId(1)));
    assert_eq!(warning.held, [LockId(0)]);
    assert_eq!(warning.count, 1);
}

#[test]
fn runs_of_a_block_share_a_warning() {
    let run = "1:begin(m) 1:aw(v) 1:aw(v) 1:end(m)";
    let mut trace = Trace::parse(&format!("{run} {run}")).unwrap();
    assert_eq!(check(&trace).warnings().len(), 2, "the locations differ");
    for i in 4..8 {
        trace.events[i].site = trace.events[i - 4].site;
    }
    let counts: Vec<u64> = check(&trace).warnings().iter().map(|w| w.count).collect();
    assert_eq!(counts, [2]);
}

#[test]
fn a_violated_block_confirms_its_warnings() {
    let line = "1:begin(p) 1:aw(v) 1:aw(v) 1:end(p) 1:begin(q) 1:aw(v) 1:aw(v) 1:end(q)";
    let mut trace = Trace::parse(line).unwrap();
    let confirmed = |trace: &Trace, name| {
        let mut atomizer = check(trace);
        atomizer.confirm([name]);
        atomizer.warnings().iter().map(|w| w.confirmed).collect::<Vec<bool>>()
    };
    assert_eq!(confirmed(&trace, BlockName::Label(LabelId(1))), [false, true]);
    trace.events[0].op = Op::Begin(LabelId::UNNAMED);
    assert_eq!(confirmed(&trace, BlockName::At(trace.events[0].site)), [true, false]);
}

/// The first event at which a block's movers stop being a prefix of the pattern.
fn first_break(movers: &[(EventNo, char)]) -> Option<EventNo> {
    let fits = |word: &str| {
        let rest = word.trim_start_matches(['R', 'B']);
        rest.strip_prefix('N').unwrap_or(rest).trim_matches(['L', 'B']).is_empty()
    };
    let mut word = String::new();
    movers.iter().find_map(|&(number, mover)| {
        word.push(mover);
        (!fits(&word)).then_some(number)
    })
}

/// The mover of each event, with Eraser deciding about accesses.
fn movers(trace: &Trace) -> Vec<char> {
    let mut eraser = Eraser::default();
    eraser.reserve(&trace.symbols.counts());
    let mover = |(number, event): (EventNo, &Event)| {
        let protection = eraser.event(number, event);
        match event.op {
            Op::Read(_) | Op::Write(_) if protection == Protection::Protected => 'B',
            Op::Read(_) | Op::Write(_) => 'N',
            Op::AtomicRead(_) | Op::AtomicWrite(_) | Op::AtomicUpdate(_) => 'N',
            Op::Acquire(_) | Op::AcquireShared(_) | Op::PostWait(_) => 'R',
            Op::Join(_) | Op::Take(_) | Op::BarrierExit(_) => 'R',
            Op::Release(_) | Op::ReleaseShared(_) | Op::PreWait(_) => 'L',
            Op::Fork(_) | Op::Post(_) | Op::BarrierEnter(_) => 'L',
            Op::Begin(_) | Op::End(_) | Op::Yield | Op::Notify(_) => 'B',
        }
    };
    (1..).zip(&trace.events).map(mover).collect()
}

/// Every block of the trace by itself: its `begin` and the event that breaks it.
fn reference(trace: &Trace) -> Vec<(EventNo, EventNo)> {
    let movers = movers(trace);
    let mut result = Vec::new();
    for (i, begin) in trace.events.iter().enumerate() {
        let Op::Begin(_) = begin.op else { continue };
        let (mut depth, mut word) = (0, Vec::new());
        for (j, event) in trace.events.iter().enumerate().skip(i) {
            if event.thread != begin.thread {
                continue;
            }
            word.push((j as EventNo + 1, movers[j]));
            if let Op::Begin(_) = event.op {
                depth += 1;
            } else if let Op::End(_) = event.op {
                depth -= 1;
            }
            if depth == 0 {
                break;
            }
        }
        result.extend(first_break(&word).map(|number| (i as EventNo + 1, number)));
    }
    result.sort_by_key(|&(begin, breaker)| (breaker, begin));
    result
}

/// Runs of one block would share their warnings.
fn with_names_of_their_own(trace: &Trace) -> Trace {
    let mut trace = trace.clone();
    for event in &mut trace.events {
        if let Op::Begin(label) = &mut event.op {
            *label = LabelId::UNNAMED;
        }
    }
    trace
}

#[test]
fn every_block_is_judged_as_by_itself() {
    let (blocks, broken) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    random::check(3000, 80, |trace| {
        let expected = reference(trace);
        let begins = trace.events.iter().filter(|e| matches!(e.op, Op::Begin(_))).count();
        blocks.set(blocks.get() + begins);
        broken.set(broken.get() + expected.len());
        let found = check(&with_names_of_their_own(trace));
        let found: Vec<(EventNo, EventNo)> =
            found.warnings().iter().map(|w| (w.block.begin, w.breaker.event)).collect();
        if found == expected { Ok(()) } else { Err(format!("{found:?} instead of {expected:?}")) }
    });
    let (blocks, broken) = (blocks.get(), broken.get());
    assert!(broken * 4 > blocks && broken * 4 < blocks * 3, "{broken} of {blocks} are broken");
}
