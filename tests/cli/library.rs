//! The library gives the results of the command line: their reports are compared as JSON.

use std::collections::HashSet;
use std::path::PathBuf;

use paceline::observe::Observe;
use paceline::property::{Atomicity, Race};
use paceline::{Check, Scan};
use serde_json::{Value, json};

use crate::scan::{compiled, java, tool};
use crate::{Folder, VIOLATION, kept, papers};

fn as_json(report: &paceline::Report) -> Value {
    serde_json::to_value(report).unwrap()
}

#[test]
fn a_trace_has_the_same_report() {
    let folder = Folder::new().with("bad.std", VIOLATION);
    let papers = std::fs::read_dir(papers()).unwrap().map(|entry| entry.unwrap().path());
    let traces = papers.filter(|path| path.extension().is_some_and(|e| e == "std"));
    let mut compared = 0;
    for trace in traces.chain([folder.path("bad.std")]) {
        let line = format!("check --property all --format json {}", trace.display());
        let by_command = folder.run(&line).json();
        let report = Check::new().all_properties().file(&trace).run().unwrap();
        assert_eq!(as_json(&report), by_command, "{}", trace.display());
        compared += 1;
    }
    assert!(compared >= 9, "{compared}");
}

#[test]
fn options_mean_the_same() {
    let trace = kept("docs/example/bank.rr");
    let folder = Folder::new();
    let line = "check --property race,atomicity --engine velodrome --max-findings 1 --except main";
    let by_command = folder.run(&format!("{line} --format json {}", trace.display())).json();
    let check = Check::new().property(Race).property(Atomicity).file(&trace).max_findings(1);
    let check = check.engine(paceline::Engine::Velodrome).except("main");
    assert_eq!(as_json(&check.run().unwrap()), by_command);
}

#[test]
fn a_trace_that_cannot_be_read_is_an_error() {
    let folder = Folder::new().with("bad.std", "T1|rel(l)|1");
    let error = Check::new().file(folder.path("bad.std")).run().unwrap_err();
    let by_command = folder.run("check bad.std").ends_with(2).err;
    assert_eq!(by_command, format!("error: bad.std: {error}\n"));
    assert!(Check::new().run().is_err(), "there is nothing to check");
}

/// A property needs one line in the registry: flags, help and completions know it then.
#[test]
fn flags_and_completions_come_from_the_registry() {
    let folder = Folder::new().with("bad.std", VIOLATION);
    let help = folder.run("check --help").ends_with(0);
    let record = folder.run("record --help").ends_with(0);
    let script = folder.run("completions bash").ends_with(0);
    for property in paceline::property::ALL {
        let (name, summary) = (property.info().name, property.info().summary);
        let line = format!("- {name}:");
        for help in [help.text(), record.text()] {
            assert!(help.lines().any(|l| l.trim_start().starts_with(&line)), "{name}: {help}");
            assert!(help.contains(summary), "{summary}: {help}");
        }
        assert!(script.text().contains(name), "{name}");
        let report = folder.run(&format!("check --property {name} --format json bad.std")).json();
        assert_eq!(report["scope"]["properties"], json!([name]));
        assert!(report["verdicts"][name]["holds"].is_boolean(), "{report}");
    }
}

/// What two runs of a program have in common whatever the order of its threads.
fn essence(report: &Value) -> Value {
    json!([report["schema"], report["scope"], report["verdicts"]["atomicity"]["holds"]])
}

/// Id, rule, severity, title and blame of each finding. A run under load may have one more.
fn findings(report: &Value) -> HashSet<String> {
    let finding = |f: &Value| json!([f["id"], f["rule"], f["severity"], f["title"], f["blame"]]);
    report["findings"].as_array().unwrap().iter().map(|f| finding(f).to_string()).collect()
}

#[test]
fn a_java_program_has_the_same_findings() {
    let program = |name: &str| kept("tests/programs/java").join(name);
    let files = ["fail/SetAdd.java", "lib/Between.java", "lib/Turn.java", "lib/Workers.java"];
    let Some(classes) = java::compile(&files.map(program)) else { return };
    let folder = Folder::new();
    let classes = classes.path().display();
    let line = format!(
        "run --atomic SetAdd.add --format json -o report.json -- java -cp {classes} SetAdd"
    );
    folder.run(&line).ends_with(1);
    let by_command: Value = serde_json::from_slice(&folder.bytes("report.json")).unwrap();

    let agent = paceline_agents::JVM.unpack(&folder.path("cache")).unwrap();
    let observe = Observe::new(["java", "-cp", &classes.to_string(), "SetAdd"]).agent(agent);
    let observe = observe.check(Check::new().atomic("SetAdd.add"));
    let observed = observe.run().unwrap();
    let [process] = &observed.traces[..] else { panic!("{:?}", observed.traces) };
    let checked = process.result.as_ref().unwrap();
    let by_library = as_json(&checked.report);
    assert_eq!(essence(&by_library), essence(&by_command));
    let common = &findings(&by_library) & &findings(&by_command);
    assert!(common.iter().any(|finding| finding.contains("SetAdd.add")), "{common:?}");

    let recorded = observe.record(folder.path("set.pace")).unwrap();
    assert_eq!(recorded.traces[0].as_ref().unwrap().path, folder.path("set.pace"));
    let later = Check::new().file(folder.path("set.pace")).run().unwrap();
    let later = findings(&as_json(&later));
    assert!(later.iter().any(|finding| common.contains(finding)), "{later:?}");
}

#[test]
fn a_jar_has_the_same_report() {
    let Some(folder) = compiled(&["Figure1.java"]) else { return };
    tool(&folder, "jar", "--create --file app.jar -C classes .");
    let jar: PathBuf = folder.path("app.jar");
    let line = format!("scan --format json {}", jar.display());
    let by_command = folder.run(&line).ends_with(1).json();
    let scanned = Scan::new().path(&jar).run().unwrap();
    assert_eq!(as_json(scanned.report().unwrap()), by_command);
    assert_eq!(scanned.status(), paceline::Status::Findings);
}
