//! The state machine by hand, then against a reference that keeps everything.

use super::*;
use crate::race::RaceDetector;
use crate::testing::random;
use paceline_trace::Trace;

fn check(trace: &Trace) -> Eraser {
    let mut eraser = Eraser::default();
    let _ = eraser.events(&trace.batch());
    eraser.finish();
    eraser
}

/// The accesses that leave their variables without a lock.
fn warnings(line: &str) -> Vec<EventNo> {
    let eraser = check(&Trace::parse(line).unwrap());
    eraser.warnings().iter().map(|w| w.access.event).collect()
}

#[test]
fn a_shared_variable_that_is_written_needs_a_lock() {
    assert_eq!(warnings("1:w(x) 2:w(x)"), [2]);
    assert_eq!(warnings("1:w(x) 2:r(x) 1:w(x)"), [3]);
    assert_eq!(warnings("1:acq(l) 1:w(x) 1:rel(l) 2:acq(m) 2:w(x) 2:rel(m) 1:acq(l) 1:w(x)"), [8]);
    assert_eq!(warnings("1:acq(l) 1:w(x) 1:rel(l) 2:acq(l) 2:w(x) 2:rel(l) 1:r(x)"), [7]);
}

#[test]
fn one_thread_or_readers_only_need_none() {
    assert_eq!(warnings("1:w(x) 1:r(x) 1:w(x)"), []);
    assert_eq!(warnings("1:w(x) 2:r(x) 3:r(x) 1:r(x)"), []);
    assert_eq!(warnings("1:aw(x) 2:aw(x) 3:arw(x)"), []);
}

#[test]
fn the_first_thread_needs_no_lock_before_a_second_accesses() {
    assert_eq!(warnings("1:w(x) 2:acq(l) 2:w(x) 2:rel(l) 1:acq(l) 1:w(x)"), []);
}

#[test]
fn a_lock_held_shared_protects_reads_only() {
    let shared = "1:w(x) 2:racq(l) 2:r(x) 2:rrel(l) 3:racq(l)";
    assert_eq!(warnings(&format!("{shared} 3:w(x)")), [6]);
    assert_eq!(warnings(&format!("{shared} 3:r(x) 3:rrel(l) 1:acq(l) 1:w(x)")), []);
}

#[test]
fn a_warning_has_its_location_and_the_locks_held() {
    let line = "1:begin(p) 1:w(x) 2:begin(q) 2:acq(l) 2:racq(m) 2:r(x) 2:rel(l) 2:w(x) 2:w(x)";
    let trace = Trace::parse(line).unwrap();
    let eraser = check(&trace);
    let [warning] = eraser.warnings() else { panic!("{:?}", eraser.warnings()) };
    assert_eq!(warning.var, VarId(0));
    assert_eq!(warning.access, Occurrence::new(8, &trace.events[7]));
    assert_eq!(warning.held, [LockId(1)]);
    assert_eq!(warning.block.map(|b| b.begin), Some(3));
}

#[test]
fn variables_at_one_location_share_a_warning() {
    let mut trace = Trace::parse("1:w(x) 1:w(y) 2:w(x) 2:w(y)").unwrap();
    for event in &mut trace.events {
        event.site = Site::number(7);
    }
    let counts: Vec<u64> = check(&trace).warnings().iter().map(|w| w.count).collect();
    assert_eq!(counts, [2]);
    for event in &mut trace.events {
        event.site = Site::UNKNOWN;
    }
    assert_eq!(check(&trace).warnings().len(), 2, "an unknown location merges nothing");
}

#[test]
fn a_race_confirms_a_warning() {
    let trace = Trace::parse("1:w(x) 1:w(y) 1:fork(2) 2:w(x) 2:w(y) 1:r(y)").unwrap();
    let mut eraser = check(&trace);
    let mut races = RaceDetector::default();
    let _ = races.events(&trace.batch());
    eraser.confirm(|var| races.is_racy(var));
    let confirmed: Vec<bool> = eraser.warnings().iter().map(|w| w.confirmed).collect();
    assert_eq!(confirmed, [false, true]);
}

/// The discipline over all accesses of a variable: which ones leave it without a lock?
fn reference(trace: &Trace) -> Vec<EventNo> {
    let mut held: Vec<(ThreadId, LockId, bool)> = Vec::new();
    // For each access: variable, thread, whether it writes, and the locks that protect it.
    let mut past: Vec<(VarId, ThreadId, bool, Vec<LockId>)> = Vec::new();
    let (mut lost, mut result) = (Vec::new(), Vec::new());
    for (number, event) in (1..).zip(&trace.events) {
        let thread = event.thread;
        match event.op {
            Op::Acquire(l) | Op::PostWait(l) => held.push((thread, l, true)),
            Op::AcquireShared(l) => held.push((thread, l, false)),
            Op::Release(l) | Op::PreWait(l) | Op::ReleaseShared(l) => {
                held.retain(|&(t, m, _)| (t, m) != (thread, l));
            }
            Op::Read(x) | Op::Write(x) => {
                let write = event.op == Op::Write(x);
                let protects =
                    |&&(t, _, exclusive): &&(_, _, bool)| t == thread && (exclusive || !write);
                past.push((x, thread, write, held.iter().filter(protects).map(|h| h.1).collect()));
                let mine: Vec<_> = past.iter().filter(|a| a.0 == x).collect();
                let alone = mine.iter().take_while(|a| a.1 == mine[0].1).count();
                let shared = &mine[alone..];
                let common = |l: &LockId| shared.iter().all(|a| a.3.contains(l));
                let modified = shared.iter().any(|a| a.2);
                if modified && !shared[0].3.iter().any(common) && !lost.contains(&x) {
                    lost.push(x);
                    result.push(number);
                }
            }
            Op::Fork(_) | Op::Join(_) | Op::Begin(_) | Op::End(_) | Op::Yield | Op::Notify(_) => {}
            Op::AtomicRead(_) | Op::AtomicWrite(_) | Op::AtomicUpdate(_) => {}
            Op::Post(_) | Op::Take(_) | Op::BarrierEnter(_) | Op::BarrierExit(_) => {}
        }
    }
    result
}

#[test]
fn the_state_machine_agrees_with_the_definition() {
    let (all, warned) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    random::check(3000, 40, |trace| {
        let expected = reference(trace);
        let found: Vec<EventNo> = check(trace).warnings().iter().map(|w| w.access.event).collect();
        all.set(all.get() + 1);
        warned.set(warned.get() + usize::from(!found.is_empty()));
        if found == expected { Ok(()) } else { Err(format!("{found:?} instead of {expected:?}")) }
    });
    let (all, warned) = (all.get(), warned.get());
    assert!(warned * 4 > all && warned * 4 < all * 3, "{warned} of {all} have a warning");
}
