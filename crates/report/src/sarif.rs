//! SARIF 2.1.0, for GitHub code scanning and other tools that collect results: one document with
//! one run for all traces.
//!
//! - A finding is a `result`. Its `ruleId` and its fingerprint are those of the JSON report, so
//!   it stays the same alert from run to run.
//! - Its events are one `threadFlow` for each thread; `executionOrder` tells how the threads
//!   interleaved.
//! - A finding whose site names no file of the source is located in the trace: GitHub refuses
//!   results without a file.
//! - GitHub refuses files that exceed its limits. What does not fit is left out, violations last,
//!   and a notification says how much.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use paceline_analysis::finding::{Rule, Severity};
use serde_json::{Map, Value, json};

use crate::model::{Event, Failure, Finding, Frame, Report};
use crate::outcome::Outcome;
use crate::place::{self, Place, Root, uri};
use crate::table::in_conflict;
use crate::{rules, scope, text};

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
    let mut results = results(outcomes, root, limits, &mut dropped);
    let within = fit(&results, limits);
    dropped.results += results.len() - within;
    results.truncate(within);
    let mut notifications: Vec<Value> = outcomes.iter().flat_map(|o| told(o, root)).collect();
    notifications.extend(dropped.told(results.len()));
    let analysed = outcomes.iter().all(|o| matches!(o, Outcome::Report(_)));
    let document = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": driver()},
            "invocations": [{
                "executionSuccessful": analysed,
                "toolExecutionNotifications": notifications,
            }],
            "originalUriBaseIds": {BASE: {"description": {"text": "The root of the sources."}}},
            "artifacts": outcomes.iter().map(|o| artifact(o, root)).collect::<Vec<_>>(),
            "results": results,
            "columnKind": "unicodeCodePoints",
        }],
    });
    document.to_string() + "\n"
}

/// The results, violations first: these are to be kept if something must go.
fn results(
    outcomes: &[Outcome],
    root: &Root,
    limits: &Limits,
    dropped: &mut Dropped,
) -> Vec<Value> {
    let found = outcomes.iter().flat_map(|o| o.findings().iter().map(move |f| (o.path(), f)));
    let mut found: Vec<(&str, &Finding)> = found.collect();
    found.sort_by_key(|(_, finding)| is_warning(finding));
    dropped.results = found.len().saturating_sub(limits.results);
    found.truncate(limits.results);
    found.into_iter().map(|(trace, f)| result(trace, f, root, limits, dropped)).collect()
}

fn is_warning(finding: &Finding) -> bool {
    finding.severity == Severity::Warning.name()
}

fn level(finding: &Finding) -> &'static str {
    if is_warning(finding) { "warning" } else { "error" }
}

fn result(
    trace: &str,
    finding: &Finding,
    root: &Root,
    limits: &Limits,
    dropped: &mut Dropped,
) -> Value {
    let rule = rules::named(&finding.rule).and_then(|r| Rule::ALL.iter().position(|&a| a == r));
    object([
        ("ruleId", json!(finding.rule)),
        ("ruleIndex", json!(rule)),
        ("level", json!(level(finding))),
        ("message", message(&text::brief(finding))),
        ("analysisTarget", artifact_location(root.relative(trace))),
        ("locations", json!([place_of(trace, finding, root)])),
        ("occurrenceCount", json!(finding.count.max(1))),
        // The second is the one that GitHub knows.
        (
            "partialFingerprints",
            json!({"paceline/v1": finding.id, "primaryLocationLineHash": finding.id}),
        ),
        ("codeFlows", code_flows(finding, root, limits, dropped)),
    ])
}

/// Where the finding is shown; GitHub wants some file in any case.
fn place_of(trace: &str, finding: &Finding, root: &Root) -> Value {
    let place = place::of_finding(finding, root);
    let place = place.unwrap_or(Place { file: root.relative(trace), line: None });
    let blame = finding.blame.as_ref();
    object([
        ("physicalLocation", physical(place)),
        ("logicalLocations", blame.map_or(Value::Null, |b| logical(&b.label))),
    ])
}

/// One flow for each thread, in the order of their first events.
fn code_flows(finding: &Finding, root: &Root, limits: &Limits, dropped: &mut Dropped) -> Value {
    let kept = finding.threads.len().min(limits.flow_locations);
    dropped.flow_locations += finding.threads.len() - kept;
    let mut flows: Vec<(&str, Vec<Value>)> = Vec::new();
    for (event, order) in finding.threads[..kept].iter().zip(1..) {
        let location = flow_location(event, order, finding, root);
        match flows.iter_mut().find(|(thread, _)| *thread == event.thread) {
            Some((_, locations)) => locations.push(location),
            None => flows.push((&event.thread, vec![location])),
        }
    }
    let flow = |(thread, locations): (&str, Vec<Value>)| json!({"id": thread, "message": message(&format!("thread {thread}")), "locations": locations});
    let flows: Vec<Value> = flows.into_iter().map(flow).collect();
    if flows.is_empty() { Value::Null } else { json!([{"threadFlows": flows}]) }
}

fn flow_location(event: &Event, order: u64, finding: &Finding, root: &Root) -> Value {
    let essential = in_conflict(finding, event);
    let what = format!("{} (event {} of thread {})", event.operation(), event.event, event.thread);
    let location = object([
        ("physicalLocation", Place::of(&event.site, root).map_or(Value::Null, physical)),
        ("message", message(&what)),
    ]);
    object([
        ("location", location),
        ("stack", stack(event, root)),
        ("kinds", json!([event.kind])),
        ("executionOrder", json!(order)),
        ("importance", json!(if essential { "essential" } else { "important" })),
    ])
}

/// The calls around an event. Where it is in the innermost one is known; where the others were
/// left is not.
fn stack(event: &Event, root: &Root) -> Value {
    if event.stack.is_empty() {
        return Value::Null;
    }
    let frame = |(i, frame): (usize, &Frame)| {
        let site = if i == 0 { &event.site } else { &frame.site };
        let location = object([
            ("physicalLocation", Place::of(site, root).map_or(Value::Null, physical)),
            ("logicalLocations", logical(&frame.label)),
        ]);
        json!({"location": location})
    };
    json!({"frames": event.stack.iter().enumerate().map(frame).collect::<Vec<_>>()})
}

fn physical(place: Place) -> Value {
    object([
        ("artifactLocation", artifact_location(place.file)),
        ("region", place.line.map_or(Value::Null, |line| json!({"startLine": line}))),
    ])
}

fn logical(label: &str) -> Value {
    json!([{"fullyQualifiedName": label, "kind": "function"}])
}

fn artifact_location(path: &str) -> Value {
    if path.starts_with('/') {
        json!({"uri": uri(path)})
    } else {
        json!({"uri": uri(path), "uriBaseId": BASE})
    }
}

/// A text in which nothing is taken for a link.
fn message(text: &str) -> Value {
    if !text.contains("](") {
        return json!({"text": text});
    }
    let escaped = text.replace('\\', "\\\\").replace('[', "\\[").replace(']', "\\]");
    json!({"text": escaped})
}

/// An object without the fields that are null.
fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let present = fields.into_iter().filter(|(_, value)| !value.is_null());
    Value::Object(present.map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>())
}

fn driver() -> Value {
    json!({
        "name": "paceline",
        "semanticVersion": env!("CARGO_PKG_VERSION"),
        "rules": Rule::ALL.iter().map(|&rule| descriptor(rule)).collect::<Vec<_>>(),
    })
}

fn descriptor(rule: Rule) -> Value {
    let help = rules::help(rule);
    let (level, precision) = match rule.severity() {
        Severity::Violation => ("error", "very-high"),
        Severity::Warning => ("warning", "medium"),
    };
    json!({
        "id": rule.name(),
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
            let Report { input, scope, incomplete, .. } = report;
            json!({"input": input, "scope": scope, "incomplete": incomplete})
        }
        Outcome::Failure(_) => Value::Null,
    };
    object([
        ("location", artifact_location(root.relative(outcome.path()))),
        ("roles", json!(["analysisTarget"])),
        ("properties", properties),
    ])
}

/// What a reader should know about a trace.
fn told(outcome: &Outcome, root: &Root) -> Vec<Value> {
    let place = physical(Place { file: root.relative(outcome.path()), line: None });
    let about = |level: &str, text: &str| {
        let message = message(text);
        json!({"level": level, "message": message, "locations": [{"physicalLocation": place}]})
    };
    match outcome {
        Outcome::Report(report) => notes(report).iter().map(|note| about("note", note)).collect(),
        Outcome::Failure(failure) => vec![about("error", &problem(failure))],
    }
}

fn notes(report: &Report) -> Vec<String> {
    let analysed = format!("analysed {}", scope::line(report));
    [analysed].into_iter().chain(report.notes.iter().cloned()).collect()
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
    fn told(&self, results: usize) -> Vec<Value> {
        let warning = |text: String| json!({"level": "warning", "message": {"text": text}});
        let mut told = Vec::new();
        if self.results > 0 {
            let of = results + self.results;
            let text =
                format!("{} of {of} findings are left out: GitHub takes no more", self.results);
            told.push(warning(text));
        }
        if self.flow_locations > 0 {
            let text =
                format!("{} events are left out of the findings' flows", self.flow_locations);
            told.push(warning(text));
        }
        if results > SHOWN {
            let text =
                format!("GitHub shows {SHOWN} of these {results} findings, severe ones first");
            told.push(warning(text));
        }
        told
    }
}

/// How many of the results fit into the size that is accepted. Compressing is only needed for
/// what is too large without.
fn fit(results: &[Value], limits: &Limits) -> usize {
    let texts: Vec<String> = results.iter().map(Value::to_string).collect();
    if texts.iter().map(String::len).sum::<usize>() <= limits.bytes {
        return results.len();
    }
    let mut file = GzEncoder::new(Count(0), Compression::fast());
    let fits = |text: &&String| {
        // Counting cannot fail; if it could, the result would not be there.
        file.write_all(text.as_bytes()).is_ok() && file.get_ref().0 <= limits.bytes
    };
    texts.iter().take_while(fits).count()
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
