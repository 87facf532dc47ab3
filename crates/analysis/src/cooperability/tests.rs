//! The engine against the definition, on random traces with every operation.

use paceline_trace::{Event, EventNo, Op, Trace};

use super::reference::missing_yields;
use super::{Cooperability, Options, Yields};
use crate::driver::under_stress;
use crate::{Analysis, random};

const BOTH_KINDS_OF_JOIN: [Options; 2] = [
    Options { first_only: false, join_yields_to_child: false },
    Options { first_only: false, join_yields_to_child: true },
];

fn run(trace: &Trace, options: Options) -> Cooperability {
    let mut analysis = Cooperability::new(options);
    if analysis.events(&trace.batch()).is_continue() {
        analysis.finish();
    }
    analysis
}

fn same(what: &str, found: &[EventNo], expected: &[EventNo]) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found:?} not {expected:?}")) }
}

#[test]
fn missing_yields_are_those_of_the_definition() {
    for options in BOTH_KINDS_OF_JOIN {
        random::check(3000, 60, |trace| {
            let expected = missing_yields(trace, options);
            same("yields", run(trace, options).inferred().positions(), &expected)?;
            let first_only = Options { first_only: true, ..options };
            let first = run(trace, first_only).first_event();
            let found: Vec<_> = first.into_iter().collect();
            same("first", &found, &expected[..found.len().max(expected.len().min(1))])
        });
    }
}
