//! One test for each bug that was found by fuzzing or by use, named after what went wrong.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{self, Cursor, Read, Write as _};
use std::process::{Command, Stdio};

use paceline_trace::format::Format;
use paceline_trace::format::pace::PaceReader;
use paceline_trace::format::std::StdReader;
use paceline_trace::{Batch, Blocks, Rule, Source as _, Trace};

const VIOLATION: &str = "1|begin(m)|1\n1|r(x)|2\n2|w(x)|3\n1|w(x)|4\n1|end(m)|5\n";

/// Runs the binary on a trace; its status and all that it said.
fn check(trace: &str, options: &[&str]) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.std");
    std::fs::write(&path, trace).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
    let output = command.arg("check").args(options).arg(&path).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
}

/// The exit status was that of a clean trace when no finding was shown.
#[test]
fn a_violation_counts_when_no_finding_is_shown() {
    let (status, said) = check(VIOLATION, &["--max-findings", "0"]);
    assert_eq!(status, Some(1), "{said}");
}

/// Zero bytes after `begin`, `end`, `acq` and `rel` were taken for padding of the name: the line
/// became an event.
#[test]
fn zero_bytes_are_no_part_of_an_operation() {
    // After it there is enough for the fast path through a line.
    let rest = "1|r(x)|1\n".repeat(10);
    for op in ["begin\0(m)", "begin\0\0", "end\0(m)", "end\0", "acq\0(l)", "rel\0\0(l)"] {
        let text = format!("1|{op}|1\n{rest}");
        let mut reader = StdReader::new(Box::new(Cursor::new(text)), false);
        let error = Trace::collect(&mut reader).expect_err(op);
        assert_eq!((error.at.line, error.rule()), (Some(1), Some(Rule::ParseError)), "{op:?}");
    }
}

/// An index that starts with event 0 made the reader count below zero when it was opened in the
/// middle. An index that no writer makes is not believed: the blocks are walked instead.
#[test]
fn an_index_with_a_wrong_first_event() {
    let trace = Trace::parse("1:begin(m) 1:r(x) 2:w(x)").unwrap();
    let mut file = Vec::new();
    let mut writer = Format::Pace.writer(&mut file, Blocks::Declared).unwrap();
    writer.write(&trace.batch(), &trace.symbols).unwrap();
    writer.finish(&trace.symbols).unwrap();
    drop(writer);
    let index = file.windows(4).rposition(|w| w == b"PIDX").unwrap();
    // After the marker and the number of entries: offset, first event, events, length of names.
    let (first, sum) = (index + 16, index + 32);
    assert_eq!(file[first..first + 8], 1_u64.to_le_bytes());
    for wrong in [0, 2, u64::MAX] {
        file[first..first + 8].copy_from_slice(&wrong.to_le_bytes());
        let checksum = crc32fast::hash(&file[index..sum]);
        file[sum..sum + 4].copy_from_slice(&checksum.to_le_bytes());
        for event in [0, 1, 3, 4] {
            let (mut reader, first) =
                PaceReader::open_at(Cursor::new(file.clone()), event).unwrap();
            assert_eq!(first, if event == 4 { 4 } else { 1 });
            let mut batch = Batch::default();
            let read = reader.read(&mut batch);
            assert!(read.is_ok(), "{read:?}");
            assert_eq!(batch.events.len(), if event == 4 { 0 } else { 3 });
        }
    }
}

/// The rest of a batch was thrown away when the input broke off, and the error named its first
/// line.
#[test]
fn events_before_damaged_compression_are_given() {
    let text = "1|r(x)|1\n".repeat(100);
    let broken = Cursor::new(text).chain(Broken);
    let mut reader = StdReader::new(Box::new(broken), false);
    let mut batch = Batch::default();
    let mut events = 0;
    let error = loop {
        let outcome = reader.read(&mut batch);
        events += batch.events.len();
        if let Err(error) = outcome {
            break error;
        }
    };
    assert_eq!((events, error.at.line), (100, Some(101)));
}

/// Ends with an error.
struct Broken;

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("broken"))
    }
}

/// An interrupted `convert` left its temporary file behind.
#[test]
fn nothing_is_left_behind_by_an_interrupt() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
    command.args(["convert", "-q", "--from", "std", "-"]).arg(folder.path().join("out.pace"));
    let mut convert = command.stdin(Stdio::piped()).spawn().unwrap();
    // More than a pipe holds: when all of it is written, most has been read, and so the output has
    // been opened.
    let text = "1|r(x)|1\n".repeat(1 << 20);
    let mut input = convert.stdin.take().unwrap();
    input.write_all(text.as_bytes()).unwrap();
    let killed = Command::new("kill").args(["-INT", &convert.id().to_string()]).status();
    assert!(killed.unwrap().success());
    assert_eq!(convert.wait().unwrap().code(), None, "ended by the signal");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// The last event of a thread was forgotten when its barrier round was over, so that a yield
/// missing before the join of that thread had no reason.
#[test]
fn a_join_after_a_barrier_round_has_a_reason() {
    let trace = "2|enter(b)|1\n1|exit(b)|2\n2|fork(3)|3\n1|enter(b)|4\n3|exit(b)|5\n\
                 1|enter(b)|6\n1|exit(b)|7\n1|enter(b)|8\n2|join(3)|9\n";
    let options = ["--property", "cooperability", "--join-yields-to-child"];
    let (status, said) = check(trace, &options);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("exit(b)"), "{said}");
}

/// The filter ended with an error, because it did not know yet how many events there are. And a
/// thread whose only access was left out by the filter seemed to do nothing, and the violation
/// that its join closes was missed.
#[test]
fn the_filter_leaves_something_of_every_thread() {
    let trace = "1|begin(p)|1\n1|fork(2)|2\n2|r(x)|3\n1|join(2)|4\n1|end(p)|5\n";
    for options in [&[][..], &["--filter-race-free"]] {
        let (status, said) = check(trace, options);
        assert_eq!(status, Some(1), "{options:?}: {said}");
    }
}
