//! What the command says about bad input: which file, where, which rule, what to do.

use crate::{CLEAN, Folder, VIOLATION};

/// Each line is a complaint about one file.
#[test]
fn malformed_traces() {
    let complaints: String = [
        "T1|r(x",
        "T1|frobnicate(x)|1",
        "T1|r()|1",
        "T1|w(x)|1 T1|acq(l)|2 T1|acq(l)|3",
        "T1|acq(l)|1 T2|acq(l)|2",
        "T1|rel(l)|1",
        "T1|prewait(l)|1",
        "T1|postwait(l)|1",
        "T1|end(m)|1",
        "T1|begin(m)|1 T1|end(n)|2",
        "T1|fork(T1)|1",
        "T1|fork(T2)|1 T1|fork(T2)|2",
        "T2|w(x)|1 T1|fork(T2)|2",
        "T1|join(T1)|1",
        "T1|fork(T2)|1 T1|join(T2)|2 T2|w(x)|3",
    ]
    .map(|words| Folder::new().with("bad.std", words).run("check bad.std").ends_with(2).err)
    .concat();
    insta::assert_snapshot!(complaints);
}

#[test]
fn files_that_cannot_be_read() {
    let folder = Folder::new().with("good.std", CLEAN).with("prose.txt", "No trace at all.");
    std::fs::create_dir(folder.path("folder")).unwrap();
    folder.run("convert good.std whole.std.gz").ends_with(0);
    let whole = folder.bytes("whole.std.gz");
    std::fs::write(folder.path("cut.std.gz"), &whole[..whole.len() - 9]).unwrap();
    for command in ["check", "stats", "explain"] {
        let complain = |name: &str| folder.run(&format!("{command} {name}")).ends_with(2).err;
        let complaints =
            ["missing.std", "folder", "prose.txt", "cut.std.gz"].map(complain).concat();
        insta::assert_snapshot!("unreadable_files", complaints);
    }
}

#[test]
fn files_that_cannot_be_written() {
    let folder = Folder::new().with("good.std", CLEAN).with("bad.std", VIOLATION);
    let complaint = |line: &str| folder.run(line).ends_with(2).err;
    insta::assert_snapshot!(
        [
            complaint("convert good.std nowhere/out.std"),
            complaint("convert good.std good.std/out.std"),
            complaint("generate nowhere/out.std"),
            complaint("check good.std -o nowhere/report.txt"),
            complaint("check good.std --witness nowhere/out.std"),
            complaint("check good.std --witness out.rr"),
            complaint("explain bad.std --minimize nowhere/out.std"),
            complaint("explain bad.std --minimize out.rr"),
            complaint("man --dir good.std"),
        ]
        .concat()
    );
    assert_eq!(folder.files(), ["bad.std", "good.std"]);
}

/// A device that is always full, where there is one.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk() {
    let folder = Folder::new().with("good.std", CLEAN);
    let full = "error: cannot write /dev/full: No space left on device (os error 28)\n";
    for line in ["convert good.std", "generate"] {
        assert_eq!(folder.run(&format!("{line} /dev/full --to std")).ends_with(2).err, full);
    }
    assert_eq!(folder.run("check good.std -o /dev/full").ends_with(2).err, full);
}

#[test]
fn wrong_usage() {
    let folder = Folder::new().with("good.std", CLEAN);
    let complaint = |line: &str| folder.run(line).ends_with(2).err;
    let first = |line: &str| complaint(line).lines().next().unwrap().to_owned() + "\n";
    insta::assert_snapshot!(
        [
            first("check good.std --engine fast"),
            first("check good.std --from xml"),
            first("check good.std --property speed"),
            first("check good.std good.std --witness w.std"),
            first("check good.std --atomic-file missing.txt"),
            first("chekc good.std"),
        ]
        .concat()
    );
    assert!(complaint("check").contains("Usage: paceline check"));
}

#[test]
fn reading_only_the_beginning_is_no_error() {
    use std::io::Read as _;
    use std::process::{Command, Stdio};
    let mut child = Command::new(env!("CARGO_BIN_EXE_paceline"))
        .args(["generate", "-", "--to", "std", "--events", "200000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut start = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut start).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
