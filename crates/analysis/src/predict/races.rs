//! Races that did not happen: two conflicting plain accesses that a correct reordering puts side by
//! side. All that comes before them in the cut precedes both, so they end the new order, and nothing
//! depends on what they see.

use paceline_trace::Op;

use super::cut::Cut;
use super::order::{Cycle, Order};
use super::reordering::Stretch;
use super::table::{ByLane, Index, Lane, Table};

/// Two accesses that may race.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pair(Index, Index);

impl Pair {
    pub fn ends(self) -> (Index, Index) {
        (self.0, self.1)
    }

    /// Whether nothing of their threads comes after them, and nothing needs what they see.
    pub fn is_last(self, table: &Table, cut: &Cut) -> bool {
        [self.0, self.1].iter().all(|&index| {
            let item = table.item(index);
            cut.upto[item.lane as usize] == item.position + 1 && !cut.strict[index as usize]
        })
    }

    /// All other events come before both.
    pub fn add_to(self, order: &mut Order<'_>) -> Result<(), Cycle> {
        let table = order.table;
        let upto = order.cut.upto.clone();
        for (lane, &upto) in upto.iter().enumerate() {
            for end in [self.0, self.1] {
                let is_own = [self.0, self.1].iter().any(|&it| table.item(it).lane == lane as Lane);
                let last = if is_own { upto.checked_sub(2) } else { upto.checked_sub(1) };
                if let Some(last) = last
                    && table.item(end).lane != lane as Lane
                {
                    order.add(table.event(lane as Lane, last), end)?;
                }
            }
        }
        Ok(())
    }
}

/// So many of the nearest accesses of another thread are tried for each, in a large stretch.
const NEAREST: usize = 2;

/// The pairs of conflicting plain accesses, the nearest first. In a large stretch each write is
/// paired with its nearest neighbours only.
pub(super) fn pairs(table: &Table, stretch: &Stretch) -> Vec<Pair> {
    let near = if table.items.len() <= super::candidate::SMALL { usize::MAX } else { NEAREST };
    let mut pairs = Vec::new();
    for variable in &table.variables {
        for writes in &variable.writes {
            for &position in &writes.positions {
                let write = table.event(writes.lane, position);
                add(table, write, &variable.reads, near, &mut pairs);
                add(table, write, &variable.writes, near, &mut pairs);
            }
        }
    }
    let is_plain = |index: Index| {
        let event = &stretch.events[table.item(index).at as usize];
        matches!(event.op, Op::Read(_) | Op::Write(_))
    };
    pairs.retain(|pair: &Pair| is_plain(pair.0) && is_plain(pair.1) && !is_locked(table, *pair));
    pairs.sort_by_key(|pair| (pair.0.abs_diff(pair.1), pair.0));
    pairs.dedup();
    pairs
}

fn add(table: &Table, write: Index, lists: &ByLane, near: usize, pairs: &mut Vec<Pair>) {
    let lane = table.item(write).lane;
    for list in lists.iter().filter(|list| list.lane != lane) {
        let events = &table.lanes[list.lane as usize];
        let middle = list.positions.partition_point(|&p| events[p as usize] < write);
        let start = middle.saturating_sub(near);
        let end = middle.saturating_add(near).min(list.positions.len());
        for &position in &list.positions[start..end] {
            let other = events[position as usize];
            pairs.push(Pair(write.min(other), write.max(other)));
        }
    }
}

/// Whether a lock keeps them apart.
fn is_locked(table: &Table, pair: Pair) -> bool {
    table.held(pair.0).iter().any(|&one| {
        let one = table.sections[one as usize];
        table.held(pair.1).iter().any(|&other| {
            let other = table.sections[other as usize];
            one.lock == other.lock && !(one.shared && other.shared)
        })
    })
}
