//! What can be wrong with a trace, and where.

use std::fmt;

pub use paceline_wire::{show_bytes, show_name};

macro_rules! rules {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// The rules of a well-formed trace. When one event breaks several, the first in this
        /// order is reported. The names are part of the JSON contract.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Rule {
            $($(#[$doc])* $variant,)*
        }

        impl Rule {
            /// Every rule, in order.
            pub const ALL: &[Rule] = &[$(Rule::$variant,)*];

            /// The stable name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Rule::$variant => $name,)*
                }
            }
        }
    };
}

rules! {
    /// Not a line of the format.
    ParseError = "parse_error",
    /// A thread acts after it has been joined.
    EventAfterJoin = "event_after_join",
    /// A waiting thread does something other than wake up.
    EventWhileWaiting = "event_while_waiting",
    /// A thread acquires a lock that it holds.
    AcquireReentrant = "acquire_reentrant",
    /// A thread acquires a lock that another one holds.
    AcquireHeld = "acquire_held",
    /// A thread releases a lock that it does not hold.
    ReleaseNotHeld = "release_not_held",
    /// A thread waits on a lock that it does not hold.
    PrewaitNotHeld = "prewait_not_held",
    /// A thread wakes up that was not waiting.
    PostwaitWithoutPrewait = "postwait_without_prewait",
    /// A thread wakes up while another one holds the lock.
    PostwaitLockHeld = "postwait_lock_held",
    /// A block ends that was not begun.
    EndWithoutBegin = "end_without_begin",
    /// A block ends under another label than it began.
    EndLabelMismatch = "end_label_mismatch",
    /// A thread starts itself.
    ForkSelf = "fork_self",
    /// A thread is started twice.
    ForkTwice = "fork_twice",
    /// A thread is started after it has been joined.
    ForkAfterJoin = "fork_after_join",
    /// A thread is started after its first event.
    ForkAfterChildStart = "fork_after_child_start",
    /// A thread joins itself.
    JoinSelf = "join_self",
}

/// Where in the input.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Position {
    /// The line of a text format, from 1.
    pub line: Option<u64>,
    /// The event, from 1.
    pub event: Option<u64>,
}

impl Position {
    /// A line of a text format.
    pub fn line(line: u64) -> Position {
        Position { line: Some(line), event: None }
    }
}

/// What is wrong.
#[derive(Debug)]
pub enum ErrorKind {
    /// The trace breaks a rule.
    Malformed(Rule, String),
    /// The file is not what it claims to be: damaged compression, a checksum that does not match.
    Damaged(String),
    /// The operating system said no.
    Io(std::io::Error),
}

/// Something wrong at some place of the input. The caller knows the file's name.
#[derive(Debug)]
pub struct Error {
    /// Where.
    pub at: Position,
    /// What.
    pub kind: ErrorKind,
}

impl Error {
    /// A line that is not a line of the format.
    pub fn parse(line: u64, message: impl Into<String>) -> Error {
        Error {
            at: Position::line(line),
            kind: ErrorKind::Malformed(Rule::ParseError, message.into()),
        }
    }

    /// A file that is not what it claims to be.
    pub fn damaged(at: Position, message: impl Into<String>) -> Error {
        Error { at, kind: ErrorKind::Damaged(message.into()) }
    }

    /// The rule that was broken, if one was.
    pub fn rule(&self) -> Option<Rule> {
        match &self.kind {
            ErrorKind::Malformed(rule, _) => Some(*rule),
            ErrorKind::Damaged(_) | ErrorKind::Io(_) => None,
        }
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Error {
        Error { at: Position::default(), kind: ErrorKind::Io(error) }
    }
}

impl From<paceline_wire::Error> for Error {
    fn from(error: paceline_wire::Error) -> Error {
        match error {
            paceline_wire::Error::Damaged(message) => Error::damaged(Position::default(), message),
            paceline_wire::Error::Io(error) => error.into(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.at.line, self.at.event) {
            (Some(line), _) => write!(f, "line {line}: ")?,
            (None, Some(event)) => write!(f, "event {event}: ")?,
            (None, None) => {}
        }
        match &self.kind {
            ErrorKind::Malformed(rule, message) => write!(f, "{}: {message}", rule.name()),
            ErrorKind::Damaged(message) => f.write_str(message),
            ErrorKind::Io(error) => error.fmt(f),
        }
    }
}

/// The cause is part of the message already.
impl std::error::Error for Error {}
