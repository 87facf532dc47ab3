//! The programs of `tests/programs/scan`, compiled and scanned: every line that is marked must be
//! warned about, and no other.

#![allow(clippy::unwrap_used, reason = "what fails while a test is set up fails the test")]

mod java;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use paceline_scan::{Confidence, Input, Options, Report, scan};

/// A line, a rule, a confidence.
type Expected = (u32, String, String);

fn programs() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/scan");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "java"))
        .collect();
    files.sort();
    assert!(files.len() >= 12, "the programs are gone");
    files
}

fn expected(source: &str) -> BTreeSet<Expected> {
    let mut expected = BTreeSet::new();
    for (i, line) in source.lines().enumerate() {
        let Some((_, marks)) = line.split_once("// WARN ") else { continue };
        let words: Vec<&str> = marks.split_whitespace().collect();
        assert_eq!(words.len(), 2, "line {}: {line}", i + 1);
        expected.insert((i as u32 + 1, words[0].to_owned(), words[1].to_owned()));
    }
    expected
}

fn options(source: &str) -> Options {
    let first = source.lines().next().unwrap_or_default();
    let words = first.strip_prefix("// options: ").unwrap_or_default();
    let mut options = Options::default();
    for word in words.split_whitespace() {
        match word {
            "pairs" => options.pairs = true,
            "low" => options.min_confidence = Confidence::Low,
            other => panic!("unknown option {other}"),
        }
    }
    options
}

fn found(report: &Report) -> BTreeSet<Expected> {
    let mut found = BTreeSet::new();
    for warning in &report.warnings {
        let confidence = format!("{:?}", warning.confidence).to_lowercase();
        for site in warning.also.iter().chain([warning.site()]) {
            found.insert((site.line.unwrap(), warning.rule.id().to_owned(), confidence.clone()));
        }
    }
    found
}

#[test]
fn every_marked_line_and_no_other_is_warned_about() {
    let files = programs();
    let Some(classes) = java::compile(&files) else { return };
    let mut wrong = String::new();
    for file in &files {
        let source = std::fs::read_to_string(file).unwrap();
        let package = file.file_stem().unwrap().to_str().unwrap().to_lowercase();
        let input = Input::Path(classes.path().join(&package));
        let report = scan(&[input], &[], &options(&source), &mut |_| {});
        assert_eq!(report.errors, []);
        assert!(report.counts.classes > 0, "{package}: no classes");
        let (expected, found) = (expected(&source), found(&report));
        for missed in expected.difference(&found) {
            wrong += &format!("{}: missed {missed:?}\n", file.display());
        }
        for extra in found.difference(&expected) {
            wrong += &format!("{}: not expected {extra:?}\n", file.display());
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}
