//! `paceline explain`.

use crate::{CLEAN, Folder, VIOLATION};

/// The blocks m and n, each violated, m twice at the same place; and much that has nothing to do
/// with it.
const INTERLEAVED: &str = "T3|w(a)|30 T1|begin(m)|1 T1|r(x)|2 T2|w(x)|3 T3|r(a)|31 T1|w(x)|4 T1|end(m)|5 \
    T1|begin(m)|1 T1|r(x)|2 T2|w(x)|3 T3|r(a)|31 T1|w(x)|4 T1|end(m)|5 \
    T3|begin(k)|32 T1|begin(n)|6 T1|r(y)|7 T3|w(b)|33 T2|w(y)|8 T1|w(y)|9 T1|end(n)|10 T3|end(k)|34";

fn ids(folder: &Folder, trace: &str) -> Vec<String> {
    let report = folder.run(&format!("check --format json {trace}")).ends_with(1).json();
    let findings = report["findings"].as_array().unwrap().iter();
    findings.map(|f| f["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn without_an_id_the_first_finding() {
    let folder = Folder::new().with("bad.std", INTERLEAVED);
    let explained = folder.run("explain bad.std").ends_with(1).stable();
    assert!(folder.run("check bad.std").stable().starts_with(&explained), "{explained}");
    assert!(explained.starts_with("violation: m is not atomic\n"));
    assert!(explained.contains("seen    2 times"));
}

#[test]
fn with_an_id_this_finding() {
    let folder = Folder::new().with("bad.std", INTERLEAVED);
    let ids = ids(&folder, "bad.std");
    assert_eq!(ids.len(), 2);
    let run = folder.run(&format!("explain bad.std --finding {}", ids[1])).ends_with(1);
    assert!(run.text().starts_with("violation: n is not atomic\n"));
}

#[test]
fn what_is_not_there_cannot_be_explained() {
    let folder = Folder::new().with("bad.std", VIOLATION).with("good.std", CLEAN);
    let run = folder.run("explain bad.std --finding 0123").ends_with(2);
    let expected = "error: bad.std: no finding has this id; `check` lists them, and `--predict` looks for \
                    those of other orders\n";
    assert_eq!(run.err, expected);
    let run = folder.run("explain good.std").ends_with(2);
    assert!(run.err.contains("nothing to explain"), "{}", run.err);
}

#[test]
fn the_minimal_trace_still_violates() {
    let folder = Folder::new().with("bad.std", INTERLEAVED);
    let id = &ids(&folder, "bad.std")[1];
    let run = folder.run(&format!("explain bad.std --finding {id} --minimize small.std"));
    let (_, minimal) = run.text().split_once("minimal trace").unwrap();
    assert_eq!(minimal, " (5 events):\n  T1:begin(n) T1:r(y) T2:w(y) T1:w(y) T1:end(n)\n",);
    assert_eq!(folder.bytes("small.std").split(|&b| b == b'\n').count(), 6);
    let report = folder.run("check --format json small.std").ends_with(1).json();
    assert_eq!(report["findings"][0]["id"], id.as_str(), "the same finding");
}

#[test]
fn a_large_trace_becomes_small() {
    let folder = Folder::new();
    folder.run("generate bad.pace --events 3000 --violation-at 2500 --nesting 2").ends_with(0);
    folder.run("explain bad.pace --minimize small.pace").ends_with(1);
    let report = folder.run("check --format json small.pace").ends_with(1).json();
    let events = report["input"]["events"].as_u64().unwrap();
    assert!(events <= 8, "{events} events");
}

/// The id of a finding of any property leads to it.
#[test]
fn a_race_is_explained_by_its_id() {
    let folder = Folder::new().with("bad.std", VIOLATION);
    let report = folder.run("check bad.std --property race --format json").ends_with(1).json();
    let id = report["findings"][0]["id"].as_str().unwrap();
    let run = folder.run(&format!("explain bad.std --finding {id}")).ends_with(1);
    assert!(run.text().starts_with("violation: race on x\n"), "{}", run.text());
    let run = folder.run(&format!("explain bad.std --finding {id} --minimize small.std"));
    assert!(run.ends_with(2).err.contains("--minimize is for violations of atomicity"));
}

/// A saved report explains the same as the trace.
#[test]
fn from_a_saved_report() {
    let folder = Folder::new().with("bad.std", INTERLEAVED).with("other.std", VIOLATION);
    folder.run("check bad.std other.std --format json -o saved.json").ends_with(1);
    let id = &ids(&folder, "bad.std")[1];
    let from_trace = folder.run(&format!("explain bad.std --finding {id}")).ends_with(1);
    let from_report = folder.run(&format!("explain saved.json --finding {id}")).ends_with(1);
    let explained = from_report.text().replace("in bad.std\n", "");
    assert_eq!(explained, from_trace.text());

    let first = folder.run("explain saved.json").ends_with(1);
    assert_eq!(first.text().matches("violation:").count(), 1);
    let all = folder.run("explain saved.json --all").ends_with(1);
    assert_eq!(all.text().matches("violation:").count(), 3);
    assert!(all.text().contains("in other.std\n"));
    folder.run("explain saved.json --finding 0123").ends_with(2);
    let run = folder.run("explain saved.json --minimize small.std").ends_with(2);
    assert!(run.err.contains("--minimize needs the trace"), "{}", run.err);
}

/// One finding as graph and page, from the report alone.
#[test]
fn graphs_and_page_of_one_finding() {
    let folder = Folder::new().with("bad.std", INTERLEAVED);
    folder.run("check bad.std --format json -o saved.json").ends_with(1);
    let id = &ids(&folder, "bad.std")[1];
    folder.run(&format!("explain saved.json --finding {id} --dot g --html one.html")).ends_with(1);
    assert_eq!(std::fs::read_dir(folder.path("g")).unwrap().count(), 2);
    assert!(folder.text(&format!("g/{id}.dot")).contains("n is not atomic"));
    let page = folder.text("one.html");
    assert!(page.contains("n is not atomic") && !page.contains("m is not atomic"));
}
