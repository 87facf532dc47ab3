//! Running a program under observation, to decide while it runs or to keep its traces.
//!
//! What belongs to the program stays its own: standard input, output and error, signals, and its
//! exit status. When it has ended, processes that it left behind have a few seconds to end too.
//!
//! | file | what is in it |
//! |---|---|
//! | `child` | the program as a child process |
//! | `jvm` | how the agent gets into a JVM |
//! | `options` | what recorders are asked to do |
//! | `socket` | where they connect to |
//! | `record` | traces kept in files |

mod child;
pub(crate) mod jvm;
mod options;
mod record;
mod socket;

use std::ffi::OsString;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

pub use child::Ended;
pub use options::ObserveOptions;
pub use record::Recorded;

use crate::check::{Check, Checked};
use crate::property::RedundantAccesses;
use crate::trace_input::TraceInput;
use crate::{Error, TraceError};
use options::RecorderOptions;

/// Runs a command under observation: `java`, anything that starts JVMs, or a program that records
/// itself.
///
/// ```no_run
/// use paceline::property::{Atomicity, Race};
/// use paceline::{Check, Observe};
///
/// # fn main() -> Result<(), paceline::Error> {
/// let observed = Observe::new(["java", "-jar", "app.jar"])
///     .agent("/opt/paceline/lib/libpaceline_jvm.so")
///     .check(Check::new().property(Atomicity).property(Race))
///     .run()?;
/// for process in &observed.traces {
///     if let Ok(checked) = &process.result {
///         println!("{}: {} findings", process.name, checked.report.findings.len());
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Observe {
    command: Vec<OsString>,
    check: Check,
    options: ObserveOptions,
    complete: bool,
}

/// What came of a run.
#[derive(Debug)]
pub struct Observed<T> {
    /// How the program ended.
    pub ended: Ended,
    /// What came of each process that was observed, in the order in which they came.
    pub traces: Vec<T>,
    /// Why there was none, if that is known.
    pub hint: Option<String>,
}

/// What was decided about one process.
#[derive(Debug)]
pub struct ProcessChecked {
    /// Its command line.
    pub name: String,
    /// The report, or why there is none.
    pub result: Result<Checked, TraceError>,
    /// From the connection of its recorder to the report.
    pub took: Duration,
}

impl Observe {
    /// A command and its arguments.
    pub fn new<W: Into<OsString>>(command: impl IntoIterator<Item = W>) -> Observe {
        let command = command.into_iter().map(Into::into).collect();
        Observe { command, ..Observe::default() }
    }

    /// What to decide, and which methods are atomic. Recorders leave out what makes no difference
    /// for these properties.
    #[must_use]
    pub fn check(mut self, check: Check) -> Observe {
        self.check = check;
        self
    }

    /// How to observe.
    #[must_use]
    pub fn options(mut self, options: ObserveOptions) -> Observe {
        self.options = options;
        self
    }

    /// The library that observes JVMs. The package `paceline-agents` carries it, and unpacks it into
    /// a folder of yours.
    #[must_use]
    pub fn agent(mut self, library: impl Into<std::path::PathBuf>) -> Observe {
        self.options.jvm_agent = Some(library.into());
        self
    }

    /// Whether nothing is left out: all methods are recorded as blocks, to be selected later, and
    /// redundant accesses, too. Makes sense for [`record`](Observe::record).
    #[must_use]
    pub fn complete(mut self, complete: bool) -> Observe {
        self.complete = complete;
        self
    }

    /// Runs the command and decides about each of its processes while it runs.
    pub fn run(&self) -> Result<Observed<ProcessChecked>, Error> {
        socket::observe(&self.command, &self.recorder_options(), |stream| self.decide(stream))
    }

    /// Runs the command and keeps the trace of each of its processes. The ending of `file` says the
    /// format; `%p` in it stands for the process id, otherwise the second process gets number 2.
    pub fn record(
        &self,
        file: impl AsRef<Path>,
    ) -> Result<Observed<Result<Recorded, Error>>, Error> {
        let files = record::Files::new(file.as_ref())?;
        socket::observe(&self.command, &self.recorder_options(), |stream| files.keep(stream))
    }

    fn decide(&self, stream: UnixStream) -> ProcessChecked {
        let started = Instant::now();
        let mut trace = TraceInput::live(stream, &self.check.read_options());
        let result = self.check.decide(&mut trace);
        ProcessChecked { name: trace.name(), result, took: started.elapsed() }
    }

    fn recorder_options(&self) -> RecorderOptions<'_> {
        let [atomic, except] = self.check.patterns();
        RecorderOptions {
            atomic,
            except,
            all_methods: self.complete && atomic.is_empty() && except.is_empty(),
            redundant: match self.complete {
                true => RedundantAccesses::Keep,
                false => self.check.redundant_accesses(),
            },
            observe: &self.options,
        }
    }
}
