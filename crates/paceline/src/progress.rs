//! How far long work has come, for a caller that wants to show it. The library itself shows
//! nothing.

use std::sync::Arc;

/// How far a pass over a trace has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress<'a> {
    /// A pass begins.
    Started {
        /// What is read, or what is done with it.
        what: &'a str,
        /// The size on disk, if it is known.
        bytes: Option<u64>,
    },
    /// This much of it has been read. Reported once a batch of events.
    Advanced {
        /// Bytes on disk.
        bytes: u64,
        /// Events.
        events: u64,
    },
    /// The pass is over, by success or by failure.
    Finished,
}

/// A caller's function for progress. The passes over one trace come one after the other.
pub type Listener = Arc<dyn Fn(Progress<'_>) + Send + Sync>;

/// A pass in progress; its end is reported when it is dropped.
pub(crate) struct Pass<'a>(Option<&'a Listener>);

impl Pass<'_> {
    pub(crate) fn start<'a>(
        listener: Option<&'a Listener>,
        what: &str,
        bytes: Option<u64>,
    ) -> Pass<'a> {
        let pass = Pass(listener);
        pass.report(Progress::Started { what, bytes });
        pass
    }

    pub(crate) fn advance(&self, bytes: u64, events: u64) {
        self.report(Progress::Advanced { bytes, events });
    }

    fn report(&self, progress: Progress<'_>) {
        if let Some(listener) = self.0 {
            listener(progress);
        }
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        self.report(Progress::Finished);
    }
}
