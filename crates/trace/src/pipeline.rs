//! The reading loop: from a source, through the checks, to an analysis. There is only one, in two
//! arrangements.
//!
//! [`read`] puts reading, checking and analysing on a thread each, so that two cores have work
//! whichever of the three takes longest. Where reading is quick, checking is done along with it:
//! two threads on two cores need not take turns. Batches go round, so that nothing is allocated
//! once they have reached their size.
//!
//! [`read_named`] does all of it on the calling thread, one batch after the other: names are only
//! complete up to where the reader is, so that a caller that needs them along with a batch cannot
//! have a reader that runs ahead.

use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use crate::error::Error;
use crate::event::EventNo;
use crate::source::{Batch, Source};
use crate::symbols::Symbols;
use crate::validate::{Malformed, Validator};

/// How many batches are under way at once. Two for each of three threads: one in work, one waiting,
/// so that a thread that is slow for a moment holds up none of the others.
const IN_FLIGHT: usize = 6;

/// How many malformed events are kept as examples: a report shows the first, and no more than these
/// are ever looked at.
const EXAMPLES: usize = 5;

/// What is done about malformed events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Checking {
    /// The first one is an error.
    Strict,
    /// They are skipped and counted.
    Lenient,
    /// Nothing: the trace has been checked before, or its rules do not matter.
    Unchecked,
}

/// What has been read.
#[derive(Default)]
pub struct Reading {
    /// How many events there were, those skipped not counted.
    pub events: u64,
    /// How many outermost blocks; 0 when nothing was checked.
    pub transactions: u64,
    /// Whether reading stopped before the end because that was enough.
    pub stopped: bool,
    /// How many malformed events were skipped, in lenient mode.
    pub malformed: u64,
    /// The first few of those.
    pub malformed_examples: Vec<Malformed>,
}

/// A batch on its way from the reader.
struct Read {
    batch: Batch,
    outcome: Result<(), Error>,
}

/// A batch on its way from the checker, with what is new since the one before. What follows
/// the last batch that was wanted must not count, although it may have been read.
struct Checked {
    batch: Batch,
    transactions: u64,
    skipped: Vec<Malformed>,
    outcome: Result<(), Ending>,
    is_last: bool,
}

/// Why no batch follows.
enum Ending {
    Malformed(Malformed),
    Error(Error),
}

impl Ending {
    fn explain(self, symbols: &Symbols) -> Error {
        match self {
            Ending::Malformed(malformed) => malformed.explain(symbols),
            Ending::Error(error) => error,
        }
    }
}

/// Reads a trace to its end, or until `each` has enough, and gives it the events, numbered and
/// checked. What was read before an error is given to `each` first, and is part of the result.
pub fn read<S: Source>(
    source: &mut S,
    checking: Checking,
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
        let mut checker = Checker::new(checking);
        if source.is_quick() || checking == Checking::Unchecked {
            scope.spawn(move || {
                produce(source, &empty_receiver, |read| checker.send(read, &checked));
            });
        } else {
            let (read, read_receiver) = sync_channel(IN_FLIGHT);
            scope.spawn(move || produce(source, &empty_receiver, |batch| read.send(batch).is_ok()));
            scope.spawn(move || read_receiver.into_iter().all(|read| checker.send(read, &checked)));
        }
        for checked in checked_receiver {
            match reading.take(checked, &mut each) {
                // The reader may have reached the end, and need no more batches.
                ControlFlow::Continue(batch) => drop(empty.send(batch)),
                ControlFlow::Break(outcome) => return outcome,
            }
        }
        Ok(())
    });
    (reading, outcome.map_err(|stop| stop.explain(source.symbols())))
}

/// The same on the calling thread: `each` also gets the names of everything up to the end of the
/// batch.
pub fn read_named<S: Source + ?Sized>(
    source: &mut S,
    checking: Checking,
    mut each: impl FnMut(&Batch, &Symbols) -> ControlFlow<()>,
) -> (Reading, Result<(), Error>) {
    let mut reading = Reading::default();
    let mut checker = Checker::new(checking);
    let mut batch = Batch::default();
    loop {
        let outcome = source.read(&mut batch);
        let checked = checker.check(Read { batch, outcome });
        match reading.take(checked, |batch| each(batch, source.symbols())) {
            ControlFlow::Continue(again) => batch = again,
            ControlFlow::Break(outcome) => {
                return (reading, outcome.map_err(|stop| stop.explain(source.symbols())));
            }
        }
    }
}

/// Reads until the end, an error, or until no more is wanted, which `give` says.
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
    checking: Checking,
    validator: Validator,
    /// The number of the next event.
    next: EventNo,
}

impl Checker {
    fn new(checking: Checking) -> Checker {
        Checker { checking, validator: Validator::default(), next: 1 }
    }

    fn check(&mut self, Read { mut batch, outcome }: Read) -> Checked {
        let transactions = self.validator.outermost_blocks();
        let mut skipped = Vec::new();
        let is_end = batch.events.is_empty();
        batch.first = self.next;
        let valid = match self.checking {
            Checking::Strict => self.validator.check(&mut batch).map_err(Ending::Malformed),
            Checking::Lenient => {
                self.validator.skip_malformed(&mut batch, |event| skipped.push(event));
                Ok(())
            }
            Checking::Unchecked => Ok(()),
        };
        self.next += batch.events.len() as u64;
        let transactions = self.validator.outermost_blocks() - transactions;
        // A malformed event stands before whatever stopped the reader.
        let outcome = valid.and(outcome.map_err(Ending::Error));
        let is_last = is_end || outcome.is_err();
        Checked { batch, transactions, skipped, outcome, is_last }
    }

    /// Checks what was read and sends it on; false when that was the last of it.
    fn send(&mut self, read: Read, to: &SyncSender<Checked>) -> bool {
        let checked = self.check(read);
        let is_last = checked.is_last;
        to.send(checked).is_ok() && !is_last
    }
}

impl Reading {
    /// Counts a batch and gives it to `each`. Goes on with the used batch, or ends with the
    /// outcome.
    fn take(
        &mut self,
        Checked { batch, transactions, skipped, outcome, is_last }: Checked,
        each: impl FnOnce(&Batch) -> ControlFlow<()>,
    ) -> ControlFlow<Result<(), Ending>, Batch> {
        self.events += batch.events.len() as u64;
        self.transactions += transactions;
        self.malformed += skipped.len() as u64;
        let room = EXAMPLES.saturating_sub(self.malformed_examples.len());
        self.malformed_examples.extend(skipped.into_iter().take(room));
        self.stopped = !batch.events.is_empty() && each(&batch).is_break();
        if self.stopped {
            return ControlFlow::Break(Ok(()));
        }
        if is_last { ControlFlow::Break(outcome) } else { ControlFlow::Continue(batch) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rule;
    use crate::format::std::StdReader;

    fn read(text: &str, lenient: bool) -> (Reading, Result<(), Error>, Vec<u64>) {
        let mut source = StdReader::new(Box::new(std::io::Cursor::new(text.to_owned())), lenient);
        let checking = if lenient { Checking::Lenient } else { Checking::Strict };
        let mut firsts = Vec::new();
        let (reading, outcome) = super::read(&mut source, checking, |batch| {
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
    fn every_arrangement_reads_the_same() {
        let good = "1|acq(l)|1\n1|rel(l)|1\n".repeat(20_000);
        for (text, is_good) in [(good.clone(), true), (good + "nonsense\n", false)] {
            let (reading, outcome, firsts) = read(&text, false);
            assert_eq!(outcome.is_ok(), is_good);
            let source = || StdReader::new(Box::new(std::io::Cursor::new(text.clone())), false);
            let mut seen = Vec::new();
            let (unchecked, outcome) = super::read(&mut source(), Checking::Unchecked, |batch| {
                seen.push(batch.first);
                ControlFlow::Continue(())
            });
            assert_eq!((outcome.is_ok(), unchecked.stopped), (is_good, false));
            assert_eq!((unchecked.events, &seen), (reading.events, &firsts));
            seen.clear();
            let (named, outcome) = read_named(&mut source(), Checking::Strict, |batch, symbols| {
                assert_eq!(symbols.locks.name(0), b"l");
                seen.push(batch.first);
                ControlFlow::Continue(())
            });
            assert_eq!((outcome.is_ok(), named.stopped), (is_good, false));
            assert_eq!((named.events, seen), (reading.events, firsts));
        }
    }

    #[test]
    fn a_batch_of_malformed_events_is_not_the_end() {
        let text = "1|rel(l)|1\n".repeat(20_000) + "1|r(x)|1\n";
        let (reading, outcome, firsts) = read(&text, true);
        assert!(outcome.is_ok());
        assert_eq!((reading.events, reading.malformed, firsts), (1, 20_000, vec![1]));
        assert_eq!(reading.malformed_examples.len(), EXAMPLES);
    }

    #[test]
    fn the_earlier_of_two_errors_is_reported() {
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
        let stop = |_: &Batch| ControlFlow::Break(());
        let (reading, outcome) = super::read(&mut source, Checking::Strict, stop);
        assert!(outcome.is_ok() && reading.stopped);
        assert_eq!(reading.events, crate::BATCH as u64);
    }
}
