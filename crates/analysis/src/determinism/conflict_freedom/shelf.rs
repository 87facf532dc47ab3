//! State for a thing and a transaction, at the price of state for a thing: nearly always one
//! transaction at a time uses a thing, and its state lies at the thing's index. When another
//! transaction comes, the state moves to a table and back again.

use hashbrown::HashMap;

use super::members::{Transactions, Txn};

struct Slot<S> {
    txn: Option<Txn>,
    state: S,
}

/// States by thing and transaction.
pub(super) struct Shelf<S> {
    slots: Vec<Slot<S>>,
    others: HashMap<(usize, Txn), S>,
    /// When `others` has grown to this size, states that nobody can ask for are thrown out.
    sweep_at: usize,
}

impl<S> Default for Shelf<S> {
    fn default() -> Self {
        Shelf { slots: Vec::new(), others: HashMap::new(), sweep_at: 1024 }
    }
}

impl<S: Default> Shelf<S> {
    /// The state of the thing at `index` in `txn`, a fresh one at first. States of transactions
    /// that are over are handed to `discard`.
    #[inline]
    pub fn get(
        &mut self,
        index: usize,
        txn: Txn,
        transactions: &Transactions,
        discard: impl FnMut(S),
    ) -> &mut S {
        if self.slots.len() <= index {
            self.slots.resize_with(index + 1, || Slot { txn: None, state: S::default() });
        }
        if self.slots[index].txn != Some(txn) {
            self.exchange(index, txn, transactions, discard);
        }
        &mut self.slots[index].state
    }

    #[cold]
    fn exchange(
        &mut self,
        index: usize,
        txn: Txn,
        transactions: &Transactions,
        mut discard: impl FnMut(S),
    ) {
        let state = self.others.remove(&(index, txn)).unwrap_or_default();
        let slot = &mut self.slots[index];
        let old = std::mem::replace(&mut slot.state, state);
        match slot.txn.replace(txn) {
            Some(before) if transactions.is_alive(before) => {
                self.others.insert((index, before), old);
            }
            Some(_) | None => discard(old),
        }
        if self.others.len() >= self.sweep_at {
            let dead = self.others.extract_if(|&(_, txn), _| !transactions.is_alive(txn));
            dead.for_each(|(_, state)| discard(state));
            self.sweep_at = 1024.max(self.others.len() * 2);
        }
    }
}
