//! The hook: that its bytes are those of its source, and its unit tests (`tests/hook`), which run
//! in a virtual machine inside of `java.base`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const CRATE: &str = env!("CARGO_MANIFEST_DIR");

/// The library is built together with its tests, and lies beside them.
fn agent() -> PathBuf {
    let test = std::env::current_exe().expect("this test");
    let folders = test.ancestors().skip(1).take(2).map(Path::to_path_buf);
    let found = folders.map(|f| f.join("libpaceline_jvm.so")).find(|file| file.exists());
    found.expect("the agent beside its tests")
}

fn run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|e| panic!("{command:?}: {e}; is there a JDK?"))
}

fn text(output: &Output) -> String {
    [&output.stdout[..], &output.stderr].concat().iter().map(|&b| char::from(b)).collect()
}

/// Skipped, loudly, where there is no JDK 17; in CI that is a failure.
#[test]
fn the_classes_are_those_of_the_source() {
    const NO_COMPILER: i32 = 77;
    let output = run(Command::new(Path::new(CRATE).join("hook/compile")).arg("--check"));
    if output.status.code() == Some(NO_COMPILER) {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "JDK 17 is not installed");
        // Not by `eprintln!`, which is only shown of tests that fail.
        let _ = std::io::Write::write_all(&mut std::io::stderr(), &output.stderr);
        return;
    }
    assert!(output.status.success(), "{}", text(&output));
}

/// The JDK of the path, and those beside it.
fn jdks() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let javac = std::env::split_paths(&path).find_map(|it| it.join("javac").canonicalize().ok());
    let home = javac.and_then(|javac| javac.ancestors().nth(2).map(Path::to_path_buf));
    let home = home.expect("a JDK on the path");
    let beside = home.parent().expect("a folder").read_dir().expect("a folder");
    let mut homes: Vec<_> = beside.filter_map(|it| it.ok()?.path().canonicalize().ok()).collect();
    homes.retain(|home| home.join("bin/javac").is_file());
    homes.sort();
    homes.dedup();
    homes
}

#[test]
fn the_hook_passes_its_unit_tests() {
    for home in jdks() {
        let folder = tempfile::tempdir().expect("a folder");
        let sources = ["hook", "hook/stub", "tests/hook"].map(|it| format!("{CRATE}/{it}"));
        let mut javac = Command::new(home.join("bin/javac"));
        javac.args(["-nowarn", "-implicit:none", "-d"]).arg(folder.path());
        javac.arg("--patch-module").arg(format!("java.base={}", sources.join(":")));
        let compiled = run(javac.arg(format!("{CRATE}/tests/hook/java/lang/PacelineTest.java")));
        assert!(compiled.status.success(), "{}", text(&compiled));

        let stream = folder.path().join("stream");
        let options = "redundant=block,buffer-words=11,guard-pages=on";
        let mut java = Command::new(home.join("bin/java"));
        java.args(["-Xverify:all", "-XX:-UsePerfData"]);
        java.arg(format!("-agentpath:{}=file={},{options}", agent().display(), stream.display()));
        java.arg("--patch-module").arg(format!("java.base={}", folder.path().display()));
        let output = run(java.args(["-m", "java.base/java.lang.PacelineTest"]));
        assert!(output.status.success(), "{}: {}", home.display(), text(&output));
        assert!(text(&output).contains("mutedThreadsRecordNothing"), "{}", text(&output));
    }
}
