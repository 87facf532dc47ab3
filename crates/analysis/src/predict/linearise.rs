//! From a partial order to a sequence: a scheduler that runs the events of a cut, nearest to the
//! observed order first, under mutual exclusion and with every strict read seeing its write.
//!
//! In the quick mode it just runs, which is enough for most cuts. In the careful mode each write and
//! each acquire first commits itself to come before all others of its variable or lock that have not
//! run, the rules are applied, and on a cycle the event is held back. When no event can run, it goes
//! back to the last point with another choice, a bounded number of times.

use super::order::{Mark, Order};
use super::saturate::saturate;
use super::table::{Act, Index, Lane};

/// What comes of an attempt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    Found(Vec<Index>),
    /// There is no order: everything was tried.
    Impossible,
    /// The attempts are used up.
    GaveUp,
}

/// How to choose between events that can run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Hint {
    /// The one that was observed first.
    Observed,
    /// The one that was observed last.
    Reversed,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Written {
    Initial,
    By(Index),
}

/// One event that has run, and what is needed to take it back.
struct Run {
    index: Index,
    mark: Mark,
    written: Option<(u32, Written)>,
    /// Lanes that were tried here: they run nothing until something else has run.
    tried: Vec<Lane>,
    /// It commutes with everything that other lanes can do: no other choice is needed.
    is_forced: bool,
}

/// Runs the events of an order.
pub(super) struct Scheduler<'o, 'a> {
    order: &'o mut Order<'a>,
    is_careful: bool,
    hint: Hint,
    done: Vec<u32>,
    written: Vec<Written>,
    /// Strict reads that have yet to see each write; those of the initial value, by variable.
    pending: Vec<u32>,
    pending_initial: Vec<u32>,
    exclusive: Vec<Option<Lane>>,
    shared: Vec<u32>,
    runs: Vec<Run>,
    /// The order before anything has run.
    start: Mark,
}

impl<'o, 'a> Scheduler<'o, 'a> {
    pub fn new(order: &'o mut Order<'a>, is_careful: bool, hint: Hint) -> Self {
        let table = order.table;
        let mut scheduler = Scheduler {
            is_careful,
            hint,
            done: vec![0; table.lanes.len()],
            written: vec![Written::Initial; table.variables.len()],
            pending: vec![0; table.items.len()],
            pending_initial: vec![0; table.variables.len()],
            exclusive: vec![None; table.locks.len()],
            shared: vec![0; table.locks.len()],
            runs: Vec::new(),
            start: order.mark(),
            order,
        };
        for (index, _) in scheduler.order.cut.strict.iter().enumerate().filter(|it| *it.1) {
            if let Some(pending) =
                match (table.source[index], table.variable(table.items[index].act)) {
                    (Some(write), _) => scheduler.pending.get_mut(write as usize),
                    (None, Some(x)) => scheduler.pending_initial.get_mut(x as usize),
                    (None, None) => None,
                }
            {
                *pending += 1;
            }
        }
        scheduler
    }

    /// Runs everything, going back at most so often.
    pub fn run(mut self, mut retries: usize) -> Outcome {
        let total: u32 = self.order.cut.upto.iter().sum();
        let mut tried = Vec::new();
        while self.runs.len() < total as usize {
            if let Some((index, is_forced)) = self.choose(&mut tried) {
                self.perform(index, std::mem::take(&mut tried), is_forced);
                continue;
            }
            loop {
                let Some(run) = self.runs.pop() else { return Outcome::Impossible };
                self.take_back(&run);
                if !run.is_forced {
                    if retries == 0 {
                        return Outcome::GaveUp;
                    }
                    retries -= 1;
                    tried = run.tried;
                    tried.push(self.order.table.item(run.index).lane);
                    break;
                }
            }
        }
        Outcome::Found(self.runs.iter().map(|run| run.index).collect())
    }

    /// The next event to run; with its commitments, which end up in the order.
    fn choose(&mut self, tried: &mut Vec<Lane>) -> Option<(Index, bool)> {
        let table = self.order.table;
        let mut heads: Vec<Index> = Vec::with_capacity(self.done.len());
        for (lane, &done) in self.done.iter().enumerate() {
            if done < self.order.cut.upto[lane] && !tried.contains(&(lane as Lane)) {
                heads.push(table.event(lane as Lane, done));
            }
        }
        let is_choice = |index: Index| {
            table.variable(table.item(index).act).is_some()
                || matches!(table.item(index).act, Act::Acquire(_))
        };
        if tried.is_empty()
            && let Some(&index) =
                heads.iter().find(|&&index| !is_choice(index) && self.can_run(index))
        {
            return Some((index, true));
        }
        match self.hint {
            Hint::Observed => heads.sort_unstable(),
            Hint::Reversed => heads.sort_unstable_by(|a, b| b.cmp(a)),
        }
        for index in heads {
            if self.can_run(index) && self.commit(index) {
                return Some((index, false));
            }
            tried.push(table.item(index).lane);
        }
        None
    }

    fn can_run(&self, index: Index) -> bool {
        let table = self.order.table;
        let item = table.item(index);
        let lanes = self.done.iter().enumerate();
        for (lane, &done) in lanes {
            if lane as Lane != item.lane && self.order.before(index, lane as Lane) > done {
                return false;
            }
        }
        match item.act {
            Act::Read(x) => self.sees_its_write(index, x),
            Act::Write(x) => self.pending(x) == 0,
            Act::Update(x) => {
                let is_strict = self.order.cut.strict[index as usize];
                self.sees_its_write(index, x) && self.pending(x) == u32::from(is_strict)
            }
            Act::Acquire(section) => {
                let section = table.sections[section as usize];
                let lock = section.lock as usize;
                self.exclusive[lock].is_none() && (section.shared || self.shared[lock] == 0)
            }
            Act::Release(_)
            | Act::Fork(_)
            | Act::Join(_)
            | Act::Post(_)
            | Act::Take(_)
            | Act::Enter(_)
            | Act::Exit(_)
            | Act::Notify => true,
        }
    }

    fn sees_its_write(&self, read: Index, x: u32) -> bool {
        let source = self.order.table.source[read as usize].map_or(Written::Initial, Written::By);
        !self.order.cut.strict[read as usize] || self.written[x as usize] == source
    }

    /// How many strict reads have yet to see the variable as it is.
    fn pending(&self, x: u32) -> u32 {
        match self.written[x as usize] {
            Written::Initial => self.pending_initial[x as usize],
            Written::By(write) => self.pending[write as usize],
        }
    }

    /// Puts an event before all that it excludes and that have not run. Whether that can be.
    fn commit(&mut self, index: Index) -> bool {
        if !self.is_careful {
            return true;
        }
        let mark = self.order.mark();
        let is_possible = self.try_commit(index);
        if !is_possible {
            self.order.undo(mark);
        }
        is_possible
    }

    fn try_commit(&mut self, index: Index) -> bool {
        let table = self.order.table;
        let item = table.item(index);
        let (from, lists) = match item.act {
            Act::Write(x) | Act::Update(x) => (Some(index), &table.variables[x as usize].writes),
            Act::Acquire(section) => {
                let it = table.sections[section as usize];
                let lists = table.locks[it.lock as usize].excluded_by(it.shared);
                (self.order.release_of(index), lists)
            }
            Act::Read(_)
            | Act::Release(_)
            | Act::Fork(_)
            | Act::Join(_)
            | Act::Post(_)
            | Act::Take(_)
            | Act::Enter(_)
            | Act::Exit(_)
            | Act::Notify => return true,
        };
        for list in lists.iter().filter(|list| list.lane != item.lane) {
            let next = list.first_from(self.done[list.lane as usize]);
            let Some(next) = next.map(|position| table.event(list.lane, position)) else {
                continue;
            };
            if self.order.cut.has(table, next) {
                let Some(from) = from else { return false };
                if self.order.add(from, next).is_err() {
                    return false;
                }
            }
        }
        saturate(self.order).is_ok()
    }

    fn perform(&mut self, index: Index, tried: Vec<Lane>, is_forced: bool) {
        let table = self.order.table;
        let item = table.item(index);
        // The commitments were made before; going back undoes them with the mark of the run before.
        let mark = self.order.mark();
        let variable = table.variable(item.act);
        let written = variable.map(|x| (x, self.written[x as usize]));
        if self.order.cut.strict[index as usize] {
            self.count_reader(index, variable, u32::wrapping_sub);
        }
        if let (true, Some(x)) = (table.writes(index), variable) {
            self.written[x as usize] = Written::By(index);
        }
        self.hold(item.act, item.lane, true);
        self.done[item.lane as usize] += 1;
        self.runs.push(Run { index, mark, written, tried, is_forced });
    }

    fn count_reader(&mut self, read: Index, variable: Option<u32>, count: fn(u32, u32) -> u32) {
        match (self.order.table.source[read as usize], variable) {
            (Some(write), _) => {
                let pending = &mut self.pending[write as usize];
                *pending = count(*pending, 1);
            }
            (None, Some(x)) => {
                let pending = &mut self.pending_initial[x as usize];
                *pending = count(*pending, 1);
            }
            (None, None) => {}
        }
    }

    fn take_back(&mut self, run: &Run) {
        let table = self.order.table;
        let item = table.item(run.index);
        self.done[item.lane as usize] -= 1;
        self.hold(item.act, item.lane, false);
        if let Some((x, written)) = run.written {
            self.written[x as usize] = written;
        }
        if self.order.cut.strict[run.index as usize] {
            self.count_reader(run.index, table.variable(item.act), u32::wrapping_add);
        }
        let mark = self.runs.last().map_or(self.start, |run| run.mark);
        self.order.undo(mark);
    }

    /// The locks that an event takes or gives up; or the other way round, when it is taken back.
    fn hold(&mut self, act: Act, lane: Lane, forward: bool) {
        let takes = matches!(act, Act::Acquire(_)) == forward;
        let (Act::Acquire(section) | Act::Release(section)) = act else { return };
        let section = self.order.table.sections[section as usize];
        let lock = section.lock as usize;
        match (section.shared, takes) {
            (false, true) => self.exclusive[lock] = Some(lane),
            (false, false) => self.exclusive[lock] = None,
            (true, true) => self.shared[lock] += 1,
            (true, false) => self.shared[lock] -= 1,
        }
    }
}
