//! What was left out on demand.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::fact::fact;

/// Something that was left out on demand. As text it is the option that asked for it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(remote = "Self", tag = "kind", rename_all = "snake_case")]
pub enum Filter {
    /// Only blocks that match are atomic.
    Atomic {
        /// The pattern.
        pattern: String,
    },
    /// Blocks that match are not atomic.
    Except {
        /// The pattern.
        pattern: String,
    },
    /// Methods named `main` or `run` are not atomic, unless something else is asked for.
    EntryMethods,
    /// The analysis stops at the first violation.
    FirstOnly,
    /// Accesses to race-free variables are left out.
    RaceFree,
    /// A join counts as a yield to the joined thread.
    JoinYieldsToChild,
    /// Findings that a file names are not shown.
    Suppress {
        /// The file.
        file: String,
    },
    /// Findings of an earlier report are not shown.
    Baseline {
        /// The file.
        file: String,
    },
    /// Anything else.
    Other {
        /// As it was asked for.
        #[serde(skip)]
        text: String,
    },
}

fact!(Filter);

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Filter::Atomic { pattern } => write!(f, "--atomic {pattern}"),
            Filter::Except { pattern } => write!(f, "--except {pattern}"),
            Filter::EntryMethods => f.write_str("methods named main or run are not atomic"),
            Filter::FirstOnly => f.write_str("--first"),
            Filter::RaceFree => f.write_str("--filter-race-free"),
            Filter::JoinYieldsToChild => f.write_str("--join-yields-to-child"),
            Filter::Suppress { file } => write!(f, "--suppress {file}"),
            Filter::Baseline { file } => write!(f, "--baseline {file}"),
            Filter::Other { text } => f.write_str(text),
        }
    }
}
