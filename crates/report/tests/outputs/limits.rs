//! What is too much for GitHub is left out of SARIF, and what is too much for a terminal is left out
//! of text; both are counted.

use paceline_report::model::Severity;
use paceline_report::outcome::Outcome;
use paceline_report::paths::Root;
use paceline_report::sarif::{self, Limits};
use paceline_report::text;
use serde_json::Value;

use crate::reading::{notifications, results};
use crate::samples;

/// Limits that a few findings exceed.
pub const SMALL: Limits = Limits { results: 3, flow_locations: 4, bytes: 1_000_000 };

fn limited(outcomes: &[Outcome], limits: &Limits) -> Value {
    serde_json::from_str(&sarif::document(outcomes, &Root::default(), limits)).unwrap()
}

#[test]
fn what_is_left_out_is_counted() {
    let document = limited(&[samples::many(5)], &SMALL);
    assert_eq!(results(&document).len(), 3);
    let notified = notifications(&document);
    assert!(notified.contains(&"2 of 5 findings are left out: GitHub takes no more".to_owned()));
    let events = samples::outcome().findings()[0].threads.len() - 4;
    let flows = format!("{} events are left out of the findings' flows", events * 3);
    assert!(notified.contains(&flows), "{notified:?}");
}

#[test]
fn warnings_are_left_out_first() {
    let mut outcome = samples::many(5);
    for finding in &mut outcome.report_mut().unwrap().findings[..3] {
        finding.severity = Severity::Warning;
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

/// A cycle through this many threads.
fn ring(threads: usize) -> String {
    let mut line = String::new();
    (0..threads).for_each(|t| line += &format!("t{t}:begin(m{t}) t{t}:r(x{t}) "));
    (0..threads).for_each(|t| line += &format!("t{t}:w(x{}) ", (t + 1) % threads));
    line
}

fn text_of(line: &str) -> String {
    let report = samples::report(&samples::trace(line));
    text::plain(&report.findings[0], None)
}

#[test]
fn more_threads_than_columns_still_fit_on_a_terminal() {
    for threads in [4, 5, 12] {
        let text = text_of(&ring(threads));
        assert!((0..threads).all(|t| text.contains(&format!("r(x{t})"))), "{text}");
        let widest = text.lines().map(|l| l.chars().count()).max();
        assert!(widest <= Some(80), "{text}");
    }
}

#[test]
fn the_middle_of_a_long_table_is_left_out_and_counted() {
    let text = text_of(&ring(40));
    assert!(text.contains("60 rows are left out"), "{text}");
    assert!(text.contains("r(x0)") && text.contains("w(x0)"), "{text}");
}
