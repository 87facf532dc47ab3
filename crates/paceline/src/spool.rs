//! A running program can be read only once, but a finding is explained by reading again: what it
//! sends is kept in a file meanwhile, in order and in a compact form. The names stay in memory, and
//! which threads have accessed which variable: most variables need no second look.

use std::fs::File;
use std::io::{self, BufWriter};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use paceline_analysis::explain::contested::{Contested, Touches};
use paceline_trace::format::pace::SpoolWriter;
use paceline_trace::format::stream::StreamReader;
use paceline_trace::{Batch, Error, Skipped, Source, Symbols};

/// What is kept.
struct Copy {
    events: SpoolWriter<BufWriter<File>>,
    touches: Touches,
}

/// Writes the copy.
pub struct Spooler(Arc<Mutex<Copy>>);

/// A running program whose events are copied as they are read.
pub struct Spooled {
    program: StreamReader,
    copy: Arc<Mutex<Copy>>,
}

impl Spooler {
    /// Starts the copy in `file`.
    pub fn new(file: File) -> Spooler {
        let events = SpoolWriter::new(BufWriter::with_capacity(1 << 18, file));
        Spooler(Arc::new(Mutex::new(Copy { events, touches: Touches::default() })))
    }

    /// Completes the copy; which variables can be in conflicts.
    pub fn finish(&self) -> Result<Contested, Error> {
        let mut copy = lock(&self.0);
        copy.events.finish().map_err(|e| cannot_keep(&e))?;
        Ok(std::mem::take(&mut copy.touches).contested())
    }
}

impl Spooled {
    /// A program whose events `spooler` copies.
    pub fn new(program: StreamReader, spooler: &Spooler) -> Spooled {
        Spooled { program, copy: Arc::clone(&spooler.0) }
    }
}

fn lock(copy: &Mutex<Copy>) -> MutexGuard<'_, Copy> {
    copy.lock().unwrap_or_else(PoisonError::into_inner)
}

fn cannot_keep(error: &io::Error) -> Error {
    let message = format!("cannot keep a copy for reading it again: {error}");
    io::Error::new(error.kind(), message).into()
}

impl Source for Spooled {
    fn read(&mut self, batch: &mut Batch) -> Result<(), Error> {
        self.program.read(batch)?;
        let mut copy = lock(&self.copy);
        copy.touches.events(batch);
        copy.events.write(batch, self.program.symbols()).map_err(|e| cannot_keep(&e))
    }

    fn symbols(&self) -> &Symbols {
        self.program.symbols()
    }

    fn skipped(&self) -> &Skipped {
        self.program.skipped()
    }

    fn share_symbols(&self) -> Option<Arc<Symbols>> {
        self.program.share_symbols()
    }
}
