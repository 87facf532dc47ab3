//! Finds thread-interference bugs: checks traces, observes programs, scans Java class files.

pub mod check;
mod error;
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

pub use check::Check;
pub use error::Error;
pub use observe::Observe;
pub use paceline_analysis::atomicity::Engine;
pub use paceline_report::model::Report;
pub use paceline_trace::Error as TraceError;
pub use scan::Scan;
pub use status::Status;
