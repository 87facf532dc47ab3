//! What it means: analyses over a stream of events, one file each. An analysis prints nothing and
//! knows no file format; what it finds is data (event numbers and ids).

pub mod ancestors;
pub mod atomicity;
pub mod atomizer;
pub mod blame;
pub mod by_thread;
pub mod channel;
pub mod clock;
pub mod components;
pub mod conflict;
pub mod conflict_freedom;
pub mod contested;
pub mod cooperability;
pub mod cycles;
pub mod density;
pub mod driver;
pub mod edges;
pub mod eraser;
pub mod explain;
pub mod external;
#[cfg(test)]
mod faults;
pub mod finding;
pub mod frontier;
pub mod graph;
mod history;
mod lockset;
pub mod minimize;
pub mod occurrence;
pub mod ordered;
pub mod plain;
pub mod precedence;
pub mod predict;
pub mod race;
#[cfg(any(test, feature = "testing"))]
pub mod random;
pub mod rounds;
pub mod slots;
pub mod stats;
pub mod witness;

use std::ops::ControlFlow;

use paceline_trace::{Batch, EventNo, ThreadId};

/// A streaming analysis. Events come in trace order, numbered without gaps; the trace is
/// well-formed (`paceline_trace::validate` has seen to it).
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
/// transaction the last edge entered. The story behind it is told by a second pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cycle {
    /// The event whose edge closed the cycle.
    pub event: EventNo,
    /// The thread of that event.
    pub thread: ThreadId,
    /// The `begin` event of the transaction that the edge entered.
    pub begin: EventNo,
}
