//! Events in one order, batch by batch, wherever they come from.

use crate::error::Error;
use crate::event::{Event, EventNo};
use crate::ids::IdCounts;
use crate::symbols::Symbols;

/// How many events a batch should hold: large enough to forget the cost of handing it over,
/// small enough to stay in the second-level cache on its way.
pub const BATCH: usize = 8192;

/// Which lines of the input the events of a batch come from.
#[derive(Clone, Default, Debug)]
pub enum Lines {
    /// The input has no lines.
    #[default]
    None,
    /// Consecutive lines, starting with this one.
    From(u64),
    /// One line number for each event.
    Each(Vec<u64>),
}

/// Some consecutive events.
#[derive(Clone, Default, Debug)]
pub struct Batch {
    /// The number of the first event. Readers leave it alone: whoever reads to the end counts.
    pub first: EventNo,
    /// The events.
    pub events: Vec<Event>,
    /// How many ids were in use after the last of these events.
    pub counts: IdCounts,
    /// Where the events stand in the input.
    pub lines: Lines,
}

impl Batch {
    /// The line of the event at `index` of this batch.
    pub fn line(&self, index: usize) -> Option<u64> {
        match &self.lines {
            Lines::None => None,
            Lines::From(line) => Some(line + index as u64),
            Lines::Each(lines) => lines.get(index).copied(),
        }
    }
}

/// What `begin` and `end` stand for in a trace.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Blocks {
    /// Blocks declared atomic: all of them count.
    #[default]
    Declared,
    /// Entry and exit of every method: a selection says which are meant to be atomic.
    Methods,
}

/// What a reader passed over. A report says so: a green must be trusted.
#[derive(Default, Debug)]
pub struct Skipped {
    /// Lines of the observed program's own output, mixed into the log.
    pub foreign_lines: u64,
    /// Malformed lines, skipped in lenient mode.
    pub malformed: u64,
    /// The first few of those, each with its place and rule.
    pub examples: Vec<Error>,
    /// The input ended before its proper end: what is known about the rest.
    pub cut_off: Option<String>,
}

impl Skipped {
    /// Counts a malformed line.
    pub fn malformed(&mut self, error: Error) {
        self.malformed += 1;
        if self.examples.len() < 5 {
            self.examples.push(error);
        }
    }
}

/// A stream of events.
pub trait Source: Send {
    /// Fills `batch` with the next events; an empty batch means the end. After an error, `batch`
    /// holds the events before it and the source must not be read again.
    fn read(&mut self, batch: &mut Batch) -> Result<(), Error>;

    /// The names of all ids that were handed out so far.
    fn symbols(&self) -> &Symbols;

    /// What was passed over so far.
    fn skipped(&self) -> &Skipped;
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn read(&mut self, batch: &mut Batch) -> Result<(), Error> {
        (**self).read(batch)
    }

    fn symbols(&self) -> &Symbols {
        (**self).symbols()
    }

    fn skipped(&self) -> &Skipped {
        (**self).skipped()
    }
}
