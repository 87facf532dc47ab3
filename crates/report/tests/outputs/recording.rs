//! How a trace was recorded decides what its findings are worth.

use paceline_report::model::{Explanation, Finding, Note, Remark, Severity};
use paceline_report::recording::{notes, soften};
use paceline_trace::{NoteKind, Recording};

use crate::samples;

fn recording(notes: &[(NoteKind, &str, u64)]) -> Recording {
    let mut recording = Recording::default();
    notes.iter().for_each(|(kind, text, number)| recording.note(*kind, text, *number));
    recording
}

fn softened(kind: NoteKind, explanation: Explanation) -> (Severity, Vec<Remark>) {
    let mut findings = [Finding { explanation, ..samples::race() }];
    soften(&recording(&[(kind, "Phaser", 1)]), &mut findings);
    let [finding] = findings;
    (finding.severity, finding.remarks)
}

#[test]
fn what_rests_on_an_order_that_was_not_seen_is_a_warning() {
    let warning = |why| (Severity::Warning, vec![why]);
    let violation = (Severity::Violation, Vec::new());
    let (unordered, cycle) = (Explanation::Unordered, Explanation::Cycle);
    assert_eq!(softened(NoteKind::Unmodelled, unordered), warning(Remark::UnmodelledOrder));
    assert_eq!(softened(NoteKind::Unmodelled, cycle), violation);
    assert_eq!(softened(NoteKind::Inexact, cycle), warning(Remark::InexactOrder));
    assert_eq!(softened(NoteKind::Filter, unordered), violation);
    assert_eq!(softened(NoteKind::FilteredOrder, unordered), warning(Remark::RedundantOrder));
    assert_eq!(softened(NoteKind::FilteredOrder, cycle), violation);
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
    let notes: Vec<String> = notes(&recording).iter().map(Note::to_string).collect();
    assert_eq!(
        notes,
        [
            "observed: 3 classes, 17 methods",
            "could not be observed: p.A: too large; p.B: too large; p.C: too large; and 1 more",
            "left out on purpose: final fields",
        ]
    );
}
