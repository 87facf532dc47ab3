//! What a recorder has to say besides events. The kind of a note decides what may still be
//! concluded from the trace; its text is for readers of the report.

macro_rules! note_kinds {
    ($($(#[$doc:meta])* $variant:ident = $key:literal,)*) => {
        /// What a recorder has to say. Numbers of notes with the same kind and text are added up.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum NoteKind {
            $($(#[$doc])* $variant,)*
        }

        impl NoteKind {
            /// Every kind.
            pub const ALL: &[NoteKind] = &[$(NoteKind::$variant,)*];

            /// The key in recorded streams.
            pub const fn key(self) -> &'static [u8] {
                match self {
                    $(NoteKind::$variant => $key,)*
                }
            }
        }
    };
}

note_kinds! {
    /// How many of something were put under observation: the text says of what (`classes`).
    Observed = b"observed",
    /// Something could not be observed: the text says what and why.
    Failed = b"failed",
    /// Something was left out on purpose (`final fields`) that no check of what was asked for
    /// needs.
    Filter = b"filter",
    /// Something was left out on purpose that orders threads. What follows from the absence of an
    /// order, such as a race, is then no certainty.
    FilteredOrder = b"filtered-order",
    /// The program ordered its threads in a way that is not in the trace: the text says how. The
    /// consequence is the same.
    Unmodelled = b"unmodelled",
    /// Some events may have been recorded in another order than they happened in: the text says
    /// which and why. Then nothing that is found is a certainty.
    Inexact = b"inexact",
    /// Events that were not sent: the text says why.
    Lost = b"lost",
    /// Anything else that a reader of the report should know.
    Remark = b"remark",
}

/// What recorders wrote as a [`NoteKind::Filter`] before [`NoteKind::FilteredOrder`] was there.
const EARLIER_FILTERED_ORDER: &[u8] = b"accesses that repeat one of the same block, also of \
    volatile variables (a check of anything but these blocks may miss something)";

impl NoteKind {
    /// The kind with this key; `None` for one that is not known here.
    pub fn from_key(key: &[u8]) -> Option<NoteKind> {
        NoteKind::ALL.iter().copied().find(|kind| kind.key() == key)
    }

    /// The kind of a note with this key and text. Recordings that are older than a kind say in
    /// words what it stands for.
    pub fn of_note(key: &[u8], text: &[u8]) -> Option<NoteKind> {
        match NoteKind::from_key(key) {
            Some(NoteKind::Filter) if text == EARLIER_FILTERED_ORDER => {
                Some(NoteKind::FilteredOrder)
            }
            kind => kind,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found() {
        for &kind in NoteKind::ALL {
            assert_eq!(NoteKind::from_key(kind.key()), Some(kind));
            assert_eq!(NoteKind::of_note(kind.key(), b"final fields"), Some(kind));
        }
        assert_eq!(NoteKind::from_key(b"?"), None);
    }

    #[test]
    fn the_words_of_earlier_recorders_are_known() {
        let old = NoteKind::of_note(b"filter", EARLIER_FILTERED_ORDER);
        assert_eq!(old, Some(NoteKind::FilteredOrder));
    }
}
