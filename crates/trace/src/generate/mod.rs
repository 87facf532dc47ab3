//! Synthetic traces of any size: streamed, the same for a seed on every platform, in memory that
//! depends on threads, variables and locks but not on the number of events.
//!
//! # Why they are serializable
//! Threads take random turns, and their transactions overlap as the turns fall. Under that there
//! is a hidden serial order. A clock gives every transaction its rank in it: a
//! block when it begins, any event outside of blocks for itself. An operation is only done when
//! every edge that enters it (`docs/semantics.md`) comes from the same rank or an earlier one;
//! otherwise the thread does something else. This is timestamp ordering, as databases know it,
//! except that nothing is ever rolled back. In detail, for an event f at rank p:
//!
//! - Same thread: the clock only goes up, so what a thread began later has a later rank.
//! - Read: no write of the variable was at a rank after p. Write: no access was.
//! - Acquire: no release was at a rank after p; a shared one looks at exclusive releases only,
//!   since two shared ones do not conflict. The waking half of a wait is an acquire, and the
//!   sleeping half a release; no edge enters a release.
//! - Take: no post of the semaphore was at a rank after p. No edge enters a post.
//! - Fork, join, barrier: all outside of blocks, so p is the clock's last value and nothing that
//!   happened has a later rank. Whatever a forked thread does happens after the fork and so has a
//!   later rank.
//! - Outside of blocks nothing is ever refused, for the same reason.
//!
//! So every edge between transactions goes from a smaller rank to a larger one, and there is no
//! cycle. Each check is a comparison with the largest rank that touched the variable, lock or
//! semaphore before: constant time. Waits stay outside of blocks because a refused wake-up would
//! have no way out.
//!
//! A long-running transaction has the first rank of all. What others have written is closed to
//! it for ever, so an eighth of the variables is only read by others: what it has written there
//! before any of them read it orders all later readers after it, to the end of the trace.
//!
//! # Why they end on the event
//! `slack` is how many events are left over once everything that is open has been closed. What
//! opens something (a block, a lock, a wait, a barrier round) costs as many events as it takes to
//! open and close it, what stands for itself costs one, what closes something is paid already. At
//! no slack, threads only close. There is always one that can: a thread that waits or stands at a
//! barrier holds no lock, and a thread that holds one can release it.

mod barrier;
mod order;
mod plant;
mod rng;
mod shape;
mod thread;

use std::fmt::Write as _;

use barrier::Round;
use order::{Rank, Shared};
use plant::{Plant, ScriptStep};
use rng::Rng;
pub use shape::{Shape, ShapeError};
use thread::{Item, Thread};

use crate::error::Error;
use crate::event::{Event, EventNo, Op};
use crate::ids::{LabelId, Site, ThreadId, VarId};
use crate::interner::Interner;
use crate::source::{BATCH, Batch, Lines, Skipped, Source};
use crate::symbols::Symbols;

/// How many labels there are: a few, as in a small program.
const LABELS: u32 = 16;
/// How many semaphores: few enough that threads meet at them.
const SEMAPHORES: u32 = 4;
/// How many source locations: a small program, so that predictions of `pace` mostly hold.
const SITES: u32 = 128;

/// A synthetic trace.
pub struct Generator {
    shape: Shape,
    symbols: Symbols,
    skipped: Skipped,
    rng: Rng,
    threads: Vec<Thread>,
    shared: Shared,
    round: Round,
    plant: Option<Plant>,
    /// The thread whose turn it is.
    current: usize,
    /// The latest rank in the hidden order.
    clock: Rank,
    /// How many events there are so far.
    emitted: EventNo,
    /// The next event that is not left to chance.
    scripted: EventNo,
    /// How many events are left over when everything open has been closed.
    slack: u64,
    /// Outside of blocks, a number of 32 random bits below this one begins a transaction.
    begin_below: u64,
    /// Which variables threads other than the long-running one only read.
    published_from: u32,
    volatile_below: u32,
}

impl Generator {
    /// A trace of this shape.
    pub fn new(shape: Shape) -> Result<Generator, ShapeError> {
        shape.check()?;
        let mut rng = Rng::new(shape.seed);
        let plant = Plant::new(&shape, &mut rng);
        let published = if shape.long_transaction { (shape.variables / 8).max(1) } else { 0 };
        let mut generator = Generator {
            symbols: names(&shape),
            skipped: Skipped::default(),
            threads: vec![Thread::default(); shape.threads as usize],
            shared: Shared::new(shape.variables, shape.locks, SEMAPHORES),
            round: Round::default(),
            current: 0,
            clock: 0,
            emitted: 0,
            scripted: 0,
            slack: shape.events - shape.scripted(),
            begin_below: begin_below(&shape),
            published_from: shape.variables - published,
            volatile_below: if shape.volatiles { shape.variables.div_ceil(8) } else { 0 },
            rng,
            plant,
            shape,
        };
        generator.schedule_script();
        Ok(generator)
    }

    #[inline]
    fn next(&mut self) -> Event {
        let (thread, op) = if self.emitted + 1 == self.scripted {
            self.script()
        } else if self.slack == 0 {
            self.close_one()
        } else {
            self.take_turn()
        };
        self.emitted += 1;
        let site = Site::number(self.rng.below(SITES));
        Event { thread: ThreadId(thread as u32), op, site }
    }

    /// A thread does what it likes. It keeps its turn for some events, as on a real machine.
    #[inline]
    fn take_turn(&mut self) -> (usize, Op) {
        /// Turns of a few events on average, so that transactions of threads overlap.
        const SWITCH_ONE_IN: u64 = 4;
        let bits = self.rng.next();
        let mut thread = self.current;
        if bits.is_multiple_of(SWITCH_ONE_IN) {
            thread = rng::scale(bits, self.shape.threads) as usize;
        }
        for candidate in [thread, self.current] {
            if let Some(op) = self.act(candidate) {
                self.current = candidate;
                return (candidate, op);
            }
        }
        self.find_turn(thread)
    }

    /// Both the chosen thread and the one before it are blocked.
    #[cold]
    fn find_turn(&mut self, from: usize) -> (usize, Op) {
        for thread in (from..self.threads.len()).chain(0..from) {
            if let Some(op) = self.act(thread) {
                self.current = thread;
                return (thread, op);
            }
        }
        self.close_one()
    }

    /// Any thread closes something; the long-running transaction goes last.
    fn close_one(&mut self) -> (usize, Op) {
        let left = self.shape.events - self.emitted;
        let joins = self.shape.joins();
        if left <= joins {
            return (0, Op::Join(ThreadId(self.shape.threads - left as u32)));
        }
        let from = self.rng.below(self.shape.threads) as usize;
        for thread in (from..self.threads.len()).chain(0..from) {
            if let Some(op) = self.close(thread) {
                return (thread, op);
            }
        }
        unreachable!("{left} events are left to close, but no thread can close anything")
    }

    /// Whether this thread's outermost block must stay open for now.
    fn must_stay_open(&self, thread: usize) -> bool {
        let is_last = self.shape.events - self.emitted == self.shape.joins() + 1;
        self.is_long(thread) && !is_last || self.plant.as_ref().is_some_and(|p| p.holds(thread))
    }

    /// Whether this thread runs the long transaction.
    #[inline(always)]
    fn is_long(&self, thread: usize) -> bool {
        self.shape.long_transaction && thread + 1 == self.threads.len()
    }

    /// Whether this thread must not block, for the sake of a violation that is still to come.
    fn is_set_aside(&self, thread: usize) -> bool {
        self.plant.as_ref().is_some_and(|p| p.pair.contains(&thread))
    }

    /// The forks, the begin of the long-running transaction, the planted violation.
    #[cold]
    fn script(&mut self) -> (usize, Op) {
        let number = self.emitted + 1;
        let done = if number <= self.shape.joins() {
            self.clock += 1;
            (0, Op::Fork(ThreadId(number as u32)))
        } else if number <= self.shape.opening() {
            let long = self.threads.len() - 1;
            (long, self.begin(long, u64::MAX))
        } else {
            self.planted()
        };
        self.emitted = number;
        self.schedule_script();
        self.emitted = number - 1;
        done
    }

    fn schedule_script(&mut self) {
        self.scripted = if self.emitted < self.shape.opening() {
            self.emitted + 1
        } else {
            self.plant.as_ref().map_or(EventNo::MAX, |plant| plant.due)
        };
    }

    fn planted(&mut self) -> (usize, Op) {
        let variable = VarId(self.shape.variables);
        let Some(mut plant) = self.plant.take() else { return self.close_one() };
        let done = match plant.step {
            ScriptStep::Read => {
                plant.pair.sort_by_key(|&t| self.threads[t].running_rank());
                let victim = plant.pair[0];
                if self.threads[victim].running_rank() == Rank::MAX {
                    (plant.due, plant.began) = (plant.due + 1, true);
                    self.plant = Some(plant);
                    return (victim, self.begin(victim, 2));
                }
                // The script has a begin and an end in it, unless one was there anyway.
                self.slack += if plant.began { 0 } else { 2 };
                (victim, Op::Read(variable))
            }
            ScriptStep::Interfere => {
                self.rank_of(plant.pair[1]);
                (plant.pair[1], Op::Write(variable))
            }
            ScriptStep::Strike => (plant.pair[0], Op::Write(variable)),
        };
        self.plant = plant.after();
        done
    }

    /// The rank in the hidden order of what the thread does next.
    #[inline(always)]
    fn rank_of(&mut self, thread: usize) -> Rank {
        let thread = &self.threads[thread];
        if thread.blocks > 0 {
            return thread.rank;
        }
        self.clock += 1;
        self.clock
    }

    /// Begins an outermost block of this many events.
    fn begin(&mut self, thread: usize, length: u64) -> Op {
        self.clock += 1;
        let label = LabelId(self.rng.below(LABELS));
        let state = &mut self.threads[thread];
        state.rank = self.clock;
        state.base = state.stack.len();
        state.left = length - 1;
        state.push(Item::Block(label));
        Op::Begin(label)
    }
}

impl Source for Generator {
    fn read(&mut self, batch: &mut Batch) -> Result<(), Error> {
        batch.events.clear();
        batch.lines = Lines::None;
        batch.counts = self.symbols.counts();
        let count = (self.shape.events - self.emitted).min(BATCH as u64);
        batch.events.extend((0..count).map(|_| self.next()));
        Ok(())
    }

    fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    fn skipped(&self) -> &Skipped {
        &self.skipped
    }
}

/// The probability to begin that gives the share its value: a transaction of mean length l is
/// preceded by l (1 - s) / s events on the average.
fn begin_below(shape: &Shape) -> u64 {
    let share = shape.in_transactions;
    let begin = share / (share + f64::from(shape.transaction_length) * (1.0 - share));
    (begin * (1u64 << 32) as f64) as u64
}

fn names(shape: &Shape) -> Symbols {
    let mut symbols = Symbols::default();
    number(&mut symbols.threads, "T", shape.threads);
    number(symbols.vars.named_mut(), "v", shape.variables);
    number(&mut symbols.locks, "l", shape.locks);
    number(&mut symbols.labels, "m", LABELS);
    if shape.semaphores {
        number(&mut symbols.semaphores, "s", SEMAPHORES);
    }
    if shape.barriers {
        number(&mut symbols.barriers, "b", 1);
    }
    if shape.violation_at.is_some() {
        symbols.var(b"planted");
    }
    symbols
}

fn number(names: &mut Interner, prefix: &str, count: u32) {
    let mut name = String::new();
    for i in 1..=count {
        name.clear();
        // A string takes everything.
        let _ = write!(name, "{prefix}{i}");
        names.intern(name.as_bytes());
    }
}
