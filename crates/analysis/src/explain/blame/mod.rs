//! All refuted blocks of a trace: those that no reordering of independent events makes serial.
//!
//! A block of transaction T is refuted when events d' and d of the block and e outside of T are
//! ordered d' < e < d. Vector clocks over single operations show this: when d receives a clock from
//! *another* thread, the entry for its own thread is the latest event d' that the sender knows, and
//! all open blocks that hold d' are refuted. They are the outermost ones, because of two open
//! blocks the inner one begins later. A clock that a thread receives from itself proves nothing, so
//! channels with several senders (readers, shared releases, posts, arrivals) keep them apart.
//!
//! A clock entry only matters while the transaction that it points into runs: it does not refute
//! blocks that begin later. So clocks are short lists, of running transactions only; most are
//! empty. A sender leaves the number of a *snapshot* of its clock, which is made when the clock has
//! changed since the last one. A sweep now and then drops unused snapshots and all that is dead.
//!
//! This pass takes every event of traces with hundreds of millions of them, most of which are
//! accesses that matter to no other thread: those cost one load and one store of a cell.

#[cfg(test)]
mod tests;

use std::ops::ControlFlow;
use std::sync::Arc;

use hashbrown::HashMap;
use paceline_trace::{Batch, Event, EventNo, LabelId, Op, ThreadId, VarId, ops};

use crate::Analysis;
use crate::engine::channel::{Channel, Channels};
use crate::explain::BlockRef;
use crate::explain::contested::Contested;

/// The latest event of a thread's running transaction that is known to have happened before. A
/// clock is a list of these, in the order of threads.
type Entry = (ThreadId, EventNo);

fn latest(known: &[Entry], thread: ThreadId) -> EventNo {
    known.binary_search_by_key(&thread, |e| e.0).map_or(0, |i| known[i].1)
}

/// Joins what was received into what is known, keeping the later of two entries of a thread.
/// Returns whether anything is new.
fn join(known: &[Entry], received: impl Iterator<Item = Entry>, all: &mut Vec<Entry>) -> bool {
    let mut known = known.iter().copied().peekable();
    let mut is_new = false;
    all.clear();
    for entry in received {
        all.extend(std::iter::from_fn(|| known.next_if(|k| k.0 < entry.0)));
        let same = known.next_if(|k| k.0 == entry.0);
        let later = same.filter(|k| k.1 >= entry.1);
        is_new |= later.is_none();
        all.push(later.unwrap_or(entry));
    }
    all.extend(known);
    is_new
}

/// The clocks that stamps refer to, by number.
struct Snapshots {
    /// Where each ends in `entries`; it starts where the one before ends. The first is empty.
    ends: Vec<u32>,
    entries: Vec<Entry>,
}

/// The number of the empty clock.
const EMPTY: u32 = 0;

impl Snapshots {
    fn new() -> Snapshots {
        Snapshots { ends: vec![0], entries: Vec::new() }
    }

    fn of(&self, number: u32) -> &[Entry] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        &self.entries[start as usize..self.ends[number as usize] as usize]
    }

    fn add(&mut self, entries: &[Entry]) -> u32 {
        if entries.is_empty() {
            return EMPTY;
        }
        self.entries.extend_from_slice(entries);
        self.ends.push(self.entries.len() as u32);
        self.ends.len() as u32 - 1
    }
}

/// What a sender leaves for later receivers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Stamp {
    thread: ThreadId,
    /// The snapshot of what it knew.
    known: u32,
    /// The event, if it is part of a block; otherwise 0.
    at: EventNo,
}

/// No stamp.
const NO_STAMP: Stamp = Stamp { thread: ThreadId(u32::MAX), known: EMPTY, at: 0 };

const NO_LIST: u32 = u32::MAX;

/// A variable or a lock: what the last write (release) left, and the reads (shared releases) since.
#[derive(Clone, Copy)]
struct StampCell {
    exclusive: Stamp,
    /// The stamp of one reader (shared release): most often there is no other.
    shared: Stamp,
    /// A list of further ones.
    more: u32,
}

const UNTOUCHED: StampCell = StampCell { exclusive: NO_STAMP, shared: NO_STAMP, more: NO_LIST };

/// All variables, or all locks.
#[derive(Default)]
struct StampCells {
    cells: Vec<StampCell>,
    lists: Vec<Vec<Stamp>>,
    free_lists: Vec<u32>,
}

impl StampCells {
    fn reserve(&mut self, count: usize) {
        if self.cells.len() < count {
            self.cells.resize(count, UNTOUCHED);
        }
    }

    /// Records a read (shared release). A thread's later stamp replaces its earlier one.
    #[inline(always)]
    fn share(&mut self, index: usize, stamp: Stamp) {
        let cell = &mut self.cells[index];
        if cell.shared.thread == stamp.thread || cell.shared == NO_STAMP {
            cell.shared = stamp;
        } else {
            self.share_more(index, stamp);
        }
    }

    fn share_more(&mut self, index: usize, stamp: Stamp) {
        let cell = &mut self.cells[index];
        if cell.more == NO_LIST {
            cell.more = self.free_lists.pop().unwrap_or(self.lists.len() as u32);
            if cell.more as usize == self.lists.len() {
                self.lists.push(Vec::new());
            }
        }
        put(&mut self.lists[cell.more as usize], stamp);
    }

    /// Records a write (release), which has received all stamps here.
    #[inline(always)]
    fn replace(&mut self, index: usize, stamp: Stamp) {
        let cell = &mut self.cells[index];
        if cell.more != NO_LIST {
            self.lists[cell.more as usize].clear();
            self.free_lists.push(cell.more);
        }
        *cell = StampCell { exclusive: stamp, ..UNTOUCHED };
    }

    /// The stamps of readers (shared releases).
    fn shared(&self, index: usize) -> impl Iterator<Item = Stamp> {
        let cell = &self.cells[index];
        let more = self.lists.get(cell.more as usize).map_or(&[][..], Vec::as_slice);
        [cell.shared].into_iter().chain(more.iter().copied())
    }

    fn sweep(&mut self, sweep: &mut Sweep) {
        for cell in &mut self.cells {
            cell.exclusive = sweep.stamp(cell.exclusive);
            cell.shared = sweep.stamp(cell.shared);
        }
        self.lists.iter_mut().for_each(|list| sweep.list(list));
    }
}

fn put(stamps: &mut Vec<Stamp>, stamp: Stamp) {
    match stamps.iter_mut().find(|s| s.thread == stamp.thread) {
        Some(earlier) => *earlier = stamp,
        None => stamps.push(stamp),
    }
}

/// Drops stamps and entries that have become dead since they were sent, and unused snapshots.
struct Sweep<'a> {
    begins: &'a [EventNo],
    old: Snapshots,
    new: Snapshots,
    /// The new number of each snapshot that is still used.
    numbers: Vec<Option<u32>>,
    live: Vec<Entry>,
}

impl<'a> Sweep<'a> {
    fn new(begins: &'a [EventNo], old: Snapshots) -> Sweep<'a> {
        let numbers = vec![None; old.ends.len()];
        Sweep { begins, old, new: Snapshots::new(), numbers, live: Vec::new() }
    }

    fn number(&mut self, old: u32) -> u32 {
        if let Some(number) = self.numbers[old as usize] {
            return number;
        }
        let live = self.old.of(old).iter().filter(|e| is_live(self.begins, **e));
        self.live.clear();
        self.live.extend(live);
        let number = self.new.add(&self.live);
        self.numbers[old as usize] = Some(number);
        number
    }

    fn stamp(&mut self, stamp: Stamp) -> Stamp {
        if stamp == NO_STAMP {
            return stamp;
        }
        let known = self.number(stamp.known);
        let is_dead = known == EMPTY && !is_live(self.begins, (stamp.thread, stamp.at));
        if is_dead { NO_STAMP } else { Stamp { known, ..stamp } }
    }

    fn list(&mut self, stamps: &mut Vec<Stamp>) {
        stamps.iter_mut().for_each(|stamp| *stamp = self.stamp(*stamp));
        stamps.retain(|stamp| *stamp != NO_STAMP);
    }
}

fn is_live(begins: &[EventNo], (thread, at): Entry) -> bool {
    at >= begins[thread.index()]
}

#[derive(Default)]
struct Thread {
    known: Vec<Entry>,
    /// The snapshot of `known`, if there is one.
    snapshot: Option<u32>,
    blocks: Vec<BlockRef>,
    /// How many of the open blocks are refuted; they are the outermost.
    refuted: usize,
    /// Its last event; 0 before its first.
    last: EventNo,
    forked_by: Option<ThreadId>,
}

/// The threads and what they know.
struct Knowledge {
    threads: Vec<Thread>,
    /// The `begin` of each thread's running transaction, [`NOTHING_RUNS`] without one.
    begins: Vec<EventNo>,
    snapshots: Snapshots,
    refuted: Vec<BlockRef>,
    /// Memory for [`join`].
    joined: Vec<Entry>,
}

const NOTHING_RUNS: EventNo = EventNo::MAX;

impl Knowledge {
    fn reserve(&mut self, threads: usize) {
        let threads = threads.max(self.threads.len());
        self.threads.resize_with(threads, Thread::default);
        self.begins.resize(threads, NOTHING_RUNS);
    }

    fn enter_block(&mut self, number: EventNo, event: Event, label: LabelId) {
        let Event { thread, site, .. } = event;
        let blocks = &mut self.threads[thread.index()].blocks;
        if blocks.is_empty() {
            self.begins[thread.index()] = number;
        }
        blocks.push(BlockRef { thread, label, site, begin_event: number });
    }

    fn leave_block(&mut self, id: ThreadId) {
        let thread = &mut self.threads[id.index()];
        thread.blocks.pop();
        thread.refuted = thread.refuted.min(thread.blocks.len());
        if thread.blocks.is_empty() {
            self.begins[id.index()] = NOTHING_RUNS;
        }
    }

    /// What the thread's last event sends.
    #[inline(always)]
    fn stamp(&mut self, id: ThreadId) -> Stamp {
        let thread = &mut self.threads[id.index()];
        let known = match thread.snapshot {
            Some(known) => known,
            None => *thread.snapshot.insert(self.snapshots.add(&thread.known)),
        };
        Stamp { thread: id, known, at: if thread.blocks.is_empty() { 0 } else { thread.last } }
    }

    /// A child without events sends what its fork sent.
    fn stamp_of_joined(&mut self, child: ThreadId) -> Stamp {
        let stamp = self.stamp(child);
        match &self.threads[child.index()] {
            Thread { last: 0, forked_by: Some(parent), .. } => Stamp { thread: *parent, ..stamp },
            Thread { .. } => stamp,
        }
    }

    /// A thread receives a stamp. If it already knows a later event of the sender's transaction,
    /// there is nothing to learn, and its blocks were refuted then.
    #[inline(always)]
    fn receive(&mut self, thread: ThreadId, stamp: Stamp) {
        if stamp.thread == thread || stamp == NO_STAMP {
            return;
        }
        let known = &self.threads[thread.index()].known;
        if stamp.at == 0 || latest(known, stamp.thread) < stamp.at {
            self.refute(thread, latest(self.snapshots.of(stamp.known), thread));
            self.learn(thread, stamp);
        }
    }

    /// Refutes the open blocks of a thread that hold its event `known`.
    fn refute(&mut self, thread: ThreadId, known: EventNo) {
        let Thread { blocks, refuted, .. } = &mut self.threads[thread.index()];
        let fresh = blocks[*refuted..].iter().take_while(|b| b.begin_event <= known);
        let before = self.refuted.len();
        self.refuted.extend(fresh);
        *refuted += self.refuted.len() - before;
    }

    fn learn(&mut self, id: ThreadId, stamp: Stamp) {
        let Knowledge { threads, begins, snapshots, joined, .. } = self;
        let thread = &mut threads[id.index()];
        let sent = snapshots.of(stamp.known);
        // A sender's clock has no entry for itself: the stamp's event is inserted.
        let (before, after) = sent.split_at(sent.partition_point(|e| e.0 < stamp.thread));
        let sent =
            before.iter().copied().chain([(stamp.thread, stamp.at)]).chain(after.iter().copied());
        let matters = sent.filter(|&entry| entry.0 != id && is_live(begins, entry));
        if join(&thread.known, matters, joined) {
            thread.known.clear();
            thread.known.extend(joined.iter().filter(|&&entry| is_live(begins, entry)));
            thread.snapshot = None;
        }
    }
}

/// Finds the refuted blocks.
pub struct Blame {
    knowledge: Knowledge,
    /// The variables that can be part of conflicts, if that is known.
    contested: Option<Arc<Contested>>,
    variables: StampCells,
    locks: StampCells,
    /// Semaphores and barriers.
    channels: Channels,
    sent: HashMap<Channel, Vec<Stamp>>,
    /// A sweep is due when this much is kept.
    sweep_at: usize,
}

/// A sweep is not worth its cost for less than this.
const FEWEST_KEPT: usize = 1 << 12;

impl Default for Blame {
    fn default() -> Self {
        Blame {
            knowledge: Knowledge {
                threads: Vec::new(),
                begins: Vec::new(),
                snapshots: Snapshots::new(),
                refuted: Vec::new(),
                joined: Vec::new(),
            },
            contested: None,
            variables: StampCells::default(),
            locks: StampCells::default(),
            channels: Channels::default(),
            sent: HashMap::new(),
            sweep_at: FEWEST_KEPT,
        }
    }
}

impl Blame {
    /// Starts the analysis of a trace in which only these variables can be part of conflicts.
    pub fn among(contested: Option<Arc<Contested>>) -> Blame {
        Blame { contested, ..Blame::default() }
    }

    /// The index of a variable's cell, if it matters.
    #[inline(always)]
    fn cell_of(contested: Option<&Contested>, x: VarId) -> Option<usize> {
        contested.map_or(Some(x.index()), |contested| contested.number(x))
    }

    /// The refuted blocks, in the order of their `begin`s once the trace is over.
    pub fn refuted(&self) -> &[BlockRef] {
        &self.knowledge.refuted
    }

    #[inline(always)]
    fn event(&mut self, number: EventNo, event: Event) {
        let Event { thread, op, .. } = event;
        let Blame { knowledge, contested, variables, locks, .. } = self;
        knowledge.threads[thread.index()].last = number;
        match op {
            Op::Read(x) | Op::AtomicRead(x) => {
                if let Some(x) = Blame::cell_of(contested.as_deref(), x) {
                    knowledge.receive(thread, variables.cells[x].exclusive);
                    variables.share(x, knowledge.stamp(thread));
                }
            }
            Op::Write(x) | Op::AtomicWrite(x) | Op::AtomicUpdate(x) => {
                if let Some(x) = Blame::cell_of(contested.as_deref(), x) {
                    knowledge.receive(thread, variables.cells[x].exclusive);
                    variables.shared(x).for_each(|s| knowledge.receive(thread, s));
                    variables.replace(x, knowledge.stamp(thread));
                }
            }
            Op::Acquire(l) | Op::PostWait(l) => {
                knowledge.receive(thread, locks.cells[l.index()].exclusive);
                locks.shared(l.index()).for_each(|s| knowledge.receive(thread, s));
            }
            Op::AcquireShared(l) => knowledge.receive(thread, locks.cells[l.index()].exclusive),
            Op::Release(l) | Op::PreWait(l) => locks.replace(l.index(), knowledge.stamp(thread)),
            Op::ReleaseShared(l) => locks.share(l.index(), knowledge.stamp(thread)),
            Op::Begin(label) => knowledge.enter_block(number, event, label),
            Op::End(_) => knowledge.leave_block(thread),
            Op::Yield | Op::Notify(_) => {}
            ops!(Thread | Semaphore | Barrier) => self.rare_event(event),
        }
    }

    fn rare_event(&mut self, event: Event) {
        let ports = self.channels.ports(&event);
        let knowledge = &mut self.knowledge;
        if let Op::Join(child) = event.op {
            let stamp = knowledge.stamp_of_joined(child);
            knowledge.receive(event.thread, stamp);
        }
        for stamps in ports.receives.iter().flatten().filter_map(|c| self.sent.get(c)) {
            stamps.iter().for_each(|&stamp| knowledge.receive(event.thread, stamp));
        }
        let Some(channel) = ports.sends else { return };
        let stamp = knowledge.stamp(event.thread);
        if let Channel::Thread(child) = channel {
            // The child starts with the clock of the fork.
            knowledge.threads[child.index()].forked_by = Some(stamp.thread);
            knowledge.learn(child, stamp);
        } else {
            put(self.sent.entry(channel).or_default(), stamp);
        }
    }

    fn sweep_if_due(&mut self) {
        let kept = |blame: &Blame| blame.knowledge.snapshots.entries.len() + blame.sent.len();
        if kept(self) > self.sweep_at {
            self.sweep();
            // A sweep visits all cells, so it must not happen too often.
            let cells = self.variables.cells.len() + self.locks.cells.len();
            self.sweep_at = FEWEST_KEPT.max(kept(self) * 2).max(cells);
        }
    }

    fn sweep(&mut self) {
        let Knowledge { threads, begins, snapshots, .. } = &mut self.knowledge;
        let mut sweep = Sweep::new(begins, std::mem::replace(snapshots, Snapshots::new()));
        self.variables.sweep(&mut sweep);
        self.locks.sweep(&mut sweep);
        self.sent.retain(|_, stamps| {
            sweep.list(stamps);
            !stamps.is_empty()
        });
        *snapshots = sweep.new;
        threads.iter_mut().for_each(|thread| thread.snapshot = None);
    }
}

impl Analysis for Blame {
    fn events(&mut self, batch: &Batch) -> ControlFlow<()> {
        self.knowledge.reserve(batch.counts.threads);
        let count = self.contested.as_ref().map_or(batch.counts.vars, |it| it.count());
        self.variables.reserve(count);
        self.locks.reserve(batch.counts.locks);
        for (number, &event) in (batch.first..).zip(&batch.events) {
            self.event(number, event);
        }
        self.sweep_if_due();
        ControlFlow::Continue(())
    }

    fn finish(&mut self) {
        self.knowledge.refuted.sort_by_key(|b| b.begin_event);
    }
}
