//! Tests of all outputs together: the same finding reads the same in each, no name can break out
//! of any, and SARIF is what its schema says.

use std::process::Command;

use proptest::prelude::*;
use serde_json::Value;

use crate::model::{Finding, Report};
use crate::outcome::Outcome;
use crate::place::Root;
use crate::sarif::{self, Limits};
use crate::{github, junit, samples, text};

const SMALL: Limits = Limits { results: 3, flow_locations: 4, bytes: 1_000_000 };

fn sarif_of(outcomes: &[Outcome]) -> Value {
    let document = sarif::document(outcomes, &Root::default(), &Limits::GITHUB);
    serde_json::from_str(&document).unwrap()
}

fn results(document: &Value) -> &Vec<Value> {
    document["runs"][0]["results"].as_array().unwrap()
}

fn notifications(document: &Value) -> Vec<String> {
    let invocation = &document["runs"][0]["invocations"][0];
    let told = invocation["toolExecutionNotifications"].as_array().unwrap();
    told.iter().map(|n| n["message"]["text"].as_str().unwrap().to_owned()).collect()
}

mod snapshots {
    use super::*;

    fn both() -> [Outcome; 2] {
        [samples::outcome(), samples::failure()]
    }

    #[test]
    fn of_sarif() {
        insta::assert_snapshot!(serde_json::to_string_pretty(&sarif_of(&both())).unwrap());
    }

    #[test]
    fn of_github() {
        let text = both().map(|outcome| github::annotations(&outcome, &Root::default()));
        insta::assert_snapshot!(text.concat());
    }

    #[test]
    fn of_junit() {
        insta::assert_snapshot!(junit::document(&both(), &Root::default()));
    }

    #[test]
    fn of_text() {
        let report = samples::report(&samples::trace(samples::LINE));
        let found: Vec<String> = report.findings.iter().map(text::plain).collect();
        insta::assert_snapshot!(found.join("\n"));
    }
}

/// The elements of a document with this name: their attributes and the text inside.
#[expect(clippy::wildcard_enum_match_arm, reason = "only elements and their text matter")]
fn elements(xml: &str, name: &str) -> Vec<(Vec<(String, String)>, String)> {
    use quick_xml::events::Event;
    let mut reader = quick_xml::Reader::from_str(xml);
    let mut found: Vec<(Vec<(String, String)>, String)> = Vec::new();
    let mut inside = false;
    loop {
        match reader.read_event().unwrap() {
            Event::Start(start) | Event::Empty(start) => {
                inside = start.name().as_ref() == name;
                let attributes = start.attributes().map(|a| {
                    let a = a.unwrap();
                    let value = quick_xml::escape::unescape(&a.value).unwrap().into_owned();
                    (a.key.as_ref().to_owned(), value)
                });
                let attributes: Vec<_> = attributes.collect();
                if inside {
                    found.push((attributes, String::new()));
                }
            }
            Event::Text(part) if inside => {
                found.last_mut().unwrap().1 += &*part;
            }
            Event::GeneralRef(reference) if inside => {
                let text = format!("&{};", &*reference);
                found.last_mut().unwrap().1 += &quick_xml::escape::unescape(&text).unwrap();
            }
            Event::End(_) => inside = false,
            Event::Eof => return found,
            _ => {}
        }
    }
}

fn attribute<'a>(attributes: &'a [(String, String)], name: &str) -> &'a str {
    &attributes.iter().find(|(key, _)| key == name).unwrap().1
}

/// Undoes what a workflow command does to its text.
fn decoded(text: &str) -> String {
    let text = text.replace("%0A", "\n").replace("%3A", ":").replace("%2C", ",");
    text.replace("%25", "%")
}

#[test]
fn a_finding_reads_the_same_in_every_format() {
    let outcome = samples::outcome();
    let sarif = sarif_of(std::slice::from_ref(&outcome));
    let junit = junit::document(std::slice::from_ref(&outcome), &Root::default());
    let (cases, failures) = (elements(&junit, "testcase"), elements(&junit, "failure"));
    let github = github::annotations(&outcome, &Root::default());
    for (i, finding) in outcome.findings().iter().enumerate() {
        let brief = text::brief(finding);
        let full = text::plain(finding);
        for text in [&brief, &full] {
            assert!(text.contains(&finding.title) && text.contains(&finding.id), "{text}");
        }
        let result = &results(&sarif)[i];
        assert_eq!(result["message"]["text"], brief);
        assert_eq!(result["ruleId"], finding.rule);
        assert_eq!(result["partialFingerprints"]["paceline/v1"], finding.id);
        let line = decoded(github.lines().nth(i).unwrap());
        assert!(line.contains(&format!("title={}::{}", finding.title, finding.title)), "{line}");
        assert!(line.contains(&finding.id), "{line}");
        assert_eq!(failures[i].1, full);
        assert_eq!(attribute(&failures[i].0, "message"), finding.title);
        assert!(attribute(&cases[i].0, "name").contains(&finding.id));
        same_place(result, &line, &cases[i].0);
        same_events(result, finding, &full);
    }
}

fn same_place(result: &Value, line: &str, case: &[(String, String)]) {
    let place = &result["locations"][0]["physicalLocation"];
    let file = place["artifactLocation"]["uri"].as_str().unwrap();
    let at = place["region"]["startLine"].as_u64().unwrap();
    assert!(line.contains(&format!("file={file},line={at},")), "{line}");
    assert_eq!((attribute(case, "file"), attribute(case, "line")), (file, at.to_string().as_str()));
}

/// The thread flows, put together in order, are the events of the finding; the table has them too.
fn same_events(result: &Value, finding: &Finding, full: &str) {
    let flows = result["codeFlows"][0]["threadFlows"].as_array().unwrap();
    let mut steps: Vec<(u64, &str, &str)> = Vec::new();
    for flow in flows {
        for step in flow["locations"].as_array().unwrap() {
            let order = step["executionOrder"].as_u64().unwrap();
            let message = step["location"]["message"]["text"].as_str().unwrap();
            steps.push((order, flow["id"].as_str().unwrap(), message));
        }
    }
    steps.sort_unstable();
    assert_eq!(steps.len(), finding.threads.len());
    for ((_, thread, message), event) in steps.iter().zip(&finding.threads) {
        assert_eq!(*thread, event.thread);
        assert!(message.starts_with(&event.operation()), "{message}");
        assert!(full.contains(&event.operation()) && full.contains(&event.event.to_string()));
    }
}

mod limits {
    use super::*;

    fn limited(outcomes: &[Outcome], limits: &Limits) -> Value {
        serde_json::from_str(&sarif::document(outcomes, &Root::default(), limits)).unwrap()
    }

    #[test]
    fn what_is_left_out_is_counted() {
        let document = limited(&[samples::many(5)], &SMALL);
        assert_eq!(results(&document).len(), 3);
        let told = notifications(&document);
        assert!(told.contains(&"2 of 5 findings are left out: GitHub takes no more".to_owned()));
        let events = samples::outcome().findings()[0].threads.len() - 4;
        let flows = format!("{} events are left out of the findings' flows", events * 3);
        assert!(told.contains(&flows), "{told:?}");
    }

    #[test]
    fn warnings_are_left_out_first() {
        let mut outcome = samples::many(5);
        for finding in &mut outcome.report_mut().unwrap().findings[..3] {
            finding.severity = "warning".to_owned();
        }
        let document = limited(&[outcome], &SMALL);
        let levels: Vec<&Value> = results(&document).iter().map(|r| &r["level"]).collect();
        assert_eq!(levels, ["error", "error", "warning"]);
    }

    #[test]
    fn a_file_that_is_too_large_when_compressed_is_cut() {
        let limits = Limits { bytes: 40_000, ..Limits::GITHUB };
        let document = limited(&[samples::many(8_000)], &limits);
        let kept = results(&document).len();
        assert!(kept > 100 && kept < 8_000, "{kept}");
        let left_out = format!("{} of 8000 findings are left out", 8_000 - kept);
        assert!(notifications(&document).iter().any(|n| n.starts_with(&left_out)));
    }

    #[test]
    fn nothing_is_left_out_of_a_small_file() {
        let document = limited(&[samples::many(100)], &Limits::GITHUB);
        assert_eq!(results(&document).len(), 100);
        assert!(!notifications(&document).iter().any(|n| n.contains("left out")));
    }
}

mod schema {
    use super::*;

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

    fn assert_valid(documents: &[Value]) {
        let mut schemas = boon::Schemas::new();
        let mut compiler = boon::Compiler::new();
        compiler.enable_format_assertions();
        compiler.add_resource("sarif.json", official()).unwrap();
        let index = compiler.compile("sarif.json", &mut schemas).unwrap();
        for document in documents {
            if let Err(wrong) = schemas.validate(document, index) {
                panic!("{wrong:#}");
            }
        }
        let wrong = serde_json::json!({"version": "2.1.0", "runs": [{"results": []}]});
        assert!(schemas.validate(&wrong, index).is_err(), "the schema refuses nothing");
    }

    #[test]
    fn sarif_is_valid() {
        let mut bare = samples::report(&samples::trace(samples::LINE));
        let finding = &mut bare.findings[0];
        (finding.blame, finding.count) = (None, 0);
        finding.cycle.clear();
        finding.threads.clear();
        finding.rule = "a rule of a later version".to_owned();
        bare.input.path = "-".to_owned();
        bare.incomplete = true;
        let mut hostile_names = samples::report(&samples::trace(samples::LINE));
        hostile::rename(&mut hostile_names, &hostile::ALL.concat());
        let documents = [
            sarif_of(&[]),
            sarif_of(&[samples::outcome(), samples::failure()]),
            sarif_of(&[Outcome::Report(bare), Outcome::Report(hostile_names)]),
            serde_json::from_str(&sarif::document(&[samples::many(6)], &Root::default(), &SMALL))
                .unwrap(),
        ];
        assert_valid(&documents);
    }
}

mod hostile {
    use super::*;
    use crate::{compose, perfetto};
    use paceline_trace::{Event, LabelId, Op, Trace};
    use std::time::Duration;

    /// What may mean something to one format or another.
    pub const ALL: &[&str] = &[
        "\"",
        "'",
        "<",
        ">",
        "&",
        "&amp;",
        "]]>",
        "<!--",
        "<?",
        "</failure>",
        "::",
        "::error::x",
        "\n::error::x",
        "\r",
        "\n",
        "%",
        "%0A",
        ",",
        "##[error]",
        "\u{1b}[31m",
        "\u{0}",
        "\u{7}",
        "\u{9b}",
        "\u{202e}",
        "\u{2028}",
        "\u{fffe}",
        "[a](http://b)",
        "{0}",
        "\\",
        "/",
        "..",
        ":1",
        "\t",
        "*",
        "^",
        "$",
        "#",
        "é",
        "𝄞",
    ];

    fn name() -> impl Strategy<Value = String> {
        let part = prop_oneof![
            prop::sample::select(ALL).prop_map(str::to_owned),
            any::<char>().prop_map(String::from),
        ];
        prop::collection::vec(part, 1..8).prop_map(|parts| parts.concat())
    }

    /// Puts a name wherever a report has one.
    pub fn rename(report: &mut Report, name: &str) {
        report.input.path = name.to_owned();
        report.notes.push(name.to_owned());
        for finding in &mut report.findings {
            finding.title = format!("{name} is not atomic");
            finding.remark = Some(name.to_owned());
            if let Some(blame) = &mut finding.blame {
                (blame.label, blame.site) = (name.to_owned(), format!("{name}:7"));
            }
            for event in &mut finding.threads {
                (event.thread, event.site) = (name.to_owned(), format!("{name}:3"));
                event.target = Some(name.to_owned());
            }
        }
    }

    /// The same names in every run.
    fn fixed() -> ProptestConfig {
        let rng_seed = proptest::test_runner::RngSeed::Fixed(5);
        ProptestConfig { rng_seed, failure_persistence: None, ..ProptestConfig::with_cases(256) }
    }

    fn is_terminal_safe(text: &str) -> bool {
        text.chars().all(|c| c == '\n' || !c.is_control())
    }

    /// The same story, told of names that are any bytes.
    #[expect(clippy::wildcard_enum_match_arm, reason = "all others keep their names")]
    fn trace(name: &[u8]) -> Trace {
        let mut trace = samples::trace(samples::LINE);
        let label = LabelId(trace.symbols.labels.intern(name));
        let var = trace.symbols.var(name);
        for event in &mut trace.events {
            event.op = match event.op {
                Op::Begin(_) => Op::Begin(label),
                Op::End(_) => Op::End(label),
                Op::Write(_) => Op::Write(var),
                Op::Read(_) => Op::Read(var),
                other => other,
            };
        }
        let thread = trace.symbols.thread(&[name, b"2"].concat());
        let moved = |e: &Event| if e.thread.0 == 1 { Event { thread, ..*e } } else { *e };
        trace.events = trace.events.iter().map(moved).collect();
        trace
    }

    proptest! {
        #![proptest_config(fixed())]

        #[test]
        fn names_do_not_break_a_format(name in name()) {
            let mut report = samples::report(&samples::trace(samples::LINE));
            rename(&mut report, &name);
            let findings = report.findings.len();
            let notes = report.notes.len();
            let outcome = Outcome::Report(report);

            let sarif = sarif_of(std::slice::from_ref(&outcome));
            prop_assert_eq!(results(&sarif).len(), findings);
            let message = results(&sarif)[0]["message"]["text"].as_str().unwrap();
            prop_assert!(!message.replace("\\]", "").contains("]("));

            let github = github::annotations(&outcome, &Root::default());
            prop_assert_eq!(github.lines().count(), findings + notes + 1);
            prop_assert!(is_terminal_safe(&github), "{github:?}");
            for (i, line) in github.lines().enumerate() {
                let kind = if i < findings { "::error " } else { "::notice " };
                prop_assert!(line.starts_with(kind), "{line}");
                let properties = line[2..].split_once("::").unwrap().0;
                let keys = properties.split(' ').nth(1).unwrap_or_default().split(',');
                prop_assert!(keys.clone().count() <= 3, "{line}");
            }

            let junit = junit::document(std::slice::from_ref(&outcome), &Root::default());
            prop_assert!(is_terminal_safe(&junit.replace('\t', "")), "{junit:?}");
            prop_assert_eq!(elements(&junit, "testsuite").len(), 1);
            prop_assert_eq!(elements(&junit, "failure").len(), findings);
            let shown = elements(&junit, "failure").swap_remove(0).0;
            let expected: String = outcome.findings()[0].title.chars()
                .map(|c| if c.is_control() && c != '\n' && c != '\t' || c == '\u{fffe}' || c == '\u{ffff}' {
                    '\u{fffd}' } else { c }).collect();
            prop_assert_eq!(attribute(&shown, "message"), expected);
        }

        #[test]
        fn bytes_do_not_break_a_format(name in prop::collection::vec(any::<u8>(), 1..12)) {
            let trace = trace(&name);
            let mut report = samples::report(&trace);
            report.input.path = String::from_utf8_lossy(&name).into_owned();
            report.notes.push(report.input.path.clone());
            let mut picture = perfetto::Writer::new(Vec::new(), &report.findings).unwrap();
            picture.events(&trace.batch(), &trace.symbols).unwrap();
            let picture: Value = serde_json::from_slice(&picture.finish().unwrap()).unwrap();
            let label = compose::name(&name);
            let events = picture["traceEvents"].as_array().unwrap();
            prop_assert!(events.iter().any(|e| e["ph"] == "B" && e["name"] == label.as_str()));

            let text = text::report(&report, Duration::ZERO);
            let plain = anstream::adapter::strip_str(&text).to_string();
            prop_assert!(is_terminal_safe(&plain), "{plain:?}");
            let outcome = Outcome::Report(report);
            prop_assert_eq!(results(&sarif_of(&[outcome])).len(), 2);
        }
    }
}
