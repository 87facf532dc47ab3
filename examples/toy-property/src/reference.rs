//! The definition, plain and quadratic, and random traces on which the analysis agrees with it.

use std::cell::Cell;

use paceline::analysis::Analysis as _;
use paceline::trace::{EventNo, Op, Trace};
use paceline_analysis::testing::random;

use crate::Held;

/// The events that acquire a lock which no later event releases.
fn by_definition(trace: &Trace) -> Vec<EventNo> {
    let numbered = || (1..).zip(&trace.events);
    let acquires = numbered().filter_map(|(number, event)| {
        let (Op::Acquire(lock) | Op::PostWait(lock)) = event.op else { return None };
        Some((number, lock))
    });
    let is_released = |number: EventNo, lock| {
        let releases = [Op::Release(lock), Op::PreWait(lock)];
        numbered().any(|(later, event)| later > number && releases.contains(&event.op))
    };
    acquires.filter(|&(n, lock)| !is_released(n, lock)).map(|(n, _)| n).collect()
}

fn by_analysis(trace: &Trace) -> Vec<EventNo> {
    let mut held = Held::default();
    let _ = held.events(&trace.batch());
    held.finish();
    let mut events: Vec<EventNo> = held.locks().map(|(_, at)| at.event).collect();
    events.sort_unstable();
    events
}

#[test]
fn they_agree_on_random_traces() {
    let [holds, violated] = [Cell::new(0), Cell::new(0)];
    random::check(500, 40, |trace| {
        let (fast, plain) = (by_analysis(trace), by_definition(trace));
        let seen = if plain.is_empty() { &holds } else { &violated };
        seen.set(seen.get() + 1);
        if fast == plain { Ok(()) } else { Err(format!("{fast:?}, by definition {plain:?}")) }
    });
    assert!(holds.get() > 50 && violated.get() > 50, "{holds:?} {violated:?}");
}
