//! What a reader of a report should know about it.

use std::fmt;

use paceline_trace::NoteKind;
use serde::{Deserialize, Serialize};

use super::fact::fact;
use super::{Counted, note_key};

/// One thing that a reader of a report should know about it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(remote = "Self", tag = "kind", rename_all = "snake_case")]
pub enum Note {
    /// Lines that the program itself printed between the events.
    ForeignLines {
        /// How many.
        count: u64,
    },
    /// Events that were lost because the program printed something in their middle.
    LostEvents {
        /// How many.
        count: u64,
    },
    /// Lines with an operation that orders nothing.
    UnmodelledLines {
        /// The operation.
        operation: String,
        /// How many.
        count: u64,
    },
    /// Lines that are not of the format.
    MalformedLines {
        /// How many.
        count: u64,
    },
    /// Events that break the rules of a trace.
    MalformedEvents {
        /// How many.
        count: u64,
    },
    /// The first line that is not of the format.
    FirstMalformedLine {
        /// Where, and what is wrong with it.
        problem: String,
    },
    /// The first event that breaks the rules of a trace.
    FirstMalformedEvent {
        /// Where, and what is wrong with it.
        problem: String,
    },
    /// The input ends in the middle of something.
    CutOff {
        /// Where and how.
        problem: String,
    },
    /// What the recorder of the trace has to say.
    Recorded {
        /// What about.
        #[serde(with = "note_key")]
        about: NoteKind,
        /// What exactly.
        items: Vec<Counted>,
    },
    /// Which methods and blocks count as atomic was decided by their names.
    SelectedByName {
        /// How many labels do.
        atomic: u64,
        /// How many do not.
        not_atomic: u64,
    },
    /// A pattern that was given for methods matches none.
    UnmatchedPattern {
        /// The pattern.
        pattern: String,
    },
    /// More was found than is shown.
    MoreFindings,
    /// Atomicity was decided without the accesses to race-free variables.
    WithoutRaceFree,
    /// There was nothing to analyse.
    NothingAnalysed,
    /// The findings were compared with those of an earlier report.
    Baseline {
        /// How many are new.
        new: u64,
        /// How many were known, and are not shown.
        known: u64,
    },
    /// Findings that are not shown because they are not wanted.
    Suppressed {
        /// How many.
        count: u64,
    },
    /// An entry of a file of suppressions that matches nothing.
    UnusedSuppression {
        /// The file and the line.
        origin: String,
        /// The entry.
        entry: String,
    },
    /// A finding of the baseline that was looked for and not seen.
    NotSeen {
        /// Its title.
        title: String,
        /// Its fingerprint.
        id: String,
    },
    /// Several paths were scanned as one program.
    ScannedTogether {
        /// The paths.
        paths: Vec<String>,
    },
    /// Anything else.
    Other {
        /// In words.
        #[serde(skip)]
        text: String,
    },
}

fact!(Note);

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::ForeignLines { count } => {
                were(f, *count, "line", "skipped: output of the program, no event")
            }
            Note::LostEvents { count } => {
                were(f, *count, "event", "lost: the program printed something in between")
            }
            Note::UnmodelledLines { operation, count } => {
                let what = format!("`{operation}` line");
                were(f, *count, &what, "skipped: nothing is ordered by this operation")
            }
            Note::MalformedLines { count } => were(f, *count, "malformed line", "skipped"),
            Note::MalformedEvents { count } => were(f, *count, "malformed event", "skipped"),
            Note::FirstMalformedLine { problem } => write!(f, "first malformed line: {problem}"),
            Note::FirstMalformedEvent { problem } => write!(f, "first malformed event: {problem}"),
            Note::CutOff { problem } => f.write_str(problem),
            Note::Recorded { about, items } => recorded(f, *about, items),
            Note::SelectedByName { atomic, not_atomic } => write!(
                f,
                "methods and blocks by name: {atomic} count as atomic, {not_atomic} do not"
            ),
            Note::UnmatchedPattern { pattern } => {
                write!(f, "the pattern `{pattern}` matches no method")
            }
            Note::MoreFindings => {
                f.write_str("there are more findings than shown; --max-findings N shows more")
            }
            Note::WithoutRaceFree => f.write_str(
                "accesses of race-free variables were left out of the atomicity check: the \
                 verdict is the same, but cycles are shown by locks, not by data",
            ),
            Note::NothingAnalysed => {
                f.write_str("nothing was analysed: there is no event, or no block in the trace")
            }
            Note::Baseline { new, known } => {
                let new = crate::scope::count(*new, "new finding");
                write!(f, "{new}; {known} are in the baseline")
            }
            Note::Suppressed { count: 1 } => f.write_str("1 finding is suppressed"),
            Note::Suppressed { count } => write!(f, "{count} findings are suppressed"),
            Note::UnusedSuppression { origin, entry } => {
                write!(f, "{origin}: `{entry}` suppresses nothing")
            }
            Note::NotSeen { title, id } => write!(f, "not seen any more: {title} [{id}]"),
            Note::ScannedTogether { paths } => {
                write!(f, "scanned together: {}", paths.join(", "))
            }
            Note::Other { text } => f.write_str(text),
        }
    }
}

fn were(f: &mut fmt::Formatter<'_>, count: u64, what: &str, fate: &str) -> fmt::Result {
    match count {
        1 => write!(f, "1 {what} was {fate}"),
        _ => write!(f, "{count} {what}s were {fate}"),
    }
}

/// So many examples of what failed are named.
const EXAMPLES: usize = 3;

fn recorded(f: &mut fmt::Formatter<'_>, about: NoteKind, items: &[Counted]) -> fmt::Result {
    let (start, end) = match about {
        NoteKind::Observed => ("observed: ", ""),
        NoteKind::Failed => ("could not be observed: ", ""),
        NoteKind::Filter | NoteKind::FilteredOrder => ("left out on purpose: ", ""),
        NoteKind::Unmodelled => (
            "an order between threads that is not in the trace: ",
            "; a race or conflict that it would rule out is only a warning",
        ),
        NoteKind::Inexact => ("not recorded in its exact order: ", "; so findings are warnings"),
        NoteKind::Lost => ("events that are missing: ", ""),
        NoteKind::Remark => ("", ""),
    };
    let all: Vec<String> = items.iter().map(Counted::to_string).collect();
    let list = match all.len().saturating_sub(EXAMPLES) {
        more if more > 0 && about == NoteKind::Failed => {
            format!("{}; and {more} more", all[..EXAMPLES].join("; "))
        }
        _ => all.join(", "),
    };
    write!(f, "{start}{list}{end}")
}
