//! One violation at a chosen event: a transaction reads a variable that is used for nothing else,
//! another thread writes it, and at the chosen event the transaction writes it.
//!
//! Two threads are set aside for it: until it is done they neither wait, nor meet at barriers, nor
//! take locks outside of transactions, so that both can act whenever the script wants them to. The
//! victim is the thread with the running transaction that is first in the hidden order. The first
//! edge, from the victim's read to the other's write, is thus a forward one; the second, back into
//! the victim at the chosen event, is the only backward edge of the trace.

use super::rng::Rng;
use super::shape::Shape;
use crate::event::EventNo;

/// What comes next.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ScriptStep {
    /// The victim's read, after its begin if neither thread runs a transaction.
    Read,
    /// The other thread's write.
    Interfere,
    /// The victim's write, which closes the cycle.
    Strike,
}

/// The script of a planted violation.
pub(super) struct Plant {
    /// The event that the next step is due at.
    pub(super) due: EventNo,
    pub(super) step: ScriptStep,
    /// The victim, once it is known, and the other thread.
    pub(super) pair: [usize; 2],
    /// The victim's transaction was begun for this purpose.
    pub(super) began: bool,
    interfere_at: EventNo,
    strike_at: EventNo,
}

impl Plant {
    /// A script for a shape that has been checked.
    pub(super) fn new(shape: &Shape, rng: &mut Rng) -> Option<Plant> {
        let strike_at = shape.violation_at?;
        let one = rng.below(shape.threads);
        let other = (one + 1 + rng.below(shape.threads - 1)) % shape.threads;
        let latest = strike_at - 3;
        let most = (latest - shape.opening() - 1).min(64 + 16 * u64::from(shape.threads));
        let due = latest - u64::from(rng.below(most as u32 + 1));
        let room = (strike_at - due - 2) as u32;
        let interfere_at = due + 2 + u64::from(rng.below(room));
        let pair = [one as usize, other as usize];
        Some(Plant { due, step: ScriptStep::Read, pair, began: false, interfere_at, strike_at })
    }

    /// The victim's transaction must not end yet.
    pub(super) fn holds(&self, thread: usize) -> bool {
        self.step != ScriptStep::Read && self.pair[0] == thread
    }

    /// The next step; `None` when all is done.
    pub(super) fn after(self) -> Option<Plant> {
        let (step, due) = match self.step {
            ScriptStep::Read => (ScriptStep::Interfere, self.interfere_at),
            ScriptStep::Interfere => (ScriptStep::Strike, self.strike_at),
            ScriptStep::Strike => return None,
        };
        Some(Plant { step, due, ..self })
    }
}
