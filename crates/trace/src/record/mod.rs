//! Recording a program while it runs: what a recorder inside an observed process sends, and how
//! what several threads have sent becomes one trace.
//!
//! There is no global counter. The recorder keeps some thousand *stripes*, each a counter with a
//! lock bit. An event that other threads can see takes the stripe of its target, happens, and
//! leaves the stripe one version further; its record carries stripe and version. So an event and
//! its stamp are one step, and threads that touch different things do not meet. The order of the
//! trace is each thread's own order together with each stripe's: it has no cycle, because both
//! follow time, and it contains every conflict of the real run. Any order of the records that
//! keeps it is a trace that the program could have shown with the same results.
//!
//! Nothing here knows a language or a virtual machine.

mod frames;
pub(crate) mod ids;
mod mend;
pub mod merge;
mod output;
mod reader;
mod recorder;
mod targets;
pub mod wire;

pub use output::{Output, SiteText};
pub use reader::StreamReader;
pub use recorder::{Flusher, Recorder, SiteNo, Target, ThreadRecorder};
