//! What the outputs look like. Each of these is read by a person when it changes.

use std::time::Duration;

use paceline_report::outcome::Outcome;
use paceline_report::paths::Root;
use paceline_report::{dot, github, junit, svg, text};

use crate::reading::sarif_of;
use crate::samples;

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
    let found: Vec<String> =
        report.findings.iter().map(|f| text::plain(f, report.rule(&f.rule))).collect();
    insta::assert_snapshot!(found.join("\n"));
}

#[test]
fn of_a_whole_text() {
    let report = samples::report(&samples::trace(samples::LINE));
    let text = text::report(&report, Duration::from_millis(1500));
    insta::assert_snapshot!(anstream::adapter::strip_str(&text).to_string());
}

#[test]
fn of_graphs() {
    let report = samples::report(&samples::trace(samples::LINE));
    let drawn = report.findings.iter().map(|f| format!("{}\n{}", dot::dot(f), svg::svg(f)));
    insta::assert_snapshot!(drawn.collect::<Vec<_>>().join("\n").replace("><", ">\n<"));
}
