//! Reports for the tests of all outputs.

use paceline_analysis::Analysis as _;
use paceline_analysis::atomicity::{Atomicity as _, Options, Running};
use paceline_analysis::explain::{EventRef, explain};
use paceline_analysis::finding::{Finding, Rule, Story, group};
use paceline_trace::{SiteInfo, Trace};

use crate::compose;
use crate::model::{self, Report};
use crate::outcome::Outcome;

/// Two threads put into a set what is not yet in it.
pub const LINE: &str = "one:begin(Set.add) one:acq(m) one:r(size) one:rel(m) \
    two:acq(m) two:w(size) two:rel(m) one:acq(m) one:w(size) one:rel(m) one:end(Set.add) \
    two:r(last) one:w(last)";

/// The trace written in one line, each event at a line of its own in `Set.java`.
pub fn trace(line: &str) -> Trace {
    let mut trace = Trace::parse(line).unwrap();
    let (file, method) = (trace.symbols.text(b"Set.java"), trace.symbols.text(b"add"));
    for (event, line) in trace.events.iter_mut().zip(10..) {
        event.site = trace.symbols.site(SiteInfo { file, method, line, column: 0 });
    }
    trace
}

/// A violation of atomicity and a race.
pub fn findings(trace: &Trace) -> Vec<Finding> {
    let mut engine = Running::new(Options::default());
    let _ = engine.events(&trace.batch());
    let told = explain(&trace.batch(), engine.cycles()).into_iter().flatten().map(|e| (e, 3));
    let mut findings = group(Rule::Atomicity, told);
    let numbered = (1..).zip(&trace.events);
    let last = numbered.map(|(number, &event)| EventRef { number, event });
    let story = Story::Events(last.skip(trace.events.len() - 2).collect());
    findings.push(Finding { rule: Rule::Race, blame: None, story, count: 1 });
    findings
}

/// The report of a trace.
pub fn report(trace: &Trace) -> Report {
    let findings: Vec<_> =
        findings(trace).iter().map(|f| compose::finding(f, &trace.symbols)).collect();
    Report {
        schema: model::SCHEMA.to_owned(),
        input: model::Input {
            path: "traces/set.std".to_owned(),
            events: trace.events.len() as u64,
            threads: 2,
            variables: 2,
            locks: 1,
            transactions: 1,
        },
        verdicts: model::Verdicts {
            atomicity: Some(model::Atomicity { first_event: Some(9), ..Default::default() }),
            race: Some(model::Race { holds: false, variables: vec!["last".to_owned()] }),
            determinism: Some(model::Determinism { holds: true, ..Default::default() }),
            ..Default::default()
        },
        findings,
        incomplete: false,
        notes: vec!["3 labels count as atomic, 1 do not".to_owned()],
    }
}

/// The report of [`LINE`].
pub fn outcome() -> Outcome {
    Outcome::Report(report(&trace(LINE)))
}

/// A trace that could not be analysed.
pub fn failure() -> Outcome {
    Outcome::Failure(model::Failure {
        schema: model::SCHEMA.to_owned(),
        input: model::FailedInput { path: "traces/bad.std".to_owned() },
        error: model::Problem {
            line: Some(3),
            event: Some(3),
            rule: "acquire_held".to_owned(),
            message: "thread 2 acquires m, which thread 1 holds".to_owned(),
        },
    })
}

/// A report with as many findings of one kind.
pub fn many(count: usize) -> Outcome {
    let mut report = report(&trace(LINE));
    let first = report.findings[0].clone();
    report.findings =
        (0..count).map(|i| model::Finding { id: format!("{i:016x}"), ..first.clone() }).collect();
    Outcome::Report(report)
}
