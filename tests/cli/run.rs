//! `run` and `record`: a real program, which is this test program in another role, with real
//! threads, a real socket and a real stream.

use std::os::unix::net::UnixStream;
use std::sync::{Barrier, Mutex};

use paceline_wire::{Hello, Kind, NoteKind, Recorder, SiteNo, SiteText, Target, ThreadRecorder};
use serde_json::Value;

use crate::{Folder, Run};

/// What the program does besides.
const ROLE: &str = "PACELINE_TEST_ROLE";

/// Under `paceline run`, this is the program; otherwise there is nothing to do.
#[test]
fn program() {
    let Some(file) = std::env::var_os("PACELINE_RECORDER") else { return };
    let role = std::env::var(ROLE).unwrap_or_default();
    let options = std::fs::read_to_string(file).unwrap();
    if role == "waits" {
        println!("ready");
        std::thread::sleep(std::time::Duration::from_secs(60));
    }
    if role != "silent" {
        record(&options, &role);
    }
    println!("the program's own words");
    std::process::exit(if role == "fails" { 7 } else { 0 });
}

struct Sites {
    begin: SiteNo,
    end: SiteNo,
    acquire: SiteNo,
    release: SiteNo,
    read: SiteNo,
    write: SiteNo,
}

fn record(options: &str, role: &str) {
    let socket = options.lines().find_map(|line| line.strip_prefix("socket ")).unwrap();
    let hello = Hello {
        pid: std::process::id(),
        all_methods: true,
        front_end: b"rust",
        version: b"1",
        command: b"program",
        ..Hello::default()
    };
    let recorder = Recorder::new(UnixStream::connect(socket).unwrap(), &hello).unwrap();
    recorder.note(NoteKind::Observed, b"methods", 2);
    if role == "unmodelled" {
        recorder.note(NoteKind::Unmodelled, b"Phaser", 1);
    }
    if role != "idle" {
        work(&recorder, role);
    }
    if role == "talks on" {
        talk_on(&recorder);
    }
    if role == "killed" {
        recorder.flush().unwrap();
        std::process::abort();
    }
    // Whether the other end still listens does not matter to the program.
    let _ = recorder.finish();
}

/// More than a socket has room for.
fn talk_on(recorder: &Recorder) {
    let pause = recorder.site(&SiteText::new(Kind::Yield)).unwrap();
    let mut me = recorder.thread(b"talker").unwrap();
    (0..1_000_000).for_each(|_| me.mark(pause));
}

/// Two threads add to a set: each looks first and then inserts, and gives up the lock in between.
fn work(recorder: &Recorder, role: &str) {
    let site = |kind, target: &'static [u8], line| {
        let text =
            SiteText { target, file: b"set.rs", method: b"add", line, ..SiteText::new(kind) };
        recorder.site(&text).unwrap()
    };
    let sites = Sites {
        begin: site(Kind::Begin, b"Set.add", 1),
        end: site(Kind::End, b"Set.add", 9),
        acquire: site(Kind::Acquire, b"", 2),
        release: site(Kind::Release, b"", 4),
        read: site(Kind::Read, b"Set.numbers", 3),
        write: site(Kind::Write, b"Set.numbers", 6),
    };
    let (fork, join) = (site(Kind::Fork, b"", 20), site(Kind::Join, b"", 21));
    let set = recorder.object(b"Set").unwrap();
    let (numbers, both_looked) = (Mutex::new(0), Barrier::new(2));
    let add = |me| add(me, &sites, set, &numbers, (role != "serial").then_some(&both_looked));
    let mut main = recorder.thread(b"main").unwrap();
    std::thread::scope(|scope| {
        for name in ["one", "two"] {
            let child = main.fork(fork, name.as_bytes()).unwrap();
            let id = child.id();
            let handle = scope.spawn(|| add(child));
            if role == "serial" {
                handle.join().unwrap();
                main.join(join, id);
            }
        }
    });
}

fn add(
    mut me: ThreadRecorder,
    sites: &Sites,
    set: u64,
    numbers: &Mutex<u32>,
    both_looked: Option<&Barrier>,
) {
    let set = Target::object(set);
    me.mark(sites.begin);
    let guard = numbers.lock().unwrap();
    me.stamped(sites.acquire, set, || ());
    let seen = me.stamped(sites.read, set, || *guard);
    me.stamped(sites.release, set, || ());
    drop(guard);
    both_looked.map(Barrier::wait);
    let mut guard = numbers.lock().unwrap();
    me.stamped(sites.acquire, set, || ());
    me.stamped(sites.write, set, || *guard = seen + 1);
    me.stamped(sites.release, set, || ());
    drop(guard);
    me.mark(sites.end);
}

/// The command that runs this program.
fn program_line() -> String {
    let program = std::env::current_exe().unwrap();
    format!("{} --exact run::program --nocapture --quiet", program.to_str().unwrap())
}

/// Runs the program in this role under `paceline` with these options.
fn run_as(folder: &Folder, role: &str, options: &str) -> Run {
    folder.run_in(&format!("{options} -- {}", program_line()), &[(ROLE, role)])
}

fn run(role: &str, options: &str) -> Run {
    run_as(&Folder::new(), role, &format!("run {options}"))
}

fn json(run: &Run) -> Value {
    serde_json::from_str(&run.err).unwrap_or_else(|e| panic!("{e}: {}", run.err))
}

#[test]
fn a_running_program_is_checked_and_its_output_is_its_own() {
    let run = run("", "").ends_with(1);
    assert!(run.text().contains("the program's own words\n"));
    assert!(run.err.contains("Set.add is not atomic"), "{}", run.err);
    assert!(run.err.contains("rel(Set#1) set.rs:4"), "{}", run.err);
    assert!(run.err.contains("observed: 2 methods"), "{}", run.err);
}

#[test]
fn the_report_says_how_it_was_recorded() {
    let report = json(&run("", "--format json --property all").ends_with(1));
    let recording = &report["input"]["recording"];
    assert_eq!(report["input"]["path"], "program");
    assert_eq!(recording["front_end"], "rust");
    assert_eq!(recording["observed"][0]["what"], "methods");
    assert_eq!(report["verdicts"]["atomicity"]["refuted"][0]["label"], "Set.add");
    assert_eq!(report["verdicts"]["race"]["holds"], true);
}

#[test]
fn the_program_keeps_its_exit_status_unless_there_are_findings() {
    run("serial", "").ends_with(0);
    run("fails", "").ends_with(1);
    run("fails", "--exitcode 99").ends_with(99);
    run("fails", "--except Set.add").ends_with(7);
}

#[test]
fn nothing_observed_is_no_green() {
    let silent = run("silent", "").ends_with(4);
    assert!(silent.err.contains("nothing was analysed"), "{}", silent.err);
    run("idle", "").ends_with(4);
    run("", "--except Set.add").ends_with(4);
}

#[test]
fn a_program_that_dies_is_analysed_as_far_as_it_went() {
    let run = run("killed", "").ends_with(3);
    assert!(run.err.contains("the recording was cut"), "{}", run.err);
    assert!(run.err.contains("Set.add is not atomic"), "{}", run.err);
}

#[test]
fn an_order_that_was_not_seen_makes_no_violation_of_a_race() {
    let report = json(&run("unmodelled", "--format json --property all").ends_with(1));
    let findings = report["findings"].as_array().unwrap();
    let severity = |rule: &str| {
        findings.iter().find(|f| f["rule"] == rule).map(|f| f["severity"].as_str().unwrap())
    };
    assert_eq!(severity("atomicity"), Some("violation"));
    assert!(report["input"]["recording"]["unmodelled"][0]["what"] == "Phaser");
}

#[test]
fn refuted_methods_are_left_out_until_none_is_left() {
    let run = run("", "--shrink").ends_with(1);
    assert!(run.err.contains("1 method is not atomic:\n  Set.add\n"), "{}", run.err);
    assert_eq!(run.text().matches("own words").count(), 2);
}

#[test]
fn a_recording_can_be_checked_later() {
    let folder = Folder::new();
    let recorded = run_as(&folder, "", "record -o t.pace").ends_with(0);
    assert!(recorded.err.contains("t.pace: 18 events"), "{}", recorded.err);
    let checked = folder.run("check t.pace").ends_with(1);
    assert!(checked.text().contains("Set.add is not atomic"));
    assert!(checked.text().contains("observed: 2 methods"), "{}", checked.text());
    folder.run("check t.pace --except Set.add").ends_with(4);
    run_as(&folder, "silent", "record -o u.pace").ends_with(4);
    run_as(&folder, "fails", "record -o v.pace").ends_with(7);
}

#[test]
fn the_output_file_and_the_known_findings_are_those_of_check() {
    let folder = Folder::new();
    let quiet = run_as(&folder, "", "--quiet run --output report.txt").ends_with(1);
    assert_eq!(quiet.err, "");
    let report = String::from_utf8(folder.bytes("report.txt")).unwrap();
    assert!(report.contains("Set.add is not atomic"));
    let folder = folder.with("known.txt", "atomicity:Set.add");
    run_as(&folder, "", "run --suppress known.txt").ends_with(0);
}

#[test]
fn a_program_does_not_wait_for_us_when_we_know_enough() {
    let run = run("talks on", "--first").ends_with(1);
    assert!(run.text().contains("the program's own words\n"));
    assert!(run.err.contains("Set.add is not atomic"), "{}", run.err);
}

#[test]
fn each_process_is_a_trace() {
    let folder = Folder::new();
    let script = format!("{0}\n{ROLE}=idle {0}\n{ROLE}=serial {0}\n", program_line());
    std::fs::write(folder.path("all.sh"), script).unwrap();
    let run = folder.run("run --format json -- sh all.sh").ends_with(1);
    let reports: Vec<Value> =
        run.err.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let holds = |report: &Value| report["verdicts"]["atomicity"]["holds"].as_bool();
    assert_eq!(reports.iter().map(holds).collect::<Vec<_>>(), [Some(false), Some(true)]);
    assert!(run.err.contains("nothing to analyse in program"), "{}", run.err);
    folder.run("record -o t.pace -- sh all.sh").ends_with(0);
    assert_eq!(folder.files(), ["all.sh", "t-2.pace", "t-3.pace", "t.pace"]);
}

#[test]
fn signals_are_passed_on() {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};
    let mut child = Command::new(env!("CARGO_BIN_EXE_paceline"))
        .args(["run", "--"])
        .args(program_line().split(' '))
        .env(ROLE, "waits")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "ready"));
    let kill = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(kill.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(128 + 15));
}

#[test]
fn options_may_stand_in_a_file() {
    let folder = Folder::new();
    let file = "except = [\"Set.add\"]\nproperty = \"race\"\n";
    std::fs::write(folder.path("paceline.toml"), file).unwrap();
    run_as(&folder, "", "run").ends_with(0);
    run_as(&folder, "", "run --property atomicity").ends_with(4);
    std::fs::write(folder.path("paceline.toml"), "excepts = 1\n").unwrap();
    let wrong = run_as(&folder, "", "run").ends_with(2);
    assert!(wrong.err.contains("no command has an option --excepts"), "{}", wrong.err);
}

#[test]
fn what_cannot_be_run_is_an_error() {
    let folder = Folder::new();
    let run = folder.run("run -- ./no-such-program").ends_with(2);
    assert!(run.err.contains("cannot run ./no-such-program"), "{}", run.err);
    folder.run("run").ends_with(2);
    let run = folder.run("run --deterministic A.b -- true").ends_with(2);
    assert!(run.err.contains("--property determinism"), "{}", run.err);
}
