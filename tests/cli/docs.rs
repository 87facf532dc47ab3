//! What README and docs/ show is what the commands print: every command in a block marked `console`
//! is run, in a folder with the files of `docs/example`, and what it prints is compared with what
//! stands below it. A line `…` stands for any lines, and `…` at the end of a line for its rest.
//!
//! `docs/make-examples` brings README and `docs/reports.md` up to date.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Folder, kept};

/// Stands for what differs from run to run, or does not matter.
const ELLIPSIS: &str = "…";

/// The commands in the blocks marked `console`, each with what is printed below it.
fn examples(text: &str) -> Vec<(String, String)> {
    let mut examples: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| inside) {
            examples.push((command.to_owned(), String::new()));
        } else if inside {
            let (_, printed) = examples.last_mut().expect("a block begins with a command");
            printed.push_str(line);
            printed.push('\n');
        }
    }
    examples
}

/// The time, and how fast that was, differ from run to run.
fn stable(text: &str) -> String {
    let lines = text.lines().map(|line| match line.rsplit_once("; ") {
        Some((before, after))
            if after.starts_with(|c: char| c.is_ascii_digit()) && after.contains(" s") =>
        {
            format!("{before}; 0.00 s\n")
        }
        _ => format!("{line}\n"),
    });
    lines.collect()
}

/// Whether the lines that were printed are those that are shown.
fn is_as_shown(printed: &[&str], shown: &[&str]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((&ELLIPSIS, rest)) => {
            (0..=printed.len()).any(|skipped| is_as_shown(&printed[skipped..], rest))
        }
        Some((first, rest)) => printed.split_first().is_some_and(|(line, others)| {
            let is_same = match first.strip_suffix(ELLIPSIS) {
                Some(start) => line.starts_with(start),
                None => line == first,
            };
            is_same && is_as_shown(others, rest)
        }),
    }
}

/// The path with the folder of the command in front.
pub fn path_variable() -> std::ffi::OsString {
    let ours = Path::new(env!("CARGO_BIN_EXE_paceline")).parent().unwrap().to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(std::iter::once(ours).chain(std::env::split_paths(&path))).unwrap()
}

/// Runs a command after one that ended with `last`. Returns how it ended and what it printed.
fn typed(folder: &Folder, command: &str, last: i32) -> (i32, String) {
    let output = Command::new("sh")
        .args(["-c", &format!("(exit {last}); {command}")])
        .current_dir(folder.path("."))
        .env("PATH", path_variable())
        .env_remove("CLICOLOR_FORCE")
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let [err, out] = [&output.stderr, &output.stdout].map(|text| String::from_utf8_lossy(text));
    (output.status.code().unwrap(), stable(&(err.into_owned() + &out)))
}

/// Whether the machine has what a command needs besides; said loudly if not.
fn can_run(command: &str) -> bool {
    let missing = [("java ", "javac"), ("doctor", "javac"), ("gcc ", "gcc"), ("./bank", "gcc")]
        .into_iter()
        .filter(|(word, _)| command.contains(word))
        .find(|(_, tool)| Command::new(tool).arg("--version").output().is_err());
    let Some((_, tool)) = missing else { return true };
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{tool} is not installed");
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "SKIPPED: no {tool}, `{command}` NOT tested");
    false
}

/// A folder with the files of `docs/example`.
fn example_folder() -> Folder {
    let files = std::fs::read_dir(kept("docs/example")).unwrap().map(|file| file.unwrap());
    files.fold(Folder::new(), |folder, file| {
        // The program that the reader is asked to write down has this name.
        let name = file.file_name().into_string().unwrap();
        if name == "Bank.java" { folder } else { folder.with_copy(&name, &file.path()) }
    })
}

/// Runs every command of a document. Returns how many there are.
fn check_document(path: &Path) -> usize {
    let text = std::fs::read_to_string(path).unwrap();
    let folder = example_folder();
    let examples = examples(&text);
    let mut last = 0;
    for (command, shown) in examples.iter().filter(|(command, _)| can_run(command)) {
        let (status, printed) = typed(&folder, command, last);
        last = status;
        let [lines, expected] = [&printed, shown].map(|text| text.lines().collect::<Vec<_>>());
        assert!(
            is_as_shown(&lines, &expected),
            "{}: `{command}` prints something else today; docs/make-examples\n{printed}\n-- shown:\n{shown}",
            path.display()
        );
    }
    examples.len()
}

#[test]
fn the_readme_is_current() {
    assert!(check_document(&kept("README.md")) >= 1);
}

#[test]
fn the_examples_of_reports_are_current() {
    assert!(check_document(&kept("docs/reports.md")) >= 7);
}

#[test]
fn the_book_shows_what_is_printed() {
    let files = std::fs::read_dir(kept("docs")).unwrap().map(|file| file.unwrap().path());
    let is_page = |path: &PathBuf| {
        path.extension().is_some_and(|e| e == "md") && !path.ends_with("reports.md")
    };
    let commands: usize = files.filter(is_page).map(|path| check_document(&path)).sum();
    assert!(commands >= 15, "{commands}");
}

#[test]
fn what_differs_is_noticed() {
    let is_as_shown = |printed: &str, shown: &str| {
        let [printed, shown] = [printed, shown].map(|text| text.lines().collect::<Vec<_>>());
        is_as_shown(&printed, &shown)
    };
    assert!(is_as_shown("a\nb\nc", "a\nb\nc") && is_as_shown("a\nb\nc", "…\nc"));
    assert!(is_as_shown("a\nb 17\nc", "…\nb …\n…") && is_as_shown("", "…"));
    assert!(!is_as_shown("a\nb", "a") && !is_as_shown("a", "a\nb") && !is_as_shown("a", "…\nb"));
}
