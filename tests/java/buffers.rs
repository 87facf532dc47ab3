//! The agent's buffers: no program makes it write past the end of one, and when the agent fails the
//! program does not notice.
//!
//! With `PACELINE_LONG=1` (`./check --long`) all programs run with tiny buffers; else some do.

use std::fs;
use std::path::Path;
use std::process::Command;

use paceline_report::model::Report;

use super::jdk::{Jdk, Output, finish, jdks};
use super::{Program, compile, different, java, programs};

/// A program under the agent alone, which writes into a file.
fn recorded(
    jdk: &Jdk,
    classes: &Path,
    program: &Program,
    options: &str,
    java_options: &[&str],
) -> Output {
    let library = paceline_agents::JVM.unpack(&classes.join("cache")).unwrap();
    let stream = classes.join("stream");
    let plain = java(jdk, classes, program);
    let mut command = Command::new(plain.get_program());
    let agent = format!("-agentpath:{}=file={},{options}", library.display(), stream.display());
    command.arg(agent).args(java_options).args(plain.get_args());
    finish(&mut command)
}

/// What `paceline check` says about what was recorded.
fn checked(classes: &Path) -> Report {
    let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
    command.args(["check", "--format", "json", "--property", "atomicity"]);
    let output = finish(command.arg(classes.join("stream")));
    serde_json::from_str(output.out.trim()).unwrap_or_else(|e| panic!("{e}: {}", output.err))
}

fn is_long() -> bool {
    std::env::var("PACELINE_LONG").as_deref() == Ok("1")
}

/// The programs that run application code inside of modelled calls, and some or all of the others.
fn chosen() -> Vec<Program> {
    let always = ["ComputedAtomics", "Functions", "Keys", "Maps", "VirtualThreads", "TooDeep"];
    let all = ["pass", "fail"].into_iter().flat_map(programs);
    all.filter(|it| is_long() || always.contains(&it.name.as_str())).collect()
}

/// The agent wrote past the end of a buffer when a modelled call ran code that records: `compute`
/// of a map with a function that touches an atomic. Here each buffer has room for a record or two,
/// and a page after it that must not be touched.
#[test]
fn no_buffer_is_overrun_however_small_it_is() {
    let programs = chosen();
    let mut wrong = String::new();
    for jdk in jdks(programs.len()) {
        let programs: Vec<_> = programs.iter().filter(|it| it.needs() <= jdk.version).collect();
        let classes = compile(&jdk, &programs);
        for program in programs {
            let plain = finish(&mut java(&jdk, classes.path(), program));
            for (words, redundant) in [(4, "block"), (11, "keep")] {
                let options = format!("buffer-words={words},guard-pages=on,redundant={redundant}");
                let observed = recorded(&jdk, classes.path(), program, &options, &[]);
                let mut problems = different(&plain, &observed);
                if observed.status != plain.status {
                    problems.push(format!("{} instead of {}", observed.status, plain.status));
                } else if checked(classes.path()).incomplete {
                    problems.push("incomplete".to_owned());
                }
                for problem in problems {
                    wrong +=
                        &format!("{} on {}, {options}: {problem}\n", program.name, jdk.version);
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// The virtual machine's own checks of what the agent calls.
#[test]
fn the_agent_uses_the_virtual_machine_as_it_may() {
    let names: &[&str] =
        if is_long() { &["Keys", "Functions", "Reflected", "Loaders"] } else { &["Keys"] };
    let programs: Vec<_> =
        programs("pass").into_iter().filter(|it| names.contains(&it.name.as_str())).collect();
    for jdk in jdks(programs.len()) {
        let classes = compile(&jdk, &programs.iter().collect::<Vec<_>>());
        for program in &programs {
            let options = "buffer-words=16,guard-pages=on,redundant=block";
            let observed = recorded(&jdk, classes.path(), program, options, &["-Xcheck:jni"]);
            assert!(observed.status.success(), "{}", observed.err);
            let complaints = [&observed.out, &observed.err].map(|it| complaints(it)).concat();
            assert!(complaints.is_empty(), "{} on {}: {complaints:?}", program.name, jdk.version);
        }
    }
}

/// What `-Xcheck:jni` prints about the agent; it warns of many local references, too, which the
/// virtual machine has room for.
fn complaints(text: &str) -> Vec<String> {
    let lines = text
        .lines()
        .filter(|line| line.contains("WARNING in native") || line.contains("FATAL ERROR"));
    lines.map(str::to_owned).collect()
}

/// A panic in a native method ended the process.
#[test]
fn when_the_agent_fails_the_program_goes_on_and_the_report_says_why() {
    let programs: Vec<_> =
        programs("pass").into_iter().filter(|it| it.name == "ComputedAtomics").collect();
    for jdk in jdks(programs.len()) {
        let classes = compile(&jdk, &programs.iter().collect::<Vec<_>>());
        let plain = finish(&mut java(&jdk, classes.path(), &programs[0]));
        let options = "buffer-words=64,panic-at-drain=100";
        let observed = recorded(&jdk, classes.path(), &programs[0], options, &[]);
        assert_eq!(different(&plain, &observed), [""; 0]);
        assert_eq!(observed.status, plain.status);
        let report = checked(classes.path());
        assert!(report.incomplete);
        let notes = format!("{:?}", report.notes);
        assert!(
            notes.contains("failure of the agent: as the option panic-at-drain asks"),
            "{notes}"
        );
        assert!(fs::metadata(classes.path().join("stream")).unwrap().len() > 0);
    }
}
