//! `paceline check`.

use serde_json::Value;

use crate::{CLEAN, Folder, VIOLATION, papers};

const ENGINES: [&str; 5] = ["auto", "velodrome", "aerodrome", "aerodrome-basic", "reference"];

#[test]
fn a_violation_is_explained() {
    let run = Folder::new().with("bad.std", VIOLATION).run("check bad.std").ends_with(1);
    insta::assert_snapshot!(run.stable());
    assert_eq!(run.err, "");
}

#[test]
fn a_violation_as_json() {
    let run = Folder::new().with("bad.std", VIOLATION).run("check --format json bad.std");
    assert_eq!(run.text().lines().count(), 1, "one object on one line");
    insta::assert_snapshot!(serde_json::to_string_pretty(&run.ends_with(1).json()).unwrap());
}

#[test]
fn a_block_without_a_name_is_called_by_its_place() {
    let words = "1|begin|7 1|r(x)|8 2|w(x)|9 1|begin|10 1|w(x)|11 1|end|12 1|end|13";
    let run = Folder::new().with("bare.std", words).run("check bare.std").ends_with(1);
    insta::assert_snapshot!(run.stable());
}

#[test]
fn long_names_leave_the_table_in_shape() {
    let long = "org/example/warehouse/inventory/StockKeeper.takeOneFromTheShelf(ILjava/util/Map;)V";
    let words = VIOLATION.replace("Set.add", long).replace("(x)", &format!("(@1F.{long}.count_I)"));
    let run = Folder::new().with("bad.std", &words).run("check bad.std").ends_with(1);
    insta::assert_snapshot!(run.stable());
    let table = run.text().lines().skip_while(|line| !line.contains("event  T1"));
    assert!(table.take(6).all(|line| line.chars().count() <= 80));
}

#[test]
fn a_clean_trace() {
    let run = Folder::new().with("good.std", CLEAN).run("check good.std").ends_with(0);
    insta::assert_snapshot!(run.stable(), @r"
    good.std: atomic
      6 events, 2 threads, 1 variable, 0 locks, 2 blocks; [time]
      checked atomicity; no filter; nothing dropped
    ");
}

#[test]
fn of_several_traces_the_worst_counts() {
    let folder = Folder::new()
        .with("bad.std", VIOLATION)
        .with("good.std", CLEAN)
        .with("broken.std", "T1|rel(l)|1")
        .with("blockless.std", "T1|w(x)|1");
    folder.run("check good.std good.std").ends_with(0);
    folder.run("check good.std blockless.std").ends_with(4);
    folder.run("check blockless.std bad.std good.std").ends_with(1);
    folder.run("check --lenient bad.std broken.std").ends_with(3);
    let run = folder.run("check --format json bad.std broken.std good.std").ends_with(2);
    let paths: Vec<Value> = run.text().lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let paths: Vec<&Value> = paths.iter().map(|report| &report["input"]["path"]).collect();
    assert_eq!(paths, ["bad.std", "broken.std", "good.std"], "all of them, in this order");
}

#[test]
fn a_trace_without_a_block_is_never_a_silent_green() {
    let folder = Folder::new().with("blockless.std", "T1|w(x)|1").with("empty.std", "");
    insta::assert_snapshot!(folder.run("check blockless.std").ends_with(4).stable());
    folder.run("check --property race blockless.std").ends_with(0);
    assert_ne!(folder.run("check empty.std").status, 0);
}

/// Two violations, of the blocks m and n.
const TWO: &str = "T1|begin(m)|1 T1|r(x)|2 T2|w(x)|3 T1|w(x)|4 T1|end(m)|5 \
    T1|begin(n)|6 T1|r(y)|7 T2|w(y)|8 T1|w(y)|9 T1|end(n)|10";

#[test]
fn by_default_all_violations_with_first_only_one() {
    let folder = Folder::new().with("two.std", TWO);
    let titles = |line: &str| -> Vec<String> {
        let report = folder.run(line).ends_with(1).json();
        let findings = report["findings"].as_array().unwrap();
        findings.iter().map(|f| f["title"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(titles("check --format json two.std"), ["m is not atomic", "n is not atomic"]);
    assert_eq!(titles("check --format json --first two.std"), ["m is not atomic"]);
    assert_eq!(titles("check --format json --max-findings 1 two.std"), ["m is not atomic"]);
}

#[test]
fn what_is_not_shown_still_counts() {
    let run = Folder::new().with("two.std", TWO).run("check --max-findings 0 two.std").ends_with(1);
    assert!(run.text().contains("two.std: not atomic (event 4)\n"));
}

#[test]
fn the_same_about_the_same_is_one_finding() {
    let round = "T1|begin(d)|1 T1|fork(A)|2 T1|w(x)|3 A|w(x)|4 T1|join(A)|5 T1|end(d)|6";
    let words = format!("{round} {}", round.replace('A', "B"));
    let folder = Folder::new().with("two.std", &words);
    let run = folder.run("check --property determinism --format json two.std").ends_with(1);
    let findings = run.json()["findings"].clone();
    assert_eq!(findings.as_array().unwrap().len(), 1);
    assert_eq!(findings[0]["count"], 2);
}

#[test]
fn several_properties_are_answered_one_a_line() {
    let folder = Folder::new().with("bad.std", VIOLATION);
    let line = "check --property atomicity,determinism,race,reduction bad.std";
    insta::assert_snapshot!(folder.run(line).ends_with(1).stable());
}

#[test]
fn findings_beyond_the_limit_are_mentioned() {
    let folder = Folder::new().with("two.std", TWO);
    let run = folder.run("check --max-findings 1 two.std").ends_with(1);
    assert!(run.text().contains("there are more findings than shown"));
    assert!(!folder.run("check two.std").text().contains("more findings"));
}

#[test]
fn all_lists_every_transaction_on_a_cycle() {
    let run = Folder::new().with("two.std", TWO).run("check --all two.std").ends_with(1);
    let (_, list) = run.text().split_once("these cannot").unwrap();
    insta::assert_snapshot!(crate::Run { out: list.into(), ..run }.stable());
}

#[test]
fn stats_counts_the_nodes_of_velodrome() {
    let folder = Folder::new().with_copy("a.std", &papers().join("velodrome-introduction.std"));
    let run = folder.run("check --engine velodrome --stats --format json a.std").ends_with(1);
    let nodes = &run.json()["verdicts"]["atomicity"]["nodes"];
    assert_eq!(nodes["allocated"], 4);
    assert_eq!(nodes["allocated_without_merge"], 6);
    let run = folder.run("check --engine velodrome --stats a.std").ends_with(1);
    assert!(run.text().contains("nodes with merging: 4 allocated, at most 3 alive\n"));
    assert!(run.text().contains("nodes without merging: 6 allocated, at most 4 alive\n"));
}

#[test]
fn every_engine_agrees() {
    let folder = Folder::new().with("two.std", TWO).with("good.std", CLEAN);
    folder.run("generate big.std --events 2000 --threads 5 --violation-at 1500").ends_with(0);
    for engine in ENGINES {
        let line = format!("check --format json --engine {engine}");
        let first = |trace: &str| {
            let report = folder.run(&format!("{line} {trace}")).json();
            assert_eq!(report["verdicts"]["atomicity"]["engine"], engine);
            report["verdicts"]["atomicity"]["first_event"].clone()
        };
        assert_eq!(first("two.std"), 4, "{engine}");
        assert_eq!(first("big.std"), 1500, "{engine}");
        assert_eq!(first("good.std"), Value::Null, "{engine}");
    }
}

#[test]
fn the_witness_is_serial_and_has_the_same_events() {
    let folder = Folder::new();
    folder.run("generate in.std --events 1000 --threads 4 --waits").ends_with(0);
    folder.run("check in.std --witness out.std").ends_with(0);
    folder.run("check out.std").ends_with(0);
    let lines = |name: &str| {
        let text = String::from_utf8(folder.bytes(name)).unwrap();
        text.lines().map(str::to_owned).collect::<Vec<String>>()
    };
    let (mut before, mut after) = (lines("in.std"), lines("out.std"));
    assert_ne!(before, after, "the blocks of the input overlap");
    assert!(open_while_others_act(&before).is_some());
    assert_eq!(open_while_others_act(&after), None);
    before.sort();
    after.sort();
    assert_eq!(before, after);
}

/// The first event of a thread while a block of another is open.
fn open_while_others_act(lines: &[String]) -> Option<&String> {
    let mut open: Option<(&str, u32)> = None;
    lines.iter().find(|line| {
        let mut fields = line.split('|');
        let (thread, op) = (fields.next().unwrap(), fields.next().unwrap());
        if open.is_some_and(|(owner, _)| owner != thread) {
            return true;
        }
        let depth = open.map_or(0, |(_, depth)| depth);
        let depth = depth + u32::from(op.starts_with("begin")) - u32::from(op.starts_with("end"));
        open = (depth > 0).then_some((thread, depth));
        false
    })
}

#[test]
fn there_is_no_witness_of_a_violation() {
    let folder = Folder::new().with("bad.std", VIOLATION);
    let run = folder.run("check bad.std --witness out.std").ends_with(1);
    assert!(run.err.contains("not serializable"), "{}", run.err);
    assert_eq!(folder.files(), ["bad.std"]);
}

#[test]
fn lenient_skips_counts_and_is_incomplete() {
    let words = format!("nonsense T1|rel(l)|1 {VIOLATION}");
    let folder = Folder::new().with("bad.std", &words);
    folder.run("check bad.std").ends_with(2);
    let run = folder.run("check --lenient bad.std").ends_with(3);
    assert!(run.text().contains("note: 1 malformed line was skipped\n"), "{}", run.text());
    assert!(run.text().contains("note: 1 malformed event was skipped\n"), "{}", run.text());
    assert!(run.text().contains("Set.add is not atomic"));
    let report = folder.run("check --lenient --format json bad.std").ends_with(3).json();
    assert_eq!(report["incomplete"], true);
    assert_eq!(report["input"]["events"], 5);
}

#[test]
fn the_result_can_go_to_a_file() {
    let folder = Folder::new().with("bad.std", VIOLATION);
    let shown = folder.run("check bad.std").stable();
    let run = folder.run("--color always check bad.std -o report.txt").ends_with(1);
    assert_eq!(run.text(), "");
    let file = crate::Run { out: folder.bytes("report.txt"), ..run };
    assert_eq!(file.stable(), shown, "without colour");
}

#[test]
fn a_trace_can_come_from_standard_input() {
    let folder = Folder::new().with("bad.std", VIOLATION);
    let run = folder.run_with("check --format json -", &folder.bytes("bad.std")).ends_with(1);
    assert_eq!(run.json()["input"]["path"], "-");
    assert_eq!(run.json()["findings"][0]["title"], "Set.add is not atomic");
}

#[test]
fn methods_are_selected_by_patterns() {
    let folder = Folder::new().with("two.std", TWO);
    folder.run("check two.std --except m --except n").ends_with(4);
    let run = folder.run("check two.std --atomic n --atomic nonsense").ends_with(1);
    assert!(run.text().contains("n is not atomic"));
    assert!(!run.text().contains("m is not atomic"));
    assert!(run.text().contains("the pattern `nonsense` matches no method"));
}
