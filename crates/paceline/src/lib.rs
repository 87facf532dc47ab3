//! Finds thread-interference bugs: checks traces, observes programs, scans Java class files.

pub mod checking;
mod error;
pub mod merging;
pub mod observe;
pub mod progress;
pub mod scanning;
pub mod sources;
mod spool;
pub mod stacks;
mod status;
pub mod trace_input;
mod verdict;

pub use error::Error;
pub use status::Status;
