//! The keys of notes. Numbers of notes with the same key and text are added up.

/// How many of something were put under observation: the text says of what (`classes`).
pub const OBSERVED: &[u8] = b"observed";
/// Something could not be observed: the text says what and why.
pub const FAILED: &[u8] = b"failed";
/// Something was left out on purpose (`final fields`): the text says what.
pub const FILTER: &[u8] = b"filter";
/// The program ordered its threads in a way that is not in the trace: the text says how. What
/// follows from the absence of an order, such as a race, is then no certainty.
pub const UNMODELLED: &[u8] = b"unmodelled";
/// Some events may have been recorded in another order than they happened in: the text says
/// which and why. Then nothing that is found is a certainty.
pub const INEXACT: &[u8] = b"inexact";
/// Events that were not sent: the text says why.
pub const LOST: &[u8] = b"lost";
/// Anything else that a reader of the report should know.
pub const REMARK: &[u8] = b"remark";
/// A text for `FILTER`: what a block repeats without consequences.
pub const REPEATED: &[u8] = b"accesses that repeat one of the same block (a check of other \
    blocks, of reduction or of cooperability may miss something)";
/// The same where accesses that order threads are left out too. Then a race is no certainty.
pub const REPEATED_ORDER: &[u8] = b"accesses that repeat one of the same block, also of \
    volatile variables (a check of anything but these blocks may miss something)";
