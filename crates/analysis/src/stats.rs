//! Counts of what is in a trace: events by kind and by thread, shared variables and locks, lengths
//! of transactions.
//!
//! This runs beside the reader and must never slow it down. Each batch is processed in two passes.
//! The first counts kinds, follows blocks and locks, and puts all accesses on a list without a
//! branch. The second follows that list, where no access depends on the one before it and no branch
//! on what was loaded: cache misses of many variables overlap.

use std::ops::ControlFlow;

use paceline_trace::{Batch, Event, IdCounts, Kind, LockId, Op, ThreadId, ops};

use crate::Analysis;

/// How many kinds of operations there are.
pub const KINDS: usize = Kind::ALL.len();

/// Counts for a whole trace.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct StatsReport {
    pub events: u64,
    /// In the order of their ids.
    pub threads: Vec<ThreadStats>,
    pub variables: VariableStats,
    pub locks: LockStats,
    pub transactions: TransactionStats,
}

/// Counts for one thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct ThreadStats {
    pub thread: ThreadId,
    pub events: u64,
    /// Indexed by `kind as usize`.
    pub kinds: [u64; KINDS],
}

/// How variables are used.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct VariableStats {
    /// Accessed by several threads, and written.
    pub shared: u64,
    /// Accessed by several threads, never written.
    pub read_only: u64,
    /// Accessed by one thread.
    pub thread_local: u64,
}

/// How locks are used.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LockStats {
    /// Used by any thread.
    pub used: u64,
    /// Used by several threads.
    pub contended: u64,
}

/// Counts of outermost blocks and of events outside of them.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct TransactionStats {
    /// Outermost blocks.
    pub blocks: u64,
    /// Outermost blocks without an end.
    pub open_at_end: u64,
    /// Blocks inside of others.
    pub nested: u64,
    /// The deepest nesting of blocks.
    pub deepest: u64,
    /// The largest number of outermost blocks that ran at the same time.
    pub running_at_once: u64,
    /// Events in blocks, begins and ends included.
    pub events_inside: u64,
    /// Events outside of blocks, each a transaction of its own.
    pub unary: u64,
    /// How many outermost blocks have at least 2^i and less than 2^(i+1) events.
    pub lengths: Vec<u64>,
}

impl StatsReport {
    /// How many events of this kind there are.
    pub fn kind(&self, kind: Kind) -> u64 {
        self.threads.iter().map(|t| t.kinds[kind as usize]).sum()
    }
}

impl VariableStats {
    /// All variables that were accessed.
    pub fn used(&self) -> u64 {
        self.shared + self.read_only + self.thread_local
    }
}

#[derive(Clone, Default)]
struct Thread {
    kinds: [u64; KINDS],
    events: u64,
    depth: u64,
    /// How many events the thread had before its outermost open block.
    begun: u64,
}

/// How a variable or a lock was used: the first thread plus one, and two flags. Four bytes, because
/// a trace may have millions of variables.
#[derive(Clone, Copy, Default)]
struct Use(u32);

impl Use {
    const SEVERAL: u32 = 1;
    const WRITTEN: u32 = 2;

    #[inline(always)]
    fn by(self, thread: ThreadId, writes: bool) -> Use {
        let me = thread.0 + 1;
        let first = self.0 >> 2;
        let first = if first == 0 { me } else { first };
        let several = u32::from(first != me) * Self::SEVERAL;
        let written = u32::from(writes) * Self::WRITTEN;
        Use(first << 2 | self.0 & 3 | several | written)
    }

    fn is_used(self) -> bool {
        self.0 != 0
    }

    fn has(self, flag: u32) -> bool {
        self.0 & flag != 0
    }
}

/// An access on the list of a batch: the variable, the thread, and whether it writes.
#[derive(Clone, Copy, Default)]
struct ListedAccess {
    variable: u32,
    thread_and_write: u32,
}

/// Counts what is in a trace.
#[derive(Default)]
pub struct Stats {
    threads: Vec<Thread>,
    variables: Vec<Use>,
    locks: Vec<Use>,
    accesses: Vec<ListedAccess>,
    running: u64,
    blocks: TransactionStats,
}

impl Stats {
    /// The counts so far; those of a whole trace after [`Analysis::finish`].
    pub fn report(&self) -> StatsReport {
        let events = self.threads.iter().map(|t| t.events).sum();
        let mut transactions = self.blocks.clone();
        transactions.unary = events - transactions.events_inside;
        StatsReport {
            events,
            threads: self.thread_stats(),
            variables: self.variable_stats(),
            locks: LockStats {
                used: count(&self.locks, |u| u.is_used()),
                contended: count(&self.locks, |u| u.has(Use::SEVERAL)),
            },
            transactions,
        }
    }

    fn thread_stats(&self) -> Vec<ThreadStats> {
        let stats = |(i, t): (usize, &Thread)| ThreadStats {
            thread: ThreadId(i as u32),
            events: t.events,
            kinds: t.kinds,
        };
        self.threads.iter().enumerate().map(stats).collect()
    }

    fn variable_stats(&self) -> VariableStats {
        let several = |u: Use| u.has(Use::SEVERAL);
        VariableStats {
            shared: count(&self.variables, |u| several(u) && u.has(Use::WRITTEN)),
            read_only: count(&self.variables, |u| several(u) && !u.has(Use::WRITTEN)),
            thread_local: count(&self.variables, |u| u.is_used() && !several(u)),
        }
    }

    fn reserve(&mut self, counts: &IdCounts, events: usize) {
        grow(&mut self.threads, counts.threads);
        grow(&mut self.variables, counts.vars);
        grow(&mut self.locks, counts.locks);
        grow(&mut self.accesses, events);
    }

    /// The first pass: all but the variables. Returns how many accesses are on the list.
    fn count_and_list(&mut self, events: &[Event]) -> usize {
        let mut listed = 0;
        for event in events {
            let thread = &mut self.threads[event.thread.index()];
            thread.kinds[event.op.kind() as usize] += 1;
            thread.events += 1;
            let (variable, is_access, writes) = access(event.op);
            let thread_and_write = event.thread.0 << 1 | u32::from(writes);
            self.accesses[listed] = ListedAccess { variable, thread_and_write };
            listed += usize::from(is_access);
            if !is_access {
                self.other(event);
            }
        }
        listed
    }

    fn other(&mut self, event: &Event) {
        match event.op {
            Op::Begin(_) => self.begin(event.thread),
            Op::End(_) => self.end(event.thread),
            ops!(Lock(lock)) => self.lock(event.thread, lock),
            ops!(Access | Thread | Semaphore | Barrier) | Op::Yield => {}
        }
    }

    fn begin(&mut self, thread: ThreadId) {
        let thread = &mut self.threads[thread.index()];
        thread.depth += 1;
        self.blocks.deepest = self.blocks.deepest.max(thread.depth);
        if thread.depth > 1 {
            self.blocks.nested += 1;
            return;
        }
        thread.begun = thread.events - 1;
        self.running += 1;
        self.blocks.running_at_once = self.blocks.running_at_once.max(self.running);
    }

    fn end(&mut self, thread: ThreadId) {
        let thread = &mut self.threads[thread.index()];
        thread.depth -= 1;
        if thread.depth == 0 {
            let length = thread.events - thread.begun;
            self.running -= 1;
            self.blocks.add(length);
        }
    }

    fn lock(&mut self, thread: ThreadId, lock: LockId) {
        let state = &mut self.locks[lock.index()];
        *state = state.by(thread, false);
    }

    /// The second pass: the variables of the first accesses on the list.
    fn follow_list(&mut self, listed: usize) {
        for access in &self.accesses[..listed] {
            let state = &mut self.variables[access.variable as usize];
            let thread = ThreadId(access.thread_and_write >> 1);
            *state = state.by(thread, access.thread_and_write & 1 == 1);
        }
    }
}

impl Analysis for Stats {
    fn events(&mut self, batch: &Batch) -> ControlFlow<()> {
        self.reserve(&batch.counts, batch.events.len());
        let listed = self.count_and_list(&batch.events);
        self.follow_list(listed);
        ControlFlow::Continue(())
    }

    fn finish(&mut self) {
        for thread in self.threads.iter_mut().filter(|t| t.depth > 0) {
            thread.depth = 0;
            self.blocks.open_at_end += 1;
            self.blocks.add(thread.events - thread.begun);
        }
        self.running = 0;
    }
}

impl TransactionStats {
    fn add(&mut self, length: u64) {
        self.blocks += 1;
        self.events_inside += length;
        let bucket = length.ilog2() as usize;
        grow(&mut self.lengths, bucket + 1);
        self.lengths[bucket] += 1;
    }
}

/// The variable of an access, whether it is one, and whether it writes.
#[inline(always)]
fn access(op: Op) -> (u32, bool, bool) {
    match op {
        Op::Read(x) | Op::AtomicRead(x) => (x.0, true, false),
        Op::Write(x) | Op::AtomicWrite(x) | Op::AtomicUpdate(x) => (x.0, true, true),
        ops!(Lock | Thread | Block | Semaphore | Barrier) | Op::Yield => (0, false, false),
    }
}

fn grow<T: Clone + Default>(states: &mut Vec<T>, count: usize) {
    if states.len() < count {
        states.resize(count, T::default());
    }
}

fn count(uses: &[Use], is: impl Fn(Use) -> bool) -> u64 {
    uses.iter().filter(|&&u| is(u)).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_trace::Trace;

    fn stats(line: &str) -> StatsReport {
        let trace = Trace::parse(line).unwrap();
        let mut stats = Stats::default();
        assert!(stats.events(&trace.batch()).is_continue());
        stats.finish();
        stats.report()
    }

    #[test]
    fn an_empty_trace_has_nothing() {
        assert_eq!(stats(""), StatsReport::default());
    }

    #[test]
    fn kinds_are_counted_by_thread() {
        let report = stats("1:r(x) 1:r(y) 2:w(x) 1:yield 2:fork(3)");
        assert_eq!(report.events, 5);
        assert_eq!(report.threads.iter().map(|t| t.events).collect::<Vec<_>>(), [3, 2, 0]);
        assert_eq!(report.threads[0].kinds[Kind::Read as usize], 2);
        assert_eq!(report.kind(Kind::Write), 1);
        assert_eq!(report.kind(Kind::Join), 0);
    }

    #[test]
    fn variables_are_classified_by_their_threads_and_writes() {
        let report = stats(
            "1:r(shared) 1:r(constant) 1:w(own) 2:r(shared) 2:r(constant) 3:aw(shared) \
             1:ar(a) 2:arw(a) 3:r(b) 3:w(b)",
        );
        let expected = VariableStats { shared: 2, read_only: 1, thread_local: 2 };
        assert_eq!(report.variables, expected);
        assert_eq!(report.variables.used(), 5);
    }

    #[test]
    fn locks_are_contended_when_several_threads_use_them() {
        let report = stats("1:acq(l) 1:rel(l) 2:racq(l) 2:rrel(l) 1:acq(m) 1:notify(m)");
        assert_eq!(report.locks, LockStats { used: 2, contended: 1 });
    }

    #[test]
    fn transactions_are_outermost_blocks() {
        let report = stats(
            "1:begin(a) 1:begin(b) 2:begin(c) 1:r(x) 1:end(b) 1:end(a) 1:w(x) 2:w(x) 1:begin(a) \
             1:end(a)",
        );
        let expected = TransactionStats {
            blocks: 3,
            open_at_end: 1,
            nested: 1,
            deepest: 2,
            running_at_once: 2,
            events_inside: 9,
            unary: 1,
            lengths: vec![0, 2, 1],
        };
        assert_eq!(report.transactions, expected);
    }

    #[test]
    fn the_size_of_batches_does_not_matter() {
        use paceline_trace::generate::{Generator, Shape};
        let shape = Shape { events: 3000, threads: 3, nesting: 3, waits: true, ..Shape::default() };
        let trace = Trace::collect(&mut Generator::new(shape).unwrap()).unwrap();
        let report = |size| {
            let mut stats = Stats::default();
            for events in trace.events.chunks(size) {
                let batch = Batch { events: events.to_vec(), ..trace.batch() };
                assert!(stats.events(&batch).is_continue());
            }
            stats.finish();
            stats.report()
        };
        assert_eq!(report(3000), report(7));
        assert_eq!(report(7).events, 3000);
    }
}
