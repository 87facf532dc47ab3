//! One report in all formats: the same finding reads the same in each.

use std::time::Duration;

use paceline_report::html::Snippets;
use paceline_report::model::{Event, Finding, Report, Site};
use paceline_report::outcome::{self, Outcome};
use paceline_report::paths::Root;
use paceline_report::suppress::{self, Suppressions};
use paceline_report::{dot, github, junit, svg, text};
use serde_json::Value;

use crate::reading::{
    attribute, decoded, elements, notifications, page_of, picture_of, results, sarif_of,
};
use crate::samples;

/// What is said of a finding in one format, all in one text, and where it is said to be.
struct Saying {
    format: &'static str,
    text: String,
    place: Option<(String, u64)>,
}

fn saying(format: &'static str, text: String) -> Saying {
    Saying { format, text, place: None }
}

/// Everything that is said of a finding, format by format.
fn all_formats(outcome: &Outcome, i: usize) -> Vec<Saying> {
    let Outcome::Report(report) = outcome else { panic!("no report") };
    let finding = &report.findings[i];
    let trace = samples::trace(samples::LINE);
    let json = serde_json::to_string(outcome).unwrap();
    let read = outcome::parse(json.as_bytes()).unwrap();
    assert_eq!(read[0].findings()[i], *finding, "JSON holds the finding itself");
    let (_, data) = page_of(report, &Snippets::new());
    let mut html = data["reports"][0]["findings"][i].to_string();
    html += data["graphs"][0][i].as_str().unwrap();
    vec![
        saying("json", serde_json::to_string(&read[0].findings()[i]).unwrap()),
        saying("text", text::plain(finding, report.rule(&finding.rule))),
        sarif(outcome, i),
        annotation(outcome, i),
        junit_case(outcome, i),
        saying("html", html),
        saying("dot", dot::dot(finding)),
        saying("svg", svg::svg(finding)),
        saying("perfetto", slices(&picture_of(&trace, report), finding)),
    ]
}

fn sarif(outcome: &Outcome, i: usize) -> Saying {
    let document = sarif_of(std::slice::from_ref(outcome));
    let result = &results(&document)[i];
    assert_eq!(result["occurrenceCount"], outcome.findings()[i].count);
    let place = &result["locations"][0]["physicalLocation"];
    let file = place["artifactLocation"]["uri"].as_str().unwrap().to_owned();
    let line = place["region"]["startLine"].as_u64().unwrap();
    same_events(result, &outcome.findings()[i]);
    // Places are split into file and line there.
    let text = result.to_string() + &sites_of(result);
    Saying { format: "sarif", text, place: Some((file, line)) }
}

/// The places in a result, as `file:line`.
fn sites_of(value: &Value) -> String {
    let inside = |values: Vec<&Value>| values.into_iter().map(sites_of).collect::<String>();
    match value {
        Value::Object(fields) => {
            let own = match (&value["artifactLocation"]["uri"], &value["region"]["startLine"]) {
                (Value::String(file), Value::Number(line)) => format!(" {file}:{line}"),
                _ => String::new(),
            };
            own + &inside(fields.values().collect())
        }
        Value::Array(values) => inside(values.iter().collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => String::new(),
    }
}

fn annotation(outcome: &Outcome, i: usize) -> Saying {
    let lines = github::annotations(outcome, &Root::default());
    let line = decoded(lines.lines().nth(i).unwrap());
    let (_, place) = line.split_once("file=").unwrap();
    let (file, place) = place.split_once(",line=").unwrap();
    let (number, _) = place.split_once(',').unwrap();
    let place = Some((file.to_owned(), number.parse().unwrap()));
    Saying { format: "github", text: line, place }
}

fn junit_case(outcome: &Outcome, i: usize) -> Saying {
    let document = junit::document(std::slice::from_ref(outcome), &Root::default());
    let (case, _) = elements(&document, "testcase").swap_remove(i);
    let (failure, text) = elements(&document, "failure").swap_remove(i);
    assert_eq!(attribute(&failure, "message"), outcome.findings()[i].title);
    let finding = &outcome.findings()[i];
    let rule = outcome.report().unwrap().rule(&finding.rule);
    assert_eq!(text, text::plain(finding, rule), "JUnit shows what a terminal shows");
    let place = Some((attribute(&case, "file").into(), attribute(&case, "line").parse().unwrap()));
    Saying { format: "junit", text, place }
}

/// The slices of a finding.
fn slices(picture: &Value, finding: &Finding) -> String {
    let events = picture["traceEvents"].as_array().unwrap();
    let slices: Vec<String> = events.iter().map(Value::to_string).collect();
    slices.into_iter().filter(|s| s.contains(&finding.id)).collect::<Vec<_>>().join("\n")
}

/// The thread flows, put together in order, are the events of the finding, with their stacks.
fn same_events(result: &Value, finding: &Finding) {
    let flows = result["codeFlows"][0]["threadFlows"].as_array().unwrap();
    let mut steps: Vec<(u64, &str, &Value)> = Vec::new();
    for flow in flows {
        let steps_of = flow["locations"].as_array().unwrap().iter();
        let thread = flow["id"].as_str().unwrap();
        steps.extend(steps_of.map(|s| (s["executionOrder"].as_u64().unwrap(), thread, s)));
    }
    steps.sort_by_key(|step| step.0);
    assert_eq!(steps.len(), finding.threads.len());
    for ((_, thread, step), event) in steps.iter().zip(&finding.threads) {
        assert_eq!(*thread, event.thread);
        let message = step["location"]["message"]["text"].as_str().unwrap();
        assert!(message.starts_with(&event.operation()), "{message}");
        let frames = step["stack"]["frames"].as_array().map_or(&[][..], Vec::as_slice);
        let name = |f: &Value| f["location"]["logicalLocations"][0]["fullyQualifiedName"].clone();
        let labels: Vec<&str> = event.stack.iter().map(|f| f.label.text().unwrap()).collect();
        assert_eq!(frames.iter().map(name).collect::<Vec<_>>(), labels);
    }
}

fn has(saying: &Saying, what: &str) {
    let Saying { format, text, .. } = saying;
    assert!(text.contains(what), "{format} does not say {what}:\n{text}");
}

/// As it is written in a trace, or field by field.
fn has_operation(saying: &Saying, event: &Event) {
    let target = serde_json::to_string(&event.target).unwrap();
    let fields = format!("\"kind\":\"{}\",\"target\":{target}", event.kind.name());
    let said = saying.text.contains(&fields) || saying.text.contains(&event.operation());
    assert!(said, "{} does not say {}", saying.format, event.operation());
}

/// As text, or field by field.
fn has_site(saying: &Saying, site: &Site) {
    let fields = serde_json::to_string(site).unwrap();
    let said = saying.text.contains(&fields) || saying.text.contains(&site.to_string());
    assert!(said, "{} does not say {site}", saying.format);
}

/// The events that make a finding one.
fn in_conflict(finding: &Finding) -> Vec<&Event> {
    let edges = finding.cycle.iter().flat_map(|t| [&t.edge.from, &t.edge.to]);
    let events: Vec<&Event> = edges.collect();
    if events.is_empty() { finding.threads.iter().collect() } else { events }
}

#[test]
fn a_finding_reads_the_same_in_every_format() {
    let outcome = samples::outcome();
    for (i, finding) in outcome.findings().iter().enumerate() {
        let formats = all_formats(&outcome, i);
        assert_eq!(formats.len(), 9);
        for saying in &formats {
            has(saying, &finding.title);
            has(saying, &finding.id);
            if let Some(blame) = &finding.blame {
                has(saying, blame.label.text().unwrap());
            }
            // As words, or as a number under a name.
            let times = format!("{} times", finding.count);
            let words = if finding.count == 1 { "once" } else { &times };
            let number = format!("\"count\":{}", finding.count);
            assert!(
                saying.text.contains(words) || saying.text.contains(&number),
                "{}",
                saying.format
            );
            // A line of an annotation, and the boxes of a cycle, have no room for every event.
            let whole =
                saying.format != "github" && (finding.cycle.is_empty() || !is_graph(saying));
            for event in in_conflict(finding) {
                if whole {
                    has_site(saying, &event.site);
                }
                if saying.format != "github" {
                    has_operation(saying, event);
                }
            }
        }
        let mut places = formats.iter().filter_map(|saying| saying.place.as_ref());
        let first = places.next().unwrap();
        let site = finding.blame.as_ref().map_or(&finding.threads[1].site, |b| &b.site);
        assert_eq!(format!("{}:{}", first.0, first.1), site.to_string());
        assert!(places.all(|place| place == first));
    }
}

fn is_graph(saying: &Saying) -> bool {
    saying.format == "dot" || saying.format == "svg"
}

/// A file of suppressions knows the same findings by the same names.
#[test]
fn what_is_reported_can_be_suppressed() {
    let Outcome::Report(mut report) = samples::outcome() else { panic!("no report") };
    let file = suppress::write(&report.findings);
    for finding in &report.findings {
        assert!(file.contains(&format!("# {} [{}]", finding.title, finding.id)));
    }
    let mut suppressions = Suppressions::default();
    suppressions.add("known.txt", &file).unwrap();
    suppressions.apply(&mut report);
    assert_eq!((report.findings.len(), suppressions.unused().len()), (0, 0));
}

/// Every format says what was analysed: events, threads, blocks, properties, filters, what was
/// dropped, and whether that was all.
#[test]
fn what_was_analysed_is_said_in_every_format() {
    let mut report = samples::report(&samples::trace(samples::LINE));
    report.incomplete = true;
    let outcome = Outcome::Report(report.clone());
    let summary = [
        ("text", text_of(&report)),
        ("github", github::annotations(&outcome, &Root::default())),
        ("junit", junit::document(std::slice::from_ref(&outcome), &Root::default())),
        ("sarif", notifications(&sarif_of(std::slice::from_ref(&outcome))).join("\n")),
        ("perfetto", picture_of(&samples::trace(samples::LINE), &report)["otherData"].to_string()),
    ];
    for (format, said) in summary {
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        for fact in [
            "13 events, 2 threads, 2 variables, 1 lock, 1 block",
            "checked atomicity, determinism, race",
            "filter: --except Main.*",
            "2 events dropped",
            "3 count as atomic, 1 do not",
        ] {
            assert!(said.contains(fact), "{format} does not say {fact}:\n{said}");
        }
        assert!(said.contains("not everything was analysed"), "{format}:\n{said}");
    }
    let saved: Value = serde_json::to_value(&report).unwrap();
    let (_, page) = page_of(&report, &Snippets::new());
    let sarif = sarif_of(std::slice::from_ref(&outcome));
    let artifact = &sarif["runs"][0]["artifacts"][0]["properties"];
    for field in ["input", "scope", "incomplete"] {
        assert_eq!(page["reports"][0][field], saved[field]);
        assert_eq!(artifact[field], saved[field]);
    }
}

fn text_of(report: &Report) -> String {
    anstream::adapter::strip_str(&text::report(report, Duration::ZERO)).to_string()
}
