//! The worked examples of the atomicity papers, each as one line, with the verdict that the paper
//! states. Where a paper's figure is a picture, the trace is written from its text.

use paceline_analysis::Analysis as _;
use paceline_analysis::atomicity::velodrome::{Stats, Warning};
use paceline_analysis::atomicity::{Engine, Options, Velodrome};
use paceline_trace::{EventNo, Trace};

fn first(engine: Engine, trace: &Trace) -> Option<EventNo> {
    let mut analysis = engine.start(Options { first_only: true });
    if analysis.events(&trace.batch()).is_continue() {
        analysis.finish();
    }
    analysis.cycles().first().map(|cycle| cycle.event)
}

fn serializable(line: &str) {
    let trace = Trace::parse(line).expect("a trace");
    for &engine in Engine::ALL {
        assert_eq!(first(engine, &trace), None, "{}: {line}", engine.name());
    }
}

/// The first cycle closes at event `at`; engines that are not exact may see it later.
fn violated(line: &str, at: EventNo) {
    let trace = Trace::parse(line).expect("a trace");
    for &engine in Engine::ALL {
        let found = first(engine, &trace);
        let good = if engine.is_exact() { found == Some(at) } else { found >= Some(at) };
        assert!(good, "{}: {found:?} instead of {at}: {line}", engine.name());
    }
}

fn velodrome(mut engine: Velodrome, line: &str) -> (Option<Warning>, Stats) {
    let _ = engine.events(&Trace::parse(line).expect("a trace").batch());
    (engine.warnings().first().cloned(), engine.stats())
}

/// Whether the transaction that closes the first cycle is blamed, and its refuted blocks.
fn blame(line: &str) -> (bool, Vec<String>) {
    let symbols = Trace::parse(line).expect("a trace").symbols;
    let (warning, _) = velodrome(Velodrome::new(Options::default()), line);
    let warning = warning.expect("a cycle");
    let name = |label| String::from_utf8_lossy(symbols.labels.name(label)).into_owned();
    (warning.increasing, warning.refuted.iter().map(|block| name(block.label.0)).collect())
}

/// Velodrome §1: A, then B' through the lock, C' through y, and back to A through x.
const INTRODUCTION: &str = "2:begin(b) 2:w(s) 2:end(b) 3:w(u) 1:begin(a) 1:acq(m) 1:rel(m) \
    2:begin(b1) 2:acq(m) 2:w(y) 2:rel(m) 2:end(b1) 3:begin(c1) 3:r(y) 3:w(x) 3:end(c1) 3:r(u) \
    1:begin(inner) 1:r(x) 1:end(inner) 1:end(a)";

#[test]
fn velodrome_introduction() {
    violated(INTRODUCTION, 19);
    assert_eq!(blame(INTRODUCTION), (true, vec!["a".to_owned()]), "but not the inner block");
}

/// "Transaction C'' is merged with its predecessor C'", and C is not even allocated.
#[test]
fn velodrome_introduction_nodes() {
    let (_, with) = velodrome(Velodrome::new(Options::default()), INTRODUCTION);
    let (_, without) = velodrome(Velodrome::without_merge(Options::default()), INTRODUCTION);
    assert_eq!((with.allocated, with.max_alive), (4, 3));
    assert_eq!((without.allocated, without.max_alive), (6, 4));
}

/// Velodrome §1: `Set.add` calls two synchronized methods of a vector.
#[test]
fn velodrome_set_add() {
    let line = "1:begin(add) 1:acq(v) 1:r(elems) 1:rel(v) 2:begin(add) 2:acq(v) 2:r(elems) \
        2:rel(v) 1:acq(v) 1:w(elems) 1:rel(v) 1:end(add) 2:acq(v) 2:w(elems) 2:rel(v) 2:end(add)";
    violated(line, 9);
    assert_eq!(blame(line), (true, vec!["add".to_owned()]));
}

/// Velodrome §2: a write between the read and the write of a block.
#[test]
fn velodrome_read_modify_write() {
    violated("1:begin(m) 1:r(x) 2:w(x) 1:w(x) 1:end(m)", 4);
}

/// Velodrome §2: the threads hand x over through a volatile variable. Tools that understand locks
/// only, such as the Atomizer, warn; but every trace of the program is serializable.
#[test]
fn velodrome_volatile_hand_over() {
    serializable(
        "2:ar(b) 1:ar(b) 1:begin(m) 1:r(x) 2:ar(b) 1:w(x) 1:aw(b) 1:end(m) 2:ar(b) 1:ar(b) \
        2:begin(m) 2:r(x) 1:ar(b) 2:w(x) 2:aw(b) 2:end(m) 1:ar(b) 1:begin(m) 1:r(x) 1:w(x) \
        1:aw(b) 1:end(m)",
    );
}

/// Velodrome §4.3: D' runs serially, and E' can be moved together too: no transaction is to blame.
#[test]
fn velodrome_no_transaction_to_blame() {
    let line = "1:begin(e) 1:w(x) 2:begin(d) 2:w(y) 2:r(x) 2:end(d) 1:r(y) 1:end(e)";
    violated(line, 7);
    assert_eq!(blame(line), (false, vec![]));
}

/// Velodrome §4.3, nested blocks: p and q contain both ends of the cycle, r does not.
#[test]
fn velodrome_nested_blocks() {
    let line = "1:begin(p) 1:begin(q) 1:r(x) 2:w(x) 1:begin(r) 1:w(x) 1:end(r) 1:end(q) 1:end(p)";
    violated(line, 6);
    assert_eq!(blame(line), (true, vec!["p".to_owned(), "q".to_owned()]));
}

/// Figure 4 read literally would merge thread 2 into the running block, and miss the cycle.
#[test]
fn velodrome_does_not_merge_into_a_running_transaction() {
    violated("1:begin(m) 1:w(x) 2:r(x) 2:w(y) 1:r(y)", 5);
    violated("1:begin(m) 1:fork(2) 2:w(y) 1:r(y)", 4);
}

/// AeroDrome, Figure 1: T3 before T1 before T2, although T2 ends before T3 starts.
#[test]
fn aerodrome_rho_1() {
    serializable(
        "1:begin(a) 1:w(x) 2:begin(b) 2:r(x) 2:end(b) 3:begin(c) 3:w(z) 3:end(c) 1:r(z) 1:end(a)",
    );
}

/// AeroDrome, Figures 2 and 5: a path of events from T1 through T2 and back.
#[test]
fn aerodrome_rho_2() {
    let line = "1:begin(a) 2:begin(b) 1:w(x) 2:r(x) 2:w(y) 1:r(y) 1:end(a) 2:end(b)";
    violated(line, 6);
    let trace = Trace::parse(line).expect("a trace");
    assert_eq!(first(Engine::AerodromeBasic, &trace), Some(6));
    assert_eq!(blame(line), (true, vec!["a".to_owned()]));
}

/// AeroDrome, Figures 3 and 6: no such path; Algorithm 1 sees the cycle when T1 ends.
#[test]
fn aerodrome_rho_3() {
    let line = "1:begin(a) 2:begin(b) 1:w(x) 2:w(y) 1:r(y) 2:r(x) 1:end(a) 2:end(b)";
    violated(line, 6);
    let trace = Trace::parse(line).expect("a trace");
    assert_eq!(first(Engine::AerodromeBasic, &trace), Some(7));
    assert_eq!(first(Engine::Aerodrome, &trace), Some(6), "with later clocks, at once");
}

/// AeroDrome, Figures 4 and 7: T2 learns of T1 only after it wrote what T3 reads.
#[test]
fn aerodrome_rho_4() {
    let line = "1:begin(a) 1:w(x) 2:begin(b) 2:w(y) 2:r(x) 2:end(b) 3:begin(c) 3:r(y) 3:w(z) \
        3:end(c) 1:r(z) 1:end(a)";
    violated(line, 11);
    assert_eq!(first(Engine::AerodromeBasic, &Trace::parse(line).expect("a trace")), Some(11));
}

/// A cycle of open transactions: AeroDrome sees it only because they are closed at the end.
#[test]
fn open_transactions_are_closed_at_the_end() {
    violated("1:begin(a) 2:begin(b) 1:w(x) 2:w(y) 1:r(y) 2:r(x)", 6);
}

/// Forked and joined in one transaction: a cycle if the child did anything in between.
#[test]
fn a_child_that_never_acts_is_no_cycle() {
    serializable("1:begin(a) 1:fork(2) 1:join(2) 1:end(a)");
    violated("1:begin(a) 1:fork(2) 2:yield 1:join(2) 1:end(a)", 4);
    violated("1:begin(a) 1:w(x) 2:r(x) 2:fork(3) 1:join(3) 1:end(a)", 5);
}
