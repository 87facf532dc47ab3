//! The worked examples of the papers on cooperability (COPPER, SILVER) and, as far as external
//! serializability goes, on deterministic parallelism (SingleTrack).

use paceline_analysis::atomicity::{self, Engine};
use paceline_analysis::cooperability::{
    Cooperability, Options, Reasons, YieldInBlock, YieldKind, merge,
};
use paceline_analysis::density::{self, Density};
use paceline_analysis::determinism::external::{self, External};
use paceline_analysis::{Analysis, Cycle};
use paceline_trace::{EventNo, Op, Trace};

fn parse(line: &str) -> Trace {
    Trace::parse(line).expect("an example in the notation")
}

fn judge(line: &str, options: Options) -> Cooperability {
    let mut analysis = Cooperability::new(options);
    let _ = analysis.events(&parse(line).batch());
    analysis.finish();
    analysis
}

fn missing(line: &str) -> Vec<EventNo> {
    judge(line, Options::default()).inferred().positions().to_vec()
}

fn missing_if_joins_yield_to_the_child(line: &str) -> Vec<EventNo> {
    let options = Options { join_yields_to_child: true, ..Options::default() };
    judge(line, options).inferred().positions().to_vec()
}

/// The number of the only event that reads so.
fn number_of(line: &str, word: &str) -> EventNo {
    let at: Vec<_> = (1..).zip(line.split_whitespace()).filter(|&(_, w)| w == word).collect();
    assert_eq!(at.len(), 1, "{word}");
    at[0].0
}

/// Figure 3 (A): a dequeue by thread 1 and an enqueue by thread 2. Local variables bear the number
/// of their thread.
const BUFFER: &str = "1:w(elem1) 1:r(elem1) 1:yield 1:acq(this) 1:r(contents) 1:w(c1) \
    1:w(contents) 1:r(c1) 2:w(done2) 1:rel(this) 2:r(done2) 1:w(elem1) 2:yield 1:r(elem1) \
    2:acq(this) 2:r(contents) 2:r(o2) 2:w(contents) 2:w(done2) 2:rel(this) 1:yield 1:acq(this) \
    2:r(done2) 1:r(contents) 1:w(c1) 1:w(contents) 1:r(c1) 1:rel(this) 1:w(elem1) 1:r(elem1) \
    1:r(elem1) 1:yield";

/// Figure 3 (B): the same, with one transaction after the other.
const BUFFER_SERIAL: &str = "1:w(elem1) 1:r(elem1) 1:yield 1:acq(this) 1:r(contents) 1:w(c1) \
    1:w(contents) 1:r(c1) 1:rel(this) 1:w(elem1) 1:r(elem1) 2:w(done2) 2:r(done2) 2:yield \
    2:acq(this) 2:r(contents) 2:r(o2) 2:w(contents) 2:w(done2) 2:rel(this) 2:r(done2) 1:yield \
    1:acq(this) 1:r(contents) 1:w(c1) 1:w(contents) 1:r(c1) 1:rel(this) 1:w(elem1) 1:r(elem1) \
    1:r(elem1) 1:yield";

#[test]
fn the_buffer_with_its_yields_is_cooperable() {
    assert_eq!(missing(BUFFER), []);
    assert_eq!(missing(BUFFER_SERIAL), []);
}

#[test]
fn the_buffer_without_yields_needs_one_where_the_loop_starts_again() {
    let words: Vec<_> = BUFFER.split_whitespace().filter(|w| !w.ends_with("yield")).collect();
    let line = words.join(" ");
    // Before thread 1 takes the lock for the second time: that is where the yield was.
    let second = words.iter().rposition(|&w| w == "1:acq(this)").unwrap() as EventNo + 1;
    assert_eq!(missing(&line), [second]);
    let first_only = Options { first_only: true, ..Options::default() };
    assert_eq!(judge(&line, first_only).first_event(), Some(second));
}

/// Waits until there is something, then takes it: another thread may have taken it meanwhile.
const ERRONEOUS_DEQUEUE: &str = "1:r(contents) 1:yield 2:acq(this) 2:r(contents) 2:w(contents) \
    2:rel(this) 1:r(contents) 3:begin(dequeue) 3:acq(this) 3:r(contents) 3:w(contents) \
    3:rel(this) 3:end(dequeue) 1:begin(dequeue) 1:acq(this) 1:r(contents) 1:w(contents) \
    1:rel(this) 1:end(dequeue)";

#[test]
fn the_erroneous_dequeue_needs_a_yield_after_the_loop() {
    let line = ERRONEOUS_DEQUEUE;
    assert_eq!(missing(line), [number_of(line, "1:acq(this)")]);
    let fixed = line.replace("1:begin(dequeue)", "1:yield 1:begin(dequeue)");
    assert_eq!(missing(&fixed), []);
}

#[test]
fn atomic_methods_do_not_reveal_the_erroneous_dequeue() {
    let mut atomicity = Engine::Auto.start(atomicity::Options::default());
    let _ = atomicity.events(&parse(ERRONEOUS_DEQUEUE).batch());
    assert_eq!(atomicity.cycles(), []);
}

#[test]
fn the_reason_names_both_sides_of_the_conflict() {
    let line = ERRONEOUS_DEQUEUE;
    let analysis = judge(line, Options::default());
    let mut reasons = Reasons::new(Options::default(), analysis.inferred());
    let trace = parse(line);
    let _ = reasons.events(&trace.batch());
    let [reason] = reasons.reasons() else { panic!("one location") };
    assert_eq!(reason.missing.event, number_of(line, "1:acq(this)"));
    assert_eq!(reason.missing.begin, 2, "the transaction started with the yield");
    assert_eq!(reason.earlier, number_of(line, "3:rel(this)"));
    assert!(matches!(reason.earlier_op, Op::Release(_)));
    assert_eq!(trace.symbols.threads.name(reason.earlier_thread.0), b"3");
}

#[test]
fn incrementing_is_a_read_and_a_write() {
    assert_eq!(missing("1:r(x) 2:r(x) 2:w(x) 1:w(x)"), [4]);
    assert_eq!(missing("1:r(x) 2:r(x) 2:w(x) 1:yield 1:w(x)"), []);
    assert_eq!(missing("1:arw(x) 2:arw(x)"), []);
}

#[test]
fn a_wait_yields() {
    let wait = "1:acq(l) 1:r(x) 1:prewait(l) 2:acq(l) 2:w(x) 2:notify(l) 2:rel(l) 1:postwait(l) \
                1:r(x) 1:rel(l)";
    assert_eq!(missing(wait), []);
    // Released and taken again by hand, without a yield.
    let by_hand = wait.replace("prewait", "rel").replace("postwait", "acq");
    assert_eq!(missing(&by_hand), [number_of(wait, "1:postwait(l)")]);
}

/// As in sparse, series, crypt and raja: the implied yield of a join is all that is needed.
#[test]
fn fork_and_join_need_no_written_yield() {
    let line = "1:w(x) 1:fork(2) 1:fork(3) 2:r(x) 3:r(x) 2:w(y) 3:w(z) 1:join(2) 1:join(3) \
                1:r(y) 1:r(z)";
    assert_eq!(missing(line), []);
    assert_eq!(missing_if_joins_yield_to_the_child(line), []);
    let points = |join_yields_to_child| {
        let mut density =
            Density::new(density::Options { join_yields_to_child, ..Default::default() });
        let _ = density.events(&parse(line).batch());
        let options = Options { join_yields_to_child, ..Options::default() };
        density.row(judge(line, options).inferred(), None).cooperative.points
    };
    assert_eq!([points(false), points(true)], [2, 0]);
}

/// As in moldyn and lufact: the yields are needed in the barrier.
#[test]
fn a_barrier_needs_yields() {
    let line = "1:w(a) 2:w(b) 1:enter(b) 2:enter(b) 1:exit(b) 2:exit(b) 1:r(b) 2:r(a)";
    assert_eq!(missing(line), [number_of(line, "2:exit(b)")]);
    let fixed = line.replace("1:exit", "1:yield 1:exit").replace("2:exit", "2:yield 2:exit");
    assert_eq!(missing(&fixed), []);
}

/// Figure 6 taken literally adds the edge of the last write to the transaction that the yield then
/// ends, and finds a cycle at the last event where there is none.
#[test]
fn all_edges_enter_the_fresh_transaction() {
    let line = "3:w(x) 2:r(x) 1:w(p) 1:w(q) 2:r(p) 1:w(x) 3:r(q)";
    assert_eq!(missing(line), [number_of(line, "1:w(x)")]);
}

#[test]
fn a_join_can_yield_to_the_joined_thread_only() {
    // A third thread interferes, through the child or not.
    let direct = "1:r(y) 1:fork(2) 2:w(x) 3:w(y) 1:join(2) 1:r(y)";
    assert_eq!(missing(direct), []);
    assert_eq!(missing_if_joins_yield_to_the_child(direct), [6]);
    let through_child = "1:r(y) 1:fork(2) 3:w(y) 2:r(y) 1:join(2)";
    assert_eq!(missing(through_child), []);
    assert_eq!(missing_if_joins_yield_to_the_child(through_child), [5]);
    // The child interferes before it is joined.
    let too_early = "1:fork(2) 2:w(x) 1:r(x) 1:join(2)";
    assert_eq!(missing_if_joins_yield_to_the_child(too_early), [3]);
}

#[test]
fn the_family_of_a_joined_thread_comes_with_it() {
    let quicksort = "1:fork(2) 2:r(a) 2:fork(3) 2:fork(4) 3:w(b) 4:w(c) 2:join(3) 2:join(4) \
                     1:join(2) 1:r(b) 1:r(c)";
    assert_eq!(missing_if_joins_yield_to_the_child(quicksort), []);
    // No thread joins thread 4: it is a stranger.
    let stranger = "1:fork(2) 2:fork(4) 4:w(c) 2:r(c) 1:join(2)";
    assert_eq!(missing_if_joins_yield_to_the_child(stranger), [4, 5]);
    // The thread joined first may precede the one joined next, but not the other way round.
    let siblings = "1:fork(2) 1:fork(3) 2:w(x) 3:r(x) 1:join(2) 1:join(3)";
    assert_eq!(missing_if_joins_yield_to_the_child(siblings), []);
    let other_order = "1:fork(2) 1:fork(3) 2:w(x) 3:r(x) 1:join(3) 1:join(2)";
    assert_eq!(missing_if_joins_yield_to_the_child(other_order), [5]);
}

#[test]
fn yields_inside_of_atomic_blocks_are_listed() {
    let line = "1:begin(outer) 1:r(x) 1:begin(inner) 1:yield 1:end(inner) 2:w(x) 1:w(x) 1:r(x) \
                3:w(x) 1:r(x) 1:end(outer) 1:yield 3:r(x) 2:begin(waits) 2:acq(l) 2:prewait(l) \
                2:postwait(l) 2:r(x)";
    let trace = parse(line);
    let analysis = judge(line, Options::default());
    let show = |y: &YieldInBlock| {
        let label = String::from_utf8_lossy(trace.symbols.labels.name(y.label.0)).into_owned();
        (y.event, label, y.kind, y.count)
    };
    let found: Vec<_> = analysis.yields_in_blocks().iter().map(show).collect();
    let expected = [
        (4, "outer", YieldKind::Written, 1),
        (4, "inner", YieldKind::Written, 1),
        (10, "outer", YieldKind::Inferred, 1),
        (16, "waits", YieldKind::Wait, 1),
    ];
    assert_eq!(found, expected.map(|(e, label, kind, n)| (e, label.to_owned(), kind, n)));
}

/// Figure 8: later runs add little.
#[test]
fn several_traces_are_merged() {
    let traces = ["1:r(x) 2:w(x) 1:w(x)", "1:r(x) 2:w(x) 1:w(x)", "1:r(x) 2:r(x) 2:w(x) 1:w(x)"];
    let named =
        traces.map(|line| judge(line, Options::default()).inferred().named(&parse(line).symbols));
    let merged = merge(&named);
    assert_eq!(merged.added, [1, 0, 1]);
    assert_eq!(merged.sites[0].location, "3");
    assert_eq!([merged.sites[0].traces, merged.sites[1].first_trace], [2, 2]);
}

fn external_cycle(line: &str) -> Option<EventNo> {
    let mut analysis = External::new(external::Options { first_only: true });
    let _ = analysis.events(&parse(line).batch());
    analysis.finish();
    analysis.cycles().first().map(|cycle: &Cycle| cycle.event)
}

/// Figure 1, with thread 4 sorting the same array.
const QUICKSORT: &str = "1:begin(quicksort) 1:acq(a) 1:r(a0) 1:w(a0) 1:fork(2) 1:fork(3) \
    4:begin(quicksort) 2:r(a1) 3:r(a2) 2:w(a1) 3:w(a2) 1:join(2) 1:join(3) 1:rel(a) 4:acq(a) \
    1:end(quicksort) 4:fork(5) 5:r(a1) 5:w(a1) 4:join(5) 4:rel(a) 4:end(quicksort)";

#[test]
fn quicksort_is_externally_serializable_but_not_atomic() {
    assert_eq!(external_cycle(QUICKSORT), None);
    let mut atomicity = Engine::Auto.start(atomicity::Options::default());
    let _ = atomicity.events(&parse(QUICKSORT).batch());
    assert_eq!(atomicity.cycles()[0].event, number_of(QUICKSORT, "1:join(2)"));
}

#[test]
fn quicksort_is_interfered_with_from_outside() {
    let line = QUICKSORT.replace("3:w(a2) 1:join(2)", "6:w(a2) 3:w(a2) 1:join(2)");
    assert_eq!(external_cycle(&line), Some(number_of(&line, "3:w(a2)")));
}

/// Figure 2 (a): main is the only transaction.
#[test]
fn barrier_workers_are_one_transaction() {
    let round = "0:r(a0) 0:r(a1) 1:r(a0) 1:r(a1) 0:enter(b) 1:enter(b) 0:exit(b) 1:exit(b) \
                 0:w(a0) 1:w(a1) 0:enter(b) 1:enter(b) 1:exit(b) 0:exit(b)";
    let line = format!("0:begin(main) 0:fork(1) {round} {round} 0:end(main)");
    assert_eq!(external_cycle(&line), None);
}

/// Figure 2 (b): which worker runs which task is not determined, but each task is by itself.
#[test]
fn tasks_of_a_thread_pool_are_externally_serializable() {
    let line = "0:fork(1) 0:fork(2) 0:w(t1) 0:post(q) 0:w(t2) 0:post(q) 2:take(q) 1:take(q) \
                2:begin(run) 1:begin(run) 2:r(t1) 1:r(t2) 1:fork(3) 3:w(u2) 2:w(u1) 1:join(3) \
                1:end(run) 2:end(run) 0:r(u1) 0:r(u2)";
    assert_eq!(external_cycle(line), None);
    // The second task reads what the first one will change.
    let bad = line.replace("2:w(u1)", "2:w(u1) 3:r(u1) 2:w(u1)");
    let last = bad.split_whitespace().position(|w| w == "3:r(u1)").unwrap() as EventNo + 2;
    assert_eq!(external_cycle(&bad), Some(last));
}

#[test]
fn a_transaction_goes_on_after_the_end_of_its_block() {
    assert_eq!(external_cycle("1:begin(m) 1:fork(2) 1:end(m) 2:r(x) 1:w(x) 2:w(x)"), Some(6));
    assert_eq!(external_cycle("1:begin(m) 1:fork(2) 1:end(m) 2:r(x) 2:join(1)"), None);
    // A fork outside of every block precedes the child, and is not part of its transaction.
    assert_eq!(external_cycle("1:fork(2) 2:begin(m) 2:r(x) 1:w(x) 2:end(m)"), None);
    assert_eq!(external_cycle("1:fork(2) 2:begin(m) 2:r(x) 1:w(x) 2:w(x)"), Some(5));
}
