//! Atomicity: is the trace conflict-serializable, and if not, at which event does the first cycle
//! between its transactions close? Each engine has its own file; [`Engine`] is their registry.
//!
//! A transaction is an outermost block of a thread, up to the end of the trace if it is never
//! closed, or a single event outside every block. All engines give the same verdict on every
//! well-formed trace, and the exact ones name the same first event.

/// Both AeroDrome engines take events, and close open transactions in the end, in the same way.
macro_rules! aerodrome_analysis {
    ($engine:ty) => {
        impl Analysis for $engine {
            fn events(&mut self, batch: &Batch) -> ControlFlow<()> {
                self.reserve(&batch.counts);
                each_event(self, self.options, batch, |engine, number, event| {
                    engine.now = (number, event.thread);
                    engine.event(event);
                })
            }

            fn finish(&mut self) {
                for t in (0..self.threads.len() as u32).map(ThreadId) {
                    if self.threads[t.index()].depth > 0 {
                        self.now.1 = t;
                        self.close(t);
                        self.threads[t.index()].depth = 0;
                    }
                }
            }
        }

        impl Atomicity for $engine {
            fn cycles(&self) -> &[Cycle] {
                &self.cycles
            }
        }
    };
}
use aerodrome_analysis;

mod aerodrome;
mod aerodrome_basic;
mod reference;
mod running;
#[cfg(test)]
mod tests;
pub mod velodrome;

pub use aerodrome::Aerodrome;
pub use aerodrome_basic::AerodromeBasic;
pub use reference::Reference;
pub use running::Running;
pub use velodrome::Velodrome;

use std::ops::ControlFlow;

use paceline_trace::{Batch, Event, EventNo};

use crate::{Analysis, Cycle};

/// An analysis that looks for cycles between transactions.
pub trait Atomicity: Analysis {
    /// The cycles found so far, in the order of events. Without any after `finish`, the trace is
    /// serializable.
    fn cycles(&self) -> &[Cycle];

    /// How many transactions the cycle at this index stands for: of equivalent cycles, an engine
    /// may keep only some.
    fn stands_for(&self, _index: usize) -> u64 {
        1
    }
}

/// How an engine is to work.
#[derive(Clone, Copy, Default, Debug)]
pub struct Options {
    /// Break at the first cycle.
    pub first_only: bool,
}

/// Gives an engine the events of a batch, until it may stop.
#[inline(always)]
fn each_event<E: Atomicity>(
    engine: &mut E,
    options: Options,
    batch: &Batch,
    event: impl Fn(&mut E, EventNo, &Event),
) -> ControlFlow<()> {
    for (number, at) in (batch.first..).zip(&batch.events) {
        event(engine, number, at);
        if options.first_only && !engine.cycles().is_empty() {
            return ControlFlow::Break(());
        }
    }
    ControlFlow::Continue(())
}

macro_rules! engines {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, exact: $exact:literal, $new:expr;)*) => {
        /// The engines.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Engine {
            $($(#[$doc])* $variant,)*
        }

        impl Engine {
            /// Every engine.
            pub const ALL: &[Engine] = &[$(Engine::$variant,)*];

            /// The name on the command line and in reports.
            pub fn name(self) -> &'static str {
                match self {
                    $(Engine::$variant => $name,)*
                }
            }

            /// Whether it reports the first cycle at the very event that closes it. The others
            /// may report it at a later one.
            pub fn is_exact(self) -> bool {
                match self {
                    $(Engine::$variant => $exact,)*
                }
            }

            /// Starts an analysis with this engine.
            pub fn start(self, options: Options) -> Box<dyn Atomicity> {
                match self {
                    $(Engine::$variant => Box::new($new(options)),)*
                }
            }
        }
    };
}

engines! {
    /// The default engine: exact, linear, the fastest.
    Auto = "auto", exact: true, Running::new;
    /// The happens-before graph of the Velodrome paper.
    Velodrome = "velodrome", exact: true, Velodrome::new;
    /// Vector clocks, updated lazily: the AeroDrome paper, optimised.
    Aerodrome = "aerodrome", exact: false, Aerodrome::new;
    /// Algorithm 1 of the AeroDrome paper.
    AerodromeBasic = "aerodrome-basic", exact: false, AerodromeBasic::new;
    /// The definition: quadratic, for comparison.
    Reference = "reference", exact: true, Reference::new;
}

impl Engine {
    /// The engine with this name.
    pub fn from_name(name: &str) -> Option<Engine> {
        Engine::ALL.iter().copied().find(|e| e.name() == name)
    }
}
