//! Interference density: at how many points of a program a reader must keep other threads in mind,
//! under three ways to reason about it (§7.1 of the cooperability paper, Figure 7).
//!
//! - *preemptive*: accesses to shared variables, and acquires;
//! - *atomic*: those of them that are outside of atomic blocks, and the points where an atomic
//!   block is entered from outside: another thread may interfere just before;
//! - *cooperative*: yields: the written ones, those that a wait or a join implies (the paper's
//!   figure counts them), and the missing ones.
//!
//! A point is a site of the trace, counted once however often it is executed; events without a
//! location count as one point. A variable is shared when two threads have accessed it. That may
//! turn out late, so the points where an unshared variable was accessed are kept. Most variables
//! have the same points as many others (the elements of an array), so each set of points is stored
//! once.
//!
//! The paper uses an atomicity checker to find the methods that are not atomic. Here the caller
//! names them; all other blocks count as atomic.

use std::ops::ControlFlow;

use hashbrown::{HashMap, HashSet};
use paceline_trace::{Batch, Event, LabelId, Op, Site, ThreadId, VarId};

use crate::Analysis;
use crate::cooperability::Inferred;

/// How to count.
#[derive(Clone, Default, Debug)]
pub struct Options {
    /// Blocks with these labels are not atomic.
    pub not_atomic: HashSet<LabelId>,
    /// A join yields only to the joined thread, so it does not count as a yield.
    pub join_yields_to_child: bool,
}

/// The points under one way of reasoning.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measure {
    /// How many interference points there are.
    pub points: usize,
    /// Points per line of code, if the number of lines is known.
    pub density: Option<f64>,
}

/// One program: a row of Figure 7.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Row {
    /// How many threads had events.
    pub threads: usize,
    /// Lines of code, if known.
    pub lines: Option<u64>,
    /// Every access and acquire.
    pub preemptive: Measure,
    /// Those outside of atomic blocks, and entries of atomic blocks.
    pub atomic: Measure,
    /// Yields.
    pub cooperative: Measure,
}

/// Counts interference points.
#[derive(Default)]
pub struct Density {
    options: Options,
    threads: Vec<Thread>,
    variables: Vec<Variable>,
    sets: PointSets,
    preemptive: HashSet<Site>,
    atomic: HashSet<Site>,
    yields: HashSet<Site>,
}

#[derive(Clone, Default)]
struct Thread {
    acted: bool,
    /// For each open block, whether it is atomic.
    blocks: Vec<bool>,
    /// How many open blocks are atomic.
    depth: usize,
}

#[derive(Clone, Copy)]
enum Variable {
    Untouched,
    Private(ThreadId, SetId),
    Shared,
}

impl Density {
    /// Starts counting.
    pub fn new(options: Options) -> Density {
        Density { options, ..Density::default() }
    }

    /// The counts, with the missing yields of the same trace, for a program of this many lines.
    pub fn row(&self, missing: &Inferred, lines: Option<u64>) -> Row {
        let measure = |points: usize| Measure {
            points,
            density: lines.filter(|&n| n > 0).map(|n| points as f64 / n as f64),
        };
        let inferred = missing.sites().iter().map(|site| site.first.site);
        let new = inferred.filter(|site| !self.yields.contains(site)).count();
        Row {
            threads: self.threads.iter().filter(|t| t.acted).count(),
            lines,
            preemptive: measure(self.preemptive.len()),
            atomic: measure(self.atomic.len()),
            cooperative: measure(self.yields.len() + new),
        }
    }

    fn reserve(&mut self, threads: usize, variables: usize) {
        if self.threads.len() < threads {
            self.threads.resize(threads, Thread::default());
        }
        if self.variables.len() < variables {
            self.variables.resize(variables, Variable::Untouched);
        }
    }

    fn event(&mut self, event: &Event) {
        self.threads[event.thread.index()].acted = true;
        match event.op {
            Op::Read(x)
            | Op::Write(x)
            | Op::AtomicRead(x)
            | Op::AtomicWrite(x)
            | Op::AtomicUpdate(x) => self.access(event, x),
            Op::Acquire(_) | Op::AcquireShared(_) | Op::PostWait(_) => {
                let point = self.point(event);
                self.count(point);
            }
            Op::Begin(label) => self.begin(event, label),
            Op::End(_) => self.end(event.thread),
            Op::Yield | Op::PreWait(_) => {
                self.yields.insert(event.site);
            }
            Op::Join(_) => {
                if !self.options.join_yields_to_child {
                    self.yields.insert(event.site);
                }
            }
            Op::Release(_)
            | Op::ReleaseShared(_)
            | Op::Fork(_)
            | Op::Notify(_)
            | Op::Post(_)
            | Op::Take(_)
            | Op::BarrierEnter(_)
            | Op::BarrierExit(_) => {}
        }
    }

    fn point(&self, event: &Event) -> Point {
        Point { site: event.site, atomic: self.threads[event.thread.index()].depth > 0 }
    }

    fn count(&mut self, point: Point) {
        self.preemptive.insert(point.site);
        if !point.atomic {
            self.atomic.insert(point.site);
        }
    }

    fn access(&mut self, event: &Event, x: VarId) {
        let point = self.point(event);
        let (owner, set) = match self.variables[x.index()] {
            Variable::Untouched => (event.thread, PointSets::EMPTY),
            Variable::Private(owner, set) => (owner, set),
            Variable::Shared => return self.count(point),
        };
        let set = self.sets.with(set, point);
        if owner == event.thread {
            self.variables[x.index()] = Variable::Private(owner, set);
        } else {
            self.variables[x.index()] = Variable::Shared;
            self.sets.points(set).to_vec().into_iter().for_each(|point| self.count(point));
        }
    }

    fn begin(&mut self, event: &Event, label: LabelId) {
        let atomic = !self.options.not_atomic.contains(&label);
        let thread = &mut self.threads[event.thread.index()];
        if atomic && thread.depth == 0 {
            self.atomic.insert(event.site);
        }
        thread.blocks.push(atomic);
        thread.depth += usize::from(atomic);
    }

    fn end(&mut self, thread: ThreadId) {
        let thread = &mut self.threads[thread.index()];
        thread.depth -= usize::from(thread.blocks.pop().unwrap_or(false));
    }
}

impl Analysis for Density {
    fn events(&mut self, batch: &Batch) -> ControlFlow<()> {
        self.reserve(batch.counts.threads, batch.counts.vars);
        batch.events.iter().for_each(|event| self.event(event));
        ControlFlow::Continue(())
    }

    fn finish(&mut self) {}
}

/// Where an access or acquire happened.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Point {
    site: Site,
    /// Whether it was inside of an atomic block.
    atomic: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct SetId(u32);

/// Sets of points, each stored once.
struct PointSets {
    sets: Vec<Vec<Point>>,
    by_points: HashMap<Vec<Point>, SetId>,
    /// What a set becomes with one more point.
    next: HashMap<(SetId, Point), SetId>,
}

impl Default for PointSets {
    fn default() -> Self {
        PointSets { sets: vec![Vec::new()], by_points: HashMap::new(), next: HashMap::new() }
    }
}

impl PointSets {
    const EMPTY: SetId = SetId(0);

    fn points(&self, set: SetId) -> &[Point] {
        &self.sets[set.0 as usize]
    }

    /// The set with one more point.
    fn with(&mut self, set: SetId, point: Point) -> SetId {
        if let Some(&next) = self.next.get(&(set, point)) {
            return next;
        }
        let next = self.find(set, point);
        self.next.insert((set, point), next);
        next
    }

    fn find(&mut self, set: SetId, point: Point) -> SetId {
        let Err(at) = self.points(set).binary_search(&point) else { return set };
        let mut points = self.points(set).to_vec();
        points.insert(at, point);
        let new = SetId(self.sets.len() as u32);
        let found = *self.by_points.entry(points.clone()).or_insert(new);
        if found == new {
            self.sets.push(points);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cooperability::{self, Cooperability};
    use crate::testing::random;
    use paceline_trace::Trace;

    fn row(trace: &Trace, options: Options, lines: Option<u64>) -> Row {
        let child = options.join_yields_to_child;
        let mut density = Density::new(options);
        let _ = density.events(&trace.batch());
        let options = cooperability::Options { join_yields_to_child: child, ..Default::default() };
        let mut yields = Cooperability::new(options);
        let _ = yields.events(&trace.batch());
        density.row(yields.inferred(), lines)
    }

    fn points(trace: &Trace, options: Options) -> [usize; 3] {
        let row = row(trace, options, None);
        [row.preemptive, row.atomic, row.cooperative].map(|m| m.points)
    }

    /// Every event of the notation has a site of its own.
    fn points_of(line: &str) -> [usize; 3] {
        points(&Trace::parse(line).unwrap(), Options::default())
    }

    #[test]
    fn private_variables_do_not_count() {
        assert_eq!(points_of("1:w(x) 1:r(x) 1:rel(l) 2:w(y)"), [0, 0, 0]);
    }

    #[test]
    fn a_shared_variable_counts_from_its_first_access() {
        assert_eq!(points_of("1:w(x) 1:r(x) 1:acq(l) 2:r(x) 1:r(x)"), [5, 5, 0]);
    }

    #[test]
    fn inside_of_an_atomic_block_only_the_entry_counts() {
        let line = "1:begin(m) 1:acq(l) 1:begin(n) 1:w(x) 1:end(n) 1:end(m) 2:w(x)";
        assert_eq!(points_of(line), [3, 2, 0]);
    }

    #[test]
    fn blocks_that_are_not_atomic_do_not_protect() {
        let trace =
            Trace::parse("1:begin(m) 1:w(x) 1:begin(n) 1:w(x) 1:end(n) 1:end(m) 2:w(x)").unwrap();
        let label = LabelId(trace.symbols.labels.get(b"m").unwrap());
        let not_atomic = HashSet::from([label]);
        let options = Options { not_atomic, ..Options::default() };
        assert_eq!(points(&trace, options), [3, 3, 0]);
    }

    #[test]
    fn yields_are_written_implied_or_missing() {
        // The last event needs a yield, the others have one or imply one.
        let line = "1:yield 1:acq(l) 1:prewait(l) 1:postwait(l) 1:fork(2) 2:r(x) 1:join(2) \
                    1:w(x) 3:w(x) 1:w(x)";
        assert_eq!(points_of(line)[2], 4);
        let options = Options { join_yields_to_child: true, ..Options::default() };
        assert_eq!(points(&Trace::parse(line).unwrap(), options)[2], 3);
    }

    #[test]
    fn density_is_points_per_line() {
        let trace = Trace::parse("1:w(x) 2:w(x) 1:w(x)").unwrap();
        let row = row(&trace, Options::default(), Some(100));
        assert_eq!((row.threads, row.lines), (2, Some(100)));
        assert_eq!(row.preemptive, Measure { points: 3, density: Some(0.03) });
        assert_eq!(row.cooperative, Measure { points: 1, density: Some(0.01) });
    }

    /// The definition, on the whole trace.
    fn plain_points(trace: &Trace) -> [usize; 2] {
        let users = |x: VarId| {
            let of_x = trace.events.iter().filter(|e| e.op.variable() == Some(x));
            of_x.map(|e| e.thread).collect::<HashSet<_>>().len()
        };
        let mut depth = HashMap::new();
        let (mut preemptive, mut atomic) = (HashSet::new(), HashSet::new());
        for event in &trace.events {
            let depth: &mut usize = depth.entry(event.thread).or_default();
            let acquires =
                matches!(event.op, Op::Acquire(_) | Op::AcquireShared(_) | Op::PostWait(_));
            let is_point = acquires || event.op.variable().is_some_and(|x| users(x) > 1);
            let is_call = matches!(event.op, Op::Begin(_));
            if is_point {
                preemptive.insert(event.site);
            }
            if (is_point || is_call) && *depth == 0 {
                atomic.insert(event.site);
            }
            *depth += usize::from(is_call);
            *depth -= usize::from(matches!(event.op, Op::End(_)));
        }
        [preemptive.len(), atomic.len()]
    }

    #[test]
    fn points_are_those_of_the_definition() {
        random::check(1000, 60, |trace| {
            let mut trace = trace.clone();
            // Few sites, so that many events share them.
            trace.events.iter_mut().enumerate().for_each(|(i, e)| {
                e.site = Site::number((i * i) as u32 % 13);
            });
            let (found, expected) = (points(&trace, Options::default()), plain_points(&trace));
            if found[..2] == expected { Ok(()) } else { Err(format!("{found:?}, {expected:?}")) }
        });
    }
}
