//! The cycles that an engine has found. A bug that happens a million times is one finding with a
//! count, so cycles are grouped as they are found, by the block and the source location of the
//! closing event, and only a few of each group are kept to be explained.

use hashbrown::HashMap;
use paceline_trace::{EventNo, LabelId, Site, ThreadId};

use crate::Cycle;

/// How many cycles of a group are kept. They enter the block at the same location, but may leave it
/// at different ones: then they are different findings.
const KEPT: usize = 4;

/// How many groups there can be. A trace reaches this only if it gives every event a location of
/// its own; then further groups would say nothing new.
const GROUPS: usize = 100_000;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct CycleKey {
    label: LabelId,
    begin_site: Site,
    site: Site,
}

/// The outermost block that makes up a transaction.
#[derive(Clone, Copy, Debug)]
pub struct OutermostBlock {
    /// Its `begin` event.
    pub begin: EventNo,
    /// Its label.
    pub label: LabelId,
    /// Where it begins in the source.
    pub site: Site,
}

/// Cycles of one block that closed at one source location.
#[derive(Clone, Copy, Default, Debug)]
struct Group {
    /// In how many transactions there was such a cycle.
    count: u64,
    kept: usize,
    /// The first cycle of the group that was kept.
    first: usize,
}

/// Collects cycles.
#[derive(Default, Debug)]
pub struct Cycles {
    kept: Vec<Cycle>,
    /// The group of each cycle in `kept`.
    group_of: Vec<usize>,
    groups: Vec<Group>,
    by_key: HashMap<CycleKey, usize>,
    /// For each group and thread, the transaction that was counted last. A thread runs one at a
    /// time, but those of several threads may alternate.
    counted: HashMap<(usize, ThreadId), EventNo>,
    total: u64,
}

impl Cycles {
    /// Adds a cycle that closed with `event` of `thread`, at `site`, in `block`.
    #[cold]
    pub fn add(&mut self, event: EventNo, thread: ThreadId, site: Site, block: OutermostBlock) {
        self.total += 1;
        let begin_site = if block.label.is_named() { Site::UNKNOWN } else { block.site };
        let Some(index) = self.group(CycleKey { label: block.label, begin_site, site }) else {
            return;
        };
        if self.counted.insert((index, thread), block.begin) == Some(block.begin) {
            return;
        }
        let group = &mut self.groups[index];
        group.count += 1;
        if group.kept < KEPT {
            if group.kept == 0 {
                group.first = self.kept.len();
            }
            group.kept += 1;
            self.kept.push(Cycle { event, thread, begin: block.begin });
            self.group_of.push(index);
        }
    }

    fn group(&mut self, key: CycleKey) -> Option<usize> {
        let next = self.groups.len();
        match self.by_key.get(&key) {
            Some(&index) => Some(index),
            None if next == GROUPS => None,
            None => {
                self.by_key.insert(key, next);
                self.groups.push(Group::default());
                Some(next)
            }
        }
    }

    /// The cycles that were kept, in the order of their events.
    pub fn kept(&self) -> &[Cycle] {
        &self.kept
    }

    /// For how many transactions the cycle at this index of [`Cycles::kept`] stands: the first of
    /// its group for all that were not kept, too.
    pub fn stands_for(&self, index: usize) -> u64 {
        let Group { count, kept, first, .. } = self.groups[self.group_of[index]];
        if first == index { count + 1 - kept as u64 } else { 1 }
    }

    /// How many times an event closed a cycle.
    pub fn total(&self) -> u64 {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_grouped_by_block_and_site_and_counted_by_transaction() {
        let mut cycles = Cycles::default();
        let block = |begin| OutermostBlock { begin, label: LabelId(0), site: Site::number(1) };
        for (event, begin) in [(5, 1), (6, 1), (15, 11)] {
            cycles.add(event, ThreadId(0), Site::number(9), block(begin));
        }
        cycles.add(16, ThreadId(0), Site::number(10), block(11));
        let events: Vec<_> = cycles.kept().iter().map(|c| c.event).collect();
        assert_eq!(events, [5, 15, 16]);
        assert_eq!([0, 1, 2].map(|i| cycles.stands_for(i)), [1, 1, 1]);
        assert_eq!(cycles.total(), 4);
    }

    #[test]
    fn transactions_that_alternate_are_counted_once() {
        let mut cycles = Cycles::default();
        for event in 10..20 {
            let thread = event % 2;
            let block =
                OutermostBlock { begin: thread + 1, label: LabelId(0), site: Site::number(1) };
            cycles.add(event, ThreadId(thread as u32), Site::number(9), block);
        }
        assert_eq!([0, 1].map(|i| cycles.stands_for(i)), [1, 1]);
        assert_eq!(cycles.kept().len(), 2);
    }

    #[test]
    fn a_frequent_cycle_is_counted_not_kept() {
        let mut cycles = Cycles::default();
        for begin in 1..=1000 {
            let block = OutermostBlock { begin, label: LabelId(0), site: Site::number(1) };
            cycles.add(begin + 1, ThreadId(0), Site::number(9), block);
        }
        assert_eq!(cycles.kept().len(), KEPT);
        let counts: Vec<u64> = (0..KEPT).map(|i| cycles.stands_for(i)).collect();
        assert_eq!(counts, [997, 1, 1, 1]);
    }
}
