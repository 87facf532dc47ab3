//! What is read and what is not: archives in archives, damaged files, bombs.

#![allow(clippy::unwrap_used, reason = "what fails while a test is set up fails the test")]

mod java;

use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use paceline_scan::{Input, Limits, Options, Report, scan};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

fn zip(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn scan_file(path: &Path, options: &Options) -> Report {
    scan(&[Input::Path(path.to_owned())], &[], options, &mut |_| {})
}

fn scan_bytes(name: &str, bytes: &[u8], options: &Options) -> Report {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    scan_file(&path, options)
}

/// The classes of the paper's figure 1; `None` without a compiler.
fn line_and_location() -> Option<(tempfile::TempDir, Vec<u8>, Vec<u8>)> {
    let source =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/scan/Figure1.java");
    let classes = java::compile(&[source])?;
    let read = |name: &str| std::fs::read(classes.path().join("figure1").join(name)).unwrap();
    let (line, location) = (read("Line.class"), read("Location.class"));
    Some((classes, line, location))
}

#[test]
fn nested_jars_are_read_and_other_versions_are_not() {
    let Some((_classes, line, location)) = line_and_location() else { return };
    let inner = zip(&[("figure1/Line.class", &line)]);
    let outer = zip(&[
        ("WEB-INF/classes/figure1/Location.class", &location),
        ("WEB-INF/lib/inner.jar", &inner),
        ("META-INF/versions/11/figure1/Line.class", b"not even a class"),
        ("readme.txt", b"hello"),
    ]);
    let report = scan_bytes("outer.war", &outer, &Options::default());
    assert_eq!(report.errors, []);
    assert_eq!((report.counts.classes, report.warnings.len()), (2, 1));
}

#[test]
fn a_damaged_class_is_named_and_the_rest_is_scanned() {
    let Some((_classes, line, location)) = line_and_location() else { return };
    let cut = &line[..line.len() / 2];
    let jar = zip(&[
        ("bad/Cut.class", cut),
        ("bad/Text.class", b"hello"),
        ("figure1/Line.class", &line),
        ("figure1/Location.class", &location),
    ]);
    let report = scan_bytes("mixed.jar", &jar, &Options::default());
    let named: Vec<bool> = report
        .errors
        .iter()
        .zip(["mixed.jar!/bad/Cut.class", "mixed.jar!/bad/Text.class"])
        .map(|(error, end)| error.path.ends_with(end))
        .collect();
    assert_eq!(named, [true, true], "{:?}", report.errors);
    assert_eq!(report.warnings.len(), 1);
}

/// A small generator with a fixed seed (xorshift).
fn random(state: &mut u64) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 16) as usize
}

#[test]
fn no_damage_makes_the_reader_panic() {
    let Some((_classes, line, location)) = line_and_location() else { return };
    let mut state = 0x9e37_79b9_7f4a_7c15;
    let names: Vec<String> = (0..600).map(|i| format!("d/C{i}.class")).collect();
    let damaged: Vec<Vec<u8>> = (0..600)
        .map(|i| {
            let mut bytes = if i % 2 == 0 { line.clone() } else { location.clone() };
            for _ in 0..1 + i % 4 {
                let at = random(&mut state) % bytes.len();
                bytes[at] = random(&mut state) as u8;
            }
            bytes
        })
        .collect();
    let entries: Vec<(&str, &[u8])> =
        names.iter().zip(&damaged).map(|(n, b)| (n.as_str(), b.as_slice())).collect();
    let report = scan_bytes("damaged.jar", &zip(&entries), &Options::default());
    assert!(!report.errors.is_empty());
}

#[test]
fn bombs_are_errors_that_name_the_entry() {
    let limits = Limits { class: 1 << 16, nested: 1 << 20, total: 1 << 22, depth: 2 };
    let options = Options { limits, ..Options::default() };
    let zeros = vec![0; 1 << 17];
    let report = scan_bytes("bomb.jar", &zip(&[("Bomb.class", &zeros)]), &options);
    assert!(report.errors[0].path.ends_with("bomb.jar!/Bomb.class"), "{:?}", report.errors);
    assert!(report.errors[0].message.contains("65536"));

    let inner = zip(&[("x.txt", &vec![0; 1 << 21])]);
    let nested = zip(&[("a.jar", &zip(&[("b.jar", &zip(&[("c.jar", &inner)]))]))]);
    let report = scan_bytes("deep.jar", &nested, &options);
    assert!(report.errors[0].path.ends_with("a.jar!/b.jar!/c.jar"), "{:?}", report.errors);
}

#[test]
fn what_all_entries_unpack_to_is_limited_too() {
    let limits = Limits { class: 1 << 16, nested: 1 << 20, total: 100_000, depth: 2 };
    let options = Options { limits, ..Options::default() };
    let zeros = vec![0; 60_000];
    let report =
        scan_bytes("many.jar", &zip(&[("A.class", &zeros), ("B.class", &zeros)]), &options);
    let limited = report.errors.iter().filter(|e| e.message.contains("100000")).count();
    assert_eq!(limited, 1, "{:?}", report.errors);
}

#[test]
fn what_is_not_there_or_no_archive_is_an_error() {
    let missing = scan_file(&PathBuf::from("no/such/file.jar"), &Options::default());
    assert_eq!(missing.errors[0].path, "no/such/file.jar");
    let text = scan_bytes("text.jar", b"just some text", &Options::default());
    assert!(text.errors[0].path.ends_with("text.jar"));
    let image = Input::Module { image: "no/such/modules".into(), name: "java.base".into() };
    let report = scan(&[image], &[], &Options::default(), &mut |_| {});
    assert_eq!(report.errors[0].path, "no/such/modules");
}

#[test]
fn nothing_is_reported_in_libraries_but_their_locks_count() {
    let Some((classes, _, _)) = line_and_location() else { return };
    let folder = classes.path().join("figure1");
    let library = [Input::Path(folder.join("Location.class"))];
    let report =
        scan(&[Input::Path(folder.join("Line.class"))], &library, &Options::default(), &mut |_| {});
    assert_eq!(report.warnings.len(), 1);
    assert!(report.warnings[0].second[1].method.starts_with("figure1/Location.distanceTo"));
    let swapped = scan(&library, &[Input::Path(folder)], &Options::default(), &mut |_| {});
    assert_eq!(swapped.warnings, []);
}
