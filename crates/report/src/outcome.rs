//! What came of one trace: its report, or why there is none; and such outcomes read back from a
//! file that `--format json` wrote.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::{Failure, Finding, Report, RuleHelp, SCHEMA};
use crate::{compose, v1};

/// What came of one trace.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
#[expect(clippy::large_enum_variant, reason = "one for each trace: a box would save nothing")]
pub enum Outcome {
    /// It was analysed.
    Report(Report),
    /// It could not be.
    Failure(Failure),
}

impl Outcome {
    /// The path of the trace, as it was given.
    pub fn path(&self) -> &str {
        match self {
            Outcome::Report(report) => &report.input.path,
            Outcome::Failure(failure) => &failure.input.path,
        }
    }

    /// What was found; nothing if the trace could not be analysed.
    pub fn findings(&self) -> &[Finding] {
        match self {
            Outcome::Report(report) => &report.findings,
            Outcome::Failure(_) => &[],
        }
    }

    /// The rules that were looked for.
    pub fn rules(&self) -> &[RuleHelp] {
        match self {
            Outcome::Report(report) => &report.rules,
            Outcome::Failure(_) => &[],
        }
    }

    /// The report, if there is one.
    pub fn report(&self) -> Option<&Report> {
        match self {
            Outcome::Report(report) => Some(report),
            Outcome::Failure(_) => None,
        }
    }

    /// The report, if there is one, to be changed.
    pub fn report_mut(&mut self) -> Option<&mut Report> {
        match self {
            Outcome::Report(report) => Some(report),
            Outcome::Failure(_) => None,
        }
    }
}

/// Whether this is the beginning of a saved report, not of a trace.
pub fn is_saved(head: &[u8]) -> bool {
    head.trim_ascii_start().starts_with(b"{")
}

/// Reads saved reports: one JSON object or several, usually one a line. Names that were safe when
/// they were written may have been tampered with since: they are made safe again.
pub fn parse(text: &[u8]) -> Result<Vec<Outcome>, String> {
    let objects = serde_json::Deserializer::from_slice(text).into_iter::<Value>();
    let outcomes: Vec<Outcome> = objects.map(outcome).collect::<Result<_, _>>()?;
    if outcomes.is_empty() { Err("there is no report in it".to_owned()) } else { Ok(outcomes) }
}

fn outcome(object: serde_json::Result<Value>) -> Result<Outcome, String> {
    let mut object = object.map_err(|e| format!("not JSON: {e}"))?;
    let incomplete = |e: serde_json::Error| format!("not a complete report: {e}");
    match object.get("schema").and_then(Value::as_str) {
        Some(SCHEMA) => {}
        Some(v1::SCHEMA_1) => v1::upgrade(&mut object).map_err(incomplete)?,
        Some(other) => return Err(format!("its schema is `{}`", compose::name(other.as_bytes()))),
        None => return Err("it is no report of paceline".to_owned()),
    }
    make_safe(&mut object);
    let failed = object.get("error").is_some();
    let read = if failed {
        serde_json::from_value(object).map(Outcome::Failure)
    } else {
        serde_json::from_value(object).map(Outcome::Report)
    };
    read.map_err(incomplete)
}

fn make_safe(value: &mut Value) {
    match value {
        Value::String(text) => *text = compose::name(text.as_bytes()),
        Value::Array(items) => items.iter_mut().for_each(make_safe),
        Value::Object(fields) => fields.values_mut().for_each(make_safe),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn what_is_saved_is_read_back() {
        let outcomes = vec![samples::outcome(), samples::failure(), samples::outcome()];
        let lines: Vec<String> =
            outcomes.iter().map(|o| serde_json::to_string(o).unwrap()).collect();
        assert!(is_saved(lines[0].as_bytes()));
        assert_eq!(parse(lines.join("\n").as_bytes()).unwrap(), outcomes);
        assert_eq!(parse(lines.join("").as_bytes()).unwrap(), outcomes);
    }

    #[test]
    fn what_is_no_report_is_refused() {
        let why = |text: &str| parse(text.as_bytes()).unwrap_err();
        assert_eq!(why(""), "there is no report in it");
        assert_eq!(why("{}"), "it is no report of paceline");
        assert_eq!(why("[1]"), "it is no report of paceline");
        assert_eq!(why(r#"{"schema":"paceline/9"}"#), "its schema is `paceline/9`");
        assert!(why(r#"{"schema":"paceline/1"}"#).starts_with("not a complete report"));
        assert!(why(r#"{"schema":"paceline/2"}"#).starts_with("not a complete report"));
        assert!(why("1|r(x)|1").starts_with("not JSON") || why("1|r(x)|1").contains("no report"));
        assert!(!is_saved(b"1|r(x)|1"));
    }

    #[test]
    fn a_tampered_report_cannot_command_a_terminal() {
        let mut outcome = samples::outcome();
        outcome.report_mut().unwrap().findings[0].title = "\u{1b}[2J".to_owned();
        let read = parse(&serde_json::to_vec(&outcome).unwrap()).unwrap();
        assert_eq!(read[0].findings()[0].title, "\\u{1b}[2J");
    }
}
