//! A build by Maven under observation: one command, one report for each process that runs tests.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use paceline_report::model::{Report, Severity};

use super::jdk::{PROGRAMS, finish, jdks};

#[test]
fn tests_that_maven_runs_are_observed_and_maven_is_not() {
    let Some(project) = project() else { return };
    let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
    command.current_dir(project.path());
    command.args(["run", "--format", "json", "--output", "report.json", "--"]);
    let run = finish(command.args(["mvn", "-B", "-q", "-o", "test"]));
    let report = fs::read_to_string(project.path().join("report.json")).unwrap_or_default();
    assert_eq!(run.status.code(), Some(1), "{}\n{}", run.out, run.err);
    assert!(run.err.contains("Maven itself is observed only if"), "{}", run.err);
    // It would complain of words in the channel to the process that runs the tests.
    assert!(!run.out.contains("WARN"), "{}", run.out);

    let report: Report = serde_json::from_str(report.trim()).expect("one process, one report");
    let refuted = &report.verdicts.atomicity().unwrap().refuted;
    let labels: Vec<&str> = refuted.iter().map(|block| block.label.text().unwrap()).collect();
    assert_eq!(labels, ["bank.Account.withdraw"]);
    assert_eq!(report.findings[0].severity, Severity::Violation);
    assert!(report.input.path.contains("surefire"), "{}", report.input.path);
    assert!(!report.incomplete);
}

/// A copy of the project after a build without observation, which fetches what it needs.
fn project() -> Option<tempfile::TempDir> {
    jdks(1).first()?;
    let folder = tempfile::tempdir().unwrap();
    copy(&Path::new(PROGRAMS).join("../maven"), folder.path());
    let mut build = Command::new("mvn");
    if build.arg("--version").output().is_err() {
        return skip("mvn is not installed");
    }
    let mut build = Command::new("mvn");
    let built = finish(build.current_dir(folder.path()).args(["-B", "-q", "test"]));
    if !built.status.success() {
        return skip(&format!("what Maven needs could not be fetched: {}", built.out));
    }
    Some(folder)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for file in fs::read_dir(from).unwrap().map(|file| file.unwrap()) {
        let to = to.join(file.file_name());
        if file.file_type().unwrap().is_dir() {
            copy(&file.path(), &to);
        } else {
            fs::copy(file.path(), to).unwrap();
        }
    }
}

/// In CI nothing may be skipped.
fn skip<T>(why: &str) -> Option<T> {
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{why}");
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}; builds by Maven NOT tested");
    None
}
