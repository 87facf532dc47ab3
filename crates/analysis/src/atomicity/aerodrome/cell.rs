//! Cells hold what is recorded of the events that later ones may have to follow: the last write of
//! a variable, its reads since, and so on.

use paceline_trace::{IdCounts, LockId, SemaphoreId, ThreadId, VarId};

use super::rows::Row;

/// Names a cell.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum CellId {
    Written(VarId),
    Read(VarId),
    Released(LockId),
    ReleasedShared(LockId),
    Posted(SemaphoreId),
    Entered(u32),
}

/// A transaction: a thread and its time at the begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TxnEpoch {
    pub thread: ThreadId,
    pub begin: u32,
}

impl TxnEpoch {
    /// No transaction: it has never begun.
    const NONE: TxnEpoch = TxnEpoch { thread: ThreadId(0), begin: 0 };

    /// Whether the transaction still runs, given the times of running transactions' begins.
    #[inline]
    pub fn runs(self, begins: &[u32]) -> bool {
        begins[self.thread.index()] == self.begin
    }
}

/// The events recorded in one cell: those in running transactions by their epochs, because their
/// clock is that of their thread until the transaction ends; the others by the join of their
/// clocks.
#[derive(Clone)]
pub(super) struct Cell {
    first: TxnEpoch,
    pub clock: Row,
    more: Vec<TxnEpoch>,
}

impl Cell {
    pub const EMPTY: Cell = Cell { first: TxnEpoch::NONE, clock: Row::NONE, more: Vec::new() };

    /// One of the epochs, running or not.
    #[inline]
    pub fn epoch(&self, i: usize) -> Option<TxnEpoch> {
        if i == 0 { Some(self.first) } else { self.more.get(i - 1).copied() }
    }

    /// Adds a running epoch; false if it was there.
    #[inline]
    pub fn add(&mut self, epoch: TxnEpoch, begins: &[u32]) -> bool {
        if self.first == epoch {
            return false;
        }
        if self.more.is_empty() && !self.first.runs(begins) {
            self.first = epoch;
            return true;
        }
        self.add_more(epoch, begins)
    }

    fn add_more(&mut self, epoch: TxnEpoch, begins: &[u32]) -> bool {
        if self.more.contains(&epoch) {
            return false;
        }
        // A transaction that has ended was turned into a clock, or does not matter.
        self.more.retain(|e| e.runs(begins));
        if self.first.runs(begins) {
            self.more.push(epoch);
        } else {
            self.first = epoch;
        }
        true
    }

    /// Takes an epoch out; false if it was not there.
    pub fn remove(&mut self, epoch: TxnEpoch) -> bool {
        let before = self.more.len();
        self.more.retain(|e| *e != epoch);
        let was_first = self.first == epoch;
        if was_first {
            self.first = TxnEpoch::NONE;
        }
        was_first || self.more.len() < before
    }

    /// Whether the epoch is all there is.
    #[inline]
    pub fn is_only(&self, epoch: TxnEpoch) -> bool {
        self.first == epoch && self.more.is_empty() && self.clock == Row::NONE
    }

    /// Forgets all events, and returns the clock.
    #[inline]
    pub fn clear(&mut self) -> Row {
        self.first = TxnEpoch::NONE;
        self.more.clear();
        std::mem::replace(&mut self.clock, Row::NONE)
    }
}

/// All cells.
#[derive(Default)]
pub(super) struct Cells {
    written: Vec<Cell>,
    read: Vec<Cell>,
    released: Vec<Cell>,
    released_shared: Vec<Cell>,
    posted: Vec<Cell>,
    entered: Vec<Cell>,
}

impl Cells {
    pub fn reserve(&mut self, counts: &IdCounts) {
        grow(&mut self.written, counts.vars);
        grow(&mut self.read, counts.vars);
        grow(&mut self.released, counts.locks);
        grow(&mut self.released_shared, counts.locks);
        grow(&mut self.posted, counts.semaphores);
    }

    pub fn reserve_rounds(&mut self, rounds: usize) {
        grow(&mut self.entered, rounds);
    }

    #[inline(always)]
    pub fn get(&self, id: CellId) -> &Cell {
        match id {
            CellId::Written(x) => &self.written[x.index()],
            CellId::Read(x) => &self.read[x.index()],
            CellId::Released(l) => &self.released[l.index()],
            CellId::ReleasedShared(l) => &self.released_shared[l.index()],
            CellId::Posted(s) => &self.posted[s.index()],
            CellId::Entered(slot) => &self.entered[slot as usize],
        }
    }

    #[inline(always)]
    pub fn get_mut(&mut self, id: CellId) -> &mut Cell {
        match id {
            CellId::Written(x) => &mut self.written[x.index()],
            CellId::Read(x) => &mut self.read[x.index()],
            CellId::Released(l) => &mut self.released[l.index()],
            CellId::ReleasedShared(l) => &mut self.released_shared[l.index()],
            CellId::Posted(s) => &mut self.posted[s.index()],
            CellId::Entered(slot) => &mut self.entered[slot as usize],
        }
    }
}

fn grow(cells: &mut Vec<Cell>, len: usize) {
    if cells.len() < len {
        cells.resize(len, Cell::EMPTY);
    }
}
