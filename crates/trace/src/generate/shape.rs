//! What a synthetic trace shall look like, and which wishes cannot be met.

use crate::event::EventNo;

/// The size and the shape of a synthetic trace.
#[derive(Clone, PartialEq, Debug)]
pub struct Shape {
    /// How many events, exactly.
    pub events: u64,
    /// How many threads.
    pub threads: u32,
    /// How many variables to choose from; a planted violation adds one of its own.
    pub variables: u32,
    /// How many locks to choose from; 0 for none.
    pub locks: u32,
    /// The mean number of events of a transaction, its begin and its end included.
    pub transaction_length: u32,
    /// The share of events in transactions, 0 to 1, for threads without a long-running one.
    pub in_transactions: f64,
    /// How deep blocks may nest; 1 for no nesting.
    pub nesting: u32,
    /// The last thread runs one transaction from the beginning of the trace to its end.
    pub long_transaction: bool,
    /// Threads wait on locks and notify, outside of transactions.
    pub waits: bool,
    /// Threads meet at a barrier now and then, outside of transactions.
    pub barriers: bool,
    /// An eighth of the variables is volatile.
    pub volatiles: bool,
    /// Threads post and take semaphores.
    pub semaphores: bool,
    /// Half of the acquires are shared ones.
    pub shared_locks: bool,
    /// The first thread forks the others at the beginning and joins them at the end.
    pub fork_join: bool,
    /// Another seed, another trace of the same shape.
    pub seed: u64,
    /// Plants one violation, so that the trace stops being serializable with exactly this event.
    pub violation_at: Option<EventNo>,
}

impl Default for Shape {
    fn default() -> Shape {
        Shape {
            events: 1_000_000,
            threads: 8,
            variables: 10_000,
            locks: 16,
            transaction_length: 20,
            in_transactions: 0.8,
            nesting: 1,
            long_transaction: false,
            waits: false,
            barriers: false,
            volatiles: false,
            semaphores: false,
            shared_locks: false,
            fork_join: true,
            seed: 1,
            violation_at: None,
        }
    }
}

/// Why there is no trace of some shape.
#[derive(Clone, Copy, PartialEq, Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ShapeError {
    #[error("a trace needs at least one thread")]
    NoThreads,
    #[error("a trace needs at least one variable")]
    NoVariables,
    #[error("{0} variables are too many: at most {most}", most = Shape::MOST_VARIABLES)]
    TooManyVariables(u32),
    #[error("a transaction has at least 2 events, its begin and its end; the mean cannot be {0}")]
    TransactionLength(u32),
    #[error("the share of events in transactions is {0}; it must be from 0 to 1")]
    Share(f64),
    #[error("a nesting depth of 0 leaves no transactions: use 1, and a share of 0 for none")]
    NoNesting,
    #[error("waits and shared acquires need at least one lock")]
    NoLocks,
    #[error(
        "waits and barriers stand outside of transactions: the share in transactions must be below 1"
    )]
    NoRoomOutside,
    #[error("{events} events are too few: this shape needs at least {needed}")]
    TooFewEvents { events: u64, needed: u64 },
    #[error("a violation takes two threads")]
    ViolationAlone,
    #[error(
        "no violation can be planted at event {at}: in this shape it must be from {first} to {last}"
    )]
    ViolationOutOfRange { at: EventNo, first: EventNo, last: EventNo },
}

impl Shape {
    /// More would not fit the ids, with one to spare for a planted violation.
    pub const MOST_VARIABLES: u32 = u32::MAX - 2;

    /// Says why there is no trace of this shape, if there is none.
    pub fn check(&self) -> Result<(), ShapeError> {
        self.check_numbers()?;
        self.check_options()?;
        self.check_violation()?;
        let needed = self.scripted();
        if self.events < needed {
            return Err(ShapeError::TooFewEvents { events: self.events, needed });
        }
        Ok(())
    }

    fn check_numbers(&self) -> Result<(), ShapeError> {
        if self.threads == 0 {
            return Err(ShapeError::NoThreads);
        }
        if self.variables == 0 {
            return Err(ShapeError::NoVariables);
        }
        if self.variables > Self::MOST_VARIABLES {
            return Err(ShapeError::TooManyVariables(self.variables));
        }
        if self.transaction_length < 2 {
            return Err(ShapeError::TransactionLength(self.transaction_length));
        }
        if !(0.0..=1.0).contains(&self.in_transactions) {
            return Err(ShapeError::Share(self.in_transactions));
        }
        Ok(())
    }

    fn check_options(&self) -> Result<(), ShapeError> {
        if self.nesting == 0 {
            return Err(ShapeError::NoNesting);
        }
        if self.locks == 0 && (self.waits || self.shared_locks) {
            return Err(ShapeError::NoLocks);
        }
        if self.in_transactions == 1.0 && (self.waits || self.barriers) {
            return Err(ShapeError::NoRoomOutside);
        }
        Ok(())
    }

    fn check_violation(&self) -> Result<(), ShapeError> {
        let Some(at) = self.violation_at else { return Ok(()) };
        if self.threads < 2 {
            return Err(ShapeError::ViolationAlone);
        }
        // Before it: begin, read, write. After it: the end of its transaction and of the long one.
        let first = self.opening() + 4;
        let last = self.events.saturating_sub(self.joins() + 1 + u64::from(self.long_transaction));
        if !(first..=last).contains(&at) {
            return Err(if first > last {
                ShapeError::TooFewEvents {
                    events: self.events,
                    needed: self.events + (first - last),
                }
            } else {
                ShapeError::ViolationOutOfRange { at, first, last }
            });
        }
        Ok(())
    }

    /// How many joins end the trace.
    pub(super) fn joins(&self) -> u64 {
        if self.fork_join { u64::from(self.threads - 1) } else { 0 }
    }

    /// How many events open the trace: the forks, the begin of the long-running transaction.
    pub(super) fn opening(&self) -> u64 {
        self.joins() + u64::from(self.long_transaction)
    }

    /// How many events are fixed in advance.
    pub(super) fn scripted(&self) -> u64 {
        let violation = if self.violation_at.is_some() { PLANTED_EVENTS } else { 0 };
        self.opening() + u64::from(self.long_transaction) + violation + self.joins()
    }
}

/// Begin, read, the other thread's write, write, end.
const PLANTED_EVENTS: u64 = 5;

#[cfg(test)]
mod tests {
    use super::*;

    fn error(change: impl FnOnce(&mut Shape)) -> String {
        let mut shape = Shape { events: 100, ..Shape::default() };
        change(&mut shape);
        shape.check().map_or_else(|e| e.to_string(), |()| "fine".to_owned())
    }

    #[test]
    fn impossible_shapes_are_refused_with_a_reason() {
        assert_eq!(error(|_| ()), "fine");
        assert_eq!(error(|s| s.threads = 0), "a trace needs at least one thread");
        assert_eq!(error(|s| s.variables = 0), "a trace needs at least one variable");
        assert!(error(|s| s.transaction_length = 1).contains("cannot be 1"));
        assert!(error(|s| s.in_transactions = 1.5).contains("is 1.5; it must be"));
        assert!(error(|s| s.in_transactions = f64::NAN).contains("is NaN; it must be"));
        assert!(error(|s| s.nesting = 0).contains("depth of 0"));
        assert!(error(|s| (s.waits, s.locks) = (true, 0)).contains("at least one lock"));
        assert!(error(|s| (s.barriers, s.in_transactions) = (true, 1.0)).contains("below 1"));
        assert!(error(|s| s.events = 13).contains("at least 14"));
        assert!(error(|s| s.variables = u32::MAX).contains("too many"));
    }

    #[test]
    fn a_violation_needs_room_around_it() {
        let range = "it must be from 11 to 92";
        assert!(error(|s| s.violation_at = Some(10)).contains(range));
        assert_eq!(error(|s| s.violation_at = Some(11)), "fine");
        assert_eq!(error(|s| s.violation_at = Some(92)), "fine");
        assert!(error(|s| s.violation_at = Some(93)).contains(range));
        assert!(error(|s| (s.threads, s.violation_at) = (1, Some(9))).contains("two threads"));
        let few = |s: &mut Shape| (s.events, s.violation_at) = (18, Some(11));
        assert!(error(few).contains("at least 19"));
    }
}
