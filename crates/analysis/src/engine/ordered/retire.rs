//! Which transactions are dead, and what follows from that; and the oldest running transaction,
//! which keeps none alive.

use super::{CHOICE_INTERVAL, Edge, Link, NO_EDGE, Ordered, Record, State, UNUSED};

impl Ordered {
    #[inline(always)]
    pub(super) fn retire_if_due(&mut self, index: usize) {
        if self.records[index].is_retirable() {
            self.pending.clear();
            self.pending.push(index as u32);
            self.retire();
        }
    }

    /// The pending records are dead, or merged into the oldest running transaction; and so is each
    /// later one that has no other predecessors.
    fn retire(&mut self) {
        while let Some(index) = self.pending.pop() {
            let Record { node, after_oldest, .. } = self.records[index as usize];
            let oldest = self.records[self.oldest].node;
            self.links[node.0 as usize] =
                if after_oldest { Link::forward(oldest) } else { Link::DEAD };
            self.discount(index as usize, after_oldest);
            self.records[index as usize] = UNUSED;
            self.free.push(index);
            if index as usize == self.oldest {
                self.oldest = 0;
                self.records.iter_mut().for_each(|record| record.after_oldest = false);
            }
        }
        self.advance();
    }

    /// The edges from a record no longer count. Targets without other edges become pending.
    fn discount(&mut self, index: usize, after_oldest: bool) {
        let mut edge = std::mem::replace(&mut self.records[index].outgoing, NO_EDGE);
        while edge != NO_EDGE {
            let Edge { source, target, next_out, .. } = &mut self.edges[edge as usize];
            *source = 0;
            edge = *next_out;
            let later = &mut self.records[*target as usize];
            later.sources -= 1;
            later.after_oldest |= after_oldest;
            // Without a branch, because it would be unpredictable.
            let count = self.pending.len() + usize::from(later.is_retirable());
            self.pending.push(*target);
            self.pending.truncate(count);
        }
    }

    /// Moves both marks past what is dead.
    pub(super) fn advance(&mut self) {
        while self.watermark.0 < self.links.len() as u32 && self.find(self.watermark).is_none() {
            self.watermark.0 += 1;
        }
        self.second =
            if self.oldest == 0 { self.watermark } else { self.second.max(self.watermark) };
        while self.second.0 < self.links.len() as u32
            && self.find(self.second).is_none_or(|index| index == self.oldest)
        {
            self.second.0 += 1;
        }
    }

    #[inline(always)]
    pub(super) fn keep_house(&mut self) {
        if self.edges.len() >= self.sweep_at {
            self.sweep();
        }
        let waiting = self.links.len() as u32 - self.watermark.0;
        if self.oldest == 0 && waiting > self.patience && self.links.len() >= self.choose_at {
            self.choose_oldest();
        }
    }

    /// Singles out the oldest running transaction: its edges no longer count.
    #[cold]
    fn choose_oldest(&mut self) {
        self.choose_at = self.links.len() + CHOICE_INTERVAL;
        let running = (1..self.records.len())
            .filter(|&index| self.records[index].state == State::Running)
            .min_by_key(|&index| self.records[index].node);
        let Some(oldest) = running else { return };
        self.oldest = oldest;
        self.records[oldest].target = 0;
        self.pending.clear();
        self.discount(oldest, true);
        self.retire();
    }
}
