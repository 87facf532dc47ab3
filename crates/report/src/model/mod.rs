//! A report as plain data, with names instead of ids: what every output shows, and what the JSON
//! output is to the letter. `docs/schema/paceline-2.schema.json` describes it; fields may be added,
//! never changed.
//!
//! Facts are typed: rules, severities, sites, targets, reasons, notes. Text is made of them at the
//! edge, by their `Display`. What a name is, is decided once, by [`compose`](crate::compose).

mod event;
mod fact;
mod filter;
mod finding;
mod label;
mod names;
mod note;
mod prediction;
mod recording;
mod remark;
mod site;
mod verdict;

pub use event::{Block, Edge, Event, Frame, Target, TargetKind, Transaction};
pub use filter::Filter;
pub use finding::{
    Blame, CodeAction, CodeStep, Confidence, Confirmed, Explanation, Finding, InCode,
};
pub use label::Label;
pub(crate) use names::{kind_name, note_key};
pub use note::Note;
pub use paceline_analysis::finding::{RuleId, Severity};
pub use prediction::{
    PredictedBlock, PredictedRace, PredictedYield, PredictionSearch, PredictionTarget, Reordering,
    Witness,
};
pub use recording::{Counted, Recording};
pub use remark::Remark;
pub use site::Site;
pub use verdict::{
    Atomicity, Cell, CellValue, Cooperability, Determinism, Facts, Nodes, Race, Reduction, Shrunk,
    Standing, Verdict, Verdicts, Violating, YieldInBlock, YieldKind, property,
};

use serde::{Deserialize, Serialize};

pub use names::ProblemRule;

/// The version of the contract.
pub const SCHEMA: &str = "paceline/2";

/// What is known about one trace, or about code, after its analysis.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Report {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// What was analysed.
    pub input: Input,
    /// Which part of it, and what for.
    #[serde(default)]
    pub scope: Scope,
    /// What follows, for each property that was asked for.
    pub verdicts: Verdicts,
    /// The bugs.
    pub findings: Vec<Finding>,
    /// Whether some of the input was not looked at.
    pub incomplete: bool,
    /// The rules that were looked for, and what they mean.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleHelp>,
    /// What a reader of the report should know about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    /// What was read, if this is about code and not about a trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
}

impl Report {
    /// What is known about a rule.
    pub fn rule(&self, id: &RuleId) -> Option<&RuleHelp> {
        self.rules.iter().find(|rule| rule.id == *id)
    }
}

/// What was analysed.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Input {
    pub path: String,
    pub events: u64,
    pub threads: u64,
    pub variables: u64,
    pub locks: u64,
    /// Outermost blocks.
    pub transactions: u64,
    /// How it was recorded, if the trace says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recording: Option<Recording>,
}

/// What was asked about a trace, and what was not looked at.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Scope {
    /// The properties that were decided, by name.
    pub properties: Vec<String>,
    /// What was left out on demand: blocks, accesses, findings.
    pub filters: Vec<Filter>,
    /// Events and lines that could not be used.
    pub dropped: u64,
}

/// What a rule means and what to do about its findings.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RuleHelp {
    /// The stable name, as findings have it.
    pub id: RuleId,
    /// How certain its findings are, unless something speaks against one of them.
    pub severity: Severity,
    /// A name in camel case, without blanks.
    pub name: String,
    /// What is wrong, in one sentence.
    pub short: String,
    /// What was observed. Plain text that is Markdown as well, like the next.
    pub full: String,
    /// What to do about it.
    pub fix: String,
}

/// Code that was read without running it.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Code {
    pub classes: u64,
    pub methods: u64,
    pub lines: u64,
    /// Places that are not shown because they are not sure enough.
    pub unsure: u64,
    /// Warnings that are not shown because they are not wanted.
    pub suppressed: u64,
}

/// What is said about an input that cannot be analysed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Failure {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Which input.
    pub input: FailedInput,
    /// What is wrong.
    pub error: Problem,
}

/// An input that cannot be analysed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct FailedInput {
    pub path: String,
}

/// What is wrong with an input.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Problem {
    /// The line, in text formats.
    pub line: Option<u64>,
    /// The event, if it is one.
    pub event: Option<u64>,
    /// The rule that is broken.
    pub rule: ProblemRule,
    /// What a person should know.
    pub message: String,
}
