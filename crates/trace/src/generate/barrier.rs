//! Barrier rounds: all threads that were called enter, then all of them leave.

use super::Generator;
use super::thread::State;
use crate::event::Op;
use crate::ids::BarrierId;

const BARRIER: BarrierId = BarrierId(0);

/// The round that is under way, if one is.
#[derive(Default)]
pub(super) struct Round {
    /// How many threads have not come yet.
    missing: u32,
    /// How many threads have come and not left.
    present: u32,
}

impl Generator {
    /// Calls all threads to the barrier, and is the first to come.
    pub(super) fn call_round(&mut self, thread: usize) -> Option<Op> {
        let under_way = self.round.missing + self.round.present > 0;
        if !self.shape.barriers || under_way || !self.threads[thread].stack.is_empty() {
            return None;
        }
        let called = (0..self.threads.len()).filter(|&t| self.takes_part(t)).count() as u32;
        let cost = 2 * u64::from(called);
        if self.slack < cost {
            return None;
        }
        self.slack -= cost;
        self.round.missing = called;
        for member in 0..self.threads.len() {
            self.threads[member].called = self.takes_part(member);
        }
        Some(self.enter(thread))
    }

    /// The long-running transaction has no outside to meet others in.
    fn takes_part(&self, thread: usize) -> bool {
        !self.is_long(thread) && !self.is_set_aside(thread)
    }

    pub(super) fn enter(&mut self, thread: usize) -> Op {
        self.clock += 1;
        self.threads[thread].called = false;
        self.threads[thread].state = State::AtBarrier;
        self.round.missing -= 1;
        self.round.present += 1;
        Op::BarrierEnter(BARRIER)
    }

    pub(super) fn leave(&mut self, thread: usize) -> Option<Op> {
        if self.round.missing > 0 {
            return None;
        }
        self.clock += 1;
        self.threads[thread].state = State::Free;
        self.round.present -= 1;
        Some(Op::BarrierExit(BARRIER))
    }
}
