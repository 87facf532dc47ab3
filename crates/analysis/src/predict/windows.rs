//! A long trace in windows that overlap by half, searched side by side on all cores.
//!
//! A window holds so many events that several threads have to do with, and at most [`MOST_EVENTS`]
//! in all. Everything before it happens as observed; what of that still matters is carried into it. So
//! a prediction in a window is one of the whole trace, and memory does not depend on its length. What
//! is farther apart than a window is not found.
//!
//! Windows are searched in rounds of [`ROUND`]. What a round learns about sites is merged in the order of the
//! windows before the next one starts, so the result does not depend on the number of threads.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use hashbrown::{HashMap, HashSet};
use paceline_trace::{Batch, Event, EventNo, Op};

use super::reordering::{Counts, Predicted, Shown, Stretch, Target};
use super::search::{Goal, Known, Searched, Sites, Tries, search};
use super::standing::Standing;
use crate::Analysis;

/// Windows of a round: enough for several cores, few enough that what is learned is soon known.
const ROUND: usize = 8;

/// The most events of a window, those of single threads included: 2 MB.
const MOST_EVENTS: usize = 1 << 17;

/// The search of a trace may take so long, however short the trace is.
const AT_LEAST: Duration = Duration::from_secs(10);

/// At most so many predictions are kept with their witnesses; further ones are only counted.
const MOST_PREDICTED: usize = 10_000;

/// How to predict.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Options {
    /// What is predicted.
    pub goal: Goal,
    /// How many events that matter a window holds.
    pub window: usize,
    /// How many seconds the search may take for a million events; unlimited if there is no number.
    pub budget: Option<f64>,
    /// How many threads search; 0 for as many as there are cores.
    pub workers: usize,
    /// Acquires of each lock keep their order, as in sync-preserving methods. For comparisons.
    pub keeps_lock_order: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            goal: Goal::Atomicity,
            window: 4096,
            budget: Some(4.0),
            workers: 0,
            keeps_lock_order: false,
        }
    }
}

/// Which variables are written and touched by several threads, and which locks are: the others do not
/// count for the size of a window. Noted in a pass before the search.
#[derive(Default, Debug)]
pub struct Sharing {
    variables: Vec<u8>,
    locks: Vec<u8>,
}

const NONE: u8 = 0;
/// Several threads, or one whose number is too high for a byte.
const SEVERAL: u8 = 0x7f;
const WRITTEN: u8 = 0x80;

fn touch(touched: &mut Vec<u8>, index: usize, event: &Event, writes: bool) {
    if touched.len() <= index {
        touched.resize(index + 1, NONE);
    }
    let thread = event.thread.0.saturating_add(1).min(SEVERAL.into()) as u8;
    let before = touched[index] & SEVERAL;
    let several = if before == NONE || before == thread { thread } else { SEVERAL };
    touched[index] |= several | if writes { WRITTEN } else { NONE };
}

impl Sharing {
    fn event(&mut self, event: &Event) {
        if let Some(access) = event.op.access() {
            touch(&mut self.variables, access.variable.index(), event, access.writes);
        } else if let Some(lock) = event.op.lock() {
            touch(&mut self.locks, lock.index(), event, true);
        }
    }

    fn matters(&self, op: Op) -> bool {
        let is_shared = |touched: Option<&u8>| touched.is_none_or(|&it| it == SEVERAL | WRITTEN);
        match op {
            Op::Read(x)
            | Op::AtomicRead(x)
            | Op::Write(x)
            | Op::AtomicWrite(x)
            | Op::AtomicUpdate(x) => is_shared(self.variables.get(x.index())),
            Op::Acquire(l)
            | Op::Release(l)
            | Op::AcquireShared(l)
            | Op::ReleaseShared(l)
            | Op::PreWait(l)
            | Op::PostWait(l)
            | Op::Notify(l) => is_shared(self.locks.get(l.index())),
            Op::Fork(_)
            | Op::Join(_)
            | Op::Post(_)
            | Op::Take(_)
            | Op::BarrierEnter(_)
            | Op::BarrierExit(_) => true,
            Op::Begin(_) | Op::End(_) | Op::Yield => false,
        }
    }
}

impl Analysis for Sharing {
    fn events(&mut self, batch: &Batch) -> ControlFlow<()> {
        batch.events.iter().for_each(|event| self.event(event));
        ControlFlow::Continue(())
    }

    fn finish(&mut self) {}
}

/// A window that is being filled.
struct Filling {
    stretch: Stretch,
    matter: usize,
}

impl Filling {
    fn new(standing: &Standing, first: EventNo) -> Filling {
        let (carried, events) = standing.carried().into_iter().unzip();
        Filling { stretch: Stretch { events, carried, first }, matter: 0 }
    }

    fn len(&self) -> usize {
        self.stretch.events.len() - self.stretch.carried.len()
    }
}

/// Predicts what the observed run could have shown.
pub struct Predictor {
    options: Options,
    sharing: Sharing,
    standing: Standing,
    current: Filling,
    next: Option<Filling>,
    /// Whether the current window has events that no searched window had.
    has_news: bool,
    ready: Vec<Stretch>,
    events: EventNo,
    spent: Duration,
    observed: HashSet<EventNo>,
    tries: HashMap<Sites, Tries>,
    predicted: Vec<Predicted>,
    targets: HashMap<Sites, Target>,
    counts: Counts,
}

impl Predictor {
    /// A fresh one. `observed` holds what the observed order shows already: the `begin`s of refuted
    /// blocks, the events that need a yield, or the accesses of races.
    pub fn new(
        options: Options,
        sharing: Sharing,
        observed: impl IntoIterator<Item = EventNo>,
    ) -> Predictor {
        let standing = Standing::default();
        Predictor {
            options,
            sharing,
            current: Filling::new(&standing, 1),
            standing,
            next: None,
            has_news: false,
            ready: Vec::new(),
            events: 0,
            spent: Duration::ZERO,
            observed: observed.into_iter().collect(),
            tries: HashMap::new(),
            predicted: Vec::new(),
            targets: HashMap::new(),
            counts: Counts::default(),
        }
    }

    /// What was predicted, in the order of the trace.
    pub fn predicted(&self) -> &[Predicted] {
        &self.predicted
    }

    /// What only values forbid.
    pub fn targets(&self) -> Vec<Target> {
        let mut targets: Vec<Target> = self.targets.values().cloned().collect();
        targets.sort_by_key(|target| target.block);
        targets
    }

    /// How often what happened.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// How long the search took.
    pub fn spent(&self) -> Duration {
        self.spent
    }

    fn event(&mut self, number: EventNo, event: &Event) {
        self.standing.event(number, event);
        let matters = usize::from(self.sharing.matters(event.op));
        for filling in [Some(&mut self.current), self.next.as_mut()].into_iter().flatten() {
            filling.stretch.events.push(*event);
            filling.matter += matters;
        }
        self.events = number;
        self.has_news = true;
        let is_over = |filling: &Filling, part: usize| {
            filling.matter * part >= self.options.window || filling.len() * part >= MOST_EVENTS
        };
        if self.next.is_none() && is_over(&self.current, 2) {
            self.next = Some(Filling::new(&self.standing, number + 1));
        }
        if is_over(&self.current, 1) {
            self.end_window();
        }
    }

    fn end_window(&mut self) {
        let next = self.next.take();
        let next = next.unwrap_or_else(|| Filling::new(&self.standing, self.events + 1));
        let full = std::mem::replace(&mut self.current, next);
        self.ready.push(full.stretch);
        self.has_news = false;
        if self.ready.len() == ROUND {
            self.search();
        }
    }

    /// Searches the windows that are ready.
    fn search(&mut self) {
        let start = Instant::now();
        let ready = std::mem::take(&mut self.ready);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let workers = match self.options.workers {
            0 => cores.min(ready.len()),
            workers => workers.min(ready.len()),
        };
        let allowed = self.options.budget.map(|seconds| {
            let all = Duration::from_secs_f64(seconds * self.events as f64 / 1e6);
            (AT_LEAST + all).saturating_sub(self.spent)
        });
        let known = Known {
            observed: &self.observed,
            tries: &self.tries,
            keeps_lock_order: self.options.keeps_lock_order,
        };
        let round =
            Round { ready: &ready, goal: self.options.goal, known, start, allowed, workers };
        let results = round.run();
        for searched in results {
            self.merge(searched);
        }
        self.spent += start.elapsed();
    }

    fn merge(&mut self, searched: Searched) {
        self.counts.add(&searched.counts);
        for (sites, tries) in searched.tries {
            let known = self.tries.entry(sites).or_default();
            known.failed += tries.failed;
            known.succeeded += tries.succeeded;
        }
        for (sites, target) in searched.targets {
            self.targets.entry(sites).or_insert(target);
        }
        for predicted in searched.predicted {
            let number = match predicted.shown {
                Shown::Refuted(block) => block.begin_event,
                Shown::MissingYield(event) => event,
                Shown::Race(..) => {
                    let is_known = self.predicted.iter().any(|it| it.shown == predicted.shown);
                    if !is_known && self.predicted.len() < MOST_PREDICTED {
                        self.predicted.push(predicted);
                    }
                    continue;
                }
            };
            if self.observed.insert(number) && self.predicted.len() < MOST_PREDICTED {
                self.predicted.push(predicted);
            }
        }
    }
}

/// Windows that are searched at once.
struct Round<'a> {
    ready: &'a [Stretch],
    goal: Goal,
    known: Known<'a>,
    start: Instant,
    allowed: Option<Duration>,
    workers: usize,
}

impl Round<'_> {
    /// The results, in the order of the windows.
    fn run(&self) -> Vec<Searched> {
        let next = AtomicUsize::new(0);
        let results: Vec<Mutex<Option<Searched>>> =
            self.ready.iter().map(|_| Mutex::default()).collect();
        let work = || {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(stretch) = self.ready.get(index) else { return };
                let searched = search(stretch, self.goal, &self.known, self.deadline(index));
                if let Ok(mut result) = results[index].lock() {
                    *result = Some(searched);
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.workers {
                scope.spawn(work);
            }
            work();
        });
        results.into_iter().filter_map(|result| result.into_inner().ok().flatten()).collect()
    }

    /// What is left of the budget is shared out among the windows that are left.
    fn deadline(&self, index: usize) -> Option<Instant> {
        let allowed = self.allowed?;
        let now = Instant::now();
        let left = allowed.saturating_sub(now - self.start);
        let windows = (self.ready.len() - index).div_ceil(self.workers) as u32;
        Some(now + left / windows)
    }
}

impl Analysis for Predictor {
    fn events(&mut self, batch: &Batch) -> ControlFlow<()> {
        for (number, event) in (batch.first..).zip(&batch.events) {
            self.event(number, event);
        }
        ControlFlow::Continue(())
    }

    fn finish(&mut self) {
        if self.has_news {
            self.end_window();
        }
        if !self.ready.is_empty() {
            self.search();
        }
        self.predicted.sort_by_key(|predicted| predicted.shown);
    }
}
