//! `docs/schema/paceline-2.schema.json`, as strict as it can be: a field that the schema does not have
//! is an error here, so that none is added in silence. The tests of the command use this file too.

use std::sync::OnceLock;

use serde_json::{Value, json};

/// The schema, which must allow no more fields than it names.
fn strict() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/paceline-2.schema.json");
    let mut schema = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    close(&mut schema);
    // A property from elsewhere has fields of its own.
    schema["$defs"]["verdict"]["additionalProperties"] = true.into();
    schema
}

fn close(schema: &mut Value) {
    if let Some(object) = schema.as_object_mut() {
        if object.contains_key("properties") && object.get("type") == Some(&json!("object")) {
            object.entry("additionalProperties").or_insert(false.into());
        }
        object.values_mut().for_each(close);
    } else if let Some(items) = schema.as_array_mut() {
        items.iter_mut().for_each(close);
    }
}

/// A report must be what the schema says.
#[track_caller]
pub fn assert_valid(value: &Value) {
    static SCHEMA: OnceLock<(boon::Schemas, boon::SchemaIndex)> = OnceLock::new();
    let (schemas, index) = SCHEMA.get_or_init(|| {
        let mut schemas = boon::Schemas::new();
        let mut compiler = boon::Compiler::new();
        compiler.add_resource("paceline-2.schema.json", strict()).unwrap();
        let index = compiler.compile("paceline-2.schema.json", &mut schemas).unwrap();
        (schemas, index)
    });
    if let Err(wrong) = schemas.validate(value, *index) {
        panic!("{wrong:#}\n{value:#}");
    }
}
