//! What `check` writes besides text and JSON: a page, graphs, what CI systems read, a picture.

use serde_json::Value;

use crate::{CLEAN, Folder, VIOLATION, kept};

/// A log of methods with places in a source file.
fn bank() -> Folder {
    let folder = Folder::new().with_copy("bank.rr", &kept("docs/example/bank.rr"));
    std::fs::create_dir(folder.path("src")).unwrap();
    folder.with_copy("src/Bank.java", &kept("docs/example/Bank.java"))
}

/// The data of a page.
fn data(folder: &Folder, page: &str) -> Value {
    let page = folder.text(page);
    let (_, data) = page.split_once("id=\"data\">").unwrap();
    serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

#[test]
fn the_page_holds_the_report_and_the_source() {
    let folder = bank();
    let run = folder.run("check bank.rr --html report.html --source src --format json");
    let report = run.ends_with(1).json();
    let data = data(&folder, "report.html");
    assert_eq!(data["reports"][0], report, "the same report in both");
    assert_eq!(data["snippets"]["Bank.java:6"]["lines"][5], "        int now = balance;");
    assert_eq!(list(&data["graphs"][0]).len(), list(&report["findings"]).len());
}

#[test]
fn without_source_there_are_no_snippets() {
    let folder = bank();
    folder.run("check bank.rr --html report.html").ends_with(1);
    assert_eq!(data(&folder, "report.html")["snippets"], serde_json::json!({}));
    let run = folder.run("check bank.rr --html report.html --source missing").ends_with(2);
    assert!(run.err.contains("cannot read missing"), "{}", run.err);
}

/// The calls around an event, also those that are not atomic.
#[test]
fn events_have_stacks_where_the_trace_has_calls() {
    let folder = bank();
    let report = folder.run("check bank.rr --property race --format json").ends_with(1).json();
    let stack = &report["findings"][0]["threads"][1]["stack"];
    let labels: Vec<&str> = list(stack).iter().map(|f| f["label"].as_str().unwrap()).collect();
    assert_eq!(labels, ["Account.withdraw(I)Z", "Worker.run()V"]);
    let text = folder.run("check bank.rr --property race").ends_with(1);
    assert!(text.text().contains("Account.withdraw(I)Z ← Worker.run()V"), "{}", text.text());
    // The choice of atomic methods changes the numbers of events, not the calls.
    let chosen = "check bank.rr --property race --atomic Bank.audit --format json";
    let report = folder.run(chosen).ends_with(1).json();
    assert_eq!(report["findings"][0]["threads"][1]["stack"], *stack);
}

#[test]
fn graphs_for_each_finding() {
    let folder = bank();
    let report = folder.run("check bank.rr --property atomicity,race --dot graphs --format json");
    let report = report.ends_with(1).json();
    for finding in list(&report["findings"]) {
        let (id, title) = (finding["id"].as_str().unwrap(), finding["title"].as_str().unwrap());
        let dot = folder.text(&format!("graphs/{id}.dot"));
        let svg = folder.text(&format!("graphs/{id}.svg"));
        assert!(dot.starts_with("digraph finding {") && dot.contains(title), "{dot}");
        assert!(svg.starts_with("<svg") && svg.contains(title), "{svg}");
        let boxes = list(&finding["cycle"]).len().max(2);
        assert_eq!((dot.matches("\n  t0 [").count(), svg.matches("<rect").count()), (1, boxes));
    }
    let files = std::fs::read_dir(folder.path("graphs")).unwrap().count();
    assert_eq!(files, 2 * list(&report["findings"]).len());
}

#[test]
fn sarif_is_one_document_for_all_traces() {
    let folder = bank().with("bad.std", VIOLATION).with("broken.std", "T1|rel(l)|1");
    let run = folder.run("check bank.rr bad.std broken.std --format sarif -o all.sarif");
    run.ends_with(2);
    let document: Value = serde_json::from_str(&folder.text("all.sarif")).unwrap();
    assert_eq!(document["version"], "2.1.0");
    let run = &document["runs"][0];
    assert_eq!(list(&run["artifacts"]).len(), 3);
    assert_eq!(run["invocations"][0]["executionSuccessful"], false);
    let first = &run["results"][0];
    assert_eq!(first["ruleId"], "atomicity");
    let flows = list(&first["codeFlows"][0]["threadFlows"]);
    assert_eq!(flows.len(), 2, "one for each thread");
    let frames = &flows[0]["locations"][0]["stack"]["frames"];
    let outer = &frames[1]["location"]["logicalLocations"][0]["fullyQualifiedName"];
    assert_eq!(outer, "Worker.run()V");
    let said = &run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"];
    assert!(said.as_str().unwrap().contains("373 events, 5 threads"), "{said}");
}

#[test]
fn annotations_for_github() {
    let folder = bank().with("good.std", CLEAN);
    let run = folder.run("check bank.rr good.std --format github").ends_with(1);
    let lines: Vec<&str> = run.text().lines().collect();
    let first = "::error file=src/Bank.java,line=6,title=Account.withdraw(I)Z is not atomic::";
    assert!(lines[0].starts_with(first), "{}", lines[0]);
    let summaries = lines.iter().filter(|l| l.contains("::bank.rr: 3 findings; 373 events"));
    assert_eq!(summaries.count(), 1, "{lines:?}");
    assert!(lines.last().unwrap().starts_with("::notice title=paceline::good.std: 0 findings;"));
}

#[test]
fn junit_has_a_suite_for_each_trace() {
    let folder = bank().with("good.std", CLEAN).with("broken.std", "T1|rel(l)|1");
    let run = folder.run("check bank.rr good.std broken.std --format junit").ends_with(2);
    let xml = run.text();
    assert!(xml.contains("<testsuites name=\"paceline\" tests=\"5\" failures=\"3\" errors=\"1\""));
    assert_eq!(xml.matches("<testsuite ").count(), 3);
    assert!(xml.contains("<testcase name=\"atomicity\" classname=\"atomicity\"/>"), "{xml}");
    assert!(xml.contains("<property name=\"properties\" value=\"atomicity\"/>"), "{xml}");
}

/// The events of a picture with this phase.
fn shown<'a>(picture: &'a Value, phase: &str) -> Vec<&'a Value> {
    list(&picture["traceEvents"]).iter().filter(|e| e["ph"] == phase).collect()
}

#[test]
fn a_picture_of_the_trace() {
    let folder = bank();
    folder.run("check bank.rr --perfetto picture.json").ends_with(1);
    let picture: Value = serde_json::from_str(&folder.text("picture.json")).unwrap();
    assert_eq!(shown(&picture, "s").len(), shown(&picture, "f").len());
    assert_eq!(shown(&picture, "B").len(), shown(&picture, "E").len());
    let names = shown(&picture, "M");
    assert!(names.iter().any(|e| e["args"]["name"] == "thread 3: locks"), "{names:?}");
    assert_eq!(picture["otherData"]["findings"], 3);
    folder.run("check bank.rr --perfetto picture.json.gz").ends_with(1);
    assert_eq!(folder.bytes("picture.json.gz")[..2], [0x1f, 0x8b], "compressed");
}

/// What is suppressed is not drawn.
#[test]
fn a_picture_has_the_findings_that_are_reported() {
    let folder = bank().with_text("known.txt", "violation:*\n");
    folder.run("check bank.rr --perfetto picture.json --suppress known.txt").ends_with(0);
    let picture: Value = serde_json::from_str(&folder.text("picture.json")).unwrap();
    assert_eq!((shown(&picture, "s").len(), shown(&picture, "X").len()), (0, 0));
    assert!(!shown(&picture, "B").is_empty(), "the trace is drawn all the same");
    folder.run("check bank.rr --perfetto one.json --max-findings 1").ends_with(1);
    let picture: Value = serde_json::from_str(&folder.text("one.json")).unwrap();
    assert_eq!(picture["otherData"]["findings"], 1);
}

#[test]
fn one_picture_is_of_one_trace() {
    let folder = Folder::new().with("bad.std", VIOLATION);
    let run = folder.run("check bad.std bad.std --perfetto picture.json").ends_with(2);
    assert!(run.err.contains("--perfetto takes one trace at a time"), "{}", run.err);
}

/// Everything at once, in one go.
#[test]
fn all_files_can_be_written_together() {
    let folder = bank();
    let all = "check bank.rr --property all --html r.html --dot g --perfetto p.json \
               --write-suppressions s.txt --format sarif -o r.sarif";
    folder.run(all).ends_with(1);
    assert_eq!(folder.files(), ["bank.rr", "g", "p.json", "r.html", "r.sarif", "s.txt", "src"]);
}

#[test]
fn what_was_analysed_is_said() {
    let folder = Folder::new().with("bad.std", "T1|begin(m)|1 T1|r(x)|2 T2|rel(l)|3 T1|end(m)|4");
    let run = folder.run("check bad.std --lenient --except main --first").ends_with(3);
    let text = run.text().split_whitespace().collect::<Vec<_>>().join(" ");
    let said = "checked atomicity; filters: --except main, --first; 1 event dropped; \
                not everything was analysed";
    assert!(text.ends_with(said), "{text}");
    let report = folder.run("check bad.std --lenient --format json").ends_with(3).json();
    assert_eq!(report["scope"]["dropped"], 1);
}

/// One place, three variables: one bug, and all three are named.
#[test]
fn races_at_the_same_places_are_one_finding_with_all_variables() {
    let words = "T1|w(a[0])|1 T1|w(a[1])|1 T1|w(a[2])|1 T2|w(a[0])|2 T2|w(a[1])|2 T2|w(a[2])|2";
    let folder = Folder::new().with("array.std", words);
    let run = folder.run("check array.std --property race --format json").ends_with(1);
    let report = run.json();
    let [race] = list(&report["findings"]) else { panic!("{report}") };
    assert_eq!(race["title"], "race on a[0] (and 2 more variables)");
    assert_eq!(race["variables"], serde_json::json!(["a[0]", "a[1]", "a[2]"]));
    assert_eq!(race["count"], 3);
    let text = folder.run("check array.std --property race").ends_with(1);
    assert!(text.text().contains("  on      a[0], a[1] and a[2]\n"), "{}", text.text());
}

/// A block with a helper thread, and another thread that changes its data meanwhile.
#[test]
fn interference_from_outside_shows_the_whole_cycle() {
    let words = "T1|begin(sum)|1 T1|r(x)|2 T1|fork(T2)|3 T3|w(x)|9 T3|w(y)|10 T2|r(y)|4 \
                 T1|join(T2)|5 T1|end(sum)|6";
    let folder = Folder::new().with("sum.std", words);
    let run = folder.run("check sum.std --property determinism --format json").ends_with(1);
    let report = run.json();
    let finding = &report["findings"][0];
    assert_eq!(finding["rule"], "external-serializability");
    let edges: Vec<_> = list(&finding["cycle"])
        .iter()
        .map(|t| (t["edge"]["from"]["event"].clone(), t["edge"]["to"]["event"].clone()))
        .collect();
    assert_eq!(edges, [(2.into(), 4.into()), (4.into(), 5.into()), (5.into(), 6.into())]);
    let text = folder.run("check sum.std --property determinism").ends_with(1);
    insta::assert_snapshot!(text.stable());
}

/// Yields inside of blocks that are meant to be atomic are shown to people, too.
#[test]
fn yields_inside_blocks_are_shown() {
    let words = "T1|begin(m)|1 T1|yield|2 T1|w(x)|3 T1|yield|2 T1|end(m)|4 T2|r(x)|5";
    let folder = Folder::new().with("both.std", words);
    let run = folder.run("check both.std --property cooperability");
    let expected =
        "yields inside blocks that are declared atomic:\n         2  yield at 2 in m (2 times)\n";
    assert!(run.text().contains(expected), "{}", run.text());
}
