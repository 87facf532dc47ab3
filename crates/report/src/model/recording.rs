//! How a trace was recorded.

use std::fmt::{self, Write as _};

use serde::{Deserialize, Serialize};

/// How a trace was recorded: what was observed, and what was not.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Recording {
    /// The kind of recorder.
    pub front_end: String,
    /// What it ran in.
    pub version: String,
    /// The command line of the observed process.
    pub command: String,
    /// The observed process.
    pub pid: u32,
    /// What was put under observation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observed: Vec<Counted>,
    /// What could not be observed, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<Counted>,
    /// What was left out on purpose.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<Counted>,
    /// What was left out on purpose although it orders threads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filtered_order: Vec<Counted>,
    /// Orders between threads that are not in the trace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmodelled: Vec<Counted>,
    /// Events that may have happened in another order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inexact: Vec<Counted>,
    /// Events that are missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<Counted>,
    /// Anything else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<Counted>,
}

/// Something and how often.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Counted {
    /// What.
    pub what: String,
    /// How many; 0 when that says nothing.
    pub count: u64,
}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.count > 0 {
            write!(f, "{} ", self.count)?;
        }
        // Whatever a program calls its classes, a note stays on its line.
        self.what.chars().try_for_each(|c| match c.is_control() {
            true => write!(f, "{}", c.escape_default()),
            false => f.write_char(c),
        })
    }
}
