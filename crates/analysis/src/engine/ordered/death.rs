//! Who is dead, and what follows from that; and the elder, who keeps nobody alive.

use super::{Edge, Link, NO_EDGE, NOBODY, Ordered, Record, State, TERM};

impl Ordered {
    #[inline(always)]
    pub(super) fn retire_if_settled(&mut self, index: usize) {
        if self.records[index].is_settled() {
            self.pending.clear();
            self.pending.push(index as u32);
            self.retire();
        }
    }

    /// Those that are pending are dead, or united with the elder, and whoever comes after nobody
    /// else is, too.
    fn retire(&mut self) {
        while let Some(index) = self.pending.pop() {
            let Record { node, after_elder, .. } = self.records[index as usize];
            let elder = self.records[self.elder].node;
            self.links[node.0 as usize] =
                if after_elder { Link::forward(elder) } else { Link::DEAD };
            self.discount(index as usize, after_elder);
            self.records[index as usize] = NOBODY;
            self.free.push(index);
            if index as usize == self.elder {
                self.elder = 0;
                self.records.iter_mut().for_each(|record| record.after_elder = false);
            }
        }
        self.advance();
    }

    /// The edges from a record do not count any more. Whoever has no others is pending.
    fn discount(&mut self, index: usize, after_elder: bool) {
        let mut edge = std::mem::replace(&mut self.records[index].outgoing, NO_EDGE);
        while edge != NO_EDGE {
            let Edge { source, target, next_out, .. } = &mut self.edges[edge as usize];
            *source = 0;
            edge = *next_out;
            let later = &mut self.records[*target as usize];
            later.sources -= 1;
            later.after_elder |= after_elder;
            // No branch, because nobody can foretell it.
            let count = self.pending.len() + usize::from(later.is_settled());
            self.pending.push(*target);
            self.pending.truncate(count);
        }
    }

    /// Moves the marks over what is dead.
    pub(super) fn advance(&mut self) {
        while self.watermark.0 < self.links.len() as u32 && self.find(self.watermark).is_none() {
            self.watermark.0 += 1;
        }
        self.second =
            if self.elder == 0 { self.watermark } else { self.second.max(self.watermark) };
        while self.second.0 < self.links.len() as u32
            && self.find(self.second).is_none_or(|index| index == self.elder)
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
        if self.elder == 0 && waiting > self.patience && self.links.len() >= self.elect_at {
            self.elect();
        }
    }

    /// Makes the oldest one that runs the elder.
    #[cold]
    fn elect(&mut self) {
        self.elect_at = self.links.len() + TERM;
        let running = (1..self.records.len())
            .filter(|&index| self.records[index].state == State::Running)
            .min_by_key(|&index| self.records[index].node);
        let Some(elder) = running else { return };
        self.elder = elder;
        self.records[elder].target = 0;
        self.pending.clear();
        self.discount(elder, true);
        self.retire();
    }
}
