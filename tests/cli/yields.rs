//! `paceline yields`.

use serde_json::Value;

use crate::Folder;

/// Two accesses of one thread with a write of another in between: a yield is missing before line 3
/// of `Buf.java`.
const ONE: &str = "@  Wr(1,x)  Final  Buf.java:2:1\n@  Wr(2,x)  Final  Buf.java:9:1\n\
                   @  Wr(1,x)  Final  Buf.java:3:1\n";
/// The same at another place.
const TWO: &str = "@  Wr(1,x)  Final  Buf.java:2:1\n@  Wr(2,x)  Final  Buf.java:9:1\n\
                   @  Wr(1,x)  Final  Buf.java:4:1\n";

fn folder() -> Folder {
    Folder::new().with_text("one.rr", ONE).with_text("two.rr", TWO)
}

#[test]
fn where_yields_are_missing_and_why() {
    let run = folder().run("yields one.rr").ends_with(1);
    insta::assert_snapshot!(run.text());
}

#[test]
fn as_a_patch() {
    let run = folder().run("yields one.rr --format patch").ends_with(1);
    assert_eq!(run.text(), "Buf.java:3: yield needed before w(x)\n");
}

/// Figure 8 of the paper: what each trace added.
#[test]
fn traces_of_one_program_are_put_together() {
    let folder = folder();
    let run = folder.run("yields one.rr two.rr one.rr").ends_with(1);
    let (_, together) = run.text().split_once("together").unwrap();
    assert_eq!(together, ": 2 places\n  one.rr added 1\n  two.rr added 1\n  one.rr added 0\n");
    let merged = folder.run("yields one.rr two.rr one.rr --format json").ends_with(1).json();
    let sites: Vec<(&Value, &Value)> =
        merged["merged"].as_array().unwrap().iter().map(|m| (&m["site"], &m["traces"])).collect();
    let expected: [(Value, Value); 2] =
        [("Buf.java:3".into(), 2.into()), ("Buf.java:4".into(), 1.into())];
    assert_eq!(sites, expected.iter().map(|(a, b)| (a, b)).collect::<Vec<_>>());
}

/// Figure 7 of the paper: points a line.
#[test]
fn density_by_lines_that_are_given() {
    let folder = folder();
    let run = folder.run("yields one.rr --loc 100 --format json").ends_with(1).json();
    let density = &run["traces"][0]["density"];
    assert_eq!(density["lines"], 100);
    for kind in ["preemptive", "atomic", "cooperative"] {
        let points = density[kind].as_f64().unwrap();
        assert_eq!(density[format!("{kind}_density")], points / 100.0, "{kind}");
    }
    assert_eq!(density["cooperative"], 1);
    let text = folder.run("yields one.rr --loc 100").ends_with(1);
    assert!(text.text().contains("  cooperative        1  0.0100 a line\n"), "{}", text.text());
}

/// Lines are counted in the files that the trace names; empty ones are none.
#[test]
fn density_by_lines_of_the_source() {
    let source = "class Buf {\n\n  int x;\n  \n  int y;\n}\n";
    let folder = folder().with_text("src/a/Buf.java", source).with_text("src/Other.java", "x\n");
    let run = folder.run("yields one.rr --source src --format json").ends_with(1).json();
    assert_eq!(run["traces"][0]["density"]["lines"], 4);
    assert_eq!(run["traces"][0]["density"]["cooperative_density"], 0.25);

    std::fs::create_dir(folder.path("empty")).unwrap();
    let run = folder.run("yields one.rr --source empty").ends_with(1);
    assert!(run.err.contains("1 of 1 source files are not below empty"), "{}", run.err);
    assert!(!run.text().contains("a line"), "{}", run.text());
    folder.run("yields one.rr --source src --loc 3").ends_with(2);
}

/// A join yields to everybody, or to the joined thread only.
#[test]
fn a_join_may_yield_to_the_child_only() {
    let words = "T1|fork(T2)|1 T1|r(x)|2 T2|w(y)|3 T3|w(x)|4 T1|join(T2)|5 T1|r(x)|6";
    let folder = Folder::new().with("join.std", words);
    folder.run("yields join.std").ends_with(0);
    let run = folder.run("yields join.std --join-yields-to-child --format patch").ends_with(1);
    assert_eq!(run.text(), "6: yield needed before r(x)\n");
    folder.run("check join.std --property cooperability").ends_with(0);
    folder.run("check join.std --property cooperability --join-yields-to-child").ends_with(1);
}

/// Yields where they are missing make the trace cooperable.
#[test]
fn with_the_yields_that_are_missing_the_trace_is_cooperable() {
    let folder = Folder::new().with("bad.std", "T1|w(x)|1 T2|w(x)|2 T1|w(x)|3 T2|w(x)|4");
    let missing = folder.run("yields bad.std --format json").ends_with(1).json();
    let before: Vec<u64> = missing["traces"][0]["yields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|y| y.as_u64().unwrap())
        .collect();
    let mut lines = String::new();
    for (number, line) in (1..).zip(folder.text("bad.std").lines()) {
        if before.contains(&number) {
            lines += &format!("{}|yield|0\n", line.split('|').next().unwrap());
        }
        lines += &format!("{line}\n");
    }
    let folder = folder.with_text("good.std", &lines);
    folder.run("check good.std --property cooperability").ends_with(0);
    folder.run("yields good.std").ends_with(0);
}
