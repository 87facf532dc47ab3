//! SARIF is what its schema says.

use std::process::Command;
use std::sync::OnceLock;

use paceline_report::model::RuleId;
use paceline_report::outcome::Outcome;
use paceline_report::paths::Root;
use paceline_report::sarif;
use serde_json::Value;

use crate::limits::SMALL;
use crate::reading::sarif_of;
use crate::samples;

/// The official schema. It comes with a package that is named as a dependency but never
/// built; cargo knows where it is.
fn official() -> Value {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version", "1", "--locked"]);
    let output = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo metadata: {errors}");
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let package = packages.iter().find(|p| p["name"] == "serde-sarif").unwrap();
    let manifest = package["manifest_path"].as_str().unwrap();
    let path = manifest.replace("Cargo.toml", "src/schema.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// The compiled schema.
struct Schema {
    schemas: boon::Schemas,
    index: boon::SchemaIndex,
}

/// What is wrong with a document, if anything.
pub fn violation(document: &Value) -> Option<String> {
    static SCHEMA: OnceLock<Schema> = OnceLock::new();
    let Schema { schemas, index } = SCHEMA.get_or_init(|| {
        let mut schemas = boon::Schemas::new();
        let mut compiler = boon::Compiler::new();
        compiler.enable_format_assertions();
        compiler.add_resource("sarif.json", official()).unwrap();
        let index = compiler.compile("sarif.json", &mut schemas).unwrap();
        Schema { schemas, index }
    });
    schemas.validate(document, *index).err().map(|wrong| format!("{wrong:#}"))
}

#[test]
fn the_schema_refuses_something() {
    let wrong = serde_json::json!({"version": "2.1.0", "runs": [{"results": []}]});
    assert!(violation(&wrong).is_some());
}

#[test]
fn sarif_is_valid() {
    let mut bare = samples::report(&samples::trace(samples::LINE));
    let finding = &mut bare.findings[0];
    (finding.blame, finding.count) = (None, 0);
    finding.cycle.clear();
    finding.threads.clear();
    finding.rule = RuleId::new("a rule of a later version");
    bare.input.path = "-".to_owned();
    bare.incomplete = true;
    let documents = [
        sarif_of(&[]),
        sarif_of(&[samples::outcome(), samples::failure()]),
        sarif_of(&[Outcome::Report(bare)]),
        serde_json::from_str(&sarif::document(&[samples::many(6)], &Root::default(), &SMALL))
            .unwrap(),
    ];
    for document in documents {
        assert_eq!(violation(&document), None);
    }
}
