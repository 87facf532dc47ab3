//! The action for GitHub: its steps are run as GitHub runs them, with the variables and files that
//! a runner provides. What only GitHub has (the upload) is left out.

use std::path::PathBuf;
use std::process::Command;

use crate::{Folder, kept};

/// A step that is a script.
#[derive(Default)]
struct Script {
    name: String,
    /// Variables with expressions such as `${{ inputs.command }}`.
    variables: Vec<(String, String)>,
    text: String,
}

/// The scripts of `action.yml`, as far as that much YAML is understood here.
fn scripts() -> Vec<Script> {
    let text = std::fs::read_to_string(kept("action.yml")).unwrap();
    let (_, steps) = text.split_once("\n  steps:\n").unwrap();
    let mut scripts: Vec<Script> = Vec::new();
    let (mut in_run, mut in_env) = (false, false);
    for line in steps.lines() {
        let content = line.trim_start();
        let indent = line.len() - content.len();
        if let Some(name) = content.strip_prefix("- name: ").filter(|_| indent == 4) {
            scripts.push(Script { name: name.to_owned(), ..Script::default() });
        }
        let Some(script) = scripts.last_mut() else { continue };
        match (indent, content) {
            (0..=6, "run: |") => (in_run, in_env) = (true, false),
            (0..=6, "env:") => (in_run, in_env) = (false, true),
            (1..=6, _) => (in_run, in_env) = (false, false),
            _ if in_run => script.text += &format!("{}\n", line.get(8..).unwrap_or_default()),
            _ if in_env => {
                let (name, value) = content.split_once(": ").unwrap();
                script.variables.push((name.to_owned(), value.to_owned()));
            }
            _ => {}
        }
    }
    scripts
}

/// A folder that is the checkout of a repository, with a runner around it.
struct Runner(Folder);

impl Runner {
    fn path(&self, name: &str) -> PathBuf {
        self.0.path(name)
    }

    /// Runs the scripts until one fails. Returns its status and what all printed.
    fn run(&self, inputs: &[(&str, &str)]) -> (i32, String) {
        let mut log = String::new();
        for script in scripts().iter().filter(|script| !script.text.is_empty()) {
            let mut command = Command::new("bash");
            // The shell of a composite action, as documented.
            command.args(["--noprofile", "--norc", "-e", "-o", "pipefail", "-c", &script.text]);
            command.current_dir(self.path("repo")).env("PATH", super::docs::path_variable());
            command.env("GITHUB_ACTION_PATH", kept("")).env("RUNNER_TEMP", self.path("temp"));
            for file in ["GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"] {
                command.env(file, self.path(file));
            }
            for (name, expression) in &script.variables {
                command.env(name, self.value(expression, inputs));
            }
            let output = command.output().unwrap();
            log += &String::from_utf8_lossy(&output.stdout);
            log += &String::from_utf8_lossy(&output.stderr);
            if !output.status.success() {
                log += &format!("failed: {}\n", script.name);
                return (output.status.code().unwrap(), log);
            }
        }
        (0, log)
    }

    /// The value of an expression, of the two kinds that the action uses.
    fn value(&self, expression: &str, inputs: &[(&str, &str)]) -> String {
        let inner = expression.strip_prefix("${{ ").and_then(|e| e.strip_suffix(" }}")).unwrap();
        if let Some(name) = inner.strip_prefix("steps.observe.outputs.") {
            let outputs = self.0.text("GITHUB_OUTPUT");
            let key = format!("{name}=");
            let line = outputs.lines().rev().find_map(|line| line.strip_prefix(key.as_str()));
            return line.unwrap_or_default().to_owned();
        }
        let name = inner.strip_prefix("inputs.").unwrap();
        let defaults = [("options", ""), ("sarif", "paceline.sarif"), ("fail-on-findings", "true")];
        let mut known = inputs.iter().chain(&defaults);
        known.find(|(known, _)| *known == name).unwrap_or_else(|| panic!("{name}")).1.to_owned()
    }
}

/// A checkout with a program in a package, below a source folder.
fn runner() -> Option<Runner> {
    if Command::new("javac").arg("-version").output().is_err() {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "javac is not installed");
        return None;
    }
    let demo = include_str!("../../crates/cli/src/commands/demo/Bank.java");
    let source = format!("package com.example;\n{demo}");
    let folder = Folder::new()
        .with_text("repo/src/main/java/com/example/Bank.java", &source)
        .with_text("repo/src/test/java/com/example/other/Bank.java", "// another one")
        .with_text("temp/empty", "");
    Some(Runner(folder))
}

const COMMAND: &str =
    "javac -d out src/main/java/com/example/Bank.java && java -cp out com.example.Bank";

#[test]
fn findings_are_annotated_summed_up_and_fail_the_job() {
    let Some(runner) = runner() else { return };
    let (status, log) = runner.run(&[("command", COMMAND)]);
    assert_eq!(status, 1, "{log}");
    assert!(log.ends_with("failed: Result\n"), "{log}");
    let file = "src/main/java/com/example/Bank.java";
    let annotation = log.lines().find(|line| line.starts_with("::error ")).expect("an annotation");
    assert!(annotation.starts_with(&format!("::error file={file},line=")), "{annotation}");
    let summary = runner.0.text("GITHUB_STEP_SUMMARY");
    assert!(summary.starts_with("## Paceline: 1 violation"), "{summary}");
    assert!(summary.contains(&format!("<code>{file}:")), "{summary}");
    let sarif: serde_json::Value =
        serde_json::from_slice(&runner.0.bytes("repo/paceline.sarif")).unwrap();
    let location = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(location["artifactLocation"]["uri"], file, "{sarif}");
    assert_eq!(runner.0.text("GITHUB_OUTPUT"), "status=1\n");
    assert!(!runner.path("GITHUB_PATH").exists(), "it was installed although it is there");
}

#[test]
fn findings_need_not_fail_the_job() {
    let Some(runner) = runner() else { return };
    let (status, log) = runner.run(&[("command", COMMAND), ("fail-on-findings", "false")]);
    assert_eq!(status, 0, "{log}");
}

#[test]
fn options_are_words_that_nothing_expands() {
    let Some(runner) = runner() else { return };
    let options = "--except '*.deposit' --atomic com.example.Bank.read --exitcode 5";
    let (status, log) = runner.run(&[("command", COMMAND), ("options", options)]);
    assert_eq!(status, 0, "{log}");
    let (status, log) = runner.run(&[("command", "exit 3"), ("options", "--atomic '$(exit 9)'")]);
    assert_eq!(status, 3, "the status of the command itself: {log}");
}
