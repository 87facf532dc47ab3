//! How a program is observed: the options that `run` and `record` share.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueHint;
use paceline::observe::ObserveOptions;

use crate::cache::cache_folder;
use crate::status::warn;

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
    /// The library that observes JVMs, instead of the one that this program carries
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    jvm_agent: Option<PathBuf>,
}

impl ObserveArgs {
    /// The same for the library, with what the environment of this process adds.
    pub fn options(&self) -> ObserveOptions {
        ObserveOptions {
            yields: self.yields.clone(),
            atomic_annotations: self.atomic_annotation.clone(),
            yield_annotations: self.yield_annotation.clone(),
            instrument: self.instrument.clone(),
            ignore: self.ignore.clone(),
            unlimited: self.unlimited,
            children: self.children,
            linger: Duration::from_secs(self.linger),
            jvm_agent: self.jvm_agent.clone().or_else(unpacked),
            environment: std::env::vars_os().collect(),
        }
    }
}

/// The agent for JVMs that this program carries. Programs that record themselves do without it.
fn unpacked() -> Option<PathBuf> {
    let agent = cache_folder().and_then(|cache| Ok(paceline_agents::JVM.unpack(&cache)?));
    let remedy = "set XDG_CACHE_HOME to a folder that is yours, or give --jvm-agent FILE";
    agent.inspect_err(|error| warn(&format!("{error:#}; {remedy}"))).ok()
}
