//! What every command has in common, and the small ones: stats, demo, completions, man, help.

use crate::{CLEAN, Folder, VIOLATION};

const COMMANDS: [&str; 12] = [
    "check",
    "run",
    "record",
    "explain",
    "stats",
    "convert",
    "generate",
    "yields",
    "demo",
    "doctor",
    "completions",
    "man",
];

#[test]
fn every_help_has_an_example() {
    let folder = Folder::new();
    for command in COMMANDS {
        let help = folder.run(&format!("{command} --help")).ends_with(0);
        let (_, examples) =
            help.text().split_once("\nExample").unwrap_or_else(|| panic!("{command}"));
        assert!(examples.contains(&format!("paceline {command}")), "{command}");
        assert!(help.text().lines().all(|line| line.chars().count() <= 100), "{command}");
    }
    let help = folder.run("--help").ends_with(0);
    assert!(help.text().contains("\nExamples:\n"));
    for command in COMMANDS {
        assert!(help.text().contains(&format!("\n  {command} ")), "{command}");
    }
}

/// What a page of help shows as an example can be typed in.
#[test]
fn the_examples_of_generate_and_check_work() {
    let folder = Folder::new();
    let help = folder.run("generate --help").ends_with(0);
    let examples = help.text().lines().filter_map(|line| line.strip_prefix("  paceline "));
    for example in examples.map(|line| line.replace("10000000", "2000")) {
        folder.run(&example).ends_with(0);
    }
    assert_eq!(folder.files(), ["bad.pace", "trace.std"]);
    folder.run("check trace.std --witness serial.std").ends_with(0);
}

#[test]
fn stats_as_text() {
    let run = Folder::new().with("bad.std", VIOLATION).run("stats bad.std").ends_with(0);
    insta::assert_snapshot!(run.text());
}

#[test]
fn stats_as_json() {
    let run = Folder::new().with("bad.std", VIOLATION).run("stats --format json bad.std");
    insta::assert_snapshot!(serde_json::to_string_pretty(&run.ends_with(0).json()).unwrap());
}

#[test]
fn stats_of_an_incomplete_trace() {
    let folder = Folder::new().with("bad.std", "T1|w(x)|1 T1|rel(l)|2");
    let run = folder.run("stats --lenient bad.std").ends_with(3);
    assert!(run.err.contains("1 malformed event was skipped"), "{}", run.err);
    assert_eq!(folder.run("--quiet stats --lenient bad.std").ends_with(3).err, "");
}

#[test]
fn the_demo_finds_its_bug() {
    let run = Folder::new().run("demo").ends_with(1);
    assert!(run.text().contains("The set now holds [42, 42]."));
    assert!(run.text().contains("violation: Set.add is not atomic\n"));
    assert!(run.text().contains("begin(Set.add) demo.rs:"));
    assert!(run.text().contains("The cure: "));
    assert!(run.text().lines().all(|line| line.chars().count() <= 80), "{}", run.text());
}

#[test]
fn the_demo_writes_a_program_but_over_no_other() {
    let folder = Folder::new();
    let run = folder.run("demo --write Bank.java").ends_with(0);
    assert_eq!(run.text(), "Next: paceline run -- java Bank.java\n");
    assert!(folder.text("Bank.java").contains("class Bank"));
    assert!(folder.run("demo --write Bank.java").ends_with(2).err.contains("cannot write"));
}

#[test]
fn who_forgets_two_dashes_sees_what_to_type() {
    let run = Folder::new().run("run java Hello").ends_with(2);
    assert!(run.err.contains("\n  paceline run -- java Hello\n"), "{}", run.err);
}

#[test]
fn completions_for_every_shell() {
    let folder = Folder::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = folder.run(&format!("completions {shell}")).ends_with(0);
        for word in COMMANDS.into_iter().chain(["witness", "violation-at"]) {
            assert!(script.text().contains(word), "{shell}: {word}");
        }
    }
    for shell in ["bash", "fish", "zsh"] {
        let script = folder.run(&format!("completions {shell}")).ends_with(0);
        assert!(script.text().contains("aerodrome-basic"), "{shell} knows values too");
    }
    folder.run("completions dos").ends_with(2);
}

#[test]
fn manual_pages() {
    let folder = Folder::new();
    assert!(folder.run("man").ends_with(0).text().contains(".TH paceline 1"));
    folder.run("man --dir pages/man1").ends_with(0);
    for command in COMMANDS {
        let page = folder.bytes(&format!("pages/man1/paceline-{command}.1"));
        let page = String::from_utf8(page).unwrap();
        assert!(page.contains(&format!(".TH paceline-{command} 1")), "{command}");
        assert!(page.contains("Example"), "{command}");
    }
    assert!(folder.path("pages/man1/paceline.1").exists());
}

#[test]
fn colour_when_asked_for() {
    let folder = Folder::new().with("bad.std", VIOLATION);
    let plain = folder.run("check bad.std");
    let never = folder.run("check --color never bad.std");
    let always = folder.run("--color always check bad.std").ends_with(1);
    assert!(!plain.text().contains('\x1b'));
    assert_eq!(never.stable(), plain.stable());
    assert!(always.text().starts_with('\x1b'), "{:?}", always.text());
    let stripped = anstream::adapter::strip_str(always.text()).to_string();
    assert_eq!(crate::Run { out: stripped.into_bytes(), ..always }.stable(), plain.stable());
    let error = folder.run("--color always check missing.std").ends_with(2);
    assert!(error.err.starts_with('\x1b'), "{:?}", error.err);
}

#[test]
fn quiet_keeps_notes_to_itself_but_not_results() {
    let folder = Folder::new().with("good.std", CLEAN);
    let loud = folder.run("stats --except nonsense good.std").ends_with(0);
    let quiet = folder.run("stats --quiet --except nonsense good.std").ends_with(0);
    assert!(loud.err.contains("the pattern `nonsense` matches no method"), "{}", loud.err);
    assert_eq!(quiet.err, "");
    assert_eq!(loud.text(), quiet.text());
    let note = |line: &str| folder.run(line).ends_with(0).text().contains("note: ");
    assert!(note("check --except nonsense good.std"));
    assert!(!note("check --quiet --except nonsense good.std"));
    let errors = folder.run("--quiet check missing.std").ends_with(2);
    assert!(errors.err.starts_with("error: missing.std: "));
}
