//! The binary alone: copied to a folder with nothing beside it, it observes Java programs all the
//! same. The agent that it carries goes into the cache folder; another one must be of its version.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::jdk::jdks;

/// A folder with a copy of the binary, a cache and a program.
struct Alone(TempDir);

impl Alone {
    fn new() -> Alone {
        let folder = tempfile::tempdir().unwrap();
        // By another process: a child of another test could inherit our open file, and then the copy
        // could not be run ("text file busy").
        let copy = folder.path().join("paceline");
        let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_paceline")).arg(copy).status();
        assert!(copied.unwrap().success());
        let alone = Alone(folder);
        assert!(alone.run(&["demo", "--write", "Bank.java"]).status.success());
        alone
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(self.path("paceline"));
        command
            .args(arguments)
            .current_dir(self.0.path())
            .env("XDG_CACHE_HOME", self.path("cache"));
        command.output().unwrap()
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// The files below a folder.
fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { below(&path) } else { vec![path] }).collect()
}

#[test]
fn a_copied_binary_finds_the_bug() {
    if jdks(1).is_empty() {
        return;
    }
    let alone = Alone::new();
    // Nothing forces the order here, as in the README: on a busy machine a run may have no bug.
    let run = || alone.run(&["run", "--", "java", "Bank.java"]);
    let mut output = run();
    for _ in 0..9 {
        if output.status.code() == Some(0) {
            output = run();
        }
    }
    let said = said(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("violation: Bank.deposit"), "{said}");
    let unpacked = below(&alone.path("cache"));
    let [agent] = &unpacked[..] else { panic!("{unpacked:?}") };
    assert_eq!([mode(agent), mode(agent.parent().unwrap())], [0o600, 0o700]);
}

#[test]
fn an_agent_of_another_version_is_refused() {
    if jdks(1).is_empty() {
        return;
    }
    let alone = Alone::new();
    let agent = paceline_agents::JVM.unpack(&alone.path("own")).unwrap();
    let mut bytes = fs::read(agent).unwrap();
    let version = paceline_agents::VERSION.as_bytes();
    // Every text that could be the version: the agent has it once, libraries may have equal ones.
    let other = b"9.9.9";
    assert_eq!(version.len(), other.len());
    let places: Vec<usize> =
        (0..bytes.len() - version.len()).filter(|&at| bytes[at..].starts_with(version)).collect();
    assert!(!places.is_empty());
    places.iter().for_each(|&at| bytes[at..at + other.len()].copy_from_slice(other));
    fs::write(alone.path("other.so"), bytes).unwrap();
    let output = alone.run(&["run", "--jvm-agent", "other.so", "--", "java", "Bank.java"]);
    let said = said(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("the jvm agent is of 9.9.9"), "{said}");
    assert!(said.contains("leave out --jvm-agent"), "{said}");
    // The program itself is not disturbed.
    assert!(said.contains("40000 deposits"), "{said}");
}

#[test]
fn without_a_cache_folder_the_user_is_asked_for_one() {
    let alone = Alone::new();
    let mut command = Command::new(alone.path("paceline"));
    command.args(["run", "--", "java", "Bank.java"]).current_dir(alone.0.path());
    let output = command.env_remove("HOME").env_remove("XDG_CACHE_HOME").output().unwrap();
    let said = said(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("set XDG_CACHE_HOME"), "{said}");
}

#[test]
fn the_doctor_tries_every_jdk() {
    let jdks = jdks(1);
    if jdks.is_empty() {
        return;
    }
    let alone = Alone::new();
    let output = alone.run(&["doctor"]);
    let said = said(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("Java programs can be observed"), "{said}");
    assert!(said.ends_with("All is well.\n"), "{said}");
    let alone_without = Command::new(alone.path("paceline"))
        .arg("doctor")
        .env_clear()
        .env("JAVA_HOME", "/nowhere")
        .output()
        .unwrap();
    let said = self::said(&alone_without);
    assert_eq!(alone_without.status.code(), Some(1), "{said}");
    assert!(said.contains("BAD     agent"), "{said}");
}
