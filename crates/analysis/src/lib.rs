//! Analyses over a stream of events: what an execution says about atomicity, cooperability,
//! determinism, races and reduction. An analysis prints nothing and knows no file format; what it
//! finds is data (event numbers and ids).
//!
//! | room | what is in it |
//! |---|---|
//! | [`atomicity`], [`cooperability`], [`determinism`], [`race`], [`reduction`] | a property each |
//! | [`explain`] | what a second pass adds: cycles in full, blame, witnesses, minimal traces |
//! | [`predict`] | what the run did not show, but could have: certified reorderings |
//! | [`finding`], [`occurrence`] | what is reported |
//! | [`stats`], [`density`] | counts |
//! | `engine` | the graph of transactions, its tables of conflicts, clocks; private |
//! | `definition` | conflicts and the transaction graph by definition, for references; private |
//!
//! A property is used in the same way everywhere: start its analysis with its options, give it the
//! trace as an [`Analysis`], read the result. Beside each fast analysis is a reference that follows
//! the definition and nothing else; random traces must agree.

pub mod atomicity;
pub mod cooperability;
mod definition;
pub mod density;
pub mod determinism;
mod engine;
pub mod explain;
pub mod finding;
pub mod occurrence;
pub mod predict;
pub mod race;
pub mod reduction;
pub mod stats;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

use std::ops::ControlFlow;

use paceline_trace::{Batch, EventNo, ThreadId};

/// A streaming analysis. Events come in trace order, numbered without gaps; the trace is
/// well-formed (`paceline_trace::validate` has checked it).
pub trait Analysis: Send {
    /// Takes the next events. Breaks when nothing that follows can change the result.
    fn events(&mut self, batch: &Batch) -> ControlFlow<()>;

    /// The trace is over: closes what is still open. Called once, after the last batch.
    fn finish(&mut self);
}

impl<A: Analysis + ?Sized> Analysis for Box<A> {
    fn events(&mut self, batch: &Batch) -> ControlFlow<()> {
        (**self).events(batch)
    }

    fn finish(&mut self) {
        (**self).finish();
    }
}

/// A cycle between transactions, as an engine reports it: where it closed and which running
/// transaction the last edge entered. A second pass explains it ([`explain`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cycle {
    /// The event whose edge closed the cycle.
    pub event: EventNo,
    /// The thread of that event.
    pub thread: ThreadId,
    /// The `begin` event of the transaction that the edge entered.
    pub begin: EventNo,
}
