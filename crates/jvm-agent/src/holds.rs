//! Which locks of java.util.concurrent a thread holds, and how often: only the outermost acquire
//! and release are events.

/// The holds of one thread on one lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Hold {
    lock: u64,
    exclusive: u32,
    shared: u32,
    /// Recorded as a shared one.
    recorded_shared: bool,
}

/// What giving up a hold means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Given {
    /// Other holds are left.
    Nothing,
    /// There was no such hold.
    Stray,
    /// The lock was held for this thread alone.
    Exclusive,
    /// The lock was shared.
    Shared,
    /// A shared hold, taken under the exclusive one, is left.
    Downgrade,
}

/// All holds of a thread.
#[derive(Default, Debug)]
pub struct Holds(Vec<Hold>);

impl Holds {
    fn find(&self, lock: u64) -> Option<usize> {
        self.0.iter().position(|hold| hold.lock == lock)
    }

    /// A lock was taken; whether that is an event.
    pub fn taken(&mut self, lock: u64, shared: bool) -> bool {
        let (i, first) = match self.find(lock) {
            Some(i) => (i, false),
            None => {
                self.0.push(Hold { lock, exclusive: 0, shared: 0, recorded_shared: shared });
                (self.0.len() - 1, true)
            }
        };
        let hold = &mut self.0[i];
        *(if shared { &mut hold.shared } else { &mut hold.exclusive }) += 1;
        first
    }

    /// A lock is given up.
    pub fn given(&mut self, lock: u64, shared: bool) -> Given {
        let Some(i) = self.find(lock) else { return Given::Stray };
        let hold = &mut self.0[i];
        let count = if shared { &mut hold.shared } else { &mut hold.exclusive };
        let Some(less) = count.checked_sub(1) else { return Given::Stray };
        *count = less;
        let Hold { exclusive, shared, recorded_shared, .. } = *hold;
        if exclusive + shared == 0 {
            self.0.swap_remove(i);
            return if recorded_shared { Given::Shared } else { Given::Exclusive };
        }
        if exclusive == 0 && !recorded_shared {
            hold.recorded_shared = true;
            return Given::Downgrade;
        }
        Given::Nothing
    }

    /// Whether the lock is held exclusively, so that a wait can give it up.
    pub fn awaits(&self, lock: u64) -> bool {
        self.find(lock).is_some_and(|i| self.0[i].exclusive > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_outermost_holds_are_events() {
        let mut holds = Holds::default();
        assert!(holds.taken(1, false));
        assert!(!holds.taken(1, false));
        assert!(holds.awaits(1));
        assert_eq!(holds.given(1, false), Given::Nothing);
        assert_eq!(holds.given(1, false), Given::Exclusive);
        assert_eq!(holds.given(1, false), Given::Stray);
    }

    #[test]
    fn a_downgrade_leaves_a_shared_hold() {
        let mut holds = Holds::default();
        assert!(holds.taken(1, false));
        assert!(!holds.taken(1, true));
        assert_eq!(holds.given(1, false), Given::Downgrade);
        assert_eq!(holds.given(1, true), Given::Shared);
    }
}
