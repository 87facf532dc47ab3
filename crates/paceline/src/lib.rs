//! Finds thread-interference bugs: code that is not atomic, not cooperable or not deterministic
//! although it was meant to be, and data races.
//!
//! There are three ways in, and each ends in a [`Report`]:
//!
//! | | reads | |
//! |---|---|---|
//! | [`Check`] | a trace: what the threads of a program did, in order | exact: a violation follows from the observed order |
//! | [`Observe`] | a running program | the same, while it runs; or keeps the trace for later |
//! | [`Scan`] | Java class files | warnings: nothing is run |
//!
//! The library prints nothing, never exits and reads no environment variable. The command `paceline`
//! is glue around it, with the same results.
//!
//! # Check a trace
//!
//! Two threads add to a set. `add` looks first and inserts then, and another thread comes between:
//!
//! ```
//! use paceline::Check;
//! use paceline::property::{Atomicity, Race};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("set.std");
//! let trace = "\
//! T1|begin(Set.add)|10
//! T1|r(size)|11
//! T2|w(size)|20
//! T1|w(size)|12
//! T1|end(Set.add)|13
//! ";
//! std::fs::write(&path, trace)?;
//!
//! let report = Check::new().property(Atomicity).property(Race).file(&path).run()?;
//!
//! let titles: Vec<&str> = report.findings.iter().map(|f| f.title.as_str()).collect();
//! assert_eq!(titles, ["Set.add is not atomic", "race on size"]);
//! # Ok(())
//! # }
//! ```
//!
//! The format is detected from the content; `.gz` and `.zst` are read as they are. Logs of method
//! calls have no atomic blocks of their own: [`Check::atomic`] and [`Check::except`] say which methods
//! are meant to be atomic. What cannot be read is an [`Error`] that says in which line.
//!
//! # What is in a report
//!
//! A [`Report`] is plain data with names instead of ids: what was analysed, a verdict for each
//! property, and the findings, each with its stable id, the block to blame, and the events that show
//! it. It serializes to the JSON of `paceline check --format json`, and
//! [`report`] turns it into text, HTML, SARIF, JUnit and pictures:
//!
//! ```
//! use std::time::Duration;
//!
//! use paceline::Check;
//! use paceline::report::{outcome::Outcome, junit, paths::Root, text};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("clean.std");
//! std::fs::write(&path, "T1|begin(m)|1\nT1|w(x)|2\nT1|end(m)|3\n")?;
//! let report = Check::new().file(&path).run()?;
//!
//! assert!(text::report(&report, Duration::ZERO).contains("atomic"));
//! let document = junit::document(&[Outcome::Report(report)], &Root::default());
//! assert!(document.contains("failures=\"0\""));
//! # Ok(())
//! # }
//! ```
//!
//! # Observe a program
//!
//! [`Observe`] runs a command with its own input, output and signals, lets the recorders inside its
//! processes connect, and decides while it runs. [`Observe::record`] keeps the traces instead.
//!
//! ```
//! use paceline::{Check, Observe};
//!
//! # fn main() -> Result<(), paceline::Error> {
//! // Any command can be observed; in this one there is no recorder, so there is no trace.
//! let observed = Observe::new(["true"]).check(Check::new()).run()?;
//! assert_eq!(observed.ended.code(), 0);
//! assert!(observed.traces.is_empty());
//! # Ok(())
//! # }
//! ```
//!
//! # Scan class files
//!
//! ```
//! use paceline::{Scan, Status};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! let scanned = Scan::new().path(folder.path()).run()?;
//! assert_eq!(scanned.status(), Status::Nothing, "there is no class file in this folder");
//! # Ok(())
//! # }
//! ```
//!
//! # Decide something of your own
//!
//! What can be decided is a [`Property`](property::Property): its name and rules, an analysis that
//! gets the events, and what it concludes. [`Check::property`] takes those of the
//! [registry](property::ALL) and any other. `examples/toy-property` in the repository is one from
//! outside.
//!
//! # What to read next
//!
//! - [`Check`], for all that can be asked, and [`property`], for how it is decided.
//! - [`report::model`], for every field of a report.
//! - [`progress`], to show how far long work has come.
//! - [`analysis`], for the algorithms and the papers that they come from.

#![deny(clippy::print_stdout, clippy::print_stderr, clippy::exit)]

pub mod check;
mod error;
pub mod located;
mod merging;
pub mod new_file;
pub mod observe;
pub mod passes;
pub mod progress;
pub mod property;
pub mod scan;
mod scanning;
pub mod sources;
mod spool;
mod stacks;
mod status;
pub mod trace_input;
pub mod yields;

pub use check::Check;
pub use error::Error;
pub use observe::Observe;
pub use paceline_analysis as analysis;
pub use paceline_analysis::atomicity::Engine;
pub use paceline_report as report;
pub use paceline_report::model::Report;
pub use paceline_scan as scanner;
pub use paceline_trace as trace;
pub use paceline_trace::Error as TraceError;
pub use scan::Scan;
pub use status::Status;
