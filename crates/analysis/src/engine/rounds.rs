//! Rounds of barriers, for analyses that keep one state per round: in a round all who come in
//! precede all who go out.
//!
//! A trace does not say which round an event belongs to, so it is read off the order: an `enter`
//! starts a new round when somebody has left the current one; an `exit` belongs to the round that
//! its thread entered last, or to the current one if it never entered. Nothing comes into a round
//! after its first exit.
//!
//! A thread may leave a round long after the next one has begun, so several rounds of a barrier can
//! be alive. A round can be referred to as long as it is current or the last that some thread
//! entered; after that its slot is given to another round. There are never more slots of a barrier
//! than threads that use it, plus one.

use hashbrown::HashMap;
use paceline_trace::{BarrierId, ThreadId};

/// The place of a round's state. The place is used again when the round cannot be met any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Round {
    /// A dense index, over all barriers.
    pub slot: usize,
    /// The round has just begun: what the slot holds belongs to another round.
    pub fresh: bool,
}

#[derive(Clone, Copy)]
struct Current {
    slot: usize,
    left: bool,
}

/// Tells the rounds of all barriers apart.
#[derive(Default)]
pub struct Rounds {
    current: Vec<Option<Current>>,
    entered: HashMap<(BarrierId, ThreadId), usize>,
    /// For each slot, how many can still refer to its round: the barrier itself while the round
    /// is current, and the threads that entered it last.
    users: Vec<usize>,
    free: Vec<usize>,
}

impl Rounds {
    /// `thread` arrives at `barrier`: the round that it enters.
    pub fn enter(&mut self, barrier: BarrierId, thread: ThreadId) -> Round {
        let round = match self.current(barrier) {
            Some(Current { slot, left: false }) => Round { slot, fresh: false },
            Some(Current { left: true, .. }) | None => self.start(barrier),
        };
        self.users[round.slot] += 1;
        if let Some(before) = self.entered.insert((barrier, thread), round.slot) {
            self.forget(before);
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
        let slot = self.free.pop().unwrap_or(self.users.len());
        if slot == self.users.len() {
            self.users.push(0);
        }
        self.users[slot] = 1;
        if self.current.len() <= barrier.index() {
            self.current.resize(barrier.index() + 1, None);
        }
        let before = self.current[barrier.index()].replace(Current { slot, left: false });
        if let Some(before) = before {
            self.forget(before.slot);
        }
        Round { slot, fresh: true }
    }

    fn forget(&mut self, slot: usize) {
        self.users[slot] -= 1;
        if self.users[slot] == 0 {
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
        assert_eq!(rounds.exit(B, U).slot, first.slot, "a late one leaves the round it entered");
        assert_eq!(rounds.enter(B, U).slot, second.slot, "which does not end the second round");
    }

    #[test]
    fn who_never_entered_leaves_the_current_round() {
        let mut rounds = Rounds::default();
        let empty = rounds.exit(B, T);
        assert!(empty.fresh);
        let next = rounds.enter(B, U);
        assert!(next.fresh);
        assert_eq!(rounds.exit(B, T).slot, next.slot);
    }

    #[test]
    fn slots_are_used_again_once_nobody_can_refer_to_them() {
        let mut rounds = Rounds::default();
        for _ in 0..100 {
            for thread in [T, U] {
                rounds.enter(B, thread);
            }
            for thread in [T, U] {
                rounds.exit(B, thread);
            }
        }
        assert!(rounds.users.len() <= 3);
    }
}
