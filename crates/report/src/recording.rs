//! What a recorder reported, as data of the report; and what it takes from findings: one that rests
//! on an order which may not have been observed is a warning.

use paceline_analysis::finding::Severity;
use paceline_trace::{NoteKind, Recording};

use crate::compose;
use crate::model::{self, Counted, Explanation, Finding, Note, Remark};

/// The recording as the report has it.
pub fn model(recording: &Recording) -> model::Recording {
    let of = |kind| counted(recording, kind);
    model::Recording {
        front_end: compose::name(recording.front_end.as_bytes()),
        version: compose::name(recording.version.as_bytes()),
        command: compose::name(recording.command.as_bytes()),
        pid: recording.pid,
        observed: of(NoteKind::Observed),
        failed: of(NoteKind::Failed),
        filters: of(NoteKind::Filter),
        filtered_order: of(NoteKind::FilteredOrder),
        unmodelled: of(NoteKind::Unmodelled),
        inexact: of(NoteKind::Inexact),
        lost: of(NoteKind::Lost),
        remarks: of(NoteKind::Remark),
    }
}

fn counted(recording: &Recording, kind: NoteKind) -> Vec<Counted> {
    let counted = |note: &paceline_trace::Note| Counted {
        what: compose::name(note.text.as_bytes()),
        count: note.number,
    };
    recording.of(kind).map(counted).collect()
}

/// What a reader of the report should know, one note for each kind of thing.
pub fn notes(recording: &Recording) -> Vec<Note> {
    let each = NoteKind::ALL.iter().map(|&kind| (kind, counted(recording, kind)));
    each.filter(|(_, items)| !items.is_empty())
        .map(|(about, items)| Note::Recorded { about, items })
        .collect()
}

/// Makes warnings of the findings that may come from what the recorder did not see.
pub fn soften(recording: &Recording, findings: &mut [Finding]) {
    let why = |finding: &Finding| match () {
        () if recording.has(NoteKind::Inexact) => Some(Remark::InexactOrder),
        () if !rests_on_absence(finding) => None,
        () if recording.has(NoteKind::Unmodelled) => Some(Remark::UnmodelledOrder),
        () if finding.reordering.is_some() && leaves_out_accesses(recording) => {
            Some(Remark::AccessesLeftOut)
        }
        () if recording.has(NoteKind::FilteredOrder) => Some(Remark::RedundantOrder),
        () => None,
    };
    for finding in findings.iter_mut().filter(|f| f.severity == Severity::Violation) {
        if let Some(why) = why(finding) {
            finding.severity = Severity::Warning;
            if finding.remarks.is_empty() || finding.reordering.is_some() {
                finding.remarks.push(why);
            }
        }
    }
}

/// Whether a finding is about two events that nothing orders, or about another order of events. The
/// others follow from orders that were seen: a further one could not take them back.
fn rests_on_absence(finding: &Finding) -> bool {
    finding.explanation == Explanation::Unordered || finding.reordering.is_some()
}

/// Whether some accesses of the program may not be in the trace: what a read sees in another order
/// may then be something else than what is known. Even what one thread alone had touched so far counts:
/// a value that it wrote before others came may be what they saw.
fn leaves_out_accesses(recording: &Recording) -> bool {
    const LEFT_OUT: [NoteKind; 4] =
        [NoteKind::Filter, NoteKind::FilteredOrder, NoteKind::Failed, NoteKind::Lost];
    LEFT_OUT.iter().any(|&kind| recording.has(kind))
}
