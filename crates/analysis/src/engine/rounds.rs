//! Rounds of barriers, for analyses that keep one state per round: in a round every `enter`
//! precedes every `exit`.
//!
//! A trace does not say which round an event belongs to, so this follows from the order: an `enter`
//! starts a new round when some thread has left the current one; an `exit` belongs to the round
//! that its thread entered last, or to the current one if it never entered. No thread enters a
//! round after its first exit.
//!
//! A thread may leave a round long after the next one has begun, so several rounds of a barrier can
//! be alive. A round can be referred to as long as it is current or the last that some thread
//! entered; after that its slot is given to another round. There are never more slots of a barrier
//! than threads that use it, plus one.

use hashbrown::HashMap;
use paceline_trace::{BarrierId, ThreadId};

/// A round, by the slot of its state. The slot is used again when no event can belong to the round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Round {
    /// A dense index, over all barriers.
    pub slot: usize,
    /// Whether the round has just begun: what the slot holds belongs to an earlier round.
    pub fresh: bool,
}

#[derive(Clone, Copy)]
struct Current {
    slot: usize,
    left: bool,
}

/// Assigns events to the rounds of their barriers.
#[derive(Default)]
pub struct Rounds {
    current: Vec<Option<Current>>,
    entered: HashMap<(BarrierId, ThreadId), usize>,
    /// For each slot, how many references to its round are left: one of the barrier while the round
    /// is current, and one of each thread that entered it last.
    references: Vec<usize>,
    free: Vec<usize>,
}

impl Rounds {
    /// `thread` arrives at `barrier`: the round that it enters.
    pub fn enter(&mut self, barrier: BarrierId, thread: ThreadId) -> Round {
        let round = match self.current(barrier) {
            Some(Current { slot, left: false }) => Round { slot, fresh: false },
            Some(Current { left: true, .. }) | None => self.start(barrier),
        };
        self.references[round.slot] += 1;
        if let Some(before) = self.entered.insert((barrier, thread), round.slot) {
            self.release(before);
        }
        round
    }

    /// `thread` departs from `barrier`: the round that it leaves.
    pub fn exit(&mut self, barrier: BarrierId, thread: ThreadId) -> Round {
        let round = match (self.entered.get(&(barrier, thread)), self.current(barrier)) {
            (Some(&slot), _) => Round { slot, fresh: false },
            (None, Some(current)) => Round { slot: current.slot, fresh: false },
            (None, None) => self.start(barrier),
        };
        if let Some(current) = &mut self.current[barrier.index()]
            && current.slot == round.slot
        {
            current.left = true;
        }
        round
    }

    fn current(&self, barrier: BarrierId) -> Option<Current> {
        self.current.get(barrier.index()).copied().flatten()
    }

    fn start(&mut self, barrier: BarrierId) -> Round {
        let slot = self.free.pop().unwrap_or(self.references.len());
        if slot == self.references.len() {
            self.references.push(0);
        }
        self.references[slot] = 1;
        if self.current.len() <= barrier.index() {
            self.current.resize(barrier.index() + 1, None);
        }
        let before = self.current[barrier.index()].replace(Current { slot, left: false });
        if let Some(before) = before {
            self.release(before.slot);
        }
        Round { slot, fresh: true }
    }

    fn release(&mut self, slot: usize) {
        self.references[slot] -= 1;
        if self.references[slot] == 0 {
            self.free.push(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const B: BarrierId = BarrierId(0);
    const T: ThreadId = ThreadId(0);
    const U: ThreadId = ThreadId(1);

    #[test]
    fn an_enter_after_an_exit_starts_a_round() {
        let mut rounds = Rounds::default();
        let first = rounds.enter(B, T);
        assert!(first.fresh);
        assert_eq!(rounds.enter(B, U), Round { slot: first.slot, fresh: false });
        assert_eq!(rounds.exit(B, T).slot, first.slot);
        let second = rounds.enter(B, T);
        assert!(second.fresh && second.slot != first.slot);
        assert_eq!(
            rounds.exit(B, U).slot,
            first.slot,
            "a late thread leaves the round that it entered"
        );
        assert_eq!(rounds.enter(B, U).slot, second.slot, "which does not end the second round");
    }

    #[test]
    fn a_thread_that_never_entered_leaves_the_current_round() {
        let mut rounds = Rounds::default();
        let empty = rounds.exit(B, T);
        assert!(empty.fresh);
        let next = rounds.enter(B, U);
        assert!(next.fresh);
        assert_eq!(rounds.exit(B, T).slot, next.slot);
    }

    #[test]
    fn slots_are_used_again_once_no_event_can_belong_to_their_round() {
        let mut rounds = Rounds::default();
        for _ in 0..100 {
            for thread in [T, U] {
                rounds.enter(B, thread);
            }
            for thread in [T, U] {
                rounds.exit(B, thread);
            }
        }
        assert!(rounds.references.len() <= 3);
    }
}
