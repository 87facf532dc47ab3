//! The graph of transactions, by its definition and nothing else: every event is compared with
//! every earlier one, and all edges are kept. Quadratic in the length of the trace, and obviously
//! right: the analyses are tested against references that are built on it.

use hashbrown::HashSet;
use paceline_trace::Event;

use crate::definition::conflict::Conflicts;

/// A transaction, numbered in the order in which they start.
pub type Txn = usize;

/// The graph.
#[derive(Default)]
pub struct PlainGraph {
    conflicts: Conflicts,
    /// The transaction of each event.
    txn_of: Vec<Txn>,
    successors: Vec<HashSet<Txn>>,
}

impl PlainGraph {
    /// How many transactions there are.
    #[cfg(test)]
    pub fn transactions(&self) -> usize {
        self.successors.len()
    }

    /// A new transaction without events.
    pub fn start(&mut self) -> Txn {
        self.successors.push(HashSet::new());
        self.successors.len() - 1
    }

    /// Takes the next event. Returns the transactions of the events that it conflicts with. It has
    /// to be assigned to a transaction before the next event.
    pub fn predecessors(&mut self, event: Event) -> HashSet<Txn> {
        let at = self.conflicts.push(event);
        (0..at).filter(|&e| self.conflicts.conflict(e, at)).map(|e| self.txn_of[e]).collect()
    }

    /// The events that the latest one conflicts with, by their index, and their transactions.
    #[cfg(test)]
    pub fn conflicting(&self) -> impl Iterator<Item = (usize, Txn)> {
        let at = self.conflicts.events().len() - 1;
        let conflicting = (0..at).filter(move |&e| self.conflicts.interfere(e, at));
        conflicting.map(|e| (e, self.txn_of[e]))
    }

    /// Assigns the latest event, which happens after `predecessors`, to `txn`. Returns whether a
    /// new edge has closed a cycle.
    pub fn assign(&mut self, txn: Txn, predecessors: &HashSet<Txn>) -> bool {
        self.txn_of.push(txn);
        let mut closes = false;
        for &before in predecessors {
            if before != txn && self.successors[before].insert(txn) {
                closes |= self.reached_from(txn).contains(&before);
            }
        }
        closes
    }

    /// The transactions that the given one reaches, itself included.
    pub fn reached_from(&self, txn: Txn) -> HashSet<Txn> {
        let mut seen: HashSet<Txn> = HashSet::from([txn]);
        let mut todo = vec![txn];
        while let Some(txn) = todo.pop() {
            todo.extend(self.successors[txn].iter().filter(|&&next| seen.insert(next)));
        }
        seen
    }
}
