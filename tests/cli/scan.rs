//! `paceline scan`: programs compiled by javac, jars and jmods made by the tools of the JDK, what
//! is printed in each format, and the exit status.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::json_schema;
use super::{Folder, Run};

#[path = "../../crates/scan/tests/java/mod.rs"]
pub mod java;

const CONTAINS: &str = "figure1/Line.contains(Lfigure1/Location;)Z";
const DISTANCE: &str = "figure1/Location.distanceTo(Lfigure1/Location;)D";

fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/scan")
}

/// A folder with the classes of some programs in `classes`; none without a compiler.
pub fn compiled(names: &[&str]) -> Option<Folder> {
    let files: Vec<PathBuf> = names.iter().map(|name| programs().join(name)).collect();
    let classes = java::compile(&files)?;
    let folder = Folder::new();
    std::fs::rename(classes.keep(), folder.path("classes")).unwrap();
    Some(folder)
}

/// Runs a tool of the JDK in the folder.
pub fn tool(folder: &Folder, name: &str, line: &str) {
    let program = java::find(name).unwrap();
    let mut command = Command::new(program);
    let output = command.args(line.split_whitespace()).current_dir(folder.path("")).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{name} {line}: {}", String::from_utf8_lossy(&output.stderr));
}

fn rules(run: &Run) -> Vec<String> {
    let report = run.json();
    let findings = report["findings"].as_array().unwrap();
    findings.iter().map(|f| f["rule"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn figure_1_is_reported_with_its_fix_and_its_sites() {
    let Some(folder) = compiled(&["Figure1.java"]) else { return };
    let run = folder.run("scan classes").ends_with(1);
    insta::assert_snapshot!(run.stable());
    assert_eq!(run.err, "");
}

#[test]
fn json_is_a_report_like_any_other() {
    let Some(folder) = compiled(&["Figure1.java"]) else { return };
    let report = folder.run("scan classes --format json").ends_with(1).json();
    json_schema::assert_valid(&report);
    assert_eq!(report["schema"], "paceline/2");
    assert_eq!(report["code"]["classes"], 2);
    let rules = report["rules"].as_array().unwrap();
    assert!(rules.iter().all(|r| !r["fix"].as_str().unwrap().is_empty()));
    let finding = &report["findings"][0];
    assert_eq!(
        (&finding["rule"], &finding["severity"]),
        (&"locked-twice".into(), &"warning".into())
    );
    let site = &finding["blame"]["site"];
    assert_eq!((&site["file"], &site["line"]), (&"figure1/Figure1.java".into(), &21.into()));
    assert_eq!(finding["code"]["confidence"], "medium");
    assert_eq!(finding["code"]["fix"], "hold the lock on `arg1` for both uses");
    let labels: Vec<&str> = finding["code"]["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["method"].as_str().unwrap())
        .collect();
    let contains = "figure1.Line.contains(Location)";
    let distance = "figure1.Location.distanceTo(Location)";
    assert_eq!(labels, [contains, contains, distance, contains, distance]);
}

#[test]
fn sarif_is_valid_and_leads_to_the_source() {
    let Some(folder) = compiled(&["Figure1.java", "Maps.java", "Pairs.java"]) else { return };
    std::fs::create_dir_all(folder.path("src/figure1")).unwrap();
    let folder = folder.with_copy("src/figure1/Figure1.java", &programs().join("Figure1.java"));
    std::fs::write(folder.path("classes/Bad.class"), "bad").unwrap();
    let run = folder.run("scan classes --pairs --format sarif --source src").ends_with(3);
    let document = run.json();
    assert_valid(&document);
    let run = &document["runs"][0];
    let results = run["results"].as_array().unwrap();
    let first = results.iter().find(|r| r["ruleId"] == "locked-twice").unwrap();
    let place = &first["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "src/figure1/Figure1.java");
    assert_eq!(place["region"]["startLine"], 21);
    let flow = &first["codeFlows"][0]["threadFlows"][0]["locations"];
    assert_eq!(flow[0]["location"]["message"]["text"], "holds `this`");
    assert_eq!(flow.as_array().unwrap().len(), 5);
    let described = run["tool"]["driver"]["rules"].as_array().unwrap();
    let ids: Vec<&str> = described.iter().map(|r| r["id"].as_str().unwrap()).collect();
    assert!(results.iter().all(|r| ids.contains(&r["ruleId"].as_str().unwrap())), "{ids:?}");
    let help = described[0]["help"]["text"].as_str().unwrap();
    assert!(help.contains("Hold the inner lock for both uses"), "{help}");
    let invocation = &run["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    assert!(invocation.to_string().contains("Bad.class"), "{invocation}");
}

/// By the official schema, which comes with a package that is never built.
fn assert_valid(document: &Value) {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version", "1", "--locked"]);
    let output = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let package = packages.iter().find(|p| p["name"] == "serde-sarif").unwrap();
    let manifest = package["manifest_path"].as_str().unwrap();
    let schema = std::fs::read(manifest.replace("Cargo.toml", "src/schema.json")).unwrap();
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    compiler.add_resource("sarif.json", serde_json::from_slice(&schema).unwrap()).unwrap();
    let index = compiler.compile("sarif.json", &mut schemas).unwrap();
    if let Err(wrong) = schemas.validate(document, index) {
        panic!("{wrong:#}");
    }
    let wrong = serde_json::json!({"version": "2.1.0", "runs": [{"results": []}]});
    assert!(schemas.validate(&wrong, index).is_err(), "the schema refuses nothing");
}

#[test]
fn the_other_formats_name_the_place_too() {
    let Some(folder) = compiled(&["Figure1.java"]) else { return };
    let github = folder.run("scan classes --format github").ends_with(1);
    assert!(github.text().contains("::warning file=figure1/Figure1.java,line=21,"));
    assert!(github.text().contains("1 warning; 2 classes, 7 methods"), "{}", github.text());
    let junit = folder.run("scan classes --format junit").ends_with(1);
    assert!(junit.text().contains(r#"tests="10" failures="1""#), "{}", junit.text());
    let run = folder.run("scan classes -o report.txt --html page.html").ends_with(1);
    assert_eq!(run.text(), "");
    assert!(folder.bytes("report.txt").starts_with(b"warning: `arg1` is locked"));
    let page = String::from_utf8(folder.bytes("page.html")).unwrap();
    assert!(page.contains("hold the lock on `arg1` for both uses"));
}

#[test]
fn a_known_warning_can_be_left_out() {
    let Some(folder) = compiled(&["Figure1.java"]) else { return };
    let first = folder.run("scan classes --format json -o old.json").ends_with(1);
    assert_eq!(first.text(), "");
    let again = folder.run("scan classes --baseline old.json").ends_with(0);
    assert!(again.text().contains("0 new findings; 1 are in the baseline"), "{}", again.text());
    let fixed = folder.run("scan classes/figure1/Location.class --baseline old.json").ends_with(0);
    assert!(fixed.text().contains("not seen any more"), "{}", fixed.text());
    folder.run("scan classes --write-suppressions known.txt").ends_with(1);
    folder.run("scan classes --suppress known.txt").ends_with(0);
}

#[test]
fn the_exit_status_tells_what_was_found_and_read() {
    let Some(folder) = compiled(&["Figure1.java"]) else { return };
    folder.run("scan classes").ends_with(1);
    folder.run("scan classes/figure1/Location.class").ends_with(0);
    folder.run("scan no/such.jar").ends_with(2);
    std::fs::create_dir(folder.path("empty")).unwrap();
    let nothing = folder.run("scan empty").ends_with(4);
    assert!(nothing.err.contains("no class file"), "{}", nothing.err);
}

#[test]
fn damaged_files_and_bombs_are_named_and_the_rest_is_scanned() {
    let Some(folder) = compiled(&["Figure1.java"]) else { return };
    let class = folder.bytes("classes/figure1/Line.class");
    std::fs::write(folder.path("classes/Cut.class"), &class[..class.len() / 2]).unwrap();
    std::fs::write(folder.path("classes/Bomb.class"), vec![0; 40 << 20]).unwrap();
    tool(&folder, "jar", "cf app.jar -C classes .");
    assert!(folder.bytes("app.jar").len() < 1 << 20);
    let run = folder.run("scan app.jar --format json").ends_with(3);
    let lines: Vec<Value> =
        run.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["findings"].as_array().unwrap().len(), 1);
    assert_eq!(lines[0]["incomplete"], true);
    let failed: Vec<&str> =
        lines[1..].iter().map(|l| l["input"]["path"].as_str().unwrap()).collect();
    assert_eq!(failed, ["app.jar!/Bomb.class", "app.jar!/Cut.class"]);
    assert!(run.err.contains("app.jar!/Bomb.class: unpacks to more than"), "{}", run.err);
    assert!(run.err.contains("app.jar!/Cut.class: not a valid class file"), "{}", run.err);
    let whole = folder.bytes("app.jar");
    std::fs::write(folder.path("cut.jar"), &whole[..whole.len() / 2]).unwrap();
    let run = folder.run("scan cut.jar classes/figure1").ends_with(3);
    assert!(run.err.contains("cut.jar"), "{}", run.err);
    assert!(run.text().contains("1 warning"), "{}", run.text());
}

#[test]
fn jmods_jars_in_jars_and_the_image_of_the_jdk_are_read() {
    let Some(folder) = compiled(&["Figure1.java"]) else { return };
    let module = "module figures { }\n";
    std::fs::write(folder.path("module-info.java"), module).unwrap();
    tool(&folder, "javac", "-d classes module-info.java");
    tool(&folder, "jmod", "create --class-path classes figures.jmod");
    let run = folder.run("scan figures.jmod --format json").ends_with(1);
    assert_eq!(run.json()["code"]["classes"], 2, "the description of a module is no class");
    std::fs::create_dir(folder.path("lib")).unwrap();
    tool(&folder, "jar", "cf lib/inner.jar -C classes figure1");
    tool(&folder, "jar", "cf outer.jar lib");
    assert_eq!(rules(&folder.run("scan outer.jar --format json").ends_with(1)), ["locked-twice"]);
    let image = folder.run("scan jrt:/java.compiler --format json");
    assert!(image.status == 0 || image.status == 1, "{}", image.err);
    assert!(image.json()["code"]["classes"].as_u64().unwrap() > 50);
    let unknown = folder.run("scan jrt:/no.such.module").ends_with(2);
    assert!(unknown.err.contains("has no module no.such.module"), "{}", unknown.err);
}

#[test]
fn libraries_are_called_but_not_reported() {
    let Some(folder) = compiled(&["Figure1.java"]) else { return };
    let (line, location) = ("classes/figure1/Line.class", "classes/figure1/Location.class");
    folder.run(&format!("scan {line}")).ends_with(0);
    folder.run(&format!("scan {line} --lib {location}")).ends_with(1);
    folder.run(&format!("scan {location} --lib {line}")).ends_with(0);
}

#[test]
fn a_rule_is_explained_without_a_scan() {
    let folder = Folder::new();
    let explained = folder.run("scan --explain stale-read").ends_with(0);
    assert!(
        explained.text().starts_with("stale-read: Value read under a lock"),
        "{}",
        explained.text()
    );
    let unknown = folder.run("scan --explain stale").ends_with(2);
    assert!(unknown.err.contains("the rules are locked-twice, "), "{}", unknown.err);
}

#[test]
fn pairs_are_reported_on_demand() {
    let Some(folder) = compiled(&["Pairs.java"]) else { return };
    let without = rules(&folder.run("scan classes --format json"));
    assert!(!without.contains(&"locked-in-turn".to_owned()), "{without:?}");
    let with = rules(&folder.run("scan classes --pairs --format json").ends_with(1));
    assert!(with.contains(&"locked-in-turn".to_owned()), "{with:?}");
}

#[test]
fn locks_methods_and_annotations_can_be_suppressed() {
    let Some(folder) = compiled(&["Figure1.java"]) else { return };
    for known in ["lock figure1/Location", "lock arg1", "method figure1/Line.contains*"] {
        let run = folder.run(&format!("scan classes --suppress-{known}")).ends_with(0);
        assert!(run.text().contains("1 not shown (suppressed)"), "{known}: {}", run.text());
    }
    let Some(folder) = compiled(&["Benign.java"]) else { return };
    let shown = |run: Run| run.json()["code"]["suppressed"].as_u64().unwrap();
    let few = shown(folder.run("scan classes --format json"));
    let more = folder.run("scan classes --format json --benign-annotation FunctionalInterface");
    assert!(few > 0 && shown(more) >= few);
}

#[test]
fn the_locks_of_the_jdk_are_shown_on_demand() {
    let Some(folder) = compiled(&["Library.java"]) else { return };
    let hidden = folder.run("scan classes --lib jrt:/java.base").ends_with(0);
    assert!(hidden.text().contains("not shown (suppressed)"), "{}", hidden.text());
    let line = "scan classes --lib jrt:/java.base --no-default-suppressions --format json";
    let report = folder.run(line).ends_with(1).json();
    let title = report["findings"][0]["title"].as_str().unwrap();
    let said = "`this.names` is locked and released twice while `this` is held";
    assert!(title.starts_with(said), "{title}");
}

/// A run of the program of figure 1 as RoadRunner writes it: one thread asks whether a line
/// contains a point, another one moves the point.
fn log(moves_between: bool) -> String {
    let asks = format!(
        "@  Enter(1,{DISTANCE})\n@   Acquire(1,@02)\n@   Release(1,@02)\n@  Exit(1,{DISTANCE})\n"
    );
    let moves = "@ Enter(2,figure1/Location.move(D)V)\n@  Acquire(2,@02)\n@  Release(2,@02)\n@ Exit(2,figure1/Location.move(D)V)\n";
    let (between, after) = if moves_between { (moves, "") } else { ("", moves) };
    let enter = format!("@ Enter(1,{CONTAINS})\n@  Acquire(1,@01)\n");
    let exit = format!("@  Release(1,@01)\n@ Exit(1,{CONTAINS})\n");
    format!("@ Start(0,1)\n@ Start(0,2)\n{enter}{asks}{between}{asks}{exit}{after}")
}

#[test]
fn a_trace_confirms_what_it_shows() {
    let Some(folder) = compiled(&["Figure1.java"]) else { return };
    std::fs::write(folder.path("bad.rr"), log(true)).unwrap();
    std::fs::write(folder.path("good.rr"), log(false)).unwrap();
    let run = folder.run("scan classes --format json --confirm good.rr").ends_with(1);
    assert_eq!(run.json()["findings"][0]["code"]["confirmed"], Value::Null);
    assert!(run.err.contains("good.rr confirms no warning"), "{}", run.err);
    let run = folder.run("scan classes --format json --confirm good.rr --confirm bad.rr");
    let confirmed = &run.json()["findings"][0]["code"]["confirmed"];
    assert_eq!(confirmed["trace"], "bad.rr");
    assert_eq!(confirmed["events"].as_array().unwrap().len(), 3);
    let text = folder.run("scan classes --confirm bad.rr").ends_with(1);
    assert!(text.text().contains("in bad.rr: lock"), "{}", text.text());
    folder.run("scan classes --confirm no-such.rr").ends_with(2);
}
