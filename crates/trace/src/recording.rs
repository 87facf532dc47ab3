//! How a trace was recorded, as far as it matters for what may be concluded from it.

use std::fmt::Write as _;

pub use paceline_wire::NoteKind;

/// One thing that a recorder has to say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// What kind of thing.
    pub kind: NoteKind,
    /// In words.
    pub text: String,
    /// How many; 0 when that says nothing.
    pub number: u64,
}

/// How a trace was recorded, and what there is to say about it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Recording {
    /// The kind of recorder, such as `jvm`.
    pub front_end: String,
    /// What it ran in.
    pub version: String,
    /// The version of the recorder; empty if it said none.
    pub recorder: String,
    /// The command line of the observed process.
    pub command: String,
    /// The observed process.
    pub pid: u32,
    /// What there is to say.
    pub notes: Vec<Note>,
}

/// So many notes are kept: far more than a report shows, and a bound for damaged recorders.
const MOST_NOTES: usize = 10_000;
const TOO_MANY: &str = "further notes of the recorder were left out";

impl Recording {
    /// Adds a note; numbers of notes that say the same are added up.
    pub fn note(&mut self, kind: NoteKind, text: &str, number: u64) {
        let same = self.notes.iter().position(|n| n.kind == kind && n.text == text);
        match same {
            Some(at) => {
                let sum = &mut self.notes[at].number;
                *sum = sum.saturating_add(number);
            }
            None if self.notes.len() >= MOST_NOTES && text != TOO_MANY => {
                self.note(NoteKind::Remark, TOO_MANY, 1);
            }
            None => self.notes.push(Note { kind, text: text.to_owned(), number }),
        }
    }

    /// The notes of a kind.
    pub fn of(&self, kind: NoteKind) -> impl Iterator<Item = &Note> {
        self.notes.iter().filter(move |note| note.kind == kind)
    }

    /// Whether there is a note of this kind.
    pub fn has(&self, kind: NoteKind) -> bool {
        self.of(kind).next().is_some()
    }

    /// Whether something that orders threads is missing, because it could not be recorded or was
    /// left out on purpose: then it is no certainty that two events are unordered.
    pub fn misses_order(&self) -> bool {
        self.has(NoteKind::Unmodelled) || self.has(NoteKind::FilteredOrder)
    }

    /// Whether the recorder says that it put nothing under observation.
    pub fn observed_nothing(&self) -> bool {
        self.of(NoteKind::Observed).all(|note| note.number == 0)
    }
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.number > 0 {
            write!(f, "{} ", self.number)?;
        }
        // Whatever a program calls its classes, a note stays on its line.
        self.text.chars().try_for_each(|c| match c.is_control() {
            true => write!(f, "{}", c.escape_default()),
            false => f.write_char(c),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_notes_are_added_up() {
        let mut recording = Recording::default();
        assert!(recording.observed_nothing());
        recording.note(NoteKind::Observed, "classes", 2);
        recording.note(NoteKind::Observed, "classes", 3);
        recording.note(NoteKind::Filter, "classes", 1);
        assert_eq!(recording.of(NoteKind::Observed).next().map(|n| n.number), Some(5));
        assert!(!recording.observed_nothing() && !recording.has(NoteKind::Lost));
        assert!(!recording.misses_order());
        recording.note(NoteKind::FilteredOrder, "volatile variables", 0);
        assert!(recording.misses_order());
    }

    #[test]
    fn what_is_left_out_is_counted() {
        let mut recording = Recording::default();
        (0..MOST_NOTES + 5).for_each(|i| recording.note(NoteKind::Failed, &i.to_string(), 1));
        assert_eq!(recording.of(NoteKind::Remark).next().map(|n| n.number), Some(5));
    }

    #[test]
    fn a_note_stays_on_its_line() {
        let note = Note { kind: NoteKind::Failed, text: "A\n\u{1b}[1m".to_owned(), number: 2 };
        assert_eq!(note.to_string(), "2 A\\n\\u{1b}[1m");
    }
}
