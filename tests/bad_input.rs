//! The real binary on bad input and bad output: a clear error that names the file, the right exit
//! status, no panic, and nothing half-written left behind.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const PACELINE: &str = env!("CARGO_BIN_EXE_paceline");

/// Not atomic, so that `check` reads it more than once.
const VIOLATION: &str = "1|begin(m)|1\n1|r(x)|2\n2|w(x)|3\n1|w(x)|4\n1|end(m)|5\n";

/// A folder of its own for a test, with helpers to run the binary in it.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> &Folder {
        fs::write(self.path(name), bytes).unwrap();
        self
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.0.path()).stdin(Stdio::null()).env("PACELINE", PACELINE);
        command
    }

    fn run<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Ran {
        Ran::new(self.command(PACELINE).args(args).output().unwrap())
    }

    /// Words, separated by blanks.
    fn paceline(&self, words: &str) -> Ran {
        self.run(words.split_whitespace())
    }

    /// A shell script; the binary is `$PACELINE`.
    fn shell(&self, script: &str) -> Ran {
        Ran::new(self.command("bash").args(["-c", script]).output().unwrap())
    }

    fn listing(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files: Vec<_> = fs::read_dir(self.0.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| (path.clone(), content(&path)))
            .collect();
        files.sort();
        files
    }

    /// Runs something that must leave everything in the folder as it was.
    fn unchanged(&self, what: impl FnOnce(&Folder) -> Ran) -> Ran {
        let before = self.listing();
        let ran = what(self);
        assert_eq!(self.listing(), before, "{ran:?}");
        ran
    }
}

/// Nothing for what is no plain file: reading a pipe would wait.
fn content(path: &Path) -> Vec<u8> {
    let plain = fs::metadata(path).is_ok_and(|m| m.is_file());
    if plain { fs::read(path).unwrap() } else { Vec::new() }
}

#[derive(Debug)]
struct Ran {
    status: Option<i32>,
    out: String,
    err: String,
}

impl Ran {
    fn new(output: Output) -> Ran {
        let ran = Ran {
            status: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        };
        assert!(!ran.err.contains("panicked") && ran.status != Some(101), "{ran:?}");
        ran
    }

    /// Ended with this status, and said all of this.
    #[track_caller]
    fn is(&self, status: i32, said: &[&str]) {
        assert_eq!(self.status, Some(status), "{self:?}");
        for part in said {
            assert!(self.err.contains(part) || self.out.contains(part), "{part}: {self:?}");
        }
    }

    /// An error with this in it, said once, and no result.
    #[track_caller]
    fn fails(&self, said: &[&str]) {
        self.is(2, said);
        assert!(self.err.starts_with("error: ") && self.err.lines().count() == 1, "{self:?}");
        assert_eq!(self.out, "");
        let reason = self.err.trim_end().rsplit(": ").next().unwrap();
        assert_eq!(self.err.matches(reason).count(), 1, "said twice: {self:?}");
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Default::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Enough events that the reader has to read more than once.
fn long_trace() -> String {
    (0..3000).map(|i| format!("T{}|r(x{i})|{i}\n", i % 7)).collect()
}

/// All commands that read a trace.
const READERS: [&str; 4] = ["check", "stats", "explain", "convert --to std"];

/// Runs every reading command on the file.
#[track_caller]
fn all_refuse(folder: &Folder, file: &str, said: &[&str]) {
    for reader in READERS {
        let out = if reader.starts_with("convert") { "out.std" } else { "" };
        folder.unchanged(|f| f.paceline(&format!("{reader} {file} {out}"))).fails(said);
    }
}

#[test]
fn what_is_no_file() {
    let folder = Folder::new();
    fs::create_dir(folder.path("folder")).unwrap();
    std::os::unix::fs::symlink("nowhere", folder.path("dangling.std")).unwrap();
    all_refuse(&folder, "folder", &["error: folder: is a directory"]);
    all_refuse(&folder, "absent.std", &["error: absent.std: No such file"]);
    all_refuse(&folder, "dangling.std", &["error: dangling.std: No such file"]);
}

#[test]
fn a_file_that_may_not_be_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new();
    folder.file("secret.std", VIOLATION);
    fs::set_permissions(folder.path("secret.std"), fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(folder.path("secret.std")).is_ok() {
        eprintln!("SKIPPED a_file_that_may_not_be_read: this user may read every file (root?)");
        return;
    }
    for reader in ["check secret.std", "stats secret.std", "convert secret.std out.std"] {
        folder.paceline(reader).fails(&["error: secret.std: Permission denied"]);
    }
}

#[test]
fn a_file_of_patterns_that_is_not_there() {
    let folder = Folder::new();
    folder.file("a.std", VIOLATION);
    for option in ["--except-file", "--atomic-file"] {
        let ran = folder.paceline(&format!("check a.std {option} nowhere.txt"));
        ran.fails(&["cannot read nowhere.txt", "No such file"]);
    }
}

#[test]
fn gzip_cut_off_anywhere() {
    let folder = Folder::new();
    let whole = gzip(long_trace().as_bytes());
    // In the header, between header and data, in the data, in the checksum, in the length.
    let cuts = [2, 3, 9, 10, 11, 500, whole.len() - 9, whole.len() - 8, whole.len() - 5];
    for cut in cuts.into_iter().chain([whole.len() - 1]) {
        folder.file("cut.std.gz", &whole[..cut]);
        let ran = folder.unchanged(|f| f.paceline("check cut.std.gz"));
        ran.fails(&["error: cut.std.gz: ", "the gzip stream ends in the middle"]);
        let ran = folder.unchanged(|f| f.paceline("convert cut.std.gz out.pace"));
        ran.fails(&["error: cut.std.gz: ", "the gzip stream ends in the middle"]);
    }
    all_refuse(&folder, "cut.std.gz", &["line 3001: the gzip stream ends in the middle"]);
}

#[test]
fn gzip_with_a_wrong_byte() {
    let folder = Folder::new();
    let mut bytes = gzip(long_trace().as_bytes());
    let checksum = bytes.len() - 6;
    bytes[checksum] ^= 1;
    folder.file("bad.gz", &bytes);
    all_refuse(&folder, "bad.gz", &["error: bad.gz: ", "the gzip stream is damaged"]);
}

#[test]
fn zstd_cut_off_anywhere() {
    let folder = Folder::new();
    let whole = zstd::encode_all(long_trace().as_bytes(), 0).unwrap();
    for cut in [4, 5, 8, 20, 300, whole.len() - 4, whole.len() - 1] {
        folder.file("cut.zst", &whole[..cut]);
        all_refuse(&folder, "cut.zst", &["error: cut.zst: ", "the zstd stream ends in the middle"]);
    }
}

#[test]
fn garbage() {
    let folder = Folder::new();
    let garbage: Vec<u8> =
        (0..5000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    folder.file("garbage", &garbage);
    all_refuse(&folder, "garbage", &["error: garbage: this looks like no trace", "--from"]);
    for format in ["std", "csv"] {
        let ran = folder.paceline(&format!("check --from {format} garbage"));
        ran.fails(&["error: garbage: line 1: parse_error: "]);
    }
    folder.paceline("check --from pace garbage").fails(&["garbage: this is not a pace file"]);
    // A log may hold any output of the program; here there is nothing else.
    folder.paceline("check --from rr garbage").is(4, &["nothing was analysed"]);
}

#[test]
fn nothing_in_it() {
    let folder = Folder::new();
    folder.file("empty", "").file("empty.std", "").file("empty.gz", gzip(b""));
    for file in ["empty", "empty.std", "empty.gz", "-"] {
        folder.paceline(&format!("check {file}")).is(4, &["nothing was analysed"]);
        folder.paceline(&format!("stats {file}")).is(4, &[]);
        folder.paceline(&format!("convert {file} --to std -")).is(4, &[]);
    }
    folder.shell("$PACELINE check - <&-").is(4, &["nothing was analysed"]);
    folder.file("empty.pace", "").paceline("check empty.pace").fails(&["shorter than a header"]);
    folder.file("plain.std", "1|r(x)|1\n").paceline("check plain.std").is(4, &["no block"]);
}

#[test]
fn blank_lines_are_no_events() {
    let folder = Folder::new();
    folder.file("blank.std", "\n\n\n").file("crlf.std", "\r\n\r\n");
    all_refuse(&folder, "blank.std", &["blank.std: line 1: parse_error: blank line"]);
    all_refuse(&folder, "crlf.std", &["crlf.std: line 1: parse_error: blank line"]);
    folder.paceline("check --lenient blank.std").is(3, &["3 malformed lines were skipped"]);
}

#[test]
fn line_ends_of_other_systems() {
    let folder = Folder::new();
    folder
        .file("crlf.std", VIOLATION.replace('\n', "\r\n"))
        .file("no-end.std", VIOLATION.trim_end());
    for file in ["crlf.std", "no-end.std"] {
        folder.paceline(&format!("check {file}")).is(1, &["m is not atomic", "5 events"]);
    }
}

#[test]
fn a_line_of_ten_megabytes() {
    let folder = Folder::new();
    folder.file("long.std", [VIOLATION.as_bytes(), b"1|w(", &[b'y'; 10_000_000]].concat());
    all_refuse(&folder, "long.std", &["long.std: line 6: parse_error: the line is longer than"]);
    folder.paceline("check --lenient long.std").is(3, &["1 malformed line", "m is not atomic"]);
}

#[test]
fn the_line_and_the_rule_are_named() {
    let folder = Folder::new();
    folder.file("held.std", "1|acq(l)|1\n2|acq(l)|2\n");
    all_refuse(&folder, "held.std", &["error: held.std: line 2: acquire_held: "]);
    let ran = folder.paceline("check --format json held.std");
    ran.is(2, &["\"path\":\"held.std\"", "\"line\":2", "\"rule\":\"acquire_held\""]);
}

#[test]
fn names_that_are_not_utf8() {
    let folder = Folder::new();
    let name = OsStr::from_bytes(b"tr\xffce.std");
    let trace =
        b"1|begin(\xff)|1\n1|r(\x1b[31m\xfe)|2\n2\xc3|w(\x1b[31m\xfe)|3\n1|w(\x1b[31m\xfe)|4\n";
    fs::write(folder.0.path().join(name), trace).unwrap();
    folder.file("a.std", trace);
    for format in ["text", "json"] {
        let ran = folder.paceline(&format!("check --format {format} a.std"));
        let slash = if format == "json" { "\\\\" } else { "\\" };
        let shown = |byte| format!("{slash}x{byte}");
        ran.is(1, &[&shown("ff"), &shown("fe"), &shown("c3")]);
        assert!(!ran.out.contains('\x1b') && !ran.out.contains('\u{fffd}'), "{ran:?}");
    }
    let ran = folder.run([OsStr::new("convert"), name, OsStr::new("copy.std")]);
    ran.is(0, &[]);
    assert_eq!(fs::read(folder.path("copy.std")).unwrap(), trace);
    let absent = OsStr::from_bytes(b"abs\xffnt.std");
    folder.run([OsStr::new("check"), absent]).fails(&["error: abs", "No such file"]);
}

#[test]
fn pipes_are_read_once_and_checked_like_files() {
    let folder = Folder::new();
    folder.file("a.std", VIOLATION);
    folder.shell("$PACELINE check <(cat a.std)").is(1, &["m is not atomic"]);
    folder.shell("cat a.std | $PACELINE check -").is(1, &["m is not atomic"]);
    folder.shell("cat a.std | $PACELINE check /dev/stdin").is(1, &["m is not atomic"]);
    folder.shell("mkfifo p; cat a.std > p & $PACELINE check p").is(1, &["m is not atomic"]);
}

#[test]
fn a_writer_that_dies() {
    let folder = Folder::new();
    folder.file("a.std", VIOLATION).file("a.gz", gzip(long_trace().as_bytes()));
    let script = "mkfifo p; (head -c 38 a.std > p) & $PACELINE check p";
    folder.shell(script).fails(&["error: p: line 4: parse_error: "]);
    let script = "rm p; mkfifo p; (head -c 400 a.gz > p) & $PACELINE convert p out.std";
    folder.shell(script).fails(&["error: p: ", "the gzip stream ends in the middle"]);
    assert!(!folder.path("out.std").exists());
}

/// When exactly it is cut is left to chance; what must not happen is not.
#[test]
fn a_file_cut_while_it_is_checked() {
    let folder = Folder::new();
    let whole = VIOLATION.repeat(40_000);
    for wait in [0, 3, 10, 30, 60] {
        folder.file("a.std", &whole);
        let child = folder
            .command(PACELINE)
            .args(["check", "a.std"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(wait));
        let file = fs::OpenOptions::new().write(true).open(folder.path("a.std")).unwrap();
        file.set_len(VIOLATION.len() as u64 - 13).unwrap();
        let ran = Ran::new(child.wait_with_output().unwrap());
        match ran.status {
            // Nothing was read before it was cut: then it is a short trace without a violation.
            Some(0) => ran.is(0, &["3 events"]),
            Some(1) => ran.is(1, &["m is not atomic"]),
            _ => ran.fails(&["error: a.std: "]),
        }
    }
}

/// Where each command writes, and what it is asked to write.
const WRITERS: [&str; 5] = [
    "convert a.std --to std OUT",
    "convert a.std --to pace OUT",
    "generate --events 100 --to std OUT",
    "check a.std --output OUT",
    "explain a.std --minimize OUT",
];

#[test]
fn a_full_device() {
    let folder = Folder::new();
    folder.file("a.std", VIOLATION);
    for writer in WRITERS {
        let ran = folder.unchanged(|f| f.paceline(&writer.replace("OUT", "/dev/full")));
        ran.is(2, &["error: cannot write /dev/full: No space left on device"]);
        assert_eq!(ran.err.matches("cannot write").count(), 1, "{ran:?}");
    }
    for reader in ["check a.std", "stats a.std", "explain a.std", "convert a.std --to std -"] {
        let ran = folder.shell(&format!("$PACELINE {reader} > /dev/full"));
        ran.fails(&["error: cannot write to standard output: No space left on device"]);
    }
}

/// A limit for the size of files stands for a full disk: both show in the middle of writing.
#[test]
fn a_full_disk() {
    let folder = Folder::new();
    let limited = |words: &str| format!("trap '' XFSZ; ulimit -f 4; $PACELINE {words}");
    folder.shell("$PACELINE generate --events 50000 --seed 3 a.std").is(0, &[]);
    for out in ["out.std", "out.csv", "out.pace", "out.std.gz", "out.pace.zst"] {
        let said = format!("error: cannot write {out}: File too large");
        for command in ["generate --events 50000", "convert a.std"] {
            let script = limited(&format!("{command} {out}"));
            let ran = folder.unchanged(|f| f.shell(&script));
            ran.fails(&[&said]);
            assert!(!ran.err.contains(".part"), "a temporary name is shown: {ran:?}");
        }
        folder.file(out, "as it was");
        let ran = folder.unchanged(|f| f.shell(&limited(&format!("convert a.std {out}"))));
        ran.fails(&[&said]);
    }
}

#[test]
fn nowhere_to_write() {
    let folder = Folder::new();
    folder.file("a.std", VIOLATION);
    fs::create_dir(folder.path("folder")).unwrap();
    for writer in WRITERS {
        for (out, why) in
            [("folder", "is a directory"), ("absent/out.std", "there is no folder absent")]
        {
            let ran = folder.unchanged(|f| f.paceline(&writer.replace("OUT", out)));
            ran.is(2, &[&format!("error: cannot write {out}: "), why]);
        }
    }
}

#[test]
fn a_failure_leaves_an_earlier_output_alone() {
    let folder = Folder::new();
    folder.file("bad.std", [VIOLATION, "nonsense\n"].concat()).file("out.std", "as it was");
    for command in ["convert bad.std", "check bad.std -o", "check bad.std --witness"] {
        let ran = folder.unchanged(|f| f.paceline(&format!("{command} out.std")));
        ran.fails(&["error: bad.std: line 6: parse_error: "]);
    }
    let ran = folder.unchanged(|f| f.paceline("generate --events 10 --violation-at 900 out.std"));
    ran.fails(&[]);
    let ran = folder.unchanged(|f| f.paceline("convert out.std out.rr"));
    ran.fails(&["error: cannot write out.rr: RoadRunner logs are only read"]);
}

#[test]
fn a_trace_can_be_converted_in_place() {
    let folder = Folder::new();
    folder.file("a.std", VIOLATION.replace('\n', "\r\n"));
    folder.paceline("convert a.std a.std").is(0, &[]);
    assert_eq!(fs::read_to_string(folder.path("a.std")).unwrap(), VIOLATION);
}

#[test]
fn a_reader_that_has_seen_enough() {
    let folder = Folder::new();
    folder.file("a.std", VIOLATION);
    let commands = [
        ("generate --events 200000 --to std -", 0),
        ("stats a.std", 0),
        ("man", 0),
        ("completions bash", 0),
        // A verdict that was not given is no green.
        ("check a.std a.std a.std", 3),
        ("explain a.std --minimize small.std", 3),
    ];
    for (command, status) in commands {
        // The pipe is closed before the first byte, so that it does not depend on which process is
        // faster.
        let script = format!(
            "mkfifo p; exec 9<>p; exec 8>p; exec 9<&-; $PACELINE {command} >&8; s=$?; rm p; exit $s"
        );
        let ran = folder.shell(&script);
        ran.is(status, &[]);
        assert_eq!(ran.err, "", "{command}");
    }
    folder.shell("$PACELINE generate --to std - | head -n 1").is(0, &["|"]);
}

#[test]
fn closed_standard_error_is_no_failure() {
    let folder = Folder::new();
    folder.file("bad.std", "nonsense\n");
    folder.shell("$PACELINE check bad.std 2>/dev/full").is(2, &[]);
    folder.shell("$PACELINE check absent.std 2>&-").is(2, &[]);
    folder.shell("$PACELINE stats --lenient bad.std 2>/dev/full").is(4, &[]);
    folder.shell("$PACELINE check bad.std >&- 2>&-").is(2, &[]);
}

#[test]
fn one_bad_trace_does_not_hide_the_others() {
    let folder = Folder::new();
    folder.file("a.std", VIOLATION).file("bad.std", "nonsense\n");
    let ran = folder.paceline("check bad.std a.std absent.std");
    ran.is(2, &["bad.std: line 1: parse_error", "absent.std: No such file", "m is not atomic"]);
}
