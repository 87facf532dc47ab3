//! Opening the traces that are named on the command line.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use paceline_trace::format::{self, Format};
use paceline_trace::input::{self, Progress};
use paceline_trace::pipeline::{Reading, read_checked};
use paceline_trace::{Batch, Error, Source};

use crate::args::ReadArgs;
use crate::progress::Bar;

/// An open trace.
pub struct Trace {
    pub path: PathBuf,
    pub source: Box<dyn Source>,
    size: Option<u64>,
    progress: Progress,
}

/// Opens a trace.
pub fn open(path: &Path, args: &ReadArgs) -> Result<Trace, Error> {
    let input = input::open(path)?;
    let format = args.from.or_else(|| Format::from_path(path)).unwrap_or(Format::Std);
    let (size, progress) = (input.size, input.progress.clone());
    let opened = format::read(input, format, args.lenient);
    Ok(Trace { path: path.to_owned(), source: opened.source, size, progress })
}

impl Trace {
    /// Reads the trace to its end, checked and numbered, with a progress bar.
    pub fn read(
        &mut self,
        lenient: bool,
        quiet: bool,
        mut each: impl FnMut(&Batch) -> ControlFlow<()>,
    ) -> (Reading, Result<(), Error>) {
        let bar = Bar::new(&self.path.to_string_lossy(), self.size, quiet);
        let mut events = 0;
        let outcome = read_checked(&mut self.source, lenient, |batch| {
            events += batch.events.len() as u64;
            bar.update(self.progress.bytes(), events);
            each(batch)
        });
        bar.finish();
        outcome
    }
}
