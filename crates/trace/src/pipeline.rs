//! Reading on one core, analysing on another. Batches go round between the two, so that nothing
//! is allocated once they have reached their size. Events are checked and numbered on the way.

use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use crate::error::Error;
use crate::source::{Batch, Source};
use crate::validate::{Malformed, Validator};

/// How many batches are under way at once.
const IN_FLIGHT: usize = 4;

/// Reads `source` to its end on a thread of its own, and gives every batch to `each` on this one
/// until it breaks. Events before an error are given to `each` first.
pub fn for_each_batch<S: Source>(
    source: &mut S,
    mut each: impl FnMut(&mut Batch) -> ControlFlow<()>,
) -> Result<(), Error> {
    std::thread::scope(|scope| {
        let (full_sender, full) = sync_channel(IN_FLIGHT);
        let (empty, empty_receiver) = sync_channel(IN_FLIGHT);
        for _ in 0..IN_FLIGHT {
            // The channel has room for all of them, and its other end is alive.
            let _ = empty.send(Batch::default());
        }
        scope.spawn(move || produce(source, &empty_receiver, &full_sender));
        for (mut batch, outcome) in full {
            if each(&mut batch).is_break() {
                return Ok(());
            }
            outcome?;
            // The reader is gone when it has reached the end: then nobody needs the batch.
            let _ = empty.send(batch);
        }
        Ok(())
    })
}

fn produce<S: Source>(
    source: &mut S,
    empty: &Receiver<Batch>,
    full: &SyncSender<(Batch, Result<(), Error>)>,
) {
    while let Ok(mut batch) = empty.recv() {
        let outcome = source.read(&mut batch);
        let last = outcome.is_err() || batch.events.is_empty();
        if full.send((batch, outcome)).is_err() || last {
            return;
        }
    }
}

/// What has been read.
#[derive(Default)]
pub struct Reading {
    /// How many events there were, those skipped not counted.
    pub events: u64,
    /// How many outermost blocks.
    pub transactions: u64,
    /// Whether reading stopped before the end because that was enough.
    pub stopped: bool,
    /// How many malformed events were skipped, in lenient mode.
    pub malformed: u64,
    /// The first few of those.
    pub malformed_examples: Vec<Malformed>,
}

/// How many malformed events are kept as examples.
const EXAMPLES: usize = 5;

/// Reads a trace to its end and gives its events, numbered and checked, to `each`. A malformed
/// event is an error, or is skipped and counted when `lenient`; what was read before an error is
/// told as well.
pub fn read_checked<S: Source>(
    source: &mut S,
    lenient: bool,
    mut each: impl FnMut(&Batch) -> ControlFlow<()>,
) -> (Reading, Result<(), Error>) {
    let mut validator = Validator::default();
    let mut reading = Reading::default();
    let mut malformed = None;
    let outcome = for_each_batch(source, |batch| {
        batch.first = reading.events + 1;
        if lenient {
            validator.skip_malformed(batch, |event| reading.skip(event));
        } else {
            malformed = validator.check(batch).err();
        }
        reading.events += batch.events.len() as u64;
        reading.stopped = !batch.events.is_empty() && each(batch).is_break();
        let stop = reading.stopped || malformed.is_some();
        if stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    reading.transactions = validator.outermost_blocks();
    match malformed {
        Some(malformed) => (reading, Err(malformed.explain(source.symbols()))),
        None => (reading, outcome),
    }
}

impl Reading {
    /// Counts a malformed event that was skipped.
    pub fn skip(&mut self, event: Malformed) {
        self.malformed += 1;
        if self.malformed_examples.len() < EXAMPLES {
            self.malformed_examples.push(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rule;
    use crate::format::std::StdReader;

    fn read(text: &str, lenient: bool) -> (Reading, Result<(), Error>, Vec<u64>) {
        let mut source = StdReader::new(Box::new(std::io::Cursor::new(text.to_owned())), lenient);
        let mut firsts = Vec::new();
        let (reading, outcome) = read_checked(&mut source, lenient, |batch| {
            firsts.push(batch.first);
            ControlFlow::Continue(())
        });
        (reading, outcome, firsts)
    }

    #[test]
    fn events_are_numbered_across_batches() {
        let text = "1|r(x)|1\n".repeat(30_000);
        let (reading, outcome, firsts) = read(&text, false);
        assert!(outcome.is_ok());
        assert_eq!(reading.events, 30_000);
        assert_eq!(firsts[..2], [1, 1 + crate::BATCH as u64]);
    }

    #[test]
    fn the_earlier_of_two_errors_is_told() {
        let (reading, outcome, _) = read("1|acq(l)|1\n2|acq(l)|2\nnonsense\n", false);
        let error = outcome.expect_err("malformed");
        assert_eq!((error.at.line, error.rule()), (Some(2), Some(Rule::AcquireHeld)));
        assert_eq!(reading.events, 1);
    }

    #[test]
    fn a_lenient_reading_goes_on() {
        let (reading, outcome, _) = read("1|acq(l)|1\n2|acq(l)|2\nnonsense\n2|r(x)|3\n", true);
        assert!(outcome.is_ok());
        assert_eq!((reading.events, reading.malformed), (2, 1));
    }

    #[test]
    fn enough_is_enough() {
        let text = "1|r(x)|1\n".repeat(100_000);
        let mut source = StdReader::new(Box::new(std::io::Cursor::new(text)), false);
        let (reading, outcome) = read_checked(&mut source, false, |_| ControlFlow::Break(()));
        assert!(outcome.is_ok() && reading.stopped);
        assert_eq!(reading.events, crate::BATCH as u64);
    }
}
