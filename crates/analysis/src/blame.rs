//! All refuted blocks of a trace: those that no reordering of independent events makes serial.
//!
//! A block of transaction T is refuted when events d' and d of the block and e outside of T are
//! ordered d' < e < d. It takes vector clocks over single operations to see this: when d receives
//! a clock from *another* thread, the entry for its own thread is the latest event d' that the
//! sender knows, and all open blocks that hold d' are refuted. They are the outermost ones, because
//! of two open blocks the inner one begins later. What a thread sent to itself proves nothing, so
//! channels with several senders (readers, shared releases, posts, arrivals) keep them apart.
//!
//! A clock entry only ever matters while the transaction that it points into runs: blocks that
//! begin later are not refuted by it. So clocks are short lists, of running transactions only;
//! most are empty, and an empty clock is not stored at all. Senders share their clock with what
//! they leave behind, until they learn something new.

use std::ops::ControlFlow;
use std::sync::Arc;

use hashbrown::HashMap;
use paceline_trace::{Batch, Event, EventNo, Op, ThreadId};

use crate::Analysis;
use crate::channel::{Channel, Channels};
use crate::explain::BlockRef;

/// The latest event of each running transaction that is known to come before; in the order of
/// threads, each of which runs one at most.
type Known = Option<Arc<Vec<(ThreadId, EventNo)>>>;

fn entries(known: &Known) -> &[(ThreadId, EventNo)] {
    known.as_ref().map_or(&[], |k| k)
}

fn latest(known: &Known, thread: ThreadId) -> EventNo {
    let entries = entries(known);
    entries.binary_search_by_key(&thread, |e| e.0).map_or(0, |i| entries[i].1)
}

/// What a sender leaves behind.
#[derive(Clone)]
struct Stamp {
    thread: ThreadId,
    /// The event, if it is part of a block; otherwise 0.
    at: EventNo,
    known: Known,
}

impl Stamp {
    fn entries(&self) -> impl Iterator<Item = (ThreadId, EventNo)> {
        entries(&self.known).iter().copied().chain([(self.thread, self.at)])
    }
}

#[derive(Default)]
struct Thread {
    known: Known,
    blocks: Vec<BlockRef>,
    /// How many of the open blocks are refuted; they are the outermost.
    refuted: usize,
    /// Its last event; 0 before its first.
    last: EventNo,
    forked_by: Option<ThreadId>,
}

/// Finds the refuted blocks.
pub struct Blame {
    threads: Vec<Thread>,
    /// The `begin` of each thread's running transaction, [`NOTHING_RUNS`] without one.
    begins: Vec<EventNo>,
    channels: Channels,
    sent: HashMap<Channel, Vec<Stamp>>,
    sweep_at: usize,
    refuted: Vec<BlockRef>,
}

const NOTHING_RUNS: EventNo = EventNo::MAX;
const FEWEST_CHANNELS: usize = 1 << 12;

impl Default for Blame {
    fn default() -> Self {
        Blame {
            threads: Vec::new(),
            begins: Vec::new(),
            channels: Channels::default(),
            sent: HashMap::new(),
            sweep_at: FEWEST_CHANNELS,
            refuted: Vec::new(),
        }
    }
}

impl Blame {
    /// The refuted blocks, in the order of their `begin`s once the trace is over.
    pub fn refuted(&self) -> &[BlockRef] {
        &self.refuted
    }

    fn event(&mut self, number: EventNo, event: Event) {
        self.enter_block(number, event);
        self.threads[event.thread.index()].last = number;
        let ports = self.channels.ports(&event);
        if let Op::Join(child) = event.op {
            let stamp = self.stamp_of_joined(child);
            self.receive(event.thread, &stamp);
        }
        for channel in ports.receives.into_iter().flatten() {
            // Taken out for a moment, because receiving changes the rest of the state.
            if let Some(stamps) = self.sent.remove(&channel) {
                stamps.iter().for_each(|stamp| self.receive(event.thread, stamp));
                self.sent.insert(channel, stamps);
            }
        }
        if let Some(channel) = ports.sends {
            let stamp = self.stamp(event.thread);
            self.send(channel, stamp);
        }
        self.leave_block(event);
    }

    fn enter_block(&mut self, number: EventNo, event: Event) {
        let Op::Begin(label) = event.op else { return };
        let Event { thread, site, .. } = event;
        let blocks = &mut self.threads[thread.index()].blocks;
        if blocks.is_empty() {
            self.begins[thread.index()] = number;
        }
        blocks.push(BlockRef { thread, label, site, begin_event: number });
    }

    fn leave_block(&mut self, event: Event) {
        let Op::End(_) = event.op else { return };
        let thread = &mut self.threads[event.thread.index()];
        thread.blocks.pop();
        thread.refuted = thread.refuted.min(thread.blocks.len());
        if thread.blocks.is_empty() {
            self.begins[event.thread.index()] = NOTHING_RUNS;
        }
    }

    /// What the thread's last event sends.
    fn stamp(&self, thread: ThreadId) -> Stamp {
        let Thread { known, blocks, last, .. } = &self.threads[thread.index()];
        Stamp { thread, at: if blocks.is_empty() { 0 } else { *last }, known: known.clone() }
    }

    /// A child that has not acted has nothing to say; its fork speaks for itself.
    fn stamp_of_joined(&self, child: ThreadId) -> Stamp {
        let stamp = self.stamp(child);
        match &self.threads[child.index()] {
            Thread { last: 0, forked_by: Some(parent), .. } => Stamp { thread: *parent, ..stamp },
            Thread { .. } => stamp,
        }
    }

    fn is_live(&self, (thread, at): (ThreadId, EventNo)) -> bool {
        at >= self.begins[thread.index()]
    }

    fn receive(&mut self, thread: ThreadId, stamp: &Stamp) {
        if stamp.thread == thread {
            return;
        }
        self.refute(thread, latest(&stamp.known, thread));
        self.learn(thread, stamp);
    }

    /// Refutes the open blocks of a thread that hold its event `known`.
    fn refute(&mut self, thread: ThreadId, known: EventNo) {
        let Thread { blocks, refuted, .. } = &mut self.threads[thread.index()];
        let fresh = blocks[*refuted..].iter().take_while(|b| b.begin_event <= known);
        let before = self.refuted.len();
        self.refuted.extend(fresh);
        *refuted += self.refuted.len() - before;
    }

    fn learn(&mut self, thread: ThreadId, stamp: &Stamp) {
        let known = &self.threads[thread.index()].known;
        let news = |&(t, at): &(ThreadId, EventNo)| {
            t != thread && self.is_live((t, at)) && latest(known, t) < at
        };
        if !stamp.entries().any(|e| news(&e)) {
            return;
        }
        let old = entries(known).iter().copied().filter(|&e| self.is_live(e));
        let mut all: Vec<_> = old.chain(stamp.entries().filter(news)).collect();
        // The latest of each thread comes first, and is kept.
        all.sort_unstable_by_key(|&(t, at)| (t, std::cmp::Reverse(at)));
        all.dedup_by_key(|e| e.0);
        self.threads[thread.index()].known = Some(Arc::new(all));
    }

    fn send(&mut self, channel: Channel, stamp: Stamp) {
        let dead = !stamp.entries().any(|e| self.is_live(e));
        match channel {
            // The child starts with what the fork knows.
            Channel::Thread(child) => {
                self.threads[child.index()].forked_by = Some(stamp.thread);
                self.learn(child, &stamp);
            }
            // Whoever writes or releases has received all that was sent here before.
            Channel::Written(x) => {
                self.sent.remove(&Channel::Read(x));
                self.replace(channel, stamp, dead);
            }
            Channel::Released(l) => {
                self.sent.remove(&Channel::ReleasedShared(l));
                self.replace(channel, stamp, dead);
            }
            Channel::Read(_)
            | Channel::ReleasedShared(_)
            | Channel::Posted(_)
            | Channel::Arrived(_) => self.add(channel, stamp, dead),
        }
        if self.sent.len() > self.sweep_at {
            self.sweep();
        }
    }

    fn replace(&mut self, channel: Channel, stamp: Stamp, dead: bool) {
        if dead {
            self.sent.remove(&channel);
        } else {
            let stamps = self.sent.entry(channel).or_default();
            stamps.clear();
            stamps.push(stamp);
        }
    }

    /// A thread's later stamp holds all that matters of its earlier one.
    fn add(&mut self, channel: Channel, stamp: Stamp, dead: bool) {
        if dead {
            return;
        }
        let stamps = self.sent.entry(channel).or_default();
        match stamps.iter_mut().find(|s| s.thread == stamp.thread) {
            Some(earlier) => *earlier = stamp,
            None => stamps.push(stamp),
        }
    }

    /// Forgets what has become dead since it was sent.
    fn sweep(&mut self) {
        let mut sent = std::mem::take(&mut self.sent);
        sent.retain(|_, stamps| {
            stamps.retain(|s| s.entries().any(|e| self.is_live(e)));
            !stamps.is_empty()
        });
        self.sweep_at = FEWEST_CHANNELS.max(sent.len() * 2);
        self.sent = sent;
    }
}

impl Analysis for Blame {
    fn events(&mut self, batch: &Batch) -> ControlFlow<()> {
        let threads = batch.counts.threads.max(self.threads.len());
        self.threads.resize_with(threads, Thread::default);
        self.begins.resize(threads, NOTHING_RUNS);
        for (number, &event) in (batch.first..).zip(&batch.events) {
            self.event(number, event);
        }
        ControlFlow::Continue(())
    }

    fn finish(&mut self) {
        self.refuted.sort_by_key(|b| b.begin_event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conflict::Conflicts;
    use crate::random;
    use paceline_trace::Trace;

    fn refuted(trace: &Trace, sweep_at: usize) -> Vec<EventNo> {
        let mut blame = Blame { sweep_at, ..Blame::default() };
        let mut batch = trace.batch();
        for &event in &trace.events {
            batch.events = vec![event];
            blame.sweep_at = blame.sweep_at.min(sweep_at);
            let _ = blame.events(&batch);
            batch.first += 1;
        }
        blame.finish();
        blame.refuted().iter().map(|b| b.begin_event).collect()
    }

    fn of(line: &str) -> Vec<EventNo> {
        refuted(&Trace::parse(line).unwrap(), FEWEST_CHANNELS)
    }

    #[test]
    fn the_blocks_around_both_ends_are_refuted() {
        assert_eq!(of("1:begin(p) 1:begin(q) 1:r(x) 2:w(x) 1:begin(r) 1:w(x)"), [1, 2]);
        assert_eq!(of("1:begin(p) 1:r(x) 1:begin(q) 2:w(x) 1:w(x) 1:end(q) 1:end(p)"), [1]);
    }

    #[test]
    fn what_comes_back_from_the_thread_itself_proves_nothing() {
        for line in [
            "2:w(x) 1:begin(p) 1:w(x) 1:r(x)",
            "1:begin(p) 1:post(s) 2:post(s) 1:take(s)",
            "2:begin(q) 2:r(x) 1:begin(p) 1:r(x) 1:w(x)",
            "2:racq(l) 1:begin(p) 1:racq(l) 1:rrel(l) 2:rrel(l) 1:acq(l)",
        ] {
            assert_eq!(of(line), [0; 0], "{line}");
        }
    }

    #[test]
    fn a_cycle_need_not_refute_a_block() {
        assert_eq!(of("2:begin(e) 2:w(y) 1:begin(d) 1:w(x) 2:r(x) 1:r(y)"), [0; 0]);
    }

    #[test]
    fn fork_join_and_barriers_refute() {
        assert_eq!(of("1:begin(p) 1:fork(2) 1:begin(q) 1:join(2)"), [0; 0]);
        assert_eq!(of("1:begin(p) 1:fork(2) 2:yield 1:begin(q) 1:join(2)"), [1]);
        let twice = "1:enter(b) 2:enter(b) 1:exit(b) 2:exit(b) 2:enter(b) 1:enter(b) 1:exit(b)";
        assert_eq!(of(&format!("1:begin(p) {twice}")), [1]);
    }

    /// Which events come before which.
    fn happens_before(trace: &Trace) -> Vec<Vec<bool>> {
        let mut conflicts = Conflicts::default();
        let mut before: Vec<Vec<bool>> = Vec::new();
        for &event in &trace.events {
            let at = conflicts.push(event);
            let direct: Vec<bool> = (0..at).map(|e| conflicts.conflict(e, at)).collect();
            let all = (0..at).map(|e| direct[e] || (e + 1..at).any(|f| before[f][e] && direct[f]));
            let all = all.collect();
            before.push(all);
        }
        before
    }

    /// Each block: the index of its `begin`, that of its transaction, and its last event.
    fn blocks(trace: &Trace) -> Vec<(usize, usize, usize)> {
        let (mut open, mut found) = (HashMap::<ThreadId, Vec<usize>>::new(), Vec::new());
        let mut last = HashMap::new();
        for (i, event) in trace.events.iter().enumerate() {
            last.insert(event.thread, i);
            let stack = open.entry(event.thread).or_default();
            if let Op::Begin(_) = event.op {
                stack.push(i);
            } else if let Op::End(_) = event.op {
                found.push((stack[stack.len() - 1], stack[0], i));
                stack.pop();
            }
        }
        for (thread, stack) in open {
            found.extend(stack.iter().map(|&b| (b, stack[0], last[&thread])));
        }
        found.sort_unstable();
        found
    }

    fn refuted_by_definition(trace: &Trace) -> Vec<EventNo> {
        let before = happens_before(trace);
        let blocks = blocks(trace);
        let thread = |i: usize| trace.events[i].thread;
        let end_of = |txn| blocks.iter().find(|b| b.0 == txn).map_or(txn, |b| b.2);
        let refuted = blocks.iter().filter(|&&(begin, txn, end)| {
            let inside = |i: &usize| thread(*i) == thread(begin);
            let of_txn = |i: usize| thread(i) == thread(begin) && (txn..=end_of(txn)).contains(&i);
            (begin..=end).filter(inside).any(|d| {
                (begin..d)
                    .filter(|&e| !of_txn(e) && before[d][e])
                    .any(|e| (begin..e).filter(inside).any(|first| before[e][first]))
            })
        });
        refuted.map(|b| b.0 as u64 + 1).collect()
    }

    #[test]
    fn refuted_blocks_are_those_of_the_definition() {
        let kinds = std::cell::RefCell::new((0, 0));
        random::check(3000, 100, |trace| {
            let expected = refuted_by_definition(trace);
            kinds.borrow_mut().0 += expected.len();
            kinds.borrow_mut().1 += blocks(trace).len() - expected.len();
            for sweep_at in [0, FEWEST_CHANNELS] {
                let found = refuted(trace, sweep_at);
                if found != expected {
                    return Err(format!("{found:?}, not {expected:?}"));
                }
            }
            Ok(())
        });
        let (refuted, not) = kinds.into_inner();
        assert!(refuted > 1000 && not > 1000, "{refuted} refuted, {not} not");
    }
}
