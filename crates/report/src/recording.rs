//! What a recorder reported, as data of the report; and what it takes from findings: one that rests
//! on an order which may not have been observed is a warning.

use paceline_analysis::finding::Severity;
use paceline_trace::{NoteKind, Recording};

use crate::compose;
use crate::model::{self, Counted, Explanation, Finding, Note, Remark};

/// What was left out on purpose, whatever that means for findings.
const FILTERS: &[NoteKind] = &[NoteKind::Filter, NoteKind::FilteredOrder];

/// The recording as the report has it.
pub fn model(recording: &Recording) -> model::Recording {
    let of = |kind| counted(recording, &[kind]);
    model::Recording {
        front_end: compose::name(recording.front_end.as_bytes()),
        version: compose::name(recording.version.as_bytes()),
        command: compose::name(recording.command.as_bytes()),
        pid: recording.pid,
        observed: of(NoteKind::Observed),
        failed: of(NoteKind::Failed),
        filters: counted(recording, FILTERS),
        unmodelled: of(NoteKind::Unmodelled),
        inexact: of(NoteKind::Inexact),
        lost: of(NoteKind::Lost),
        remarks: of(NoteKind::Remark),
    }
}

fn counted(recording: &Recording, kinds: &[NoteKind]) -> Vec<Counted> {
    let counted = |note: &paceline_trace::Note| Counted {
        what: compose::name(note.text.as_bytes()),
        count: note.number,
    };
    recording.notes.iter().filter(|note| kinds.contains(&note.kind)).map(counted).collect()
}

/// What a reader of the report should know, one note for each kind of thing.
pub fn notes(recording: &Recording) -> Vec<Note> {
    let kinds = NoteKind::ALL.iter().filter(|&&kind| kind != NoteKind::FilteredOrder);
    let each = kinds.map(|&kind| {
        let together = if FILTERS.contains(&kind) { FILTERS } else { &[kind] };
        (kind, counted(recording, together))
    });
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
        () if recording.has(NoteKind::FilteredOrder) => Some(Remark::RedundantOrder),
        () => None,
    };
    for finding in findings.iter_mut().filter(|f| f.severity == Severity::Violation) {
        if let Some(why) = why(finding) {
            finding.severity = Severity::Warning;
            if finding.remarks.is_empty() {
                finding.remarks.push(why);
            }
        }
    }
}

/// Whether a finding is about two events that nothing orders. The others follow from orders that
/// were seen: a further one could not take them back.
fn rests_on_absence(finding: &Finding) -> bool {
    finding.explanation == Explanation::Unordered
}
