//! How a trace was recorded decides what its findings are worth.

use paceline_analysis::finding::Rule;
use paceline_report::recording::{notes, soften};
use paceline_trace::{NoteKind, Recording};

use crate::samples;

fn recording(notes: &[(NoteKind, &str, u64)]) -> Recording {
    let mut recording = Recording::default();
    notes.iter().for_each(|(kind, text, number)| recording.note(*kind, text, *number));
    recording
}

fn softened(kind: NoteKind, rule: Rule) -> (String, bool) {
    let mut finding = samples::report(&samples::trace(samples::LINE)).findings.remove(1);
    finding.remark = None;
    finding.rule = rule.name().to_owned();
    let mut findings = [finding];
    soften(&recording(&[(kind, "Phaser", 1)]), &mut findings);
    (findings[0].severity.clone(), findings[0].remark.is_some())
}

#[test]
fn what_rests_on_an_order_that_was_not_seen_is_a_warning() {
    let warning = ("warning".to_owned(), true);
    let violation = ("violation".to_owned(), false);
    assert_eq!(softened(NoteKind::Unmodelled, Rule::Race), warning);
    assert_eq!(softened(NoteKind::Unmodelled, Rule::ConflictFreedom), warning);
    assert_eq!(softened(NoteKind::Unmodelled, Rule::Atomicity), violation);
    assert_eq!(softened(NoteKind::Inexact, Rule::Atomicity), warning);
    assert_eq!(softened(NoteKind::Filter, Rule::Race), violation);
    assert_eq!(softened(NoteKind::FilteredOrder, Rule::Race), warning);
    assert_eq!(softened(NoteKind::FilteredOrder, Rule::Atomicity), violation);
}

#[test]
fn notes_say_what_was_analysed() {
    let recording = recording(&[
        (NoteKind::Observed, "classes", 3),
        (NoteKind::Observed, "methods", 17),
        (NoteKind::Failed, "p.A: too large", 0),
        (NoteKind::Failed, "p.B: too large", 0),
        (NoteKind::Failed, "p.C: too large", 0),
        (NoteKind::Failed, "p.D: too large", 0),
        (NoteKind::Filter, "final fields", 0),
    ]);
    assert_eq!(
        notes(&recording),
        [
            "observed: 3 classes, 17 methods",
            "could not be observed: p.A: too large; p.B: too large; p.C: too large; and 1 more",
            "left out on purpose: final fields",
        ]
    );
}
