//! One bug.

use std::fmt;

use paceline_analysis::finding::{RuleId, Severity};
use serde::{Deserialize, Serialize};

use super::fact::fact;
use super::names::named;
use super::{Block, Event, Label, Remark, Reordering, Site, Transaction};

/// One bug.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// The fingerprint: the same for the same bug in another run.
    pub id: String,
    /// What is violated.
    pub rule: RuleId,
    /// How certain it is.
    pub severity: Severity,
    /// In one line.
    pub title: String,
    /// The block to blame.
    pub blame: Option<Blame>,
    /// What shows it: says how to read the next two, and `code`.
    pub explanation: Explanation,
    /// The transactions of a cycle, each with the edge to the next.
    pub cycle: Vec<Transaction>,
    /// The events that matter, in time order.
    pub threads: Vec<Event>,
    /// The blocks that this finding refutes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refuted: Vec<Block>,
    /// The open blocks around it that it does not refute.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_refuted: Vec<Block>,
    /// The variables (or locks), if it was seen on several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<String>,
    /// How often it was seen.
    pub count: u64,
    /// Why a warning is only a warning, what confirms it, and what else there is to say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<Remark>,
    /// If it did not happen, but could have: how the shown order differs from the observed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reordering: Option<Reordering>,
    /// What is known from the code, if it was found there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<InCode>,
}

impl Finding {
    /// The remarks as one sentence. Where the finding was seen on several variables, each remark is
    /// about some of them.
    pub fn remark(&self) -> Option<String> {
        let between = if self.variables.len() > 1 { "; elsewhere: " } else { "; " };
        let remarks: Vec<String> = self.remarks.iter().map(Remark::to_string).collect();
        (!remarks.is_empty()).then(|| remarks.join(between))
    }
}

named! {
    /// What shows a finding.
    Explanation {
        /// Transactions that form a cycle (`cycle`), and the events around it (`threads`).
        Cycle = "cycle",
        /// Two events in conflict that nothing orders (`threads`).
        Unordered = "unordered",
        /// Events one after the other (`threads`).
        Events = "events",
        /// Steps through code that was not run (`code`).
        Code = "code",
    }
}

/// The block to blame.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Blame {
    /// What it is called.
    #[serde(flatten)]
    pub label: Label,
    /// Where it begins.
    pub site: Site,
}

/// What is known about a finding in code.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct InCode {
    /// How sure it is.
    pub confidence: Confidence,
    /// What to do about this very finding.
    pub fix: String,
    /// The steps through the code, in order.
    pub steps: Vec<CodeStep>,
    /// The trace that shows it happen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<Confirmed>,
}

named! {
    /// How sure a finding in code is.
    Confidence {
        /// The pattern may not be there at all.
        Low = "low",
        /// The pattern is there on most paths.
        Medium = "medium",
        /// The pattern is there on every path.
        High = "high",
    }
}

/// A step through code.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CodeStep {
    /// What happens there.
    pub action: CodeAction,
    /// The method.
    pub method: String,
    /// Where in the source.
    pub site: Site,
}

/// What happens at a step through code.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(remote = "Self", tag = "kind", rename_all = "snake_case")]
pub enum CodeAction {
    /// A lock is held from here on.
    Holds {
        /// The lock, as it is written in the code; so in the others.
        lock: String,
    },
    /// Leads to the next step by a call.
    Calls,
    /// The lock or collection is used for the first time.
    FirstUse {
        /// The lock.
        lock: String,
    },
    /// The lock or collection is used for the second time.
    SecondUse {
        /// The lock.
        lock: String,
    },
    /// The use before is made by a call of this.
    ByCall,
    /// Another second use.
    UsedAgain,
    /// Anything else.
    Other {
        /// In words.
        #[serde(skip)]
        text: String,
    },
}

fact!(CodeAction);

impl fmt::Display for CodeAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CodeAction::Holds { lock } => write!(f, "holds `{lock}`"),
            CodeAction::Calls => f.write_str("which calls"),
            CodeAction::FirstUse { lock } => write!(f, "first use of `{lock}`"),
            CodeAction::SecondUse { lock } => write!(f, "second use of `{lock}`"),
            CodeAction::ByCall => f.write_str("by a call of"),
            CodeAction::UsedAgain => f.write_str("used again"),
            CodeAction::Other { text } => f.write_str(text),
        }
    }
}

/// A trace in which another thread came between.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Confirmed {
    pub trace: String,
    pub lock: String,
    /// The first release, the acquire of the other thread, the second acquire.
    pub events: [u64; 3],
}
