//! Reports for the tests and measurements of all outputs.

use paceline_analysis::Analysis as _;
use paceline_analysis::atomicity::{Atomicity as _, Options, Running};
use paceline_analysis::explain::{EventRef, explain};
use paceline_analysis::finding::{Finding, Rule, Story, group};
use paceline_report::compose;
use paceline_report::model::{self, Blame, Edge, Event, Frame, Report, Transaction};
use paceline_report::outcome::Outcome;
use paceline_trace::{SiteInfo, Trace};

/// Two threads put into a set what is not yet in it.
pub const LINE: &str = "one:begin(Set.add) one:acq(m) one:r(size) one:rel(m) \
    two:acq(m) two:w(size) two:rel(m) one:acq(m) one:w(size) one:rel(m) one:end(Set.add) \
    two:r(last) one:w(last)";

/// The trace written in one line, each event at a line of its own in `Set.java`.
pub fn trace(line: &str) -> Trace {
    let mut trace = Trace::parse(line).expect("a line of events");
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
    let mut findings: Vec<_> =
        findings(trace).iter().map(|f| compose::finding(f, &trace.symbols)).collect();
    for event in findings.iter_mut().flat_map(|f| &mut f.threads).filter(|e| e.event < 12) {
        let frame = |(label, site): (&str, &str)| Frame { label: label.into(), site: site.into() };
        let own = (event.thread == "one").then_some(("Set.add", "Set.java:10"));
        event.stack = own.into_iter().chain([("Main.work", "?")]).map(frame).collect();
    }
    Report {
        schema: model::SCHEMA.to_owned(),
        input: model::Input {
            path: "traces/set.std".to_owned(),
            events: trace.events.len() as u64,
            threads: 2,
            variables: 2,
            locks: 1,
            transactions: 1,
            recording: None,
        },
        scope: model::Scope {
            properties: ["atomicity", "determinism", "race"].map(str::to_owned).to_vec(),
            filters: vec!["--except Main.*".to_owned()],
            dropped: 2,
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
        code: None,
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

/// A report with as many findings, each about names of its own.
pub fn many(count: usize) -> Outcome {
    let mut report = report(&trace(LINE));
    let (first, race) = (report.findings[0].clone(), report.findings[1].clone());
    report.findings = (0..count)
        .map(|i| {
            let mut finding = if i % 4 == 3 { race.clone() } else { first.clone() };
            finding.id = format!("{:016x}", (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            finding.title = format!("Set{i}.add is not atomic");
            finding.threads.iter_mut().for_each(|e| e.site = format!("Set{i}.java:{}", e.event));
            finding
        })
        .collect();
    Outcome::Report(report)
}

/// An event of the bank.
pub fn event(number: u64, thread: &str, kind: &str, target: &str) -> Event {
    Event {
        event: number,
        thread: thread.to_owned(),
        kind: kind.to_owned(),
        target: Some(target.to_owned()),
        site: format!("Bank.java:{number}"),
        stack: Vec::new(),
    }
}

/// A cycle of `n` transactions, the first of which is blamed.
pub fn cycle_of(n: usize) -> model::Finding {
    let thread = |i: usize| format!("T{}", i % n);
    let number = |i: usize| 10 * i as u64;
    let transaction = |i: usize| Transaction {
        thread: thread(i),
        label: Some(format!("Bank.step{i}")),
        site: "Bank.java:7".to_owned(),
        first_event: number(i) + 1,
        last_event: if i == 0 { number(n) + 9 } else { number(i) + 9 },
        edge: Edge {
            from: event(number(i) + 5, &thread(i), "w", &format!("x{i}")),
            to: event(number(i + 1) + 2, &thread(i + 1), "r", &format!("x{i}")),
        },
    };
    let cycle: Vec<Transaction> = (0..n).map(transaction).collect();
    let threads = cycle.iter().flat_map(|t| [t.edge.from.clone(), t.edge.to.clone()]).collect();
    model::Finding {
        id: format!("{n:016x}"),
        rule: "atomicity".to_owned(),
        severity: "violation".to_owned(),
        title: "Bank.step0 is not atomic".to_owned(),
        blame: Some(Blame { label: "Bank.step0".to_owned(), site: "Bank.java:7".to_owned() }),
        cycle,
        threads,
        refuted: Vec::new(),
        not_refuted: Vec::new(),
        variables: Vec::new(),
        count: 1,
        remark: None,
        code: None,
    }
}

/// Two events without order.
pub fn race() -> model::Finding {
    let threads = vec![event(3, "T1", "r", "x"), event(4, "T2", "w", "x")];
    let (rule, title) = ("race".to_owned(), "race on x".to_owned());
    model::Finding { rule, title, blame: None, cycle: Vec::new(), threads, ..cycle_of(1) }
}

/// A report of these findings.
pub fn report_of(findings: Vec<model::Finding>) -> Report {
    Report { findings, ..report(&trace(LINE)) }
}
