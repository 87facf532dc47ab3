//! Why a warning is only a warning, what confirms it, and what else there is to say about it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::fact::fact;

/// One thing that there is to say about a finding.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(remote = "Self", tag = "kind", rename_all = "snake_case")]
pub enum Remark {
    /// Some events were not recorded in their exact order.
    InexactOrder,
    /// The program orders its threads in a way that is not in the trace.
    UnmodelledOrder,
    /// Accesses that order threads were left out of the recording as redundant.
    RedundantOrder,
    /// It did not happen, but could have.
    Predicted,
    /// Accesses were left out of the recording, on which the values in another order may depend.
    AccessesLeftOut,
    /// It follows from a pattern of locks.
    Locks {
        /// The locks that were held.
        held: Vec<String>,
        /// Whether a violation or race of the same run confirms it.
        confirmed: bool,
    },
    /// Why a warning about code is not surer.
    Doubt {
        /// The reason.
        reason: String,
    },
    /// The same two uses also take another lock.
    AlsoLock {
        /// The lock, as it is written in the code.
        lock: String,
    },
    /// The same two uses also happen while another lock is held.
    AlsoHeld {
        /// The lock, as it is written in the code.
        lock: String,
        /// The method that holds it.
        method: String,
    },
    /// Anything else.
    Other {
        /// In words.
        #[serde(skip)]
        text: String,
    },
}

fact!(Remark);

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Remark::InexactOrder => f.write_str(
                "may be a false alarm: some events were not recorded in their exact order (see the \
                 notes)",
            ),
            Remark::UnmodelledOrder => f.write_str(
                "may be a false alarm: the program also orders its threads in a way that is not in \
                 the trace (see the notes)",
            ),
            Remark::RedundantOrder => f.write_str(
                "may be a false alarm: redundant reads of volatile variables were not recorded; \
                 record for this property (`--property`)",
            ),
            Remark::Predicted => {
                f.write_str("did not happen in this run; this run could have gone so")
            }
            Remark::AccessesLeftOut => f.write_str(
                "may be a false alarm: some accesses were not recorded (see the notes); \
                 `run --predict` and `record --complete` leave out the fewest",
            ),
            Remark::Locks { held, confirmed } => {
                let held = if held.is_empty() { "no lock".to_owned() } else { held.join(", ") };
                let how = if *confirmed {
                    "confirmed by a violation or race in this run"
                } else {
                    "may be a false alarm: it follows from a pattern, not from what was observed"
                };
                write!(f, "{held} held; {how}")
            }
            Remark::Doubt { reason } => f.write_str(reason),
            Remark::AlsoLock { lock } => write!(f, "also the lock `{lock}`"),
            Remark::AlsoHeld { lock, method } => {
                write!(f, "also while `{lock}` is held in {method}")
            }
            Remark::Other { text } => f.write_str(text),
        }
    }
}
