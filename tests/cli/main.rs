//! The command as its users meet it: the real binary in a folder of its own, what it prints, what
//! it writes, and its exit status.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod action;
mod check;
mod convert;
mod docs;
mod errors;
mod explain;
mod formats;
mod generate;
mod json;
#[path = "../../crates/report/tests/outputs/json_schema.rs"]
mod json_schema;
mod known;
mod library;
mod outputs;
mod papers;
mod predict;
mod run;
mod scan;
mod surface;
mod yields;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// How a run of the command ended.
struct Run {
    status: i32,
    out: Vec<u8>,
    err: String,
}

impl Run {
    /// What was printed.
    fn text(&self) -> &str {
        std::str::from_utf8(&self.out).unwrap()
    }

    /// What was printed, without what differs from run to run.
    fn stable(&self) -> String {
        // A slow run also shows its rate, and then the time goes onto a line of its own.
        let text = self.text().replace(";\n  0.", "; 0.").replace(";\n  1.", "; 1.");
        text.lines().map(|line| without_time(line) + "\n").collect()
    }

    /// What was printed, as one JSON object.
    fn json(&self) -> Value {
        serde_json::from_slice(&self.out).unwrap_or_else(|e| panic!("{e}: {}", self.text()))
    }

    #[track_caller]
    fn ends_with(self, status: i32) -> Run {
        assert_eq!(self.status, status, "{}\n{}", self.err, String::from_utf8_lossy(&self.out));
        self
    }
}

/// `…; 0.01 s` without the figure.
fn without_time(line: &str) -> String {
    match line.rsplit_once("; ") {
        Some((before, after)) if after.contains(" s") => format!("{before}; [time]"),
        _ => line.to_owned(),
    }
}

/// A folder in which commands are run; it goes away with the test.
struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(TempDir::new().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file as it is.
    fn with_text(self, name: &str, text: &str) -> Folder {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    fn text(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).unwrap()
    }

    /// Writes a file, one word a line: `T1|w(x)|1 T2|r(x)|2`.
    fn with(self, name: &str, words: &str) -> Folder {
        let lines: String = words.split_whitespace().map(|word| format!("{word}\n")).collect();
        std::fs::write(self.path(name), lines).unwrap();
        self
    }

    fn with_copy(self, name: &str, of: &Path) -> Folder {
        std::fs::copy(of, self.path(name)).unwrap();
        self
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// The names of all files here, sorted.
    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn run(&self, line: &str) -> Run {
        self.run_with(line, &[])
    }

    /// Runs the command with the words of `line`, and gives it something to read.
    fn run_with(&self, line: &str, input: &[u8]) -> Run {
        self.start(line, input, &[])
    }

    /// Runs the command with these environment variables.
    fn run_in(&self, line: &str, variables: &[(&str, &str)]) -> Run {
        self.start(line, &[], variables)
    }

    fn start(&self, line: &str, input: &[u8], variables: &[(&str, &str)]) -> Run {
        let mut child = Command::new(env!("CARGO_BIN_EXE_paceline"))
            .args(line.split_whitespace())
            .current_dir(self.0.path())
            .env_remove("CLICOLOR_FORCE")
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that does not read its input closes it early; that is no failure here.
        let _ = child.stdin.take().unwrap().write_all(input);
        let output = child.wait_with_output().unwrap();
        Run {
            status: output.status.code().unwrap(),
            out: output.stdout,
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// A read, a write of another thread, a write: the block is not atomic, at event 4.
const VIOLATION: &str = "T1|begin(Set.add)|10 T1|r(x)|11 T2|w(x)|20 T1|w(x)|12 T1|end(Set.add)|13";

/// Two blocks one after the other.
const CLEAN: &str = "T1|begin(m)|1 T1|w(x)|2 T1|end(m)|3 T2|begin(m)|1 T2|w(x)|2 T2|end(m)|3";

/// The folder with the traces of the papers.
fn papers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/traces")
}

/// Something else of the workspace that is kept for tests.
fn kept(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}
