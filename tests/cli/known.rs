//! What is known already: suppressions and baselines.

use crate::{CLEAN, Folder, VIOLATION};

/// A second bug, in another block.
const OTHER: &str = "T1|begin(Map.put)|30 T1|r(y)|31 T2|w(y)|40 T1|w(y)|32 T1|end(Map.put)|33";

fn both() -> Folder {
    Folder::new().with("bad.std", &format!("{VIOLATION} {OTHER}"))
}

fn titles(folder: &Folder, line: &str, status: i32) -> Vec<String> {
    let report =
        folder.run(&format!("check bad.std --format json {line}")).ends_with(status).json();
    let findings = report["findings"].as_array().unwrap().iter();
    findings.map(|f| f["title"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn several_files_of_suppressions() {
    let folder = both()
        .with_text("a.txt", "# the set\nviolation:Set.add\n")
        .with_text("b.txt", "\natomicity:^Map.*$\n");
    assert_eq!(titles(&folder, "", 1).len(), 2);
    assert_eq!(titles(&folder, "--suppress a.txt", 1), ["Map.put is not atomic"]);
    assert_eq!(titles(&folder, "--suppress b.txt", 1), ["Set.add is not atomic"]);
    assert_eq!(titles(&folder, "--suppress a.txt --suppress b.txt", 0), [""; 0]);
    let run = folder.run("check bad.std --suppress a.txt --suppress b.txt").ends_with(0);
    let text = run.text();
    assert!(text.contains("note: 2 findings are suppressed\n"), "{text}");
    assert!(text.contains("--suppress a.txt, --suppress b.txt"), "{text}");
    assert!(text.contains("not atomic"), "the verdict is not changed: {text}");
}

#[test]
fn wildcards_and_anchors() {
    for (entry, left) in [
        ("violation:*", 0),
        ("violation:et.a", 1),
        ("violation:S*d", 1),
        ("violation:^et.add", 2),
        ("violation:^Set", 1),
        ("violation:add$", 1),
        ("violation:Set.a$", 2),
        ("violation:^Set.add$", 1),
        ("race:*", 2),
        ("warning:*", 2),
    ] {
        let folder = both().with_text("s.txt", entry);
        let status = i32::from(left > 0);
        assert_eq!(titles(&folder, "--suppress s.txt", status).len(), left, "{entry}");
    }
}

#[test]
fn entries_that_are_not_needed_are_reported() {
    let folder = both().with_text("s.txt", "violation:Set.add\n\nviolation:Bag.add\nrace:x\n");
    let run = folder.run("check bad.std --suppress s.txt").ends_with(1);
    for entry in ["s.txt:3: `violation:Bag.add`", "s.txt:4: `race:x`"] {
        let note = format!("note: {entry} suppresses nothing\n");
        assert!(run.text().contains(&note), "{}", run.text());
    }
    assert!(!run.text().contains("s.txt:1"), "{}", run.text());
}

#[test]
fn entries_that_mean_nothing_are_refused() {
    let folder = both().with_text("s.txt", "Set.add\n").with_text("t.txt", "mutex:x\n");
    let run = folder.run("check bad.std --suppress s.txt").ends_with(2);
    assert!(
        run.err.contains("s.txt:1: `Set.add`: an entry is written `type:pattern`"),
        "{}",
        run.err
    );
    folder.run("check bad.std --suppress t.txt").ends_with(2);
    folder.run("check bad.std --suppress missing.txt").ends_with(2);
}

#[test]
fn what_is_written_suppresses_everything() {
    let folder = both();
    folder.run("check bad.std --property all --write-suppressions known.txt").ends_with(1);
    let run = folder.run("check bad.std --property all --suppress known.txt").ends_with(0);
    assert!(!run.text().contains("suppresses nothing"), "{}", run.text());
    assert!(folder.text("known.txt").contains("atomicity:^Set.add$\n"));
}

#[test]
fn a_baseline_leaves_what_is_new_and_tells_what_has_gone() {
    let folder = both().with("old.std", VIOLATION).with("good.std", CLEAN);
    folder.run("check old.std --format json -o old.json").ends_with(1);
    folder.run("check bad.std --format json -o all.json").ends_with(1);

    assert_eq!(titles(&folder, "--baseline old.json", 1), ["Map.put is not atomic"]);
    let run = folder.run("check bad.std --baseline old.json").ends_with(1);
    assert!(run.text().contains("note: 1 new finding; 1 are in the baseline\n"), "{}", run.text());

    // Nothing is new: clean.
    assert_eq!(titles(&folder, "--baseline all.json", 0), [""; 0]);

    let run = folder.run("check old.std --baseline all.json").ends_with(0);
    assert!(run.text().contains("note: not seen any more: Map.put is not atomic ["));
    let run = folder.run("check good.std --baseline all.json").ends_with(0);
    assert_eq!(run.text().matches("not seen any more").count(), 2, "{}", run.text());
}

/// What was not looked for has not gone.
#[test]
fn a_baseline_of_other_properties() {
    let folder = both();
    folder.run("check bad.std --property all --format json -o all.json").ends_with(1);
    let run = folder.run("check bad.std --property race --baseline all.json").ends_with(0);
    assert!(!run.text().contains("not seen any more"), "{}", run.text());
}

#[test]
fn a_baseline_must_be_a_report() {
    let folder = both().with_text("old.json", "{}");
    let run = folder.run("check bad.std --baseline old.json").ends_with(2);
    assert!(run.err.contains("old.json: it is no report of paceline"), "{}", run.err);
    folder.run("check bad.std --baseline missing.json").ends_with(2);
}

#[test]
fn suppressions_and_baseline_work_together() {
    let folder = both().with("old.std", VIOLATION).with_text("s.txt", "violation:Map.put");
    folder.run("check old.std --format json -o old.json").ends_with(1);
    assert_eq!(titles(&folder, "--baseline old.json --suppress s.txt", 0), [""; 0]);
}
