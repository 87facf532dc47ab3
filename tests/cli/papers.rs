//! The examples of the papers (tests/programs/traces) with the verdicts of the table there.

use std::collections::BTreeMap;

use crate::{Folder, papers};

/// What the table says about a trace.
#[derive(PartialEq, Debug)]
struct Expected {
    atomic: bool,
    first_event: Option<u64>,
    blamed: Option<String>,
}

fn table() -> BTreeMap<String, Expected> {
    let text = std::fs::read_to_string(papers().join("README.md")).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    let rows = rows.map(|line| {
        let cells: Vec<&str> = line.split('|').map(|c| c.trim().trim_matches('`')).collect();
        let blamed = Some(cells[5]).filter(|b| !["", "-"].contains(b));
        let expected = Expected {
            atomic: cells[3] == "yes",
            first_event: cells[4].parse().ok(),
            blamed: blamed.map(|b| b.trim_start_matches("the block at ").to_owned()),
        };
        (format!("{}.std", cells[1]), expected)
    });
    rows.collect()
}

fn found(folder: &Folder, engine: &str, name: &str) -> Expected {
    let path = papers().join(name);
    std::fs::copy(path, folder.path(name)).unwrap();
    let report = folder.run(&format!("check --format json --engine {engine} {name}")).json();
    let atomicity = &report["verdicts"]["atomicity"];
    let blamed = report["findings"][0]["blame"]["label"].as_str();
    Expected {
        atomic: atomicity["holds"].as_bool().unwrap(),
        first_event: atomicity["first_event"].as_u64(),
        blamed: blamed.map(str::to_owned),
    }
}

#[test]
fn every_trace_is_in_the_table() {
    let files = std::fs::read_dir(papers()).unwrap().map(|e| e.unwrap().file_name());
    let mut files: Vec<String> = files.map(|f| f.into_string().unwrap()).collect();
    files.retain(|f| f.ends_with(".std"));
    files.sort();
    assert_eq!(files, table().into_keys().collect::<Vec<_>>());
}

#[test]
fn the_verdicts_are_those_of_the_papers() {
    let folder = Folder::new();
    for (name, expected) in &table() {
        assert_eq!(found(&folder, "auto", name), *expected, "{name}");
    }
}

#[test]
fn the_other_engines_say_the_same() {
    let folder = Folder::new();
    for (name, expected) in &table() {
        for engine in ["velodrome", "aerodrome", "aerodrome-basic", "reference"] {
            let found = found(&folder, engine, name);
            assert_eq!(found.first_event, expected.first_event, "{engine} {name}");
            assert_eq!(found.atomic, expected.atomic, "{engine} {name}");
        }
    }
}

#[test]
fn nested_blocks_are_refuted_one_by_one() {
    let folder = Folder::new().with_copy("nested.std", &papers().join("velodrome-nested.std"));
    let report = folder.run("check --format json nested.std").ends_with(1).json();
    let labels = |blocks: &serde_json::Value| -> Vec<String> {
        let blocks = blocks.as_array().unwrap().iter();
        blocks.map(|b| b["label"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(labels(&report["verdicts"]["atomicity"]["refuted"]), ["p", "q"]);
    assert_eq!(labels(&report["findings"][0]["not_refuted"]), ["r"]);
    insta::assert_snapshot!(folder.run("check nested.std").stable());
}

#[test]
fn a_false_alarm_of_lock_patterns_is_no_violation() {
    let folder = Folder::new().with_copy("volatile.std", &papers().join("velodrome-volatile.std"));
    let run = folder.run("check --property atomicity,race,reduction volatile.std").ends_with(1);
    assert!(run.text().contains("warning: "));
    assert!(!run.text().contains("violation: "));
    assert!(run.text().contains("may be a false alarm"));
}
