//! What can go wrong.

use std::io;
use std::path::PathBuf;

/// Why an analysis could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A trace is malformed, damaged or cannot be read.
    #[error(transparent)]
    Trace(#[from] paceline_trace::Error),
    /// The trace in this file is malformed or damaged.
    #[error("{}", path.display())]
    TraceAt {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        source: paceline_trace::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file or folder cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The command cannot be run.
    #[error("cannot run {program}")]
    Run {
        /// The program.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// What is needed to observe a program cannot be set up.
    #[error("{what}")]
    Setup {
        /// What failed.
        what: &'static str,
        /// Why.
        source: io::Error,
    },
    /// What was asked for makes no sense; the text says why.
    #[error("{0}")]
    Usage(String),
}
