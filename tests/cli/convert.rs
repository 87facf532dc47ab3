//! `paceline convert`.

use crate::{Folder, VIOLATION, kept};

fn generated() -> Folder {
    let folder = Folder::new();
    let shape = "--events 3000 --waits --barriers --volatiles --semaphores --shared-locks";
    folder.run(&format!("generate in.std {shape}")).ends_with(0);
    folder
}

#[test]
fn there_and_back_is_the_same() {
    let folder = generated();
    folder.run("convert in.std there.pace").ends_with(0);
    folder.run("convert there.pace back.std").ends_with(0);
    assert_eq!(folder.bytes("back.std"), folder.bytes("in.std"));
}

/// CSV knows fewer operations.
#[test]
fn csv_and_back_is_the_same() {
    let folder = Folder::new();
    folder.run("generate in.std --events 2000").ends_with(0);
    folder.run("convert in.std there.csv").ends_with(0);
    folder.run("convert there.csv back.pace").ends_with(0);
    let verdict = |name: &str| {
        let report = folder.run(&format!("stats --format json {name}")).ends_with(0).json();
        (report["events"].clone(), report["variables"].clone(), report["kinds"].clone())
    };
    assert_eq!(verdict("in.std"), verdict("there.csv"));
    assert_eq!(verdict("in.std"), verdict("back.pace"));
}

#[test]
fn compressed_by_name_and_read_by_content() {
    let folder = generated();
    folder.run("convert in.std a.std.gz").ends_with(0);
    folder.run("convert a.std.gz b.std.zst").ends_with(0);
    assert_eq!(folder.bytes("a.std.gz")[..2], [0x1f, 0x8b]);
    assert_eq!(folder.bytes("b.std.zst")[..4], [0x28, 0xb5, 0x2f, 0xfd]);
    std::fs::rename(folder.path("b.std.zst"), folder.path("misnamed.gz")).unwrap();
    folder.run("convert misnamed.gz c.std").ends_with(0);
    assert_eq!(folder.bytes("c.std"), folder.bytes("in.std"));
}

#[test]
fn from_standard_input_to_standard_output() {
    let folder = generated();
    let pace = folder.run_with("convert - - --to pace", &folder.bytes("in.std")).ends_with(0);
    let text = folder.run_with("convert - - --to std", &pace.out).ends_with(0);
    assert!(text.out == folder.bytes("in.std"));
}

fn bank() -> Folder {
    let data = |name: &str| kept("crates/trace/tests/data").join(name);
    Folder::new()
        .with_copy("log.rr", &data("account.rr"))
        .with_copy("expected.std", &data("account.std"))
        .with_copy("except.txt", &data("account.except"))
}

/// The operations of an STD trace; locations are counted anew by every conversion.
fn operations(folder: &Folder, name: &str) -> Vec<String> {
    let text = String::from_utf8(folder.bytes(name)).unwrap();
    text.lines().map(|line| line.rsplit_once('|').unwrap().0.to_owned()).collect()
}

#[test]
fn a_log_of_methods_becomes_blocks() {
    let folder = bank();
    let run = folder.run("convert log.rr out.std --except-file except.txt").ends_with(0);
    assert_eq!(operations(&folder, "out.std"), operations(&folder, "expected.std"));
    insta::assert_snapshot!(run.err);
}

#[test]
fn pace_keeps_all_methods_to_be_selected_later() {
    let folder = bank();
    folder.run("convert log.rr log.pace").ends_with(0);
    folder.run("convert log.pace out.std --except-file except.txt").ends_with(0);
    assert_eq!(operations(&folder, "out.std"), operations(&folder, "expected.std"));
}

#[test]
fn the_format_must_be_known() {
    let folder = Folder::new().with("in.std", VIOLATION);
    let run = folder.run("convert in.std out.txt").ends_with(2);
    insta::assert_snapshot!(run.err, @"error: out.txt: its ending names no format (std, rr, csv, pace, stream); use --to");
    folder.run("convert in.std out.txt --to std").ends_with(0);
    assert_eq!(folder.bytes("out.txt"), folder.bytes("in.std"));
    let run = folder.run("convert in.std out.rr").ends_with(2);
    assert!(run.err.contains("only read: write std, csv or pace"), "{}", run.err);
    assert_eq!(folder.files(), ["in.std", "out.txt"]);
}

#[test]
fn nothing_half_written_is_left_behind() {
    let folder = Folder::new().with("in.std", &format!("{VIOLATION} T1|rel(l)|1"));
    let run = folder.run("convert in.std out.pace").ends_with(2);
    assert!(run.err.starts_with("error: in.std: line 6: release_not_held: "), "{}", run.err);
    assert_eq!(folder.files(), ["in.std"]);
    folder.run("convert in.std no-such-folder/out.pace").ends_with(2);
}

#[test]
fn lenient_converts_what_is_well_formed() {
    let folder = Folder::new().with("in.std", &format!("{VIOLATION} T1|rel(l)|1 nonsense"));
    let run = folder.run("convert --lenient in.std out.std").ends_with(3);
    assert!(run.err.contains("1 malformed line was skipped"), "{}", run.err);
    assert!(run.err.contains("1 malformed event was skipped"), "{}", run.err);
    assert_eq!(operations(&folder, "out.std").len(), 5);
}

#[test]
fn an_empty_trace_is_nothing() {
    let folder = Folder::new().with("in.std", "");
    folder.run("convert in.std out.pace").ends_with(4);
    folder.run("stats in.std").ends_with(4);
}
