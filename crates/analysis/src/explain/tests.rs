//! Explanations by hand, and compared with the definition: shortest cycles, blame, refuted blocks.

use hashbrown::HashSet;
use paceline_trace::{Op, Trace};

use super::*;
use crate::atomicity::{Engine, Options};
use crate::definition::conflict::Conflicts;
use crate::determinism::external::{self, External};
use crate::testing::random::{self, EVERYTHING, FORK_JOIN};

fn cycles_of(trace: &Trace) -> Vec<Cycle> {
    let mut engine = Engine::Reference.start(Options::default());
    let _ = engine.events(&trace.batch());
    engine.finish();
    engine.cycles().to_vec()
}

fn explained(line: &str) -> Explanation {
    let trace = Trace::parse(line).unwrap();
    let cycles = cycles_of(&trace);
    explain(&trace.batch(), &cycles[..1]).remove(0).unwrap()
}

fn edges(explanation: &Explanation) -> Vec<(EventNo, EventNo)> {
    explanation.edges.iter().map(|e| (e.from.number, e.to.number)).collect()
}

#[test]
fn a_read_and_a_late_write() {
    let e = explained("1:begin(m) 1:r(x) 2:w(x) 1:w(x) 1:end(m)");
    assert_eq!(edges(&e), [(2, 3), (3, 4)]);
    assert!(e.increasing && e.blame == Some(0));
    let [d, u] = e.transactions[..] else { panic!("{e:?}") };
    assert_eq!((d.first_event, d.last_event, d.unary, d.ended), (1, 5, false, true));
    assert_eq!((u.first_event, u.last_event, u.unary, u.label), (3, 3, true, None));
    assert_eq!(e.refuted.len(), 1);
    let numbers: Vec<_> = e.interleaving.iter().map(|e| e.number).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
}

/// The nested blocks of Velodrome §4.3: p and q hold both ends, r does not.
#[test]
fn nested_blocks_are_refuted_when_they_hold_both_ends() {
    let e = explained("1:begin(p) 1:begin(q) 1:r(x) 2:w(x) 1:begin(r) 1:w(x)");
    let begins = |blocks: &[BlockRef]| blocks.iter().map(|b| b.begin_event).collect::<Vec<_>>();
    assert_eq!(begins(&e.refuted), [1, 2]);
    assert_eq!(begins(&e.not_refuted), [5]);
    assert_eq!((e.transactions[0].last_event, e.transactions[0].ended), (6, false));
}

#[test]
fn of_two_equally_short_cycles_the_later_departure_is_taken() {
    let e = explained("1:begin(p) 1:w(x) 1:begin(q) 1:w(x) 2:r(x) 2:w(y) 1:r(y)");
    assert_eq!(edges(&e), [(4, 5), (5, 6), (6, 7)]);
    assert_eq!(e.refuted.len(), 2);
}

#[test]
fn what_the_transaction_did_itself_hides_nothing() {
    let e = explained("1:begin(p) 1:w(x) 2:w(x) 1:r(x)");
    assert_eq!(edges(&e), [(2, 3), (3, 4)]);
}

/// Velodrome's example of a cycle that no transaction is to blame for: the other transaction sent
/// before it received.
#[test]
fn a_cycle_that_is_not_increasing_blames_no_transaction() {
    let e = explained("2:begin(e) 2:w(y) 1:begin(d) 1:w(x) 2:r(x) 1:r(y)");
    assert_eq!(edges(&e), [(4, 5), (2, 6)]);
    assert!(!e.increasing && e.blame.is_none() && e.refuted.is_empty());
    assert_eq!(e.not_refuted.len(), 1);
}

/// Everything but the last edge happened before the transaction began.
#[test]
fn a_cycle_reaches_back_before_the_transaction() {
    let e = explained("2:begin(e) 2:w(a) 3:r(a) 3:w(b) 1:begin(d) 1:w(x) 2:r(x) 1:r(b) 2:end(e)");
    assert_eq!(edges(&e), [(6, 7), (2, 3), (3, 4), (4, 8)]);
    assert_eq!((e.transactions[1].last_event, e.transactions[1].ended), (9, true));
}

#[test]
fn an_increasing_cycle_is_preferred_to_a_shorter_one_that_is_not() {
    let e = explained(
        "2:begin(e) 2:w(u) 1:begin(d) 1:w(x) 2:r(x) 2:w(z) 3:r(z) 3:w(u) 1:begin(i) 1:arw(u)",
    );
    assert_eq!(edges(&e), [(4, 5), (6, 7), (7, 8), (8, 10)]);
    assert!(e.increasing);
}

#[test]
fn fork_and_join_are_edges() {
    let e = explained("1:begin(m) 1:fork(2) 2:r(x) 1:join(2)");
    assert_eq!(edges(&e), [(2, 3), (3, 4)]);
    assert!(e.increasing);
}

#[test]
fn a_cycle_that_is_not_there_is_not_explained() {
    let trace = Trace::parse("1:begin(m) 1:r(x) 2:w(y) 1:w(x)").unwrap();
    let cycle = Cycle { event: 4, thread: ThreadId(0), begin: 1 };
    assert_eq!(explain(&trace.batch(), &[cycle]), [None]);
}

/// The transactions of a trace, by definition.
struct Plain {
    conflicts: Conflicts,
    /// The first event of the transaction of each event, by index.
    txn_of: Vec<usize>,
}

impl Plain {
    fn new(trace: &Trace) -> Plain {
        let mut plain = Plain { conflicts: Conflicts::default(), txn_of: Vec::new() };
        let mut open: HashMap<ThreadId, (usize, usize)> = HashMap::new();
        for &event in &trace.events {
            let at = plain.conflicts.push(event);
            let (txn, mut depth) = open.get(&event.thread).copied().unwrap_or((at, 0));
            depth += usize::from(matches!(event.op, Op::Begin(_)));
            depth -= usize::from(matches!(event.op, Op::End(_)));
            plain.txn_of.push(txn);
            if depth == 0 {
                open.remove(&event.thread)
            } else {
                open.insert(event.thread, (txn, depth))
            };
        }
        plain
    }

    /// The same for transactions that the threads forked inside belong to.
    fn with_threads(trace: &Trace) -> Plain {
        let mut plain = Plain::new(trace);
        let mut member_of: HashMap<ThreadId, usize> = HashMap::new();
        let is_block = |txn: usize| matches!(trace.events[txn].op, Op::Begin(_));
        for (at, event) in trace.events.iter().enumerate() {
            if let Some(&txn) = member_of.get(&event.thread) {
                plain.txn_of[at] = txn;
            }
            if let Op::Fork(child) = event.op
                && is_block(plain.txn_of[at])
            {
                member_of.insert(child, plain.txn_of[at]);
            }
        }
        plain
    }

    /// The length of a shortest cycle through the transaction of `last` that closes there;
    /// `increasing` asks for an increasing one. States are transactions, with the event of entry.
    fn shortest(&self, last: usize, increasing: bool) -> Option<usize> {
        let d = self.txn_of[last];
        let mut seen: HashSet<(usize, usize)> = HashSet::new();
        let mut level: Vec<(usize, usize)> = vec![(d, 0)];
        for hops in 1.. {
            let mut next = Vec::new();
            for &(txn, entered) in &level {
                let outs = (0..=last).filter(|&e| self.txn_of[e] == txn && e >= entered);
                for (from, to) in outs.flat_map(|e| (e + 1..=last).map(move |f| (e, f))) {
                    let target = self.txn_of[to];
                    if target == txn || !self.conflicts.conflict(from, to) {
                        continue;
                    }
                    // Program order has entered D long before.
                    if to == last && self.conflicts.interfere(from, to) {
                        return Some(hops);
                    }
                    let state = (target, if increasing { to } else { 0 });
                    if target != d && seen.insert(state) {
                        next.push(state);
                    }
                }
            }
            level = next;
            if level.is_empty() {
                return None;
            }
        }
        None
    }
}

fn is_a_cycle(plain: &Plain, e: &Explanation) -> Result<(), String> {
    let wrong = |what: &str| Err(format!("{what}: {e:?}"));
    let txn = |r: EventRef| plain.txn_of[r.number as usize - 1] as u64 + 1;
    if e.transactions.len() != e.edges.len() || e.transactions[0].first_event != e.cycle.begin {
        return wrong("not a cycle through the transaction");
    }
    for (i, edge) in e.edges.iter().enumerate() {
        let ends = (edge.from.number as usize - 1, edge.to.number as usize - 1);
        let to = e.transactions[(i + 1) % e.edges.len()].first_event;
        if txn(edge.from) != e.transactions[i].first_event || txn(edge.to) != to {
            return wrong("an edge connects other transactions");
        }
        if ends.0 >= ends.1 || !plain.conflicts.conflict(ends.0, ends.1) {
            return wrong("no conflict");
        }
    }
    if e.edges.last().map(|l| l.to.number) != Some(e.cycle.event) {
        return wrong("does not close at the reported event");
    }
    Ok(())
}

fn transactions_are_described_right(
    plain: &Plain,
    trace: &Trace,
    e: &Explanation,
) -> Result<(), String> {
    for t in &e.transactions {
        let first = t.first_event as usize - 1;
        let last = plain.txn_of.iter().rposition(|&x| x == first).unwrap();
        let unary = !matches!(trace.events[first].op, Op::Begin(_));
        if (last + 1) as u64 != t.last_event
            || unary != t.unary
            || trace.events[first].thread != t.thread
        {
            return Err(format!("{t:?}"));
        }
    }
    Ok(())
}

/// How many cycles were increasing, and how many were not.
type Kinds = std::cell::Cell<(usize, usize)>;

/// Compares the explanation of every cycle with the definition.
fn are_shortest(
    trace: &Trace,
    plain: &Plain,
    explanations: Vec<Option<Explanation>>,
    cycles: &[Cycle],
    kinds: &Kinds,
) -> Result<(), String> {
    for (e, cycle) in explanations.into_iter().zip(cycles) {
        let e = e.ok_or_else(|| format!("{cycle:?} not explained"))?;
        is_a_cycle(plain, &e)?;
        transactions_are_described_right(plain, trace, &e)?;
        let last = cycle.event as usize - 1;
        let increasing = plain.shortest(last, true);
        let best = increasing.or_else(|| plain.shortest(last, false));
        if e.increasing != increasing.is_some() || best != Some(e.edges.len()) {
            return Err(format!("{} edges, not {best:?}, {increasing:?}", e.edges.len()));
        }
        let (a, b) = kinds.get();
        kinds.set(if e.increasing { (a + 1, b) } else { (a, b + 1) });
    }
    Ok(())
}

#[test]
fn explanations_are_shortest_cycles_by_definition() {
    let kinds = Kinds::default();
    random::check(2500, 100, |trace| {
        let cycles = cycles_of(trace);
        let explanations = explain(&trace.batch(), &cycles);
        are_shortest(trace, &Plain::new(trace), explanations, &cycles, &kinds)
    });
    let (increasing, not) = kinds.into_inner();
    assert!(increasing > 300 && not > 100, "{increasing} increasing, {not} not");
}

/// The cycles of deterministic blocks that an engine keeps.
fn external_cycles(trace: &Trace) -> Vec<Cycle> {
    let mut engine = External::new(external::Options::default());
    let _ = engine.events(&trace.batch());
    engine.finish();
    engine.cycles().to_vec()
}

#[test]
fn cycles_of_blocks_with_threads_are_shortest_by_definition() {
    for (mix, most) in [(EVERYTHING, 100), (FORK_JOIN, 250)] {
        let kinds = Kinds::default();
        random::check_mix(mix, 1000, most, |trace| {
            let cycles = external_cycles(trace);
            let explanations =
                explain_within(Boundaries::BlocksWithThreads, &trace.batch(), &cycles);
            are_shortest(trace, &Plain::with_threads(trace), explanations, &cycles, &kinds)
        });
        let (increasing, not) = kinds.into_inner();
        assert!(increasing > 100 && not > 20, "{increasing} increasing, {not} not");
    }
}

/// The reader works in a thread of its own, inside of the block of the thread that forked it.
#[test]
fn an_event_of_a_forked_thread_closes_the_cycle_of_its_block() {
    let line = "1:begin(sum) 1:r(x) 1:fork(2) 3:w(x) 3:w(y) 2:r(y) 1:join(2) 1:end(sum)";
    let trace = Trace::parse(line).unwrap();
    let cycles = external_cycles(&trace);
    let explanations = explain_within(Boundaries::BlocksWithThreads, &trace.batch(), &cycles);
    let e = explanations[0].as_ref().unwrap();
    assert_eq!(edges(e), [(2, 4), (4, 5), (5, 6)]);
    let [sum, write, other] = e.transactions[..] else { panic!("{e:?}") };
    assert_eq!((sum.first_event, sum.last_event, sum.ended), (1, 8, true));
    assert!(write.unary && other.unary && e.blame == Some(0));
    assert_eq!(e.refuted.len(), 1);
}

#[test]
fn batches_make_no_difference() {
    random::check(300, 80, |trace| {
        let cycles = cycles_of(trace);
        let whole = explain(&trace.batch(), &cycles);
        let mut explainer = Explainer::new(&cycles);
        loop {
            let mut batch = trace.batch();
            for events in trace.events.chunks(7) {
                batch.events = events.to_vec();
                if explainer.events(&batch).is_break() {
                    break;
                }
                batch.first += events.len() as u64;
            }
            explainer.finish();
            if !explainer.again() {
                break;
            }
        }
        if explainer.explanations() == whole { Ok(()) } else { Err("they differ".into()) }
    });
}

/// The fork happens before every event of its thread, not only before the first.
#[test]
fn a_fork_closes_a_cycle_at_a_later_event() {
    let line = "2:begin(p) 2:fork(3) 2:w(x) 4:r(x) 3:begin(p) 3:r(x) 1:w(x) 2:r(x) 3:join(4)";
    let trace = Trace::parse(line).unwrap();
    let cycles = cycles_of(&trace);
    let explanations = explain(&trace.batch(), &cycles);
    let last = explanations.last().unwrap().as_ref().unwrap();
    assert_eq!(edges(last), [(6, 7), (7, 8), (2, 9)]);
}
