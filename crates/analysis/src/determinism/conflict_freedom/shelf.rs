//! State for each object and transaction, at the price of state for each object: nearly always one
//! transaction at a time uses an object, and its state lies at the object's index. When another
//! transaction uses the object, the state moves to a hash table, and back again later.

use hashbrown::HashMap;

use super::members::{SharedTxn, Transactions};

struct ShelfSlot<S> {
    txn: Option<SharedTxn>,
    state: S,
}

/// States by object and transaction.
pub(super) struct Shelf<S> {
    slots: Vec<ShelfSlot<S>>,
    others: HashMap<(usize, SharedTxn), S>,
    /// When `others` has grown to this size, states of transactions that are over are dropped.
    sweep_at: usize,
}

/// A sweep is not worth its cost for fewer states than this.
const FEWEST_STATES: usize = 1024;

impl<S> Default for Shelf<S> {
    fn default() -> Self {
        Shelf { slots: Vec::new(), others: HashMap::new(), sweep_at: FEWEST_STATES }
    }
}

impl<S: Default> Shelf<S> {
    /// The state of the object at `index` in `txn`, a fresh one at first. States of transactions
    /// that are over are handed to `discard`.
    #[inline]
    pub fn get(
        &mut self,
        index: usize,
        txn: SharedTxn,
        transactions: &Transactions,
        discard: impl FnMut(S),
    ) -> &mut S {
        if self.slots.len() <= index {
            self.slots.resize_with(index + 1, || ShelfSlot { txn: None, state: S::default() });
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
        txn: SharedTxn,
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
            self.sweep_at = FEWEST_STATES.max(self.others.len() * 2);
        }
    }
}
