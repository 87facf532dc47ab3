//! SARIF 2.1.0, for GitHub code scanning and other tools that collect results: one document with
//! one run for all traces.
//!
//! - A finding is a `result`. Its `ruleId` and its fingerprint are those of the JSON report, so
//!   it stays the same alert from run to run.
//! - Its events are one `threadFlow` for each thread; `executionOrder` is how the threads
//!   interleaved.
//! - The rules are those that the reports looked for.
//! - A finding whose site names no file of the source is located in the trace: GitHub refuses
//!   results without a file.
//! - GitHub refuses files that exceed its limits. What does not fit is left out, violations last,
//!   and a notification says how much.

mod result;

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use result::{ArtifactLocation, Message, Physical, SarifResult};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use crate::model::{Failure, Finding, Note, Report, RuleHelp, Severity};
use crate::outcome::Outcome;
use crate::paths::{FileLine, Root};
use crate::scope;

/// What GitHub accepts.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Results in a run.
    pub results: usize,
    /// Locations in all thread flows of a result.
    pub flow_locations: usize,
    /// Bytes of the file when compressed.
    pub bytes: usize,
}

impl Limits {
    /// As documented for code scanning. The size is "10 MB": taken in its smaller sense, and less
    /// what the compressor may still hold back when the size is measured.
    pub const GITHUB: Limits =
        Limits { results: 25_000, flow_locations: 10_000, bytes: 10_000_000 - 500_000 };
}

/// How many results GitHub shows of those that it accepts.
const SHOWN: usize = 5_000;

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// The name of the folder that relative paths start from.
const BASE: &str = "%SRCROOT%";

/// The document, on one line.
pub fn document(outcomes: &[Outcome], root: &Root, limits: &Limits) -> String {
    let mut dropped = Dropped::default();
    let rules = rules(outcomes);
    let mut results = results(outcomes, &rules, root, limits, &mut dropped);
    let within = fit(&results, limits);
    dropped.results += results.len() - within;
    results.truncate(within);
    let mut notifications: Vec<Value> = outcomes.iter().flat_map(|o| notified(o, root)).collect();
    notifications.extend(dropped.notified(results.len()));
    let analysed = outcomes.iter().all(|o| matches!(o, Outcome::Report(_)));
    let run = Run {
        tool: json!({"driver": driver(&rules)}),
        invocations: json!([{
            "executionSuccessful": analysed,
            "toolExecutionNotifications": notifications,
        }]),
        original_uri_base_ids: json!({BASE: {"description": {"text": "The root of the sources."}}}),
        artifacts: outcomes.iter().map(|o| artifact(o, root)).collect(),
        results: &results,
        column_kind: "unicodeCodePoints",
    };
    let document = Document { schema: SCHEMA, version: "2.1.0", runs: [run] };
    serde_json::to_string(&document).unwrap_or_default() + "\n"
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run<'a> {
    tool: Value,
    invocations: Value,
    original_uri_base_ids: Value,
    artifacts: Vec<Value>,
    results: &'a [Box<RawValue>],
    column_kind: &'static str,
}

/// The results, violations first: these are to be kept if something must go.
fn results(
    outcomes: &[Outcome],
    rules: &[&RuleHelp],
    root: &Root,
    limits: &Limits,
    dropped: &mut Dropped,
) -> Vec<Box<RawValue>> {
    let found = outcomes.iter().flat_map(|o| o.findings().iter().map(move |f| (o.path(), f)));
    let mut found: Vec<(&str, &Finding)> = found.collect();
    found.sort_by_key(|(_, finding)| finding.severity);
    dropped.results = found.len().saturating_sub(limits.results);
    found.truncate(limits.results);
    let results = found.into_iter().map(|(trace, finding)| {
        let kept = finding.threads.len().min(limits.flow_locations);
        dropped.flow_locations += finding.threads.len() - kept;
        let rule = rules.iter().position(|rule| rule.id == finding.rule);
        // Texts and numbers under names: there is nothing that JSON cannot hold.
        to_raw_value(&SarifResult::new(trace, finding, rule, kept, root)).ok()
    });
    results.flatten().collect()
}

/// The rules that were looked for, each once.
fn rules(outcomes: &[Outcome]) -> Vec<&RuleHelp> {
    let mut rules: Vec<&RuleHelp> = Vec::new();
    for rule in outcomes.iter().flat_map(Outcome::rules) {
        if !rules.iter().any(|known| known.id == rule.id) {
            rules.push(rule);
        }
    }
    rules
}

fn driver(rules: &[&RuleHelp]) -> Value {
    let rules: Vec<Value> = rules.iter().map(|rule| described(rule)).collect();
    json!({"name": "paceline", "semanticVersion": env!("CARGO_PKG_VERSION"), "rules": rules})
}

/// How SARIF calls a severity.
fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Violation => "error",
        Severity::Warning => "warning",
    }
}

fn described(help: &RuleHelp) -> Value {
    let level = level(help.severity);
    let precision = match help.severity {
        Severity::Violation => "very-high",
        Severity::Warning => "medium",
    };
    json!({
        "id": help.id,
        "name": help.name,
        "shortDescription": {"text": help.short},
        "fullDescription": {"text": help.full},
        "help": {
            "text": format!("{}\n\nWhat to do: {}", help.full, help.fix),
            "markdown": format!("{}\n\n**What to do:** {}", help.full, help.fix),
        },
        "defaultConfiguration": {"level": level},
        "properties": {
            "tags": ["concurrency", "correctness"],
            "precision": precision,
            "problem.severity": level,
        },
    })
}

/// A trace, and what was analysed of it.
fn artifact(outcome: &Outcome, root: &Root) -> Value {
    let properties = match outcome {
        Outcome::Report(report) => {
            let Report { input, scope, incomplete, code, .. } = report;
            let code = code.as_ref().map(|c| json!({"classes": c.classes, "lines": c.lines}));
            let input = code.unwrap_or_else(|| json!(input));
            json!({"input": input, "scope": scope, "incomplete": incomplete})
        }
        Outcome::Failure(_) => Value::Null,
    };
    let location = ArtifactLocation::of(root.relative(outcome.path()));
    let mut artifact = json!({"location": location, "roles": ["analysisTarget"]});
    if !properties.is_null() {
        artifact["properties"] = properties;
    }
    artifact
}

/// What a reader should know about a trace.
fn notified(outcome: &Outcome, root: &Root) -> Vec<Value> {
    let place = FileLine { file: root.relative(outcome.path()), line: None };
    let about = |level: &str, text: &str| {
        let (message, place) = (Message::of(text), Physical::of(place));
        json!({"level": level, "message": message, "locations": [{"physicalLocation": place}]})
    };
    match outcome {
        Outcome::Report(report) => notes(report).iter().map(|note| about("note", note)).collect(),
        Outcome::Failure(failure) => vec![about("error", &problem(failure))],
    }
}

fn notes(report: &Report) -> Vec<String> {
    let analysed = format!("analysed {}", scope::line(report));
    [analysed].into_iter().chain(report.notes.iter().map(Note::to_string)).collect()
}

fn problem(failure: &Failure) -> String {
    let error = &failure.error;
    let line = error.line.map_or_else(String::new, |line| format!("line {line}: "));
    format!("{line}{} ({})", error.message, error.rule)
}

/// What was left out.
#[derive(Default)]
struct Dropped {
    results: usize,
    flow_locations: usize,
}

impl Dropped {
    fn notified(&self, results: usize) -> Vec<Value> {
        let warning = |text: String| json!({"level": "warning", "message": {"text": text}});
        let mut notified = Vec::new();
        if self.results > 0 {
            let of = results + self.results;
            let text =
                format!("{} of {of} findings are left out: GitHub takes no more", self.results);
            notified.push(warning(text));
        }
        if self.flow_locations > 0 {
            let text =
                format!("{} events are left out of the findings' flows", self.flow_locations);
            notified.push(warning(text));
        }
        if results > SHOWN {
            let text =
                format!("GitHub shows {SHOWN} of these {results} findings, severe ones first");
            notified.push(warning(text));
        }
        notified
    }
}

/// How many of the results fit into the size that is accepted. Compressing is only needed for
/// what is too large without.
fn fit(results: &[Box<RawValue>], limits: &Limits) -> usize {
    let texts = || results.iter().map(|r| r.get());
    if texts().map(str::len).sum::<usize>() <= limits.bytes {
        return results.len();
    }
    let mut file = GzEncoder::new(Count(0), Compression::fast());
    let fits = |text: &&str| {
        // Counting cannot fail; if it could, the result would not be there.
        file.write_all(text.as_bytes()).is_ok() && file.get_ref().0 <= limits.bytes
    };
    texts().take_while(fits).count()
}

/// Counts the bytes that are written.
struct Count(usize);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
