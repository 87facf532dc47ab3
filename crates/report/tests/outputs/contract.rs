//! The JSON report is what its schema says: every kind of report, and every fact that a report can
//! hold.

use paceline_report::model::{Atomicity, Cooperability, Failure, Reduction, property};
use paceline_report::model::{
    Code, CodeAction, CodeStep, Confidence, Confirmed, Counted, Explanation, Facts, Filter,
    Finding, InCode, Label, Nodes, Note, ProblemRule, Recording, Remark, Report, Severity, Shrunk,
    Site, TargetKind, Verdict, Violating, YieldInBlock, YieldKind,
};
use paceline_report::outcome::Outcome;
use paceline_report::verdicts;
use paceline_trace::{Kind, NoteKind};
use serde::Serialize;

use crate::json_schema;
use crate::samples;

#[track_caller]
pub fn assert_valid(report: &impl Serialize) {
    json_schema::assert_valid(&serde_json::to_value(report).unwrap());
}

fn report() -> Report {
    samples::report(&samples::trace(samples::LINE))
}

#[test]
fn reports_and_failures_are_valid() {
    assert_valid(&samples::outcome());
    assert_valid(&samples::failure());
    assert_valid(&samples::report_of(vec![samples::cycle_of(3), samples::race()]));
    assert_valid(&samples::report_of(Vec::new()));
}

#[test]
#[should_panic(expected = "additionalProperties")]
fn a_field_that_is_not_in_the_schema_is_refused() {
    let mut value = serde_json::to_value(report()).unwrap();
    value["findings"][0]["colour"] = "green".into();
    assert_valid(&value);
}

#[test]
#[should_panic(expected = "oneOf")]
fn a_note_of_no_known_kind_is_refused() {
    let mut value = serde_json::to_value(report()).unwrap();
    value["notes"][0]["kind"] = "rumour".into();
    assert_valid(&value);
}

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|&word| word.to_owned()).collect()
}

fn every_note() -> Vec<Note> {
    let items = || vec![Counted { what: "classes".to_owned(), count: 3 }];
    let recorded = |&about: &NoteKind| Note::Recorded { about, items: items() };
    let [problem, pattern, text] = ["line 3", "Bank.*", "a note"].map(str::to_owned);
    let mut notes = vec![
        Note::ForeignLines { count: 1 },
        Note::LostEvents { count: 2 },
        Note::UnmodelledLines { operation: "enter".to_owned(), count: 2 },
        Note::MalformedLines { count: 1 },
        Note::MalformedEvents { count: 1 },
        Note::FirstMalformedLine { problem: problem.clone() },
        Note::FirstMalformedEvent { problem: problem.clone() },
        Note::CutOff { problem },
        Note::SelectedByName { atomic: 1, not_atomic: 2 },
        Note::UnmatchedPattern { pattern },
        Note::MoreFindings,
        Note::WithoutRaceFree,
        Note::NothingAnalysed,
        Note::Baseline { new: 1, known: 0 },
        Note::Suppressed { count: 1 },
        Note::UnusedSuppression { origin: "s:1".to_owned(), entry: "race:x".to_owned() },
        Note::NotSeen { title: "race on x".to_owned(), id: "0".to_owned() },
        Note::ScannedTogether { paths: words(&["a.jar", "b.jar"]) },
        Note::Other { text },
    ];
    notes.extend(NoteKind::ALL.iter().map(recorded));
    notes
}

fn every_filter() -> Vec<Filter> {
    let pattern = || "Bank.*".to_owned();
    let file = || "known.txt".to_owned();
    vec![
        Filter::Atomic { pattern: pattern() },
        Filter::Except { pattern: pattern() },
        Filter::EntryMethods,
        Filter::FirstOnly,
        Filter::RaceFree,
        Filter::JoinYieldsToChild,
        Filter::Suppress { file: file() },
        Filter::Baseline { file: file() },
        Filter::Other { text: file() },
    ]
}

fn every_remark() -> Vec<Remark> {
    let [lock, method, reason] = ["this", "Bank.add", "it may be final"].map(str::to_owned);
    vec![
        Remark::InexactOrder,
        Remark::UnmodelledOrder,
        Remark::RedundantOrder,
        Remark::Locks { held: words(&["m"]), confirmed: true },
        Remark::Doubt { reason: reason.clone() },
        Remark::AlsoLock { lock: lock.clone() },
        Remark::AlsoHeld { lock, method },
        Remark::Other { text: reason },
    ]
}

fn in_code() -> Finding {
    let lock = || "this".to_owned();
    let actions = [
        CodeAction::Holds { lock: lock() },
        CodeAction::Calls,
        CodeAction::FirstUse { lock: lock() },
        CodeAction::SecondUse { lock: lock() },
        CodeAction::ByCall,
        CodeAction::UsedAgain,
        CodeAction::Other { text: lock() },
    ];
    let step =
        |action| CodeStep { action, method: "Bank.add".to_owned(), site: Site::line("B.java", 1) };
    let code = InCode {
        confidence: Confidence::Low,
        fix: "hold it".to_owned(),
        steps: actions.map(step).to_vec(),
        confirmed: Some(Confirmed { trace: "t".to_owned(), lock: lock(), events: [1, 2, 3] }),
    };
    Finding { code: Some(code), explanation: Explanation::Code, ..samples::cycle_of(1) }
}

/// The same report comes back from its JSON.
#[track_caller]
fn assert_kept(report: &Report) {
    assert_valid(report);
    let json = serde_json::to_string(report).unwrap();
    assert_eq!(serde_json::from_str::<Report>(&json).unwrap(), *report);
}

#[test]
fn every_fact_is_valid_and_read_back() {
    let mut report = report();
    report.notes = every_note();
    report.scope.filters = every_filter();
    let remarks = every_remark();
    report.findings[0].remarks = remarks;
    report.findings[0].blame.as_mut().unwrap().label = Label::AtSite("Set.java:3".to_owned());
    report.findings[1].severity = Severity::Warning;
    let sites = [Site::Unknown, Site::Number(7), Site::method("m"), Site::line("f", 1)];
    for (event, site) in report.findings[0].threads.iter_mut().zip(sites) {
        event.site = site;
    }
    report.findings[0].cycle[1].label = Label::NoBlock;
    report.findings.push(in_code());
    report.code = Some(Code::default());
    let counted = vec![Counted { what: "classes".to_owned(), count: 3 }];
    report.input.recording = Some(Recording {
        observed: counted.clone(),
        filtered_order: counted.clone(),
        remarks: counted,
        ..Recording::default()
    });
    assert_kept(&report);
}

#[test]
fn every_kind_of_event_problem_and_confidence_is_valid() {
    let mut report = report();
    let event = |&kind: &Kind| samples::event(1, "1", kind, "x");
    report.findings[0].threads = Kind::ALL.iter().map(event).collect();
    let seen = |kind: &TargetKind| {
        let mut threads = report.findings[0].threads.iter();
        threads.any(|e| e.target.as_ref().is_some_and(|target| target.kind == *kind))
    };
    assert!(TargetKind::ALL.iter().all(seen));
    assert_kept(&report);
    for rule in ProblemRule::all() {
        let Outcome::Failure(mut failure) = samples::failure() else { panic!("a failure") };
        failure.error.rule = rule;
        (failure.error.line, failure.error.event) = (None, None);
        assert_valid(&failure);
        let json = serde_json::to_string(&failure).unwrap();
        assert_eq!(serde_json::from_str::<Failure>(&json).unwrap(), failure);
    }
    for &confidence in Confidence::ALL {
        let mut finding = in_code();
        finding.code.as_mut().unwrap().confidence = confidence;
        assert_kept(&samples::report_of(vec![finding]));
    }
}

#[test]
fn every_verdict_is_valid_and_read_back() {
    let mut report = report();
    let violating = |label| Violating { label, thread: "1".into(), first_event: 1, component: 0 };
    let nodes = Nodes {
        allocated: 1,
        max_alive: 1,
        allocated_without_merge: 2,
        max_alive_without_merge: 2,
    };
    let shrunk = Shrunk { runs: 2, not_atomic: words(&["m"]), suspects: words(&["n"]) };
    let atomicity = Atomicity {
        violating: Some(vec![violating(Label::NoBlock), violating(Label::Nameless)]),
        nodes: Some(nodes),
        shrunk: Some(shrunk),
        ..Atomicity::default()
    };
    let inside = |kind| YieldInBlock {
        event: 1,
        kind,
        site: Site::Number(1),
        label: Label::named("m"),
        count: 1,
    };
    let kinds = [YieldKind::Written, YieldKind::Wait, YieldKind::Join, YieldKind::Inferred];
    let cooperability = Cooperability {
        yields: vec![7],
        yield_sites: words(&["Set.java:7"]),
        yields_in_blocks: kinds.map(inside).to_vec(),
        ..Cooperability::default()
    };
    let reduction = Facts::Reduction(Reduction { warnings: 2, confirmed: 1 });
    let mut toy = serde_json::Map::new();
    toy.insert("longest".to_owned(), 12.into());
    let toy = Verdict { facts: Facts::Other(toy), ..Verdict::new(false, "too long") };
    for (name, verdict) in [
        (property::ATOMICITY, verdicts::verdict(Facts::Atomicity(atomicity), false)),
        (property::COOPERABILITY, verdicts::verdict(Facts::Cooperability(cooperability), false)),
        (property::REDUCTION, verdicts::verdict(reduction, false)),
        ("toy", toy),
    ] {
        report.verdicts.insert(name, verdict);
    }
    assert_eq!(report.verdicts.iter().count(), 6);
    assert_kept(&report);
}
