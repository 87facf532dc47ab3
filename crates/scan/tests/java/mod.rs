//! Compiles Java for the tests.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The Java compiler of `JAVA_HOME`, or the one on the path.
fn javac() -> Option<PathBuf> {
    let home = std::env::var_os("JAVA_HOME").map(|home| Path::new(&home).join("bin/javac"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join("javac"));
    home.into_iter().chain(on_path).find(|javac| javac.is_file())
}

/// Compiles files into a new folder. Without a compiler the test is skipped, loudly; in CI that
/// is a failure.
pub fn compile(files: &[PathBuf]) -> Option<tempfile::TempDir> {
    let Some(javac) = javac() else {
        eprintln!("SKIPPED: no javac, {} programs not tested", files.len());
        assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "CI must have a javac");
        return None;
    };
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
