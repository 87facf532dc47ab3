//! Events and the transactions that they belong to, with names.

use std::fmt;

use paceline_trace::{Kind, NameSpace};
use serde::{Deserialize, Serialize};

use super::names::named;
use super::{Label, Site, kind_name};

/// An event.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Event {
    /// Its number in the trace, from 1.
    pub event: u64,
    /// The thread that did it.
    pub thread: String,
    /// What was done, by its name in traces: `r`, `acq`, `fork`.
    #[serde(with = "kind_name")]
    pub kind: Kind,
    /// What it was done to; none for a yield, or for a block without a name.
    pub target: Option<Target>,
    /// Where in the source.
    pub site: Site,
    /// The calls or blocks around it, innermost first, as far as the trace shows them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<Frame>,
}

/// What an operation is done to.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Target {
    /// What kind of thing.
    pub kind: TargetKind,
    /// Its name.
    pub name: String,
}

named! {
    /// What kind of thing an operation is done to.
    TargetKind {
        /// A variable: a field, an element, a key.
        Variable = "variable",
        /// A lock or monitor.
        Lock = "lock",
        /// A thread that is started or joined.
        Thread = "thread",
        /// A block, by its label.
        Block = "block",
        /// A semaphore or channel.
        Semaphore = "semaphore",
        /// A barrier.
        Barrier = "barrier",
    }
}

impl TargetKind {
    /// What operations of this kind are done to.
    pub fn of(kind: Kind) -> Option<TargetKind> {
        match kind.name_space() {
            NameSpace::Variable => Some(TargetKind::Variable),
            NameSpace::Lock => Some(TargetKind::Lock),
            NameSpace::Thread => Some(TargetKind::Thread),
            NameSpace::Label => Some(TargetKind::Block),
            NameSpace::Semaphore => Some(TargetKind::Semaphore),
            NameSpace::Barrier => Some(TargetKind::Barrier),
            NameSpace::Nothing => None,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Event {
    /// The operation as it is written in a trace: `w(x)`.
    pub fn operation(&self) -> String {
        let kind = self.kind.name();
        match &self.target {
            Some(target) => format!("{kind}({target})"),
            None => kind.to_owned(),
        }
    }
}

/// A call or block around an event.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Frame {
    /// What it is called.
    #[serde(flatten)]
    pub label: Label,
    /// Where it begins.
    pub site: Site,
}

/// A block instance.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Block {
    /// What it is called.
    #[serde(flatten)]
    pub label: Label,
    /// The thread that runs it.
    pub thread: String,
    /// The event that begins it.
    pub begin_event: u64,
}

/// A transaction of a cycle.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Transaction {
    /// The thread that runs it.
    pub thread: String,
    /// What its block is called.
    #[serde(flatten)]
    pub label: Label,
    /// Where it begins.
    pub site: Site,
    /// Its first event.
    pub first_event: u64,
    /// Its last event.
    pub last_event: u64,
    /// The conflict that leads to the next transaction.
    pub edge: Edge,
}

/// Two events in conflict.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Edge {
    /// The earlier one.
    pub from: Event,
    /// The later one, in the next transaction.
    pub to: Event,
}
