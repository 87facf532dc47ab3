//! `paceline generate`.

use serde_json::Value;

use crate::Folder;

fn stats(folder: &Folder, line: &str) -> Value {
    folder.run(&format!("generate out.std --events 5000 {line}")).ends_with(0);
    folder.run("check out.std").ends_with(0);
    folder.run("stats --format json out.std").ends_with(0).json()
}

#[test]
fn of_the_size_that_was_asked_for() {
    let stats = stats(&Folder::new(), "--threads 5 --variables 40 --locks 3");
    assert_eq!(stats["events"], 5000);
    assert_eq!(stats["threads"].as_array().unwrap().len(), 5);
    assert!(stats["variables"]["used"].as_u64().unwrap() <= 40);
    assert!(stats["locks"]["used"].as_u64().unwrap() <= 3);
}

#[test]
fn of_the_shape_that_was_asked_for() {
    let folder = Folder::new();
    let transactions = |line: &str| stats(&folder, line)["transactions"].clone();
    let blocks = |line: &str| transactions(line)["blocks"].as_u64().unwrap();
    let (short, long) = (blocks("--transaction-length 5"), blocks("--transaction-length 80"));
    assert!(short > 5 * long, "{short} {long}");
    let inside = |line: &str| transactions(line)["events_inside"].as_u64().unwrap();
    let (few, many) = (inside("--in-transactions 0.1"), inside("--in-transactions 0.9"));
    assert!(few < 1000 && many > 4000, "{few} {many}");
    assert_eq!(transactions("--nesting 3")["max_nesting"], 3);
    assert_eq!(transactions("--nesting 1")["max_nesting"], 1);
    let longest = |line: &str| {
        transactions(line)["lengths"].as_array().unwrap().last().unwrap()["to"].as_u64().unwrap()
    };
    let (with, without) = (longest("--long-transaction"), longest(""));
    assert!(with > 2 * without, "{with} {without}");
}

#[test]
fn with_the_operations_that_were_asked_for() {
    let folder = Folder::new();
    let kinds = |line: &str| stats(&folder, line)["kinds"].as_object().unwrap().clone();
    let plain = kinds("");
    for (flag, kind) in [
        ("--waits", "prewait"),
        ("--barriers", "enter"),
        ("--volatiles", "aw"),
        ("--semaphores", "take"),
        ("--shared-locks", "racq"),
    ] {
        assert!(!plain.contains_key(kind), "{kind}");
        assert!(kinds(flag).contains_key(kind), "{flag}");
    }
    assert!(plain.contains_key("fork") && plain.contains_key("join"));
    assert!(!kinds("--no-fork-join").contains_key("fork"));
}

#[test]
fn a_planted_violation_is_found_where_it_was_planted() {
    let folder = Folder::new();
    for (at, seed) in [(100, 1), (777, 2), (1990, 3)] {
        let line = format!("generate bad.pace --events 2000 --violation-at {at} --seed {seed}");
        folder.run(&line).ends_with(0);
        let report = folder.run("check --format json bad.pace").ends_with(1).json();
        assert_eq!(report["verdicts"]["atomicity"]["first_event"], at);
    }
}

#[test]
fn the_same_seed_makes_the_same_trace() {
    let folder = Folder::new();
    let bytes = |line: &str| folder.run(&format!("generate - {line}")).ends_with(0).out;
    let one = bytes("--to std --events 1000 --seed 7");
    assert!(one == bytes("--to std --events 1000 --seed 7"));
    assert!(one != bytes("--to std --events 1000 --seed 8"));
    assert!(!one.is_empty());
}

#[test]
fn what_cannot_be_made_is_refused() {
    let folder = Folder::new();
    let complaint = |line: &str| folder.run(&format!("generate {line}")).ends_with(2).err;
    insta::assert_snapshot!(
        [
            complaint("out.std --events 3 --violation-at 2"),
            complaint("out.std --threads 0"),
            complaint("out.std --events 1000 --violation-at 5000"),
            complaint("out.std --in-transactions 2"),
            complaint("out.rr"),
            complaint("out.txt"),
        ]
        .concat()
    );
    assert_eq!(folder.files(), [""; 0]);
}
