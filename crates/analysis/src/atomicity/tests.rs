//! All engines against the reference, on random traces with every operation.

use std::cell::Cell;

use hashbrown::{HashMap, HashSet};
use paceline_trace::generate::{Generator, Shape};
use paceline_trace::{Event, EventNo, Kind, ThreadId, Trace};

use super::{Atomicity, Engine, Options, Velodrome};
use crate::definition::conflict::Conflicts;
use crate::testing::random;
use crate::{Analysis, Cycle};

/// Long enough for a cycle in most traces, short enough for the quadratic reference.
const EVENTS: usize = 100;

fn first_cycle(engine: Engine, trace: &Trace) -> Option<Cycle> {
    let mut analysis = engine.start(Options { first_only: true });
    if analysis.events(&trace.batch()).is_continue() {
        analysis.finish();
    }
    analysis.cycles().first().copied()
}

/// The same verdict; the same event if the engine is exact, the same or a later one if not.
fn agree(engine: Engine, trace: &Trace, expected: Option<Cycle>) -> Result<(), String> {
    let found = first_cycle(engine, trace);
    let good = match (expected, found) {
        (Some(e), Some(f)) if engine.is_exact() => e == f,
        (Some(e), Some(f)) => e.event <= f.event,
        (e, f) => e.is_none() && f.is_none(),
    };
    let name = engine.name();
    if good { Ok(()) } else { Err(format!("{name}: {found:?} instead of {expected:?}")) }
}

#[test]
fn engines_agree_with_the_definition() {
    random::check(12_000, EVENTS, |trace| {
        let expected = first_cycle(Engine::Reference, trace);
        Engine::ALL.iter().try_for_each(|&engine| agree(engine, trace, expected))?;
        // When the trace is cut after the first cycle, no later event can make up for a miss.
        let Some(cycle) = expected else { return Ok(()) };
        let mut cut = trace.clone();
        cut.events.truncate(cycle.event as usize);
        Engine::ALL.iter().try_for_each(|&engine| agree(engine, &cut, expected))
    });
}

/// The optimised engine uses later clocks, so it may see a cycle before Algorithm 1 does.
#[test]
fn optimised_aerodrome_is_never_later_than_basic() {
    random::check(2000, EVENTS, |trace| {
        let (optimised, basic) = (Engine::Aerodrome, Engine::AerodromeBasic);
        let [optimised, basic] = [optimised, basic].map(|engine| first_cycle(engine, trace));
        let event = |cycle: Option<Cycle>| cycle.map_or(u64::MAX, |c| c.event);
        let good = event(optimised) <= event(basic);
        if good { Ok(()) } else { Err(format!("{optimised:?} after {basic:?}")) }
    });
}

/// The verdict and the event do not depend on `merge`, and it saves nodes.
#[test]
fn merge_only_saves_nodes() {
    random::check(2000, EVENTS, |trace| {
        let options = Options { first_only: true };
        let mut engines = [Velodrome::new(options), Velodrome::without_merge(options)];
        for engine in &mut engines {
            let _ = engine.events(&trace.batch());
        }
        let [with, without] = engines;
        let cheaper = with.stats().allocated <= without.stats().allocated;
        if cheaper && with.cycles() == without.cycles() {
            Ok(())
        } else {
            Err(format!("{:?} instead of {:?}", with.cycles(), without.cycles()))
        }
    });
}

/// Whether the transaction that starts with event `begin` lies on a cycle of the first events.
fn is_on_a_cycle(events: &[Event], begin: EventNo) -> bool {
    let mut conflicts = Conflicts::default();
    let mut blocks: HashMap<ThreadId, (usize, usize)> = HashMap::new();
    let mut txn_of: Vec<usize> = Vec::new();
    let mut edges: HashSet<(usize, usize)> = HashSet::new();
    for &event in events {
        let f = conflicts.push(event);
        let (txn, depth) = blocks.get(&event.thread).copied().unwrap_or((f, 0));
        let is = |kind| usize::from(event.op.kind() == kind);
        let depth = depth + is(Kind::Begin) - is(Kind::End);
        blocks.insert(event.thread, (txn, depth));
        if depth == 0 {
            blocks.remove(&event.thread);
        }
        let before = (0..f).filter(|&e| conflicts.conflict(e, f)).map(|e| (txn_of[e], txn));
        edges.extend(before.filter(|(from, to)| from != to));
        txn_of.push(txn);
    }
    let start = begin as usize - 1;
    let mut reached: HashSet<usize> = HashSet::new();
    let mut todo = vec![start];
    while let Some(txn) = todo.pop() {
        let next = edges.iter().filter(|(from, _)| *from == txn).map(|(_, to)| *to);
        todo.extend(next.filter(|&to| reached.insert(to)));
    }
    reached.contains(&start)
}

/// Engines that continue after the first cycle must not report false ones.
#[test]
fn every_report_names_a_transaction_on_a_cycle() {
    random::check(500, EVENTS, |trace| {
        for &engine in Engine::ALL {
            let mut analysis = engine.start(Options::default());
            let _ = analysis.events(&trace.batch());
            analysis.finish();
            for cycle in analysis.cycles() {
                if !is_on_a_cycle(&trace.events[..cycle.event as usize], cycle.begin) {
                    return Err(format!("{}: {cycle:?}", engine.name()));
                }
            }
        }
        Ok(())
    });
}

/// `before[f]` holds the events that happen before the event at index `f`.
fn happens_before(trace: &Trace) -> Vec<HashSet<usize>> {
    let mut conflicts = Conflicts::default();
    let mut before: Vec<HashSet<usize>> = Vec::new();
    for &event in &trace.events {
        let f = conflicts.push(event);
        let mut mine = HashSet::new();
        for e in (0..f).filter(|&e| conflicts.conflict(e, f)) {
            mine.insert(e);
            mine.extend(&before[e]);
        }
        before.push(mine);
    }
    before
}

/// A block that Velodrome blames does have an event of another thread between two of its own.
#[test]
fn blamed_blocks_are_refuted_by_the_definition() {
    let blamed = Cell::new(0);
    random::check(2000, EVENTS, |trace| {
        let mut engine = Velodrome::new(Options::default());
        let _ = engine.events(&trace.batch());
        let before = happens_before(trace);
        for warning in engine.warnings() {
            let last = warning.cycle.event as usize - 1;
            for block in &warning.refuted {
                let begin = block.begin as usize - 1;
                let between = |e: &usize| {
                    before[*e].contains(&begin) && trace.events[*e].thread != warning.cycle.thread
                };
                if !before[last].iter().any(between) {
                    return Err(format!("{block:?} is blamed at {}", warning.cycle.event));
                }
                blamed.set(blamed.get() + 1);
            }
        }
        Ok(())
    });
    assert!(blamed.get() > 0);
}

#[test]
fn batches_make_no_difference() {
    random::check(500, EVENTS, |trace| {
        for &engine in Engine::ALL {
            let mut whole = engine.start(Options::default());
            let _ = whole.events(&trace.batch());
            whole.finish();
            let mut pieces = engine.start(Options::default());
            let mut batch = trace.batch();
            for events in trace.events.chunks(7) {
                batch.events = events.to_vec();
                let _ = pieces.events(&batch);
                batch.first += events.len() as u64;
            }
            pieces.finish();
            if whole.cycles() != pieces.cycles() {
                return Err(format!("{}: batches matter", engine.name()));
            }
        }
        Ok(())
    });
}

#[test]
fn random_traces_have_every_operation_and_both_verdicts() {
    const CASES: u32 = 2000;
    let counts = std::cell::RefCell::new((0, 0, HashSet::new()));
    random::check(CASES, EVENTS, |trace| {
        let mut counts = counts.borrow_mut();
        counts.0 += 1;
        counts.1 += usize::from(first_cycle(Engine::Reference, trace).is_some());
        counts.2.extend(trace.events.iter().map(|e| e.op.kind()));
        Ok(())
    });
    let (all, cyclic, kinds) = counts.into_inner();
    assert_eq!(kinds.len(), Kind::ALL.len());
    assert!(cyclic * 4 > all && cyclic * 4 < all * 3, "{cyclic} of {all} are not serializable");
}

/// Longer traces with more threads than a machine word has bits. The reference is too slow here,
/// but the generator knows where it planted the violation.
#[test]
fn engines_find_what_was_planted() {
    let features = |threads| Shape {
        events: 20_000,
        threads,
        variables: 200,
        nesting: 3,
        waits: true,
        barriers: true,
        volatiles: true,
        semaphores: true,
        shared_locks: true,
        ..Shape::default()
    };
    let shapes = [
        features(5),
        features(70),
        Shape { long_transaction: true, ..features(5) },
        Shape { violation_at: Some(15_000), ..features(5) },
        Shape { violation_at: Some(15_000), ..features(70) },
    ];
    for shape in shapes {
        let trace = Trace::collect(&mut Generator::new(shape.clone()).unwrap()).unwrap();
        for &engine in Engine::ALL.iter().filter(|&&engine| engine != Engine::Reference) {
            let found = first_cycle(engine, &trace).map(|cycle| cycle.event);
            let late = !engine.is_exact() && shape.violation_at.is_some();
            let good = if late { found >= shape.violation_at } else { found == shape.violation_at };
            assert!(good, "{}: {found:?} in {shape:?}", engine.name());
        }
    }
}

/// The third round uses the slot of the first one, which thread 2 entered.
#[test]
fn a_round_forgets_the_earlier_round_in_its_slot() {
    let line = "1:begin(m) 1:w(x) 2:r(x) 2:enter(b) 3:exit(b) 2:enter(b) 3:exit(b) 1:enter(b) \
        1:exit(b) 1:end(m)";
    let trace = Trace::parse(line).unwrap();
    for &engine in Engine::ALL {
        assert_eq!(first_cycle(engine, &trace), None, "{}", engine.name());
    }
}

#[test]
fn names_lead_back_to_engines() {
    for &engine in Engine::ALL {
        assert_eq!(Engine::from_name(engine.name()), Some(engine));
    }
    assert_eq!(Engine::from_name("none"), None);
}
