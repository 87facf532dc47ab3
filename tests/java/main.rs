//! Java programs under observation, by the real command, on every JDK of the machine.
//!
//! `tests/programs/java/pass` has programs whose atomic methods are atomic in every schedule: no
//! finding, in any run. `fail` has buggy ones with a forced interleaving: the bug is found, on the
//! program's own data. Both print, fail and exit exactly as without observation.
//!
//! The comments at the head of a program say what is expected of it (`Program`).
//! `PACELINE_JAVA_RUNS=50` makes 50 runs of each instead of one.

#![allow(clippy::unwrap_used, reason = "what fails while a test is set up fails the test")]

mod alone;
mod buffers;
mod commands;
mod jdk;
mod maven;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use jdk::{Jdk, Output, PROGRAMS, finish, jdks};
use paceline_report::model::{Finding, Report, Severity};

#[test]
fn correct_programs_have_no_findings() {
    each_program(&programs("pass"), runs(1), no_findings);
}

#[test]
fn methods_as_long_as_they_may_be_still_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("LongMethods.java");
    fs::write(&path, long_methods()).unwrap();
    each_program(&[Program::read(path)], 1, no_findings);
}

fn no_findings(program: &Program, _: ExitStatus, report: &Report) -> Vec<String> {
    let mut wrong = Vec::new();
    if report.input.events == 0 {
        wrong.push("nothing was observed".to_owned());
    }
    if let Some(gap) = program.gap() {
        return [wrong, only_warned_of(gap, report)].concat();
    }
    let alarms = report.findings.iter().map(|finding| format!("false alarm: {}", show(finding)));
    wrong.extend(alarms.take(3));
    wrong.extend(verdict_problem(program, report));
    wrong
}

/// What a program uses is not understood: the report says so, and finds nothing for certain.
fn only_warned_of(gap: &str, report: &Report) -> Vec<String> {
    let mut wrong = Vec::new();
    if !report.notes.iter().any(|note| note.to_string().contains(gap)) {
        wrong.push(format!("no note about {gap}, but {:?}", report.notes));
    }
    let certain = report.findings.iter().filter(|finding| finding.severity == Severity::Violation);
    wrong.extend(certain.map(|finding| format!("not certain: {}", show(finding))).take(3));
    wrong
}

/// A program with methods near 64 KB: there is no room in them for events, and their jumps are far.
fn long_methods() -> String {
    let arrays = "cells[1] += cells[0];".repeat(4000);
    let fields = "field += by;".repeat(5500);
    let cases: String =
        (0..2500).map(|i| format!("case {i}: field += cells[{}]; break;", i % 4)).collect();
    format!(
        "// atomic: LongMethods.arrays, LongMethods.fields, LongMethods.choose
        final class LongMethods {{
            private final int[] cells = {{1, 2, 3, 4}};
            private int field;
            synchronized void arrays() {{ {arrays} }}
            synchronized void fields(int by) {{ while (by > 0) {{ if (by == 2) {{ {fields} }} by--; }} }}
            synchronized void choose(int which) {{ switch (which) {{ {cases} }} }}
            public static void main(String[] args) throws InterruptedException {{
                LongMethods it = new LongMethods();
                Workers.all(2, me -> {{
                    it.arrays();
                    it.fields(3);
                    for (int i = 0; i < 2600; i += 100) {{ it.choose(i); }}
                }});
                System.out.println(it.cells[1] + \" \" + it.field);
            }}
        }}"
    )
}

#[test]
fn bugs_are_found_when_they_happen() {
    each_program(&programs("fail"), runs(1), |program, status, report| {
        let expected = program.expected();
        let mut wrong = Vec::new();
        if let Some(gap) = program.gap() {
            return only_warned_of(gap, report);
        }
        if !report.findings.iter().any(|finding| program.is_expected(finding)) {
            let found: Vec<_> = report.findings.iter().map(show).collect();
            wrong.push(format!(
                "{expected:?} not found in {} events, but {found:?}",
                report.input.events
            ));
        }
        if status.code() != Some(1) {
            wrong.push(format!("{status} in spite of a finding"));
        }
        wrong
    });
}

fn runs(usual: usize) -> usize {
    let asked = std::env::var("PACELINE_JAVA_RUNS").ok();
    asked.map_or(usual, |runs| runs.parse().expect("PACELINE_JAVA_RUNS is a number"))
}

/// Runs programs on all JDKs and panics with all that is wrong.
fn each_program(
    programs: &[Program],
    runs: usize,
    judge: impl Fn(&Program, ExitStatus, &Report) -> Vec<String>,
) {
    let mut wrong = String::new();
    for jdk in jdks(programs.len()) {
        let programs: Vec<_> = programs.iter().filter(|it| it.needs() <= jdk.version).collect();
        let classes = compile(&jdk, &programs);
        let plain = |it: &&Program| finish(&mut java(&jdk, classes.path(), it));
        let plain: Vec<_> = programs.iter().map(plain).collect();
        for run in 1..=runs {
            let before = wrong.len();
            for (program, plain) in programs.iter().zip(&plain) {
                for problem in observe(&jdk, classes.path(), program, plain, &judge) {
                    wrong += &format!("{} on JDK {}: {problem}\n", program.name, jdk.version);
                }
            }
            if runs > 1 {
                show_progress(run, programs.len(), jdk.version, &wrong[before..]);
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// Says how far it is, because many runs take their time; and not by `eprintln!`, which is only shown
/// of tests that fail.
fn show_progress(run: usize, programs: usize, version: u32, wrong: &str) {
    let text = format!("run {run} of {programs} programs on JDK {version} is done\n{wrong}");
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// One observed run: what is wrong with it.
fn observe(
    jdk: &Jdk,
    classes: &Path,
    program: &Program,
    plain: &Output,
    judge: &impl Fn(&Program, ExitStatus, &Report) -> Vec<String>,
) -> Vec<String> {
    let report = tempfile::NamedTempFile::new().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
    command.args(["run", "--quiet", "--format", "json", "--output"]).arg(report.path());
    command.args(program.options()).arg("--");
    let java = java(jdk, classes, program);
    command.arg(java.get_program()).args(java.get_args());
    let observed = finish(&mut command);
    let mut wrong = different(plain, &observed);
    let text = fs::read_to_string(report.path()).unwrap();
    let Ok(read) = serde_json::from_str::<Report>(text.trim()) else {
        wrong.push(format!("{}, no report but {text:?}", observed.status));
        return wrong;
    };
    if read.incomplete {
        wrong.push(format!("incomplete: {:?}", read.notes));
    }
    let quiet = read.findings.is_empty() && program.gap().is_none();
    if quiet && observed.status != plain.status {
        wrong.push(format!("{} instead of {}", observed.status, plain.status));
    }
    wrong.extend(judge(program, observed.status, &read));
    wrong
}

/// What a program has printed that is not the same.
fn different(plain: &Output, observed: &Output) -> Vec<String> {
    let err = but_full_stacks(&observed.err);
    let pairs = [("prints", &plain.out, &observed.out), ("complains", &plain.err, &err)];
    let differs = pairs.into_iter().filter(|(_, plain, observed)| plain != observed);
    differs
        .map(|(what, plain, observed)| format!("{what} {observed:?} instead of {plain:?}"))
        .collect()
}

/// A property that does not hold although there is no finding.
fn verdict_problem(program: &Program, report: &Report) -> Option<String> {
    let verdicts = &report.verdicts;
    let asked = program.property();
    let holds = |name: &str| verdicts.get(name).is_some_and(|verdict| verdict.holds);
    let missed = asked.split(',').find(|name| !holds(name));
    missed.map(|name| format!("{name} does not hold, or was not decided"))
}

fn show(finding: &Finding) -> String {
    let edges: Vec<_> = finding.cycle.iter().map(|it| it.edge.to.operation()).collect();
    format!("{} {}: {} {edges:?}", finding.severity, finding.rule, finding.title)
}

/// A program and what its head says, a line for each, with commas between values:
/// `atomic`, `except`, `deterministic`, `yield` (patterns), `property`, `needs` (the oldest JDK),
/// `expect` (`violation LABEL`, or a rule and perhaps a label), `on` (what the cycle is about),
/// `gap` (what it uses that is not modelled: a bug is missed, and races are warnings. The test fails
/// once there is a model, so that the line goes).
struct Program {
    name: String,
    path: PathBuf,
    head: Vec<(String, String)>,
}

impl Program {
    fn read(path: PathBuf) -> Program {
        let text = fs::read_to_string(&path).unwrap();
        let comments = text.lines().map_while(|line| line.strip_prefix("// "));
        let entries = comments.filter_map(|line| line.split_once(": "));
        let known = |key: &str| {
            let keys = "atomic except deterministic yield property needs expect on gap";
            keys.split(' ').any(|known| known == key)
        };
        let head = entries.filter(|(key, _)| known(key));
        let head = head.map(|(key, value)| (key.to_owned(), value.trim().to_owned())).collect();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        Program { name, path, head }
    }

    fn values<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        let lines = self.head.iter().filter(move |(is, _)| is == key);
        lines.flat_map(|(_, value)| value.split(',')).map(str::trim)
    }

    fn gap(&self) -> Option<&str> {
        self.values("gap").next()
    }

    fn needs(&self) -> u32 {
        self.values("needs").next().map_or(0, |version| version.parse().unwrap())
    }

    /// Correct programs are free of races too, unless they say that they are not.
    fn property(&self) -> String {
        let asked: Vec<_> = self.values("property").collect();
        match (asked.is_empty(), self.expected().is_empty()) {
            (false, _) => asked.join(","),
            (true, true) => "atomicity,race".to_owned(),
            (true, false) => "atomicity".to_owned(),
        }
    }

    fn options(&self) -> Vec<String> {
        let mut options = vec!["--property".to_owned(), self.property()];
        for key in ["atomic", "except", "deterministic", "yield"] {
            for value in self.values(key) {
                options.extend([format!("--{key}"), value.to_owned()]);
            }
        }
        options
    }

    fn expected(&self) -> String {
        self.values("expect").collect()
    }

    fn is_expected(&self, finding: &Finding) -> bool {
        let expected = self.expected();
        let (rule, label) = expected.split_once(' ').unwrap_or((&expected, ""));
        let rule = if rule == "violation" { "atomicity" } else { rule };
        let right_rule =
            finding.rule.as_str().starts_with(rule) && finding.severity == Severity::Violation;
        let blamed =
            finding.blame.as_ref().and_then(|blame| blame.label.text()).unwrap_or_default();
        let blamed = blamed.split('(').next().unwrap_or_default();
        right_rule && (label.is_empty() || blamed == label) && self.is_about_its_data(finding)
    }

    /// Every edge of the cycle is on something that the program names.
    fn is_about_its_data(&self, finding: &Finding) -> bool {
        let edges = finding.cycle.iter().flat_map(|it| [&it.edge.from, &it.edge.to]);
        let targets = edges.filter_map(|event| event.target.as_ref().map(|target| &*target.name));
        let named = |target: &str| {
            let target = without_numbers(target);
            self.values("on").any(|name| target.contains(name))
        };
        self.values("on").next().is_none() || targets.into_iter().all(named)
    }
}

/// `Account#12.balance` is `Account.balance`, of whichever object.
fn without_numbers(target: &str) -> String {
    let mut parts = target.split('#');
    let first = parts.next().unwrap_or_default().to_owned();
    let digit = |c: char| c.is_ascii_digit();
    parts.fold(first, |text, part| text + part.trim_start_matches(digit))
}

fn programs(folder: &str) -> Vec<Program> {
    let files = fs::read_dir(Path::new(PROGRAMS).join(folder)).unwrap();
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(Program::read).collect()
}

/// What a program complains of, without what the VM itself says when a stack is full within one of
/// our methods. Whether it is depends on the depth at which it happens (docs/jvm.md, Limits).
fn but_full_stacks(text: &str) -> String {
    const FULL: &str = "Potentially dangerous stack overflow in ReservedStackAccess";
    text.split_inclusive('\n').filter(|line| !line.contains(FULL)).collect()
}

/// Compiles programs, and what all of them use, into a new folder.
fn compile(jdk: &Jdk, programs: &[&Program]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let shared = fs::read_dir(Path::new(PROGRAMS).join("lib")).unwrap();
    let shared = shared.map(|file| file.unwrap().path());
    let programs = programs.iter().map(|program| program.path.clone());
    jdk.javac(folder.path(), shared.chain(programs));
    folder
}

fn java(jdk: &Jdk, classes: &Path, program: &Program) -> Command {
    let mut command = Command::new(jdk.home.join("bin/java"));
    command.args(["-Xverify:all", "-cp"]).arg(classes).arg(&program.name);
    command
}
