//! Java for the tests: its compiler and its image.
#![allow(dead_code, reason = "not every test file needs both")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// A program of the JDK in `JAVA_HOME`, or on the path.
pub fn find(program: &str) -> Option<PathBuf> {
    let home = std::env::var_os("JAVA_HOME").map(|home| Path::new(&home).join("bin").join(program));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join(program));
    home.into_iter().chain(on_path).find(|found| found.is_file())
}

/// Without Java a test is skipped, loudly; in CI that is a failure.
fn skip<T>(what: &str, tests: usize) -> Option<T> {
    eprintln!("SKIPPED: no {what}, {tests} programs not tested");
    assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "CI must have a {what}");
    None
}

/// Compiles files into a new folder.
pub fn compile(files: &[PathBuf]) -> Option<tempfile::TempDir> {
    let Some(javac) = find("javac") else { return skip("javac", files.len()) };
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(javac)
        .args(["-g:source,lines", "-nowarn", "-d"])
        .arg(folder.path())
        .args(files)
        .output()
        .unwrap();
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{messages}");
    Some(folder)
}

/// The image of the JDK.
pub fn image() -> Option<PathBuf> {
    let javac = find("javac").and_then(|javac| javac.canonicalize().ok());
    let home = javac.as_deref().and_then(Path::parent).and_then(Path::parent);
    let image = home.map(|home| home.join("lib/modules")).filter(|image| image.is_file());
    image.or_else(|| skip("JDK image", 1))
}
