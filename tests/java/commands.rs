//! What can be said on the command line, in `paceline.toml` and in the program, and how everything
//! ends: on one program, `commands/Declared.java`, with two methods that are not atomic.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use paceline_report::model::{Report, Severity};
use tempfile::TempDir;

use super::jdk::{Jdk, Output, PROGRAMS, finish, jdks, wait};

/// The classes of `commands/`, compiled once for each test, and where the commands are run.
struct Setup {
    jdk: Jdk,
    folder: TempDir,
}

/// The oldest JDK; nothing if there is none, which was printed.
fn setup() -> Option<Setup> {
    let jdk = jdks(1).into_iter().next()?;
    let folder = tempfile::tempdir().unwrap();
    let sources = ["lib", "commands"].map(|name| Path::new(PROGRAMS).join(name));
    let sources = sources.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    jdk.javac(folder.path(), sources.map(|file| file.unwrap().path()));
    Some(Setup { jdk, folder })
}

impl Setup {
    /// `paceline` with these words, then the program with its own.
    fn command(&self, words: &str, java: &str, program: &str) -> Command {
        let mut command = self.observed(words, java);
        command.arg("Declared").args(Some(program).filter(|it| !it.is_empty()));
        command
    }

    /// The same without a class to run.
    fn observed(&self, words: &str, java: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
        command.current_dir(self.folder.path()).args(words.split(' ')).arg("--");
        command.arg(self.jdk.home.join("bin/java")).args(["-Xverify:all", "-cp", "."]);
        command.args(java.split(' ').filter(|word| !word.is_empty()));
        command
    }

    fn run(&self, words: &str, program: &str) -> Output {
        finish(&mut self.command(words, "", program))
    }

    /// Runs `paceline run` with more words, and gives its exit status and reports.
    fn reports(&self, words: &str, program: &str) -> (Option<i32>, Vec<Report>) {
        let output =
            self.run(&format!("run --quiet --format json --output r.json{words}"), program);
        (output.status.code(), self.read("r.json"))
    }

    fn read(&self, name: &str) -> Vec<Report> {
        let text = fs::read_to_string(self.folder.path().join(name)).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn refuted(&self, words: &str) -> Vec<String> {
        refuted(&self.reports(words, "").1)
    }

    fn toml(&self, text: &str) {
        fs::write(self.folder.path().join("paceline.toml"), text).unwrap();
    }
}

/// The methods that were refuted.
fn refuted(reports: &[Report]) -> Vec<String> {
    let verdicts = reports.iter().filter_map(|report| report.verdicts.atomicity());
    let labels = verdicts.flat_map(|it| it.refuted.iter().filter_map(|block| block.label.text()));
    labels.map(str::to_owned).collect::<BTreeSet<_>>().into_iter().collect()
}

const BOTH: [&str; 2] = ["Declared.marked", "Declared.plain"];

#[test]
fn methods_are_declared_atomic_by_annotation_or_pattern() {
    let Some(setup) = setup() else { return };
    let ours = " --except Between.* --except Workers.*";
    assert_eq!(setup.refuted(ours), BOTH);
    assert_eq!(setup.refuted(" --atomic-annotation Atomic"), [BOTH[0]]);
    assert_eq!(setup.refuted(" --atomic-annotation Declared$Atomic --atomic *.plain"), BOTH);
    assert_eq!(setup.refuted(" --atomic Declared.pl*"), [BOTH[1]]);

    setup.toml("atomic-annotation = [\"Atomic\"]\n");
    assert_eq!(setup.refuted(""), [BOTH[0]]);
    setup.toml("atomic = [\"Declared.*\"]\nexcept = [\"*.marked\", \"*.main\"]\n");
    assert_eq!(setup.refuted(""), [BOTH[1]]);
    assert_eq!(setup.refuted(" --except *.main"), BOTH);
}

#[test]
fn the_set_of_atomic_methods_shrinks_until_none_is_refuted() {
    let Some(setup) = setup() else { return };
    let (status, reports) = setup.reports(" --shrink --except Between.* --except Workers.*", "");
    assert_eq!(status, Some(1));
    // The findings are those of the runs that made them.
    assert_eq!(refuted(&reports), BOTH);
    let (last, before) = reports.split_last().unwrap();
    assert!(before.iter().all(|report| !report.findings.is_empty()));
    assert!(last.findings.is_empty());
    let shrunk = last.verdicts.atomicity().and_then(|it| it.shrunk.clone()).unwrap();
    assert_eq!(shrunk.runs, reports.len() as u64);
    assert_eq!(shrunk.not_atomic, BOTH);
    assert!(shrunk.suspects.is_empty());

    let text = setup.run("run --shrink --except Between.* --except Workers.*", "").err;
    assert!(
        text.contains("\n2 methods are not atomic:\n  Declared.marked\n  Declared.plain\n"),
        "{text}"
    );
}

#[test]
fn what_throttled_threads_do_is_recorded_in_part_unless_asked_otherwise() {
    let Some(setup) = setup() else { return };
    let of = |words: &str| {
        let words = format!("run --quiet --format json --output r.json{words}");
        let output = finish(setup.observed(&words, "").arg("Throttled"));
        assert_eq!(output.status.code(), Some(0));
        let report = setup.read("r.json").remove(0);
        let is_throttled =
            report.notes.iter().any(|note| note.to_string().contains("throttled for up to 0.4 s"));
        (is_throttled, report.input.events)
    };
    let (is_throttled, part) = of("");
    assert!(is_throttled && (8_192..200_000).contains(&part), "{part} events");
    let (is_throttled, all) = of(" --unlimited");
    assert!(!is_throttled && all >= 200_000, "{all} events");
}

/// A lost update that did not happen is predicted. It is a warning: not all accesses are recorded.
#[test]
fn what_could_have_happened_is_predicted() {
    let Some(setup) = setup() else { return };
    let words = "run --quiet --predict --atomic Reset.add --format json --output r.json";
    // Nothing forces the order of the two threads, or it would be no prediction: a run in which the
    // reset came too early shows nothing, and is repeated.
    let run = || {
        let status = finish(setup.observed(words, "").arg("Reset")).status.code();
        let report = setup.read("r.json").remove(0);
        (status == Some(1) && refuted(std::slice::from_ref(&report)).is_empty()).then_some(report)
    };
    let report = (0..5).find_map(|_| run()).expect("a run in which the reset came late");
    let [finding] = report.findings.as_slice() else { panic!("{:?}", report.findings) };
    assert_eq!(finding.title, "Reset.add is not atomic in another order of this run");
    assert_eq!(finding.severity, Severity::Warning);
    let remark = finding.remark().unwrap();
    for part in ["did not happen in this run", "some accesses were not recorded"] {
        assert!(remark.contains(part), "{remark}");
    }
}

#[test]
fn a_recording_has_the_verdict_of_the_run() {
    let Some(setup) = setup() else { return };
    for options in [" --except Between.* --except Workers.*", " --atomic Declared.plain"] {
        let live = setup.reports(options, "");
        assert_eq!(setup.recorded(options, ""), verdict(&live), "{options}, selected before");
        assert_eq!(setup.recorded(" --complete", options), verdict(&live), "{options}, after");
    }
}

/// Exit status, methods that were refuted, and findings.
type Verdict = (Option<i32>, Vec<String>, BTreeSet<(Severity, String)>);

fn verdict((status, reports): &(Option<i32>, Vec<Report>)) -> Verdict {
    let findings = reports.iter().flat_map(|report| &report.findings);
    let findings = findings.map(|it| (it.severity, it.title.clone())).collect();
    (*status, refuted(reports), findings)
}

impl Setup {
    /// Records with some words, and checks with others.
    fn recorded(&self, record: &str, check: &str) -> Verdict {
        let recorded = self.run(&format!("--quiet record --output t.pace{record}"), "");
        assert_eq!((recorded.status.code(), recorded.err.as_str()), (Some(0), ""));
        let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
        command.current_dir(self.folder.path());
        command.args(["check", "--quiet", "--format", "json", "--output", "c.json", "t.pace"]);
        command.args(check.split(' ').filter(|word| !word.is_empty()));
        let status = finish(&mut command).status.code();
        verdict(&(status, self.read("c.json")))
    }
}

#[test]
fn the_exit_status_tells_findings_first_then_the_program() {
    let Some(setup) = setup() else { return };
    let clean = " --atomic Declared.get,Declared.set --atomic Declared.set";
    for (options, program, expected) in [
        ("", "", 1),
        (" --exitcode 9", "", 9),
        (clean, "", 0),
        (clean, "throws", 1),
        (clean, "exits", 5),
        ("", "exits", 1),
        (" --atomic none", "", 4),
        (" --atomic none", "exits", 5),
        (" --instrument no.such.package", "", 4),
    ] {
        let (status, reports) = setup.reports(options, program);
        assert_eq!(status, Some(expected), "{options} {program}");
        assert!(reports.iter().all(|report| !report.incomplete), "{options} {program}");
    }
}

#[test]
fn a_program_that_is_killed_is_analysed_as_far_as_it_went() {
    let Some(setup) = setup() else { return };
    let (status, reports) = setup.reports("", "is killed");
    assert_eq!(status, Some(3));
    assert!(reports[0].incomplete);
    let found = refuted(&reports);
    assert!(BOTH.iter().all(|label| found.iter().any(|it| it == label)), "{found:?}");
    let (status, _) = setup.reports(" --atomic Declared.set", "is killed");
    assert_eq!(status, Some(128 + 9));
}

/// What makes races uncertain is reported before the end, which a killed program does not reach.
#[test]
fn a_program_that_is_killed_has_reported_what_was_not_observed() {
    let Some(setup) = setup() else { return };
    let (_, reports) = setup.reports(" --ignore Between", "is killed");
    let unmodelled = reports[0].input.recording.as_ref().map(|it| it.unmodelled.len());
    assert_eq!(unmodelled, Some(1));
}

#[test]
fn input_reaches_the_program() {
    let Some(setup) = setup() else { return };
    let mut command = setup.command("run --quiet --output report.txt", "", "reads");
    let mut child = start(&mut command);
    child.stdin.take().unwrap().write_all("first\nsecond ä".as_bytes()).unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert_eq!(lines.nth(1).as_deref(), Some("first"));
    assert_eq!(lines.next().as_deref(), Some("second ä"));
    assert_eq!(wait(child, &command).code(), Some(1));
}

#[test]
fn an_interrupt_ends_the_program_and_not_the_report() {
    let Some(setup) = setup() else { return };
    for (options, expected) in [("", 1), (" --atomic Declared.set", 128 + 2)] {
        let words = format!("run --quiet --format json --output r.json{options}");
        let mut command = setup.command(&words, "", "waits");
        let mut child = start(&mut command);
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.map_while(Result::ok).any(|line| line == "ready"));
        let interrupt = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(interrupt.unwrap().success());
        assert_eq!(wait(child, &command).code(), Some(expected));
        let reports = setup.read("r.json");
        assert!(!reports[0].incomplete);
        assert!(reports[0].input.events > 0);
    }
}

fn start(command: &mut Command) -> Child {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn another_agent_may_be_beside_ours() {
    for jdk in jdks(1) {
        let Some(setup) = setup() else { return };
        let setup = Setup { jdk, ..setup };
        let manifest =
            "Premain-Class: Beside\nCan-Retransform-Classes: true\nCan-Redefine-Classes: true\n";
        fs::write(setup.folder.path().join("manifest"), manifest).unwrap();
        let mut jar = Command::new(setup.jdk.home.join("bin/jar"));
        jar.current_dir(setup.folder.path());
        jar.args(["cfm", "beside.jar", "manifest", "Beside.class", "Beside$Looking.class"]);
        assert!(finish(&mut jar).status.success());

        let java = setup.jdk.home.join("bin/java");
        let mut plain = Command::new(&java);
        plain.current_dir(setup.folder.path());
        plain.args(["-javaagent:beside.jar", "-Xverify:all", "-cp", ".", "Declared"]);
        let plain = finish(&mut plain);
        assert!(plain.out.starts_with("Declared was seen 4 times\n"), "{}", plain.out);
        let words =
            "run --quiet --format json --output r.json --except Between.* --except Workers.*";
        let observed = finish(&mut setup.command(words, "-javaagent:beside.jar", ""));
        assert_eq!(observed.out, plain.out, "{}", observed.err);
        assert_eq!(observed.status.code(), Some(1));
        assert_eq!(refuted(&setup.read("r.json")), BOTH);
    }
}

#[test]
fn modules_are_observed_like_other_code() {
    for jdk in jdks(1) {
        let folder = tempfile::tempdir().unwrap();
        let sources = Path::new(PROGRAMS).join("modules");
        let mut javac = Command::new(jdk.home.join("bin/javac"));
        javac.arg("-d").arg(folder.path()).arg("--module-source-path").arg(&sources);
        let compiled = finish(javac.args(["--module", "app"]));
        assert!(compiled.status.success(), "{}", compiled.err);
        let setup = Setup { jdk, folder };
        let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
        command.current_dir(setup.folder.path());
        command.args(["run", "--quiet", "--format", "json", "--output", "r.json", "--"]);
        command.arg(setup.jdk.home.join("bin/java"));
        let output = finish(command.args(["-Xverify:all", "-p", ".", "-m", "app/app.Main"]));
        assert_eq!((output.out.as_str(), output.err.as_str()), ("the same\n", ""));
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(refuted(&setup.read("r.json")), ["lib.Register.take"]);
    }
}
