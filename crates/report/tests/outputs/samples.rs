//! Reports for the tests and measurements of all outputs.

use paceline_analysis::Analysis as _;
use paceline_analysis::atomicity::{Atomicity as _, Options, Running};
use paceline_analysis::explain::{EventRef, explain};
use paceline_analysis::finding::{Finding, Grounds, RuleId, Severity, group};
use paceline_report::model::{
    self, Blame, Edge, Event, Explanation, Facts, Filter, Frame, Label, Note, ProblemRule, Report,
    RuleHelp, Site, Target, TargetKind, Transaction, Verdicts, property,
};
use paceline_report::outcome::Outcome;
use paceline_report::{compose, rules, verdicts as known};
use paceline_trace::{Kind, Rule, SiteInfo, Trace};

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
    let explained = explain(&trace.batch(), engine.cycles()).into_iter().flatten();
    let mut findings = group(&RuleId::ATOMICITY, explained.map(|e| (e, 3)));
    let at = |index: usize| EventRef { number: index as u64 + 1, event: trace.events[index] };
    let last = trace.events.len() - 1;
    let grounds = Grounds::Unordered([at(last - 1), at(last)]);
    findings.push(Finding { rule: RuleId::RACE, blame: None, grounds, count: 1 });
    findings
}

/// The report of a trace.
pub fn report(trace: &Trace) -> Report {
    let named = |f: &Finding| {
        let rule = rules::BUILT_IN.iter().find(|rule| rule.id == f.rule).expect("a known rule");
        compose::finding(f, rule, &trace.symbols)
    };
    let mut findings: Vec<_> = findings(trace).iter().map(named).collect();
    for event in findings.iter_mut().flat_map(|f| &mut f.threads).filter(|e| e.event < 12) {
        let frame = |(label, site): (&str, Site)| Frame { label: Label::named(label), site };
        let own = (event.thread == "one").then(|| ("Set.add", Site::line("Set.java", 10)));
        event.stack = own.into_iter().chain([("Main.work", Site::Unknown)]).map(frame).collect();
    }
    let input = model::Input {
        path: "traces/set.std".to_owned(),
        events: trace.events.len() as u64,
        threads: 2,
        variables: 2,
        locks: 1,
        transactions: 1,
        recording: None,
    };
    let (verdicts, rules) = verdicts(&input);
    Report {
        schema: model::SCHEMA.to_owned(),
        input,
        scope: model::Scope {
            properties: ["atomicity", "determinism", "race"].map(str::to_owned).to_vec(),
            filters: vec![Filter::Except { pattern: "Main.*".to_owned() }],
            dropped: 2,
        },
        verdicts,
        findings,
        incomplete: false,
        rules,
        notes: vec![Note::SelectedByName { atomic: 3, not_atomic: 1 }],
        code: None,
    }
}

/// Verdicts on three properties, and their rules.
fn verdicts(input: &model::Input) -> (Verdicts, Vec<RuleHelp>) {
    let atomicity = model::Atomicity { first_event: Some(9), ..Default::default() };
    let race = model::Race { variables: vec!["last".to_owned()], ..Default::default() };
    let decided = [
        (property::ATOMICITY, Facts::Atomicity(atomicity), false),
        (property::DETERMINISM, Facts::Determinism(model::Determinism::default()), true),
        (property::RACE, Facts::Race(race), false),
    ];
    let (mut verdicts, mut rules) = (Verdicts::default(), Vec::new());
    for (property, facts, holds) in decided {
        let (own, needs_blocks) = (known::rules_of(&facts), known::needs_blocks(&facts));
        rules.extend(own.iter().map(RuleHelp::from));
        let mut verdict = known::verdict(facts, holds);
        verdict.settle(&own, needs_blocks, input);
        verdicts.insert(property, verdict);
    }
    (verdicts, rules)
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
            rule: ProblemRule::Malformed(Rule::AcquireHeld),
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
            let file = format!("Set{i}.java");
            finding.threads.iter_mut().for_each(|e| e.site = Site::line(file.clone(), e.event));
            finding
        })
        .collect();
    Outcome::Report(report)
}

/// An event of the bank.
pub fn event(number: u64, thread: &str, kind: Kind, target: &str) -> Event {
    let name = target.to_owned();
    Event {
        event: number,
        thread: thread.to_owned(),
        kind,
        target: TargetKind::of(kind).map(|kind| Target { kind, name }),
        site: Site::line("Bank.java", number),
        stack: Vec::new(),
    }
}

/// A cycle of `n` transactions, the first of which is blamed.
pub fn cycle_of(n: usize) -> model::Finding {
    let thread = |i: usize| format!("T{}", i % n);
    let number = |i: usize| 10 * i as u64;
    let transaction = |i: usize| Transaction {
        thread: thread(i),
        label: Label::Named(format!("Bank.step{i}")),
        site: Site::line("Bank.java", 7),
        first_event: number(i) + 1,
        last_event: if i == 0 { number(n) + 9 } else { number(i) + 9 },
        edge: Edge {
            from: event(number(i) + 5, &thread(i), Kind::Write, &format!("x{i}")),
            to: event(number(i + 1) + 2, &thread(i + 1), Kind::Read, &format!("x{i}")),
        },
    };
    let cycle: Vec<Transaction> = (0..n).map(transaction).collect();
    let threads = cycle.iter().flat_map(|t| [t.edge.from.clone(), t.edge.to.clone()]).collect();
    model::Finding {
        id: format!("{n:016x}"),
        rule: RuleId::ATOMICITY,
        severity: Severity::Violation,
        title: "Bank.step0 is not atomic".to_owned(),
        blame: Some(Blame { label: Label::named("Bank.step0"), site: Site::line("Bank.java", 7) }),
        explanation: Explanation::Cycle,
        cycle,
        threads,
        refuted: Vec::new(),
        not_refuted: Vec::new(),
        variables: Vec::new(),
        count: 1,
        remarks: Vec::new(),
        reordering: None,
        code: None,
    }
}

/// Two events without order.
pub fn race() -> model::Finding {
    model::Finding {
        rule: RuleId::RACE,
        title: "race on x".to_owned(),
        blame: None,
        explanation: Explanation::Unordered,
        cycle: Vec::new(),
        threads: vec![event(3, "T1", Kind::Read, "x"), event(4, "T2", Kind::Write, "x")],
        ..cycle_of(1)
    }
}

/// A report of these findings.
pub fn report_of(findings: Vec<model::Finding>) -> Report {
    Report { findings, ..report(&trace(LINE)) }
}
