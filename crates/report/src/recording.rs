//! What a recorder said, as data of the report and in words; and what it takes from findings: one
//! that rests on an order which may not have been observed is a warning.

use paceline_analysis::finding::{Rule, Severity};
use paceline_trace::{Note, NoteKind, Recording};

use crate::compose;
use crate::model::{self, Counted, Finding};

/// So many examples of what failed are named.
const EXAMPLES: usize = 3;

/// What was left out on purpose, whatever that means for findings.
const FILTERS: &[NoteKind] = &[NoteKind::Filter, NoteKind::FilteredOrder];

/// The recording as the report has it.
pub fn model(recording: &Recording) -> model::Recording {
    let of = |kind| recording.of(kind).map(counted).collect();
    let filters = recording.notes.iter().filter(|note| FILTERS.contains(&note.kind));
    model::Recording {
        front_end: compose::name(recording.front_end.as_bytes()),
        version: compose::name(recording.version.as_bytes()),
        command: compose::name(recording.command.as_bytes()),
        pid: recording.pid,
        observed: of(NoteKind::Observed),
        failed: of(NoteKind::Failed),
        filters: filters.map(counted).collect(),
        unmodelled: of(NoteKind::Unmodelled),
        inexact: of(NoteKind::Inexact),
        lost: of(NoteKind::Lost),
        remarks: of(NoteKind::Remark),
    }
}

fn counted(note: &Note) -> Counted {
    Counted { what: compose::name(note.text.as_bytes()), count: note.number }
}

/// What a reader of the report should know, one thing a line.
pub fn notes(recording: &Recording) -> Vec<String> {
    let mut notes = Vec::new();
    let mut say = |kinds: &[NoteKind], start: &str, end: &str| {
        let of_kind = recording.notes.iter().filter(|note| kinds.contains(&note.kind));
        let all: Vec<String> = of_kind.map(Note::to_string).collect();
        let more = all.len().saturating_sub(EXAMPLES);
        match (all.is_empty(), kinds) {
            (true, _) => {}
            (false, [NoteKind::Failed]) if more > 0 => {
                let shown = all[..EXAMPLES].join("; ");
                notes.push(format!("{start}{shown}; and {more} more{end}"));
            }
            (false, _) => notes.push(format!("{start}{}{end}", all.join(", "))),
        }
    };
    say(&[NoteKind::Observed], "observed: ", "");
    say(&[NoteKind::Failed], "could not be observed: ", "");
    say(FILTERS, "left out on purpose: ", "");
    let unmodelled = "; a race or conflict that it would rule out is only a warning";
    say(&[NoteKind::Unmodelled], "an order between threads that is not in the trace: ", unmodelled);
    say(&[NoteKind::Inexact], "not recorded in its exact order: ", "; so findings are warnings");
    say(&[NoteKind::Lost], "events that are missing: ", "");
    say(&[NoteKind::Remark], "", "");
    notes
}

/// Makes warnings of the findings that may come from what the recorder did not see.
pub fn soften(recording: &Recording, findings: &mut [Finding]) {
    let why = |finding: &Finding| match () {
        () if recording.has(NoteKind::Inexact) => Some(
            "may be a false alarm: some events were not recorded in their exact order (see the \
             notes)",
        ),
        () if recording.has(NoteKind::Unmodelled) && rests_on_absence(&finding.rule) => Some(
            "may be a false alarm: the program also orders its threads in a way that is not in the \
             trace (see the notes)",
        ),
        () if recording.has(NoteKind::FilteredOrder) && rests_on_absence(&finding.rule) => Some(
            "may be a false alarm: repeated reads of volatile variables were not recorded; record \
             for this property (`--property`)",
        ),
        () => None,
    };
    for finding in findings.iter_mut().filter(|f| f.severity == Severity::Violation.name()) {
        if let Some(why) = why(finding) {
            finding.severity = Severity::Warning.name().to_owned();
            finding.remark.get_or_insert_with(|| why.to_owned());
        }
    }
}

/// Whether a rule is about two events that nothing orders. The others follow from orders that were
/// seen: a further one could not take them back.
fn rests_on_absence(rule: &str) -> bool {
    [Rule::Race, Rule::ConflictFreedom].iter().any(|r| r.name() == rule)
}
