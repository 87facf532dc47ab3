//! Events in one order, batch by batch, wherever they come from.

use std::collections::BTreeMap;
use std::sync::Arc;

pub use paceline_wire::select::Blocks;

use crate::error::Error;
use crate::event::{Event, EventNo};
use crate::ids::IdCounts;
use crate::recording::Recording;
use crate::symbols::Symbols;

/// How many events a batch should hold: large enough to forget the cost of handing it over,
/// small enough to stay in the second-level cache on its way.
pub const BATCH: usize = 16384;

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

impl Lines {
    /// Notes the line of the event at `index` of a batch; called for each event in turn.
    #[inline]
    pub fn note(&mut self, index: usize, line: u64) {
        match self {
            Lines::From(first) if *first + index as u64 == line => {}
            Lines::Each(lines) => lines.push(line),
            Lines::None | Lines::From(_) => self.break_run(index, line),
        }
    }

    #[cold]
    fn break_run(&mut self, index: usize, line: u64) {
        *self = match self {
            Lines::From(first) if index > 0 => {
                let run = *first..*first + index as u64;
                Lines::Each(run.chain([line]).collect())
            }
            Lines::None | Lines::From(_) | Lines::Each(_) => Lines::From(line),
        };
    }
}

/// Some consecutive events.
#[derive(Clone, Default, Debug)]
pub struct Batch {
    /// The number of the first event. Readers leave it alone: the reading loop counts
    /// ([`crate::pipeline`]).
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

impl Batch {
    /// Drops the events that `keep` says no to. The others keep their lines.
    pub fn retain(&mut self, mut keep: impl FnMut(&Event) -> bool) {
        let Some(start) = self.events.iter().position(|event| !keep(event)) else { return };
        let mut lines = Lines::None;
        for index in 0..start {
            self.line(index).into_iter().for_each(|line| lines.note(index, line));
        }
        let mut kept = start;
        for index in start + 1..self.events.len() {
            let event = self.events[index];
            if keep(&event) {
                self.events[kept] = event;
                self.line(index).into_iter().for_each(|line| lines.note(kept, line));
                kept += 1;
            }
        }
        self.events.truncate(kept);
        self.lines = lines;
    }
}

/// What a reader passed over. A report says so: a green must be trusted.
#[derive(Default, Debug)]
pub struct Skipped {
    /// Lines of the observed program's own output, mixed into the log.
    pub foreign_lines: u64,
    /// Events that cannot be read because the observed program wrote into their lines: these
    /// lines are among `foreign_lines`, but something is missing from the trace.
    pub lost_events: u64,
    /// Operations that the format has and the event model has not, because they order nothing;
    /// each with the number of its lines.
    pub unmodelled: BTreeMap<&'static str, u64>,
    /// Malformed lines, skipped in lenient mode.
    pub malformed: u64,
    /// The first few of those, each with its place and rule.
    pub examples: Vec<Error>,
    /// The input ended before its proper end: what is known about the rest.
    pub cut_off: Option<String>,
    /// How the trace was recorded, if it says so; complete at the end only.
    pub recording: Option<Recording>,
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

    /// Whether reading takes so little that checking can be done on the way.
    fn is_quick(&self) -> bool {
        false
    }

    /// The names to keep, from a source that can be read only once.
    fn share_symbols(&self) -> Option<Arc<Symbols>> {
        None
    }
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

    fn is_quick(&self) -> bool {
        (**self).is_quick()
    }

    fn share_symbols(&self) -> Option<Arc<Symbols>> {
        (**self).share_symbols()
    }
}
