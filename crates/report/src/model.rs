//! A report as plain data, with names instead of ids: what every output shows, and what the JSON
//! output is to the letter. Stable: fields may be added, never changed.

use serde::{Deserialize, Serialize};

/// The version of the contract.
pub const SCHEMA: &str = "paceline/1";

/// What is known about one trace after its analysis.
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
    /// What a reader of the report should know about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What was read, if this is about code and not about a trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
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

/// What was asked about a trace, and what was not looked at.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Scope {
    /// The properties that were decided, by name.
    pub properties: Vec<String>,
    /// What was left out on demand: blocks, accesses, findings. As it was written.
    pub filters: Vec<String>,
    /// Events and lines that could not be used.
    pub dropped: u64,
}

/// The verdicts that were asked for.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Verdicts {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub atomicity: Option<Atomicity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cooperability: Option<Cooperability>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub determinism: Option<Determinism>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub race: Option<Race>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reduction: Option<Reduction>,
}

/// Is every block atomic?
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct Atomicity {
    /// The trace is serializable.
    pub holds: bool,
    /// The first event whose prefix is not.
    pub first_event: Option<u64>,
    /// The engine that decided.
    pub engine: String,
    /// Every block instance that is refuted.
    pub refuted: Vec<Block>,
    /// Every transaction on some cycle, when asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub violating: Option<Vec<Violating>>,
    /// What the Velodrome engine counted, when asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Nodes>,
    /// What the runs before this one have refuted, when the program was run until nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shrunk: Option<Shrunk>,
}

/// The methods that turned out not to be atomic, one run after the other. The last run left them
/// out.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Shrunk {
    /// How often the program was run.
    pub runs: u64,
    /// Methods that are not atomic.
    pub not_atomic: Vec<String>,
    /// Methods that may be atomic after all: what was found is a warning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suspects: Vec<String>,
}

/// A block instance.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Block {
    pub label: String,
    pub thread: String,
    pub begin_event: u64,
}

/// A transaction in a component of more than one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Violating {
    /// The label of its block; none for a single event.
    pub label: Option<String>,
    /// Its thread.
    pub thread: String,
    /// Its first event.
    pub first_event: u64,
    /// Which component, from 0.
    pub component: u64,
}

/// Nodes of Velodrome's graph (Table 1 of the paper).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Nodes {
    pub allocated: u64,
    pub max_alive: u64,
    pub allocated_without_merge: u64,
    pub max_alive_without_merge: u64,
}

/// Is everything between yields free of interference?
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct Cooperability {
    /// The trace is cooperable.
    pub holds: bool,
    /// The first event whose prefix is not.
    pub first_event: Option<u64>,
    /// The events before which a yield is missing.
    pub yields: Vec<u64>,
    /// Where these are in the source.
    pub yield_sites: Vec<String>,
    /// Yields inside blocks that are declared atomic.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub yields_in_blocks: Vec<YieldInBlock>,
}

/// A yield inside a block that is declared atomic.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct YieldInBlock {
    pub event: u64,
    pub kind: String,
    pub site: String,
    pub label: String,
    /// How many there were, of this kind, at this place, in such blocks.
    #[serde(default)]
    pub count: u64,
}

/// Is every deterministic block deterministic?
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct Determinism {
    /// Both of the following.
    pub holds: bool,
    /// No two threads of a block conflict without order.
    pub conflict_free: bool,
    /// The blocks are serializable.
    pub externally_serializable: bool,
    /// The first two events in conflict.
    pub first_conflict: Option<(u64, u64)>,
    /// The first event whose prefix is not externally serializable.
    pub first_event: Option<u64>,
}

/// Is every access ordered?
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct Race {
    /// There is no race.
    pub holds: bool,
    /// The variables with races.
    pub variables: Vec<String>,
}

/// Do the locks follow the patterns?
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct Reduction {
    /// There is no warning.
    pub holds: bool,
    /// How many warnings there are.
    pub warnings: u64,
    /// How many of them a violation or race of the same run confirms.
    pub confirmed: u64,
}

/// One bug.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// The same for the same bug in another run.
    pub id: String,
    /// What is violated.
    pub rule: String,
    /// `violation` (certain) or `warning` (may be false).
    pub severity: String,
    /// In one line.
    pub title: String,
    /// The block to blame.
    pub blame: Option<Blame>,
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
    /// Why a warning is only a warning, or what confirms it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
    /// What is known from the code, if it was found there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<InCode>,
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
    /// What the rules of its findings mean.
    pub rules: Vec<RuleHelp>,
}

/// What a rule means and what to do about its findings.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct RuleHelp {
    pub id: String,
    /// In camel case, without blanks.
    pub name: String,
    pub short: String,
    pub full: String,
    pub fix: String,
}

/// What is known about a finding in code.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct InCode {
    /// How sure it is: `high`, `medium` or `low`.
    pub confidence: String,
    /// What to do about this very finding.
    pub fix: String,
    /// The way through the code, in order.
    pub steps: Vec<Step>,
    /// The trace that shows it happen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<Confirmed>,
}

/// A step on the way through code.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Step {
    /// What happens there.
    pub what: String,
    /// The method.
    pub label: String,
    /// Where in the source.
    pub site: String,
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

/// The block to blame.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Blame {
    pub label: String,
    pub site: String,
}

/// A transaction of a cycle.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Transaction {
    pub thread: String,
    /// None for a single event outside every block.
    pub label: Option<String>,
    pub site: String,
    pub first_event: u64,
    pub last_event: u64,
    /// The conflict that leads to the next transaction.
    pub edge: Edge,
}

/// Two events in conflict.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Edge {
    pub from: Event,
    pub to: Event,
}

/// An event.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Event {
    pub event: u64,
    pub thread: String,
    pub kind: String,
    pub target: Option<String>,
    pub site: String,
    /// The calls or blocks around it, innermost first, as far as the trace tells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<Frame>,
}

/// A call or block around an event.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Frame {
    pub label: String,
    /// Where it begins.
    pub site: String,
}

impl Event {
    /// The operation as it is written in a trace: `w(x)`.
    pub fn operation(&self) -> String {
        match &self.target {
            Some(target) => format!("{}({target})", self.kind),
            None => self.kind.clone(),
        }
    }
}

/// What is said about a trace that cannot be analysed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Failure {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Which trace.
    pub input: FailedInput,
    /// What is wrong.
    pub error: Problem,
}

/// A trace that cannot be analysed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct FailedInput {
    pub path: String,
}

/// What is wrong with a trace.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Problem {
    /// The line, in text formats.
    pub line: Option<u64>,
    /// The event, if it is one.
    pub event: Option<u64>,
    /// The rule that is broken; `damaged` or `unreadable` if the trouble is with the file.
    pub rule: String,
    /// What a person should know.
    pub message: String,
}
