//! Leaves out accesses that cannot matter, as the authors of SingleTrack and Velodrome do:
//! synchronization already orders the accesses to a variable without races, so its conflicts add no
//! order between transactions.
//!
//! Two passes: the first runs a [`RaceDetector`] over the whole trace; in the second, analyses that
//! are wrapped in [`WithoutRaceFree`] are given the rest of the trace only. For atomicity,
//! cooperability and external serializability, the verdict and the event of the first violation
//! stay the same. Every pair of conflicting accesses e, f that is left out has a path of
//! synchronization from e to f, which ends in f's thread at or before f; so a cycle that f would
//! close is closed before f. Variables with atomic accesses are kept: a plain access does not race
//! with an atomic one, but conflicts. The first event of each thread is kept, because the fork and
//! the join of a thread that does nothing order nothing.
//!
//! What is lost:
//! - explanations: a cycle is shown by the locks that order it, not by the data concerned;
//! - conflict freedom (determinism) of accesses that are ordered only through a thread outside of
//!   their transaction: the papers' filter loses these too;
//! - everything that examines the accesses themselves: Eraser, Atomizer, counts of shared sites.
//!
//! The papers' tools filter in the *same* pass. That loses more: the accesses to a variable before
//! its first race have been dropped by the time the race is seen, and with them every cycle that
//! needs one. A filter that has seen the whole trace does not have this gap.

use std::ops::ControlFlow;

use paceline_trace::{Batch, Event, EventNo, Op, VarId, ops};

use super::RaceDetector;
use crate::Analysis;

/// Decides which events to keep.
pub struct RaceFilter {
    /// For each variable, whether its plain accesses matter.
    kept: Vec<bool>,
}

impl RaceFilter {
    /// The filter after a first pass over the whole trace.
    pub fn new(first_pass: &RaceDetector) -> RaceFilter {
        let vars = (0..first_pass.vars.len()).map(|i| VarId(i as u32));
        RaceFilter {
            kept: vars.map(|x| first_pass.is_racy(x) || first_pass.is_atomic(x)).collect(),
        }
    }

    /// Whether the event can matter. Variables that the first pass has not seen are kept.
    #[inline]
    pub fn keeps(&self, event: &Event) -> bool {
        match event.op {
            ops!(Plain(var)) => self.kept.get(var.index()).is_none_or(|&kept| kept),
            ops!(Atomic | Lock | Thread | Block | Semaphore | Barrier) | Op::Yield => true,
        }
    }
}

/// An analysis that does not see the accesses that a [`RaceFilter`] drops. The events that are left
/// are numbered without gaps; [`WithoutRaceFree::original`] maps these numbers to those of the
/// trace.
pub struct WithoutRaceFree<A> {
    analysis: A,
    filter: RaceFilter,
    numbers: KeptEvents,
    /// Whether each thread has had an event.
    acted: Vec<bool>,
    /// What is left of a batch.
    rest: Batch,
}

impl<A: Analysis> WithoutRaceFree<A> {
    /// Gives a fresh analysis what the filter keeps.
    pub fn new(analysis: A, filter: RaceFilter) -> Self {
        let (numbers, rest) = (KeptEvents::default(), Batch::default());
        WithoutRaceFree { analysis, filter, numbers, acted: Vec::new(), rest }
    }

    /// The analysis. The event numbers in its results are those of the rest.
    pub fn analysis(&self) -> &A {
        &self.analysis
    }

    /// The number in the whole trace of the event that is number `number` of the rest.
    ///
    /// # Panics
    /// If the analysis has not been given that many events.
    pub fn original(&self, number: EventNo) -> EventNo {
        self.numbers.original(number)
    }

    /// How many events were left out so far.
    pub fn dropped(&self) -> u64 {
        self.numbers.seen - self.numbers.kept
    }
}

impl<A: Analysis> Analysis for WithoutRaceFree<A> {
    fn events(&mut self, batch: &Batch) -> ControlFlow<()> {
        self.rest.first = self.numbers.kept + 1;
        self.rest.counts = batch.counts;
        self.rest.events.clear();
        self.acted.resize(self.acted.len().max(batch.counts.threads), false);
        for event in &batch.events {
            let is_first = !std::mem::replace(&mut self.acted[event.thread.index()], true);
            let keep = is_first || self.filter.keeps(event);
            self.numbers.push(keep);
            if keep {
                self.rest.events.push(*event);
            }
        }
        self.analysis.events(&self.rest)
    }

    fn finish(&mut self) {
        self.analysis.finish();
    }
}

/// The events that were kept: one bit for each event, and a running count for each word.
#[derive(Default)]
struct KeptEvents {
    words: Vec<u64>,
    /// How many were kept before each word.
    before: Vec<u64>,
    seen: u64,
    kept: u64,
}

impl KeptEvents {
    fn push(&mut self, keep: bool) {
        if self.seen.is_multiple_of(64) {
            self.words.push(0);
            self.before.push(self.kept);
        }
        if let Some(word) = self.words.last_mut() {
            *word |= u64::from(keep) << (self.seen % 64);
        }
        self.seen += 1;
        self.kept += u64::from(keep);
    }

    fn original(&self, number: EventNo) -> EventNo {
        assert!((1..=self.kept).contains(&number), "event {number} of {}", self.kept);
        let at = self.before.partition_point(|&before| before < number) - 1;
        let mut word = self.words[at];
        for _ in 0..number - self.before[at] - 1 {
            word &= word - 1;
        }
        at as u64 * 64 + u64::from(word.trailing_zeros()) + 1
    }
}
