//! Reports of the schema `paceline/1`, which were text where `paceline/2` has data: they are still
//! read, as baselines and by `explain`. Here, and only here, such text is taken apart.
//!
//! What a text does not say stays unsaid: a site is a file and a line, or else taken for a method; a
//! note, a remark and a filter are kept as their sentences.

use serde_json::{Map, Value, json};

use crate::model::{Explanation, Facts, Input, RuleHelp, RuleId, SCHEMA, TargetKind};
use crate::verdicts;

/// The version that is read here.
pub const SCHEMA_1: &str = "paceline/1";

/// Makes a report of this version one of today. What is not there is not added: that is found
/// missing when the report is read.
pub fn upgrade(report: &mut Value) -> Result<(), serde_json::Error> {
    report["schema"] = SCHEMA.into();
    if report.get("error").is_some() {
        return Ok(());
    }
    each(report, "notes", sentence);
    if let Some(scope) = report.get_mut("scope") {
        each(scope, "filters", sentence);
    }
    each(report, "findings", finding);
    let mut rules = upgrade_verdicts(report)?;
    if let Some(own) = report.pointer_mut("/code/rules").map(Value::take) {
        rules.extend(own.as_array().cloned().unwrap_or_default());
        rules.iter_mut().for_each(|rule| {
            rule.as_object_mut().map(|rule| rule.entry("severity").or_insert("warning".into()));
        });
    }
    if let Some(report) = report.as_object_mut() {
        report.insert("rules".to_owned(), rules.into());
    }
    Ok(())
}

/// Does something with every element of a list, if it is there.
fn each(object: &mut Value, list: &str, change: impl FnMut(&mut Value)) {
    let elements = object.get_mut(list).and_then(Value::as_array_mut);
    elements.into_iter().flatten().for_each(change);
}

/// Gives the verdicts what outputs show of them; returns the rules that were looked for.
fn upgrade_verdicts(report: &mut Value) -> Result<Vec<Value>, serde_json::Error> {
    let input: Input = serde_json::from_value(report["input"].clone())?;
    let mut rules = Vec::new();
    let verdicts = report.get_mut("verdicts").and_then(Value::as_object_mut);
    for (property, verdict) in verdicts.into_iter().flatten() {
        each(verdict, "refuted", label);
        each(verdict, "violating", label);
        each(verdict, "yields_in_blocks", label_and_site);
        let fields: Map<String, Value> = serde_json::from_value(verdict.take())?;
        let holds = fields.get("holds").and_then(Value::as_bool).unwrap_or_default();
        let facts = Facts::read(property, fields)?;
        let own = verdicts::rules_of(&facts);
        for rule in &own {
            rules.push(serde_json::to_value(RuleHelp::from(rule))?);
        }
        let needs_blocks = verdicts::needs_blocks(&facts);
        let mut settled = verdicts::verdict(facts, holds);
        settled.settle(&own, needs_blocks, &input);
        *verdict = serde_json::to_value(settled)?;
    }
    Ok(rules)
}

fn finding(finding: &mut Value) {
    let explanation = explanation(finding).name();
    let Some(fields) = finding.as_object_mut() else { return };
    fields.insert("explanation".to_owned(), explanation.into());
    if let Some(mut remark) = fields.remove("remark").filter(Value::is_string) {
        sentence(&mut remark);
        fields.insert("remarks".to_owned(), json!([remark]));
    }
    fields.get_mut("blame").into_iter().for_each(label_and_site);
    each(finding, "refuted", label);
    each(finding, "not_refuted", label);
    each(finding, "threads", event);
    each(finding, "cycle", |transaction| {
        label_and_site(transaction);
        let edge = transaction.get_mut("edge").and_then(Value::as_object_mut);
        edge.into_iter().flat_map(Map::values_mut).for_each(event);
    });
    finding.get_mut("code").into_iter().for_each(|code| each(code, "steps", step));
}

fn explanation(finding: &Value) -> Explanation {
    let is_empty = |list: &str| finding[list].as_array().is_none_or(Vec::is_empty);
    let unordered = [RuleId::RACE, RuleId::CONFLICT_FREEDOM];
    match finding["rule"].as_str() {
        _ if finding.get("code").is_some() => Explanation::Code,
        _ if !is_empty("cycle") => Explanation::Cycle,
        Some(rule) if unordered.iter().any(|r| r.as_str() == rule) => Explanation::Unordered,
        _ => Explanation::Events,
    }
}

fn event(event: &mut Value) {
    site(event);
    each(event, "stack", label_and_site);
    let kind = event["kind"].as_str().and_then(|k| paceline_trace::Kind::from_name(k.as_bytes()));
    let target = event.get_mut("target").filter(|target| target.is_string());
    if let Some((target, kind)) = target.zip(kind.and_then(TargetKind::of)) {
        *target = json!({"kind": kind, "name": target.take()});
    }
}

fn step(step: &mut Value) {
    site(step);
    let Some(fields) = step.as_object_mut() else { return };
    if let Some(method) = fields.remove("label") {
        fields.insert("method".to_owned(), method);
    }
    if let Some(mut what) = fields.remove("what") {
        sentence(&mut what);
        fields.insert("action".to_owned(), what);
    }
}

fn sentence(text: &mut Value) {
    if text.is_string() {
        *text = json!({"kind": "other", "text": text.take()});
    }
}

fn label_and_site(value: &mut Value) {
    site(value);
    label(value);
}

/// A label that looks like a site is one: such blocks had no name.
fn label(value: &mut Value) {
    let Some(text) = value.get("label").and_then(Value::as_str) else { return };
    if text == "?" || line_of(text).is_some() || is_number(text) {
        value["named"] = false.into();
    }
}

fn site(value: &mut Value) {
    let Some(site) = value.get_mut("site") else { return };
    let Some(text) = site.as_str() else { return };
    *site = match line_of(text) {
        _ if text == "?" => Value::Null,
        Some((file, line)) => json!({"file": file, "line": line}),
        None if is_number(text) => json!({"number": text.parse::<u64>().ok()}),
        None => json!({"method": text}),
    };
}

fn is_number(text: &str) -> bool {
    text.parse::<u64>().is_ok()
}

fn line_of(text: &str) -> Option<(&str, u64)> {
    let (file, line) = text.rsplit_once(':')?;
    let line = line.parse().ok().filter(|&line| line > 0)?;
    (!file.is_empty()).then_some((file, line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site_of(text: &str) -> Value {
        let mut value = json!({"site": text});
        site(&mut value);
        value["site"].take()
    }

    #[test]
    fn sites_with_a_file_and_a_line_are_taken_apart() {
        assert_eq!(site_of("Set.java:12"), json!({"file": "Set.java", "line": 12}));
        assert_eq!(site_of("C:\\x.java:3"), json!({"file": "C:\\x.java", "line": 3}));
        assert_eq!(site_of("17"), json!({"number": 17}));
        assert_eq!(site_of("?"), Value::Null);
        for method in ["Set.add", ":3", "a:0", "a:-1", "a:b", "std::mutex", "a:"] {
            assert_eq!(site_of(method), json!({"method": method}));
        }
    }

    #[test]
    fn labels_that_are_sites_are_no_names() {
        let named = |text: &str| {
            let mut value = json!({"label": text});
            label(&mut value);
            value.get("named").is_none()
        };
        assert!(["Set.add", "std::mutex", "a:"].into_iter().all(named));
        assert!(!["7", "Set.java:17", "?"].into_iter().any(named));
    }

    #[test]
    fn an_event_gets_the_kind_of_its_target() {
        let mut value = json!({"kind": "acq", "target": "m", "site": "3"});
        event(&mut value);
        assert_eq!(value["target"], json!({"kind": "lock", "name": "m"}));
    }
}
