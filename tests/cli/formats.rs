//! Reports for build servers: Markdown, GitLab's code quality, several at once, and paths as the
//! repository has them.

use serde_json::Value;

use crate::{CLEAN, Folder, VIOLATION, kept};

/// A repository with the source of the trace below a folder.
fn repository() -> Folder {
    Folder::new()
        .with_copy("bank.rr", &kept("docs/example/bank.rr"))
        .with_text("src/main/java/Bank.java", "// the source")
}

#[test]
fn markdown_has_a_table_and_the_findings_in_full() {
    let run = repository().run("check bank.rr --max-findings 1 --format markdown").ends_with(1);
    let text = run.text();
    assert!(text.starts_with("## Paceline: 1 violation\n\n| | finding | where |"), "{text}");
    assert!(text.contains("<code>src/main/java/Bank.java:6</code>"), "{text}");
    assert!(text.contains("<details><summary>violation: Account.withdraw"), "{text}");
    assert!(text.contains("**bank.rr**: 373 events"), "{text}");
    let clean = Folder::new().with("good.std", CLEAN).run("check good.std --format markdown");
    assert!(clean.ends_with(0).text().starts_with("## Paceline: nothing found\n"));
}

#[test]
fn gitlab_gets_one_array() {
    let folder = repository().with("bad.std", VIOLATION).with("broken.std", "T1|rel(l)|1");
    let run = folder.run("check bank.rr bad.std broken.std --format gitlab").ends_with(2);
    let entries = run.json();
    let entries = entries.as_array().unwrap();
    for entry in entries {
        assert!(entry["description"].is_string() && entry["check_name"].is_string(), "{entry}");
        assert!(entry["location"]["lines"]["begin"].as_u64().is_some_and(|n| n > 0), "{entry}");
    }
    let at = |entry: &Value| entry["location"]["path"].as_str().unwrap().to_owned();
    assert_eq!(at(&entries[0]), "src/main/java/Bank.java");
    assert_eq!(entries[0]["severity"], "major");
    let last = entries.last().unwrap();
    assert_eq!((at(last).as_str(), &last["severity"]), ("broken.std", &"blocker".into()));
    let mut prints: Vec<&Value> = entries.iter().map(|entry| &entry["fingerprint"]).collect();
    prints.sort_by_key(|print| print.to_string());
    prints.dedup();
    assert_eq!(prints.len(), entries.len(), "fingerprints are different");
}

#[test]
fn several_formats_of_one_run() {
    let folder = repository();
    let line = "check bank.rr --max-findings 1 --also sarif=a.sarif --also junit=a.xml";
    let run = folder.run(line).ends_with(1);
    assert!(run.text().contains("violation: Account.withdraw(I)Z"), "{}", run.text());
    let sarif: Value = serde_json::from_slice(&folder.bytes("a.sarif")).unwrap();
    let location = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(location["artifactLocation"]["uri"], "src/main/java/Bank.java");
    assert!(folder.text("a.xml").contains("file=\"src/main/java/Bank.java\" line=\"6\""));
    let wrong = folder.run("check bank.rr --also pdf=a.pdf").ends_with(2);
    assert!(wrong.err.contains("`pdf` is not one of"), "{}", wrong.err);
}

#[test]
fn paths_are_those_of_the_source_folders() {
    let folder = repository().with_text("old/Bank.java", "// another one");
    let path = |options: &str| {
        let line = format!("check bank.rr --max-findings 1 --format github {options}");
        let text = folder.run(&line).ends_with(1).text().to_owned();
        let (_, rest) = text.split_once("::error file=").unwrap();
        rest.split(',').next().unwrap().to_owned()
    };
    assert_eq!(path(""), "Bank.java", "it is not known which of the two is meant");
    assert_eq!(path("--source src"), "src/main/java/Bank.java");
    assert_eq!(path("--source old --source old"), "Bank.java", "twice is not certain either");
    assert_eq!(path("--source old"), "old/Bank.java");
    folder.run("check bank.rr --format github --source missing").ends_with(2);
}
