//! The rules of the house, held by tests: what the docs name exists, files stay short, and the
//! words are those of the field.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod docs;
mod sizes;
mod words;

use std::fs;
use std::path::{Path, PathBuf};

/// The top of the repository.
fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Folders that hold no files of ours: built, fetched or hidden things.
fn is_foreign(name: &str) -> bool {
    name.starts_with('.') || name.starts_with("target") || ["corpus", "artifacts"].contains(&name)
}

/// Every file of the repository whose name ends in one of these, as a path from the top.
fn files(endings: &[&str]) -> Vec<PathBuf> {
    let top = top();
    let mut found = Vec::new();
    let mut folders = vec![top.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            match path.is_dir() {
                true if is_foreign(&name) => {}
                true => folders.push(path),
                false if endings.iter().any(|ending| name.ends_with(ending)) => {
                    found.push(path.strip_prefix(&top).unwrap().to_owned());
                }
                false => {}
            }
        }
    }
    found.sort();
    found
}

/// The text of a file of the repository.
fn text(path: &Path) -> String {
    fs::read_to_string(top().join(path)).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Fails with every complaint at once, so that one run shows all there is to do.
#[track_caller]
fn assert_none(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}
