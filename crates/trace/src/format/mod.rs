//! Trace formats, one file each, and the registry that the command line reads.

pub mod csv;
pub mod pace;
pub mod rr;
pub mod std;
pub mod stream;

use ::std::io;

use crate::recording::Recording;
use crate::source::Batch;
use crate::symbols::Symbols;

mod registry;
pub use registry::{Format, Opened, read};

/// Writes events in some format.
pub trait Writer {
    /// Appends the events of a batch.
    fn write(&mut self, batch: &Batch, symbols: &Symbols) -> io::Result<()>;

    /// Keeps how the trace was recorded, if the format has room for it; called before the end.
    fn recording(&mut self, recording: &Recording);

    /// Completes the output; nothing may be written after it.
    fn finish(&mut self, symbols: &Symbols) -> io::Result<()>;
}
