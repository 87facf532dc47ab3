//! AeroDrome (Mathur, Viswanathan, ASPLOS 2020), optimised. It decides what
//! [`super::AerodromeBasic`] decides, without visiting every variable and every lock whenever a
//! transaction ends.
//!
//! The purpose of every clock is one question: which *running* transactions precede this event?
//! Component `v` matters only when it has reached the begin of the transaction that `v` is in; a
//! later transaction of `v` has a later begin. From this follow:
//! - *Epochs.* The test "begin of T precedes this clock" compares one component, and only the
//!   components that matter are passed on.
//! - *Lazy clocks.* An event inside a running transaction is recorded by the transaction's epoch.
//!   Its clock is that of the thread, which is later than Algorithm 1's copy; this is sound because
//!   what precedes a transaction precedes all that follows from it. When the transaction ends, the
//!   clock is stored, and only if it knows a running transaction.
//! - *One read clock* (§4.3). The paper needs R and chR, because a reader's own component must not
//!   count against itself. Here clocks are stored after the end of their transaction, when the own
//!   component no longer matters, so one joint clock serves for both. A reader that still runs is
//!   an epoch, and skipped by its own thread.
//! - *Lazy updates.* Every running transaction has a list of the cells whose clocks know it. When
//!   it ends, these are updated, and no others.
//! - Clocks that know no running transaction are freed when they are met; a transaction that knows
//!   none itself has nothing to pass on when it ends.
//!
//! An event outside every block is a transaction of its own, which ends at once: it is never an
//! epoch; its clock is stored if it matters. (RAPID treated such accesses as part of a running
//! transaction, and missed cycles for years.)
//!
//! As to `join`, open transactions and what follows a violation, see [`super::AerodromeBasic`].

mod cell;
mod rows;

use std::ops::ControlFlow;

use paceline_trace::{Batch, Event, EventNo, IdCounts, Op, ThreadId};

use super::{Atomicity, Options, each_event};
use crate::engine::rounds::{Round, Rounds};
use crate::{Analysis, Cycle};
use cell::{CellId, Cells, TxnEpoch};
use rows::{Row, Rows};

/// Instead of a begin: no transaction runs. No component ever reaches it.
const IDLE: u32 = u32::MAX;

/// Duplicates are removed from a list of cells when it has grown to this, and then to four times
/// what remained: so sorting costs a constant factor, and short lists are never sorted.
const FEWEST_LISTED: usize = 1 << 16;

struct Thread {
    clock: Row,
    begin: EventNo,
    depth: u32,
    reported: bool,
    acted: bool,
    /// Whether the clock knows a running transaction of another thread.
    informed: bool,
    forked_by: Option<ThreadId>,
    known_by: KnownBy,
}

/// The clocks that know a thread's running transaction.
struct KnownBy {
    threads: Vec<ThreadId>,
    /// Some may occur twice, or have forgotten it.
    cells: Vec<CellId>,
    /// Duplicates are removed at this length.
    dedup_at: usize,
}

impl KnownBy {
    const NONE: KnownBy =
        KnownBy { threads: Vec::new(), cells: Vec::new(), dedup_at: FEWEST_LISTED };

    #[inline]
    fn add_cell(&mut self, id: CellId) {
        if self.cells.len() >= self.dedup_at {
            self.cells.sort_unstable();
            self.cells.dedup();
            self.dedup_at = FEWEST_LISTED.max(4 * self.cells.len());
        }
        self.cells.push(id);
    }
}

/// The optimised AeroDrome engine.
pub struct Aerodrome {
    options: Options,
    rows: Rows,
    threads: Vec<Thread>,
    /// Per thread, its time at the begin of its running transaction, or [`IDLE`].
    begins: Vec<u32>,
    cells: Cells,
    rounds: Rounds,
    /// What matters of the clock that is being passed on: the threads of the running transactions
    /// that it knows. Their components are the begins of these transactions.
    news: Vec<u32>,
    /// The current event and its thread.
    now: (EventNo, ThreadId),
    cycles: Vec<Cycle>,
}

impl Aerodrome {
    /// Starts the engine.
    pub fn new(options: Options) -> Aerodrome {
        Aerodrome {
            options,
            rows: Rows::new(),
            threads: Vec::new(),
            begins: Vec::new(),
            cells: Cells::default(),
            rounds: Rounds::default(),
            news: Vec::new(),
            now: (0, ThreadId(0)),
            cycles: Vec::new(),
        }
    }

    fn reserve(&mut self, counts: &IdCounts) {
        self.rows.widen(counts.threads);
        while self.threads.len() < counts.threads {
            self.threads.push(Thread {
                clock: self.rows.allocate(),
                begin: 0,
                depth: 0,
                reported: false,
                acted: false,
                informed: false,
                forked_by: None,
                known_by: KnownBy::NONE,
            });
            self.begins.push(IDLE);
        }
        self.cells.reserve(counts);
    }

    #[inline]
    fn event(&mut self, event: &Event) {
        let t = event.thread;
        match event.op {
            Op::Read(x) | Op::AtomicRead(x) => {
                self.follow(t, CellId::Written(x));
                self.add(t, CellId::Read(x));
            }
            Op::Write(x) | Op::AtomicWrite(x) | Op::AtomicUpdate(x) => {
                self.follow(t, CellId::Written(x));
                self.follow(t, CellId::Read(x));
                self.clear(CellId::Read(x));
                self.replace(t, CellId::Written(x));
            }
            Op::Acquire(l) | Op::PostWait(l) => {
                self.follow(t, CellId::Released(l));
                self.follow(t, CellId::ReleasedShared(l));
                self.clear(CellId::ReleasedShared(l));
            }
            Op::AcquireShared(l) => self.follow(t, CellId::Released(l)),
            Op::Release(l) | Op::PreWait(l) => self.replace(t, CellId::Released(l)),
            Op::ReleaseShared(l) => self.add(t, CellId::ReleasedShared(l)),
            Op::Fork(child) => self.fork(t, child),
            Op::Join(child) => self.join(t, child),
            Op::Begin(_) => self.begin(t),
            Op::End(_) => self.end(t),
            Op::Yield | Op::Notify(_) => {}
            Op::Post(s) => self.add(t, CellId::Posted(s)),
            Op::Take(s) => self.follow(t, CellId::Posted(s)),
            Op::BarrierEnter(b) => {
                let round = self.rounds.enter(b, t);
                let id = self.entered(round);
                self.add(t, id);
            }
            Op::BarrierExit(b) => {
                let round = self.rounds.exit(b, t);
                let id = self.entered(round);
                self.follow(t, id);
            }
        }
        self.threads[t.index()].acted = true;
    }

    fn entered(&mut self, round: Round) -> CellId {
        self.cells.reserve_rounds(round.slot + 1);
        let id = CellId::Entered(round.slot as u32);
        if round.fresh {
            self.clear(id);
        }
        id
    }

    fn fork(&mut self, t: ThreadId, child: ThreadId) {
        self.threads[child.index()].forked_by = Some(t);
        self.read_clock(self.threads[t.index()].clock);
        self.pass_to_thread(child);
    }

    fn join(&mut self, t: ThreadId, child: ThreadId) {
        let thread = &self.threads[child.index()];
        if thread.acted || thread.forked_by != Some(t) {
            self.read_clock(thread.clock);
            self.check_and_get(t);
        }
    }

    fn begin(&mut self, t: ThreadId) {
        let thread = &mut self.threads[t.index()];
        thread.depth += 1;
        if thread.depth == 1 {
            thread.begin = self.now.0;
            thread.reported = false;
            let own = &mut self.rows.get_mut(thread.clock)[t.index()];
            *own += 1;
            self.begins[t.index()] = *own;
        }
    }

    fn end(&mut self, t: ThreadId) {
        self.threads[t.index()].depth -= 1;
        if self.threads[t.index()].depth == 0 {
            self.close(t);
        }
    }

    /// Every clock that knows the transaction of `t` learns what the transaction knows.
    fn close(&mut self, t: ThreadId) {
        let epoch = TxnEpoch { thread: t, begin: self.begins[t.index()] };
        self.begins[t.index()] = IDLE;
        let thread = &mut self.threads[t.index()];
        let (clock, informed) = (thread.clock, thread.informed);
        let mut known_by = std::mem::replace(&mut thread.known_by, KnownBy::NONE);
        self.read_clock(clock);
        for u in known_by.threads.drain(..) {
            self.check_and_get(u);
            let clock = self.rows.get(self.threads[u.index()].clock);
            self.threads[u.index()].informed = knows_another(clock, &self.begins, u);
        }
        if informed {
            for &id in &known_by.cells {
                if self.knew(id, epoch) {
                    self.pass_to_cell(id);
                }
            }
        }
        known_by.cells.clear();
        known_by.dedup_at = FEWEST_LISTED;
        self.threads[t.index()].known_by = known_by;
    }

    /// Whether a cell knew a transaction that has just ended.
    fn knew(&mut self, id: CellId, epoch: TxnEpoch) -> bool {
        let cell = self.cells.get_mut(id);
        let removed = cell.remove(epoch);
        let clock = cell.clock;
        removed || clock != Row::NONE && self.rows.get(clock)[epoch.thread.index()] >= epoch.begin
    }

    /// The current event of `t` follows all events of a cell.
    #[inline]
    fn follow(&mut self, t: ThreadId, id: CellId) {
        let mut i = 0;
        while let Some(epoch) = self.cells.get(id).epoch(i) {
            if epoch.thread != t && epoch.runs(&self.begins) {
                self.read_clock(self.threads[epoch.thread.index()].clock);
                self.check_and_get(t);
            }
            i += 1;
        }
        let clock = self.cells.get(id).clock;
        if clock != Row::NONE {
            self.read_clock(clock);
            if self.news.is_empty() {
                self.cells.get_mut(id).clock = Row::NONE;
                self.rows.release(clock);
            } else {
                self.check_and_get(t);
            }
        }
    }

    /// The current event of `t` is one more event of a cell.
    #[inline]
    fn add(&mut self, t: ThreadId, id: CellId) {
        let begin = self.begins[t.index()];
        if begin != IDLE {
            let epoch = TxnEpoch { thread: t, begin };
            if self.cells.get_mut(id).add(epoch, &self.begins) {
                self.threads[t.index()].known_by.add_cell(id);
            }
        } else if self.threads[t.index()].informed {
            self.read_clock(self.threads[t.index()].clock);
            self.pass_to_cell(id);
        }
    }

    /// The current event of `t` is the only event of a cell that still matters.
    #[inline]
    fn replace(&mut self, t: ThreadId, id: CellId) {
        let epoch = TxnEpoch { thread: t, begin: self.begins[t.index()] };
        if !self.cells.get(id).is_only(epoch) {
            self.clear(id);
            self.add(t, id);
        }
    }

    #[inline]
    fn clear(&mut self, id: CellId) {
        let clock = self.cells.get_mut(id).clear();
        if clock != Row::NONE {
            self.rows.release(clock);
        }
    }

    /// Reads a clock, to be passed on.
    fn read_clock(&mut self, row: Row) {
        let known = self.rows.get(row).iter().zip(&self.begins).map(|(time, begin)| time >= begin);
        self.news.clear();
        self.news.extend(known.zip(0..).filter(|(known, _)| *known).map(|(_, v)| v));
    }

    /// CHECKANDGET of Algorithm 1: `t` follows the clock that was read.
    fn check_and_get(&mut self, t: ThreadId) {
        if self.news.contains(&t.0) {
            self.report();
        }
        self.pass_to_thread(t);
    }

    /// The transaction of the current event lies on a cycle.
    #[cold]
    fn report(&mut self) {
        let (event, t) = self.now;
        let thread = &mut self.threads[t.index()];
        if !std::mem::replace(&mut thread.reported, true) {
            self.cycles.push(Cycle { event, thread: t, begin: thread.begin });
        }
    }

    /// Joins the clock that was read into a thread's.
    fn pass_to_thread(&mut self, t: ThreadId) {
        let clock = self.rows.get_mut(self.threads[t.index()].clock);
        let mut informed = false;
        join(clock, &self.news, &self.begins, |v| {
            self.threads[v].known_by.threads.push(t);
            informed = true;
        });
        self.threads[t.index()].informed |= informed;
    }

    /// Joins the clock that was read into a cell's.
    fn pass_to_cell(&mut self, id: CellId) {
        let cell = self.cells.get_mut(id);
        if cell.clock == Row::NONE {
            cell.clock = self.rows.allocate();
        }
        let clock = self.rows.get_mut(cell.clock);
        join(clock, &self.news, &self.begins, |v| self.threads[v].known_by.add_cell(id));
    }
}

/// Joins `news` into `clock`, and names the threads whose running transaction it did not know.
#[inline]
fn join(clock: &mut [u32], news: &[u32], begins: &[u32], mut learned: impl FnMut(usize)) {
    for v in news.iter().map(|&v| v as usize) {
        if clock[v] < begins[v] {
            clock[v] = begins[v];
            learned(v);
        }
    }
}

/// Whether the clock of `t` knows a running transaction of another thread.
fn knows_another(clock: &[u32], begins: &[u32], t: ThreadId) -> bool {
    let mut both = clock.iter().zip(begins).enumerate();
    both.any(|(v, (time, begin))| time >= begin && v != t.index())
}

super::aerodrome_analysis!(Aerodrome);
