//! Reading, checking and analysing, each on a thread of its own, so that two cores are busy
//! whichever of the three takes longest. Where reading is quick, checking is done along with it: two
//! threads on two cores need not take turns. Batches go round, so that nothing is allocated once
//! they have reached their size.

use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use crate::error::Error;
use crate::event::EventNo;
use crate::source::{Batch, Source};
use crate::validate::{Malformed, Validator};

/// How many batches are under way at once.
const IN_FLIGHT: usize = 6;

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

/// A batch on its way from the reader.
struct Read {
    batch: Batch,
    outcome: Result<(), Error>,
}

/// A batch on its way from the checker, with what is new since the one before. What comes after
/// the last batch that was wanted must not count, although it may have been read.
struct Checked {
    batch: Batch,
    transactions: u64,
    skipped: Vec<Malformed>,
    outcome: Result<(), Stop>,
}

/// Why nothing comes after a batch.
enum Stop {
    Malformed(Malformed),
    Error(Error),
}

/// Reads a trace to its end and gives its events, numbered and checked, to `each`. A malformed
/// event is an error, or is skipped and counted when `lenient`; what was read before an error is
/// given to `each` first, and is told as well.
pub fn read_checked<S: Source>(
    source: &mut S,
    lenient: bool,
    mut each: impl FnMut(&Batch) -> ControlFlow<()>,
) -> (Reading, Result<(), Error>) {
    let mut reading = Reading::default();
    let outcome = std::thread::scope(|scope| {
        let (empty, empty_receiver) = sync_channel(IN_FLIGHT);
        let (checked, checked_receiver) = sync_channel(IN_FLIGHT);
        for _ in 0..IN_FLIGHT {
            // The channel has room for all of them, and its other end is alive.
            let _ = empty.send(Batch::default());
        }
        let source = &mut *source;
        let mut checker = Checker::new(lenient, checked);
        if source.is_quick() {
            scope.spawn(move || produce(source, &empty_receiver, |read| checker.take(read)));
        } else {
            let (read, read_receiver) = sync_channel(IN_FLIGHT);
            scope.spawn(move || produce(source, &empty_receiver, |batch| read.send(batch).is_ok()));
            scope.spawn(move || read_receiver.into_iter().all(|read| checker.take(read)));
        }
        for Checked { batch, transactions, skipped, outcome } in checked_receiver {
            reading.add(&batch, transactions, skipped);
            reading.stopped = !batch.events.is_empty() && each(&batch).is_break();
            if reading.stopped {
                return Ok(());
            }
            outcome?;
            // The reader is gone when it has reached the end: then nobody needs the batch.
            let _ = empty.send(batch);
        }
        Ok(())
    });
    let outcome = outcome.map_err(|stop| match stop {
        Stop::Malformed(malformed) => malformed.explain(source.symbols()),
        Stop::Error(error) => error,
    });
    (reading, outcome)
}

/// Reads again what has been checked before.
pub fn read_known<S: Source>(
    source: &mut S,
    mut each: impl FnMut(&Batch) -> ControlFlow<()>,
) -> (Reading, Result<(), Error>) {
    let mut reading = Reading::default();
    let outcome = std::thread::scope(|scope| {
        let (empty, empty_receiver) = sync_channel(IN_FLIGHT);
        let (read, read_receiver) = sync_channel(IN_FLIGHT);
        for _ in 0..IN_FLIGHT {
            // The channel has room for all of them, and its other end is alive.
            let _ = empty.send(Batch::default());
        }
        scope.spawn(move || produce(source, &empty_receiver, |batch| read.send(batch).is_ok()));
        for Read { mut batch, outcome } in read_receiver {
            batch.first = reading.events + 1;
            reading.add(&batch, 0, Vec::new());
            reading.stopped = !batch.events.is_empty() && each(&batch).is_break();
            if reading.stopped {
                return Ok(());
            }
            outcome?;
            // The reader is gone when it has reached the end: then nobody needs the batch.
            let _ = empty.send(batch);
        }
        Ok(())
    });
    (reading, outcome)
}

/// Reads until the end, an error, or until nobody wants more, which `give` says.
fn produce<S: Source>(source: &mut S, empty: &Receiver<Batch>, mut give: impl FnMut(Read) -> bool) {
    while let Ok(mut batch) = empty.recv() {
        let outcome = source.read(&mut batch);
        let last = outcome.is_err() || batch.events.is_empty();
        if !give(Read { batch, outcome }) || last {
            return;
        }
    }
}

/// Numbers and checks what was read.
struct Checker {
    lenient: bool,
    validator: Validator,
    /// The number of the next event.
    next: EventNo,
    checked: SyncSender<Checked>,
}

impl Checker {
    fn new(lenient: bool, checked: SyncSender<Checked>) -> Checker {
        Checker { lenient, validator: Validator::default(), next: 1, checked }
    }

    /// Takes what was read next; false when there is no more to check.
    fn take(&mut self, Read { mut batch, outcome }: Read) -> bool {
        let transactions = self.validator.outermost_blocks();
        let mut skipped = Vec::new();
        batch.first = self.next;
        let valid = if self.lenient {
            self.validator.skip_malformed(&mut batch, |event| skipped.push(event));
            Ok(())
        } else {
            self.validator.check(&mut batch).map_err(Stop::Malformed)
        };
        self.next += batch.events.len() as u64;
        let transactions = self.validator.outermost_blocks() - transactions;
        // A malformed event stands before whatever stopped the reader.
        let outcome = valid.and(outcome.map_err(Stop::Error));
        let goes_on = outcome.is_ok();
        self.checked.send(Checked { batch, transactions, skipped, outcome }).is_ok() && goes_on
    }
}

impl Reading {
    fn add(&mut self, batch: &Batch, transactions: u64, skipped: Vec<Malformed>) {
        self.events += batch.events.len() as u64;
        self.transactions += transactions;
        skipped.into_iter().for_each(|event| self.skip(event));
    }

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
    fn what_is_known_is_read_alike() {
        let text = "1|r(x)|1\n".repeat(30_000) + "nonsense\n";
        let mut source = StdReader::new(Box::new(std::io::Cursor::new(text.clone())), false);
        let mut firsts = Vec::new();
        let (reading, outcome) = read_known(&mut source, |batch| {
            firsts.push(batch.first);
            ControlFlow::Continue(())
        });
        let (checked, _, same) = read(&text, false);
        assert!(outcome.is_err() && !reading.stopped);
        assert_eq!((reading.events, firsts), (checked.events, same));
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
