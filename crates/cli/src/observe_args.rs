//! How a program is observed: the options that `run` and `record` share.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueHint;
use paceline::observe::{ObserveOptions, agent_beside};

/// How a program is observed.
#[derive(clap::Args, Clone, Default)]
#[command(next_help_heading = "Observing")]
pub struct ObserveArgs {
    /// Methods that match are yields: interference is expected there; may be repeated
    #[arg(long = "yield", value_name = "PATTERN")]
    yields: Vec<String>,
    /// Methods with this annotation are atomic (`Atomic` or `p.Atomic`); may be repeated
    #[arg(long, value_name = "NAME")]
    atomic_annotation: Vec<String>,
    /// Methods with this annotation are yields; may be repeated
    #[arg(long, value_name = "NAME")]
    yield_annotation: Vec<String>,
    /// Observe only classes that match; may be repeated
    #[arg(long, value_name = "PATTERN")]
    instrument: Vec<String>,
    /// Do not observe classes that match; may be repeated
    #[arg(long, value_name = "PATTERN")]
    ignore: Vec<String>,
    /// Do not throttle threads: record everything they do
    ///
    /// For atomicity alone, a thread that has recorded 8,192 accesses is throttled: its further
    /// accesses are not recorded until the next window of 0.4 s begins, for all threads at once.
    #[arg(long)]
    unlimited: bool,
    /// When the command is `java`: observe the JVMs that it starts too
    ///
    /// They are reached through JAVA_TOOL_OPTIONS, which every JVM mentions on standard error.
    #[arg(long)]
    children: bool,
    /// How long to wait for processes that the program leaves behind
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    linger: u64,
    /// The library that observes JVMs, if it is not beside this program
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    jvm_agent: Option<PathBuf>,
}

impl ObserveArgs {
    /// The same for the library, with what the environment of this process adds.
    pub fn options(&self) -> ObserveOptions {
        let beside = || agent_beside(&std::env::current_exe().ok()?);
        ObserveOptions {
            yields: self.yields.clone(),
            atomic_annotations: self.atomic_annotation.clone(),
            yield_annotations: self.yield_annotation.clone(),
            instrument: self.instrument.clone(),
            ignore: self.ignore.clone(),
            unlimited: self.unlimited,
            children: self.children,
            linger: Duration::from_secs(self.linger),
            jvm_agent: self.jvm_agent.clone().or_else(beside),
            environment: std::env::vars_os().collect(),
        }
    }
}
