//! The JSON report, field by field: others depend on it.

use serde_json::Value;

use crate::json_schema::assert_valid;
use crate::{Folder, VIOLATION, kept};

/// What a field must be.
#[derive(Clone, Copy, Debug)]
enum Is {
    Text,
    Number,
    NumberOrNull,
    TextOrNull,
    Truth,
    List,
    Object,
    ObjectOrNull,
}

fn fits(value: &Value, is: Is) -> bool {
    match is {
        Is::Text => value.is_string(),
        Is::Number => value.is_u64(),
        Is::NumberOrNull => value.is_u64() || value.is_null(),
        Is::TextOrNull => value.is_string() || value.is_null(),
        Is::Truth => value.is_boolean(),
        Is::List => value.is_array(),
        Is::Object => value.is_object(),
        Is::ObjectOrNull => value.is_object() || value.is_null(),
    }
}

#[track_caller]
fn expect(value: &Value, fields: &[(&str, Is)]) {
    let object = value.as_object().unwrap();
    for &(name, is) in fields {
        let field = object.get(name).unwrap_or_else(|| panic!("no {name} in {value}"));
        assert!(fits(field, is), "{name} is not {is:?}: {field}");
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

/// A violation, a race and a warning in one trace.
fn report() -> Value {
    let folder = Folder::new().with("bad.std", VIOLATION);
    folder.run("check --property all --format json --all bad.std").ends_with(1).json()
}

#[test]
fn the_report() {
    let report = report();
    assert_eq!(report["schema"], "paceline/2");
    let fields = [
        ("input", Is::Object),
        ("scope", Is::Object),
        ("verdicts", Is::Object),
        ("findings", Is::List),
        ("incomplete", Is::Truth),
    ];
    expect(&report, &fields);
    expect(&report["input"], &[("path", Is::Text)]);
    for count in ["events", "threads", "variables", "locks", "transactions"] {
        expect(&report["input"], &[(count, Is::Number)]);
    }
}

#[test]
fn the_verdicts() {
    let verdicts = &report()["verdicts"];
    let atomicity = [
        ("holds", Is::Truth),
        ("first_event", Is::NumberOrNull),
        ("engine", Is::Text),
        ("refuted", Is::List),
    ];
    expect(&verdicts["atomicity"], &atomicity);
    let block = [("label", Is::Text), ("thread", Is::Text), ("begin_event", Is::Number)];
    expect(&verdicts["atomicity"]["refuted"][0], &block);
    let cooperability = [
        ("holds", Is::Truth),
        ("first_event", Is::NumberOrNull),
        ("yields", Is::List),
        ("yield_sites", Is::List),
    ];
    expect(&verdicts["cooperability"], &cooperability);
    let determinism = [
        ("holds", Is::Truth),
        ("conflict_free", Is::Truth),
        ("externally_serializable", Is::Truth),
        ("first_event", Is::NumberOrNull),
    ];
    expect(&verdicts["determinism"], &determinism);
    assert!(verdicts["determinism"].as_object().unwrap().contains_key("first_conflict"));
    expect(&verdicts["race"], &[("holds", Is::Truth), ("variables", Is::List)]);
    assert_eq!(verdicts["race"]["variables"][0], "x");
}

#[test]
fn the_findings() {
    let report = report();
    let findings = list(&report["findings"]);
    let rules: Vec<&str> = findings.iter().map(|f| f["rule"].as_str().unwrap()).collect();
    for rule in ["atomicity", "race", "lockset"] {
        assert!(rules.contains(&rule), "{rules:?}");
    }
    let fields = [
        ("id", Is::Text),
        ("rule", Is::Text),
        ("severity", Is::Text),
        ("title", Is::Text),
        ("explanation", Is::Text),
        ("cycle", Is::List),
        ("threads", Is::List),
        ("count", Is::Number),
    ];
    for finding in findings {
        expect(finding, &fields);
        assert!(["violation", "warning"].contains(&finding["severity"].as_str().unwrap()));
        if !finding["blame"].is_null() {
            expect(&finding["blame"], &[("label", Is::Text), ("site", Is::ObjectOrNull)]);
        }
        list(&finding["threads"]).iter().for_each(event);
        list(&finding["cycle"]).iter().for_each(transaction);
    }
    assert_eq!(list(&findings[0]["cycle"]).len(), 2);
    assert_eq!(findings[0]["blame"]["label"], "Set.add");
}

#[track_caller]
fn event(value: &Value) {
    let fields = [
        ("event", Is::Number),
        ("thread", Is::Text),
        ("kind", Is::Text),
        ("target", Is::ObjectOrNull),
        ("site", Is::ObjectOrNull),
    ];
    expect(value, &fields);
}

#[track_caller]
fn transaction(value: &Value) {
    let fields = [
        ("thread", Is::Text),
        ("label", Is::TextOrNull),
        ("first_event", Is::Number),
        ("last_event", Is::Number),
    ];
    expect(value, &fields);
    event(&value["edge"]["from"]);
    event(&value["edge"]["to"]);
}

#[test]
fn a_conflict_is_a_pair_of_events() {
    let words = "T1|begin(d)|1 T1|fork(T2)|2 T1|w(x)|3 T2|w(x)|4 T1|join(T2)|5 T1|end(d)|6";
    let folder = Folder::new().with("fork.std", words);
    let run = folder.run("check --property determinism --format json fork.std").ends_with(1);
    assert_eq!(run.json()["verdicts"]["determinism"]["first_conflict"], serde_json::json!([3, 4]));
}

#[test]
fn only_what_was_asked_for() {
    let folder = Folder::new().with("bad.std", VIOLATION);
    let run = folder.run("check --property race,determinism --format json bad.std").ends_with(1);
    let names: Vec<String> = run.json()["verdicts"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(names, ["determinism", "race"]);
}

#[test]
fn the_id_of_a_bug_is_the_same_in_another_run() {
    let later = format!("T3|w(z)|1 T3|r(z)|2 {VIOLATION}").replace("T1", "Thread-7");
    let folder = Folder::new().with("one.std", VIOLATION).with("two.std", &later);
    let id = |name: &str| {
        let report = folder.run(&format!("check --format json {name}")).ends_with(1).json();
        report["findings"][0]["id"].clone()
    };
    assert!(id("one.std").is_string());
    assert_eq!(id("one.std"), id("two.std"));
}

#[test]
fn a_malformed_trace() {
    let folder = Folder::new().with("bad.std", "T1|acq(l)|1 T2|acq(l)|2");
    let report = folder.run("check --format json bad.std").ends_with(2).json();
    assert_eq!(report["schema"], "paceline/2");
    assert_eq!(report["input"]["path"], "bad.std");
    assert_eq!(report["error"]["line"], 2);
    assert_eq!(report["error"]["rule"], "acquire_held");
    expect(&report["error"], &[("message", Is::Text)]);
}

/// All that a report can say about a trace, an error, and a trace without anything.
#[test]
fn what_is_printed_is_what_the_schema_says() {
    let words =
        "T1|begin(d)|1 T1|fork(T2)|2 T1|w(x)|3 T2|w(x)|4 T1|join(T2)|5 T1|end(d)|6 T1|yield|7";
    let folder = Folder::new()
        .with("bad.std", VIOLATION)
        .with("fork.std", words)
        .with("wrong.std", "T1|acq(l)|1 T2|acq(l)|2")
        .with("nothing.std", "")
        .with_text("known.txt", "race:y\n")
        .with_copy("bank.rr", &kept("docs/example/bank.rr"));
    for line in [
        "bad.std fork.std wrong.std nothing.std bank.rr --property all --all --stats",
        "bad.std --suppress known.txt --atomic Set.* --atomic No.such --except Main.*",
        "bank.rr --first --filter-race-free --join-yields-to-child --max-findings 1",
        "wrong.std --lenient",
    ] {
        let run = folder.run(&format!("check --format json {line}"));
        assert!(!run.out.is_empty(), "{}", run.err);
        let reports = serde_json::Deserializer::from_slice(&run.out).into_iter::<Value>();
        reports.for_each(|report| assert_valid(&report.unwrap()));
    }
}

/// A report that was saved by a version that wrote `paceline/1`.
#[test]
fn an_earlier_report_is_a_baseline_and_can_be_explained() {
    let saved = kept("crates/report/tests/outputs/paceline-1.jsonl");
    let folder = Folder::new().with_copy("old.json", &saved).with(
        "set.std",
        "T1|begin(Set.add)|10 T1|r(x)|11 T2|w(x)|20 T1|w(x)|12 T1|end(Set.add)|13 \
         T1|begin|14 T1|r(y)|15 T2|w(y)|21 T1|w(y)|16 T1|end|17",
    );
    let run = folder.run("check set.std --property all --baseline old.json").ends_with(0);
    assert!(run.text().contains("0 new findings; 11 are in the baseline"), "{}", run.text());
    let run = folder.run("explain old.json --finding 89215a815a16613c").ends_with(1);
    assert!(run.text().starts_with("violation: Account.withdraw(I)Z is not atomic\n"));
}
