//! The search of one stretch: candidates, and for each one cut, order, saturation, sequence and
//! certificate.

use std::time::Instant;

use hashbrown::{HashMap, HashSet};
use paceline_trace::{Event, EventNo, LabelId, Op, Site};

use super::candidate::{Candidate, SMALL, candidates};
use super::certify::certify;
use super::cut::{Cut, Cuts};
use super::judge::Renamed;
use super::linearise::{Hint, Outcome, Scheduler};
use super::order::{Base, Cycle, Order};
use super::races::{self, Pair};
use super::reordering::{Block, Counts, Predicted, Shown, Stretch, Target};
use super::saturate::saturate;
use super::spans;
use super::table::{Act, Index, Span, Table};
use crate::explain::EventRef;

/// What is predicted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Goal {
    /// Blocks that are refuted.
    Atomicity,
    /// Yields that are missing.
    Cooperability,
    /// Accesses that race.
    Races,
}

/// The sites of a candidate: those that agree in them show the same, or fail for the same reason.
pub(super) type Sites = [Site; 5];

/// What is known about candidates from some sites.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Tries {
    pub failed: u32,
    pub succeeded: u32,
}

/// A candidate from some sites is tried until it has failed so often, or succeeded once. The values
/// and locks of another instance can differ, so one failure is not enough. Chosen, not measured.
const MOST_FAILURES: u32 = 4;

/// Smaller stretches are searched for every block instance.
const UNPRUNED: usize = 256;

/// So many cuts are tried for a candidate of a small stretch, and of a larger one.
const CUTS: (usize, usize) = (60, 24);

/// So often a search goes back in a small stretch, and in a larger one.
const RETRIES: (usize, usize) = (20_000, 32);

/// What is known before the search.
pub(super) struct Known<'a> {
    /// What was observed already: `begin`s of refuted blocks, events that need a yield; both accesses
    /// of observed races.
    pub observed: &'a HashSet<EventNo>,
    pub tries: &'a HashMap<Sites, Tries>,
    /// The locks' sections keep their order; for comparisons.
    pub keeps_lock_order: bool,
}

/// What the search of a stretch brought.
#[derive(Default)]
pub(super) struct Searched {
    pub predicted: Vec<Predicted>,
    pub targets: Vec<(Sites, Target)>,
    pub counts: Counts,
    pub tries: HashMap<Sites, Tries>,
}

/// How an attempt ended.
enum Attempt {
    /// The indices of the stretch in their new order, and those that diverge.
    Certified(Vec<usize>, Vec<usize>),
    Impossible,
    Undecided,
}

/// Searches a stretch until the deadline.
pub(super) fn search(
    stretch: &Stretch,
    goal: Goal,
    known: &Known<'_>,
    deadline: Option<Instant>,
) -> Searched {
    let table = Table::new(stretch);
    let base = Base::new(&table);
    let renamed = Renamed::new(stretch);
    let mut search = Search {
        stretch,
        table: &table,
        base: &base,
        renamed: &renamed,
        goal,
        known,
        deadline,
        found: HashSet::new(),
        result: Searched::default(),
    };
    search.result.counts.windows = 1;
    match goal {
        Goal::Atomicity => search.spans(&spans::blocks(stretch, &table)),
        Goal::Cooperability => search.spans(&spans::transactions(stretch, &table)),
        Goal::Races => search.races(),
    }
    search.result
}

struct Search<'a> {
    stretch: &'a Stretch,
    table: &'a Table,
    base: &'a Base,
    renamed: &'a Renamed,
    goal: Goal,
    known: &'a Known<'a>,
    deadline: Option<Instant>,
    /// What has been shown in this stretch, by the numbers of events.
    found: HashSet<EventNo>,
    result: Searched,
}

impl Search<'_> {
    fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() > deadline)
    }

    fn is_small(&self) -> bool {
        self.table.items.len() <= SMALL
    }

    fn spans(&mut self, spans: &[Span]) {
        for span in spans {
            let number = self.stretch.number(span.begin as usize);
            if self.known.observed.contains(&number) || self.found.contains(&number) {
                continue;
            }
            if self.is_late() {
                self.result.counts.not_tried += 1;
                continue;
            }
            let found = candidates(self.table, span);
            for (i, candidate) in found.iter().enumerate() {
                if self.is_late() {
                    self.result.counts.not_tried += (found.len() - i) as u64;
                    break;
                }
                if self.is_alike(sites(self.table, span, candidate)) {
                    self.result.counts.alike += 1;
                    continue;
                }
                self.try_span(span, candidate);
                if self.found.contains(&number) {
                    break;
                }
            }
        }
    }

    fn is_alike(&self, sites: Sites) -> bool {
        if self.table.items.len() <= UNPRUNED {
            return false;
        }
        let before = self.known.tries.get(&sites).copied().unwrap_or_default();
        let here = self.result.tries.get(&sites).copied().unwrap_or_default();
        before.succeeded + here.succeeded > 0 || before.failed + here.failed >= MOST_FAILURES
    }

    fn try_span(&mut self, span: &Span, candidate: &Candidate) {
        let sites = sites(self.table, span, candidate);
        self.result.counts.tried += 1;
        let attempt = self.attempt(&candidate.goal, None, Some(span));
        let tries = self.result.tries.entry(sites).or_default();
        match attempt {
            Attempt::Certified(order, diverged) => {
                tries.succeeded += 1;
                self.result.counts.certified += 1;
                self.report(&candidate.goal, &order, &diverged);
            }
            Attempt::Undecided => {
                tries.failed += 1;
                self.result.counts.undecided += 1;
            }
            Attempt::Impossible => {
                tries.failed += 1;
                let is_first = tries.failed == 1;
                self.forbidden(span, candidate, is_first);
            }
        }
    }

    /// No order was found: would there be one with other values?
    fn forbidden(&mut self, span: &Span, candidate: &Candidate, is_first: bool) {
        let is_worth_it = self.goal == Goal::Atomicity && (is_first || self.is_small());
        if !is_worth_it || !self.is_possible_without_values(&candidate.goal) {
            self.result.counts.impossible += 1;
            return;
        }
        self.result.counts.other_value += 1;
        let goal = self.numbers(&candidate.goal);
        let target = Target { block: self.block(span.begin as usize), goal };
        self.result.targets.push((sites(self.table, span, candidate), target));
    }

    fn is_possible_without_values(&self, goal: &[(Index, Index)]) -> bool {
        let most = if self.is_small() { CUTS.0 } else { CUTS.1 };
        let cuts = Cuts::new(self.table, self.prefixes(goal), &[], false, most);
        for cut in cuts {
            let Ok(mut order) = self.order(cut, goal, None, false) else { continue };
            let outcome = Scheduler::new(&mut order, false, Hint::Observed).run(0);
            if matches!(outcome, Outcome::Found(_)) {
                return true;
            }
            let outcome = Scheduler::new(&mut order, true, Hint::Observed).run(RETRIES.1);
            if matches!(outcome, Outcome::Found(_)) {
                return true;
            }
        }
        false
    }

    /// What a certified order shows, besides what has been shown before.
    fn report(&mut self, goal: &[(Index, Index)], order: &[usize], diverged: &[usize]) {
        let shown = match self.goal {
            Goal::Atomicity => self.renamed.refuted(order, diverged),
            Goal::Cooperability => self.renamed.missing_yields(order, diverged),
            Goal::Races => order[order.len() - 2..].to_vec(),
        };
        let is_race = self.goal == Goal::Races;
        for &at in if is_race { &shown[..1] } else { &shown[..] } {
            let number = self.stretch.number(at);
            if self.known.observed.contains(&number) || !self.found.insert(number) && !is_race {
                continue;
            }
            let shown = match self.goal {
                Goal::Atomicity => Shown::Refuted(self.block(at)),
                Goal::Cooperability => Shown::MissingYield(number),
                Goal::Races => {
                    let other = self.stretch.number(shown[1]);
                    Shown::Race(number.min(other), number.max(other))
                }
            };
            let predicted = self.predicted(shown, at, goal, order, diverged);
            self.result.predicted.push(predicted);
        }
    }

    fn predicted(
        &self,
        shown: Shown,
        at: usize,
        goal: &[(Index, Index)],
        order: &[usize],
        diverged: &[usize],
    ) -> Predicted {
        let carried = self.stretch.carried.len();
        let number = |&at: &usize| self.stretch.number(at);
        let is_block = self.goal == Goal::Atomicity;
        let explain = || self.renamed.explanation(self.stretch, order, diverged, at);
        let explanation = is_block.then(explain).flatten();
        Predicted {
            shown,
            goal: self.numbers(goal),
            after: self.stretch.first - 1,
            witness: order[carried..].iter().map(number).collect(),
            diverging: diverged.iter().map(number).collect(),
            reversed: self.reversed(order),
            explanation,
            shown_event: Some(self.event_ref(at)),
            events: self.events_of(goal, order),
        }
    }

    /// Neighbouring sections of a lock that changed places.
    fn reversed(&self, order: &[usize]) -> Vec<(EventNo, EventNo)> {
        let mut last = HashMap::new();
        let mut reversed = Vec::new();
        for &at in order {
            if let Op::Acquire(l) | Op::AcquireShared(l) | Op::PostWait(l) =
                self.stretch.events[at].op
                && let Some(before) = last.insert(l, at)
                && before > at
            {
                reversed.push((self.stretch.number(at), self.stretch.number(before)));
            }
        }
        reversed
    }

    /// The events of a goal, in their new order.
    fn events_of(&self, goal: &[(Index, Index)], order: &[usize]) -> Vec<EventRef> {
        let ends = goal.iter().flat_map(|&(a, b)| [a, b]);
        let ends: HashSet<usize> = ends.map(|index| self.table.item(index).at as usize).collect();
        order.iter().filter(|at| ends.contains(*at)).map(|&at| self.event_ref(at)).collect()
    }

    fn event_ref(&self, at: usize) -> EventRef {
        EventRef { number: self.stretch.number(at), event: self.stretch.events[at] }
    }

    fn numbers(&self, goal: &[(Index, Index)]) -> Vec<(EventNo, EventNo)> {
        let number = |index: Index| self.stretch.number(self.table.item(index).at as usize);
        goal.iter().map(|&(a, b)| (number(a), number(b))).collect()
    }

    fn block(&self, begin: usize) -> Block {
        let Event { thread, op, site } = self.stretch.events[begin];
        let label = if let Op::Begin(label) = op { label } else { LabelId::UNNAMED };
        Block { begin_event: self.stretch.number(begin), thread, label, site }
    }

    fn prefixes(&self, goal: &[(Index, Index)]) -> Vec<u32> {
        let mut upto = vec![0; self.table.lanes.len()];
        let carried = (0..self.table.carried as Index).map(|index| (index, index));
        for (a, b) in goal.iter().copied().chain(carried) {
            for index in [a, b] {
                let item = self.table.item(index);
                let upto = &mut upto[item.lane as usize];
                *upto = (*upto).max(item.position + 1);
            }
        }
        upto
    }

    /// Tries a goal: each update at its ends as keeping what it saw and as losing it, and each cut.
    fn attempt(&self, goal: &[(Index, Index)], pair: Option<Pair>, span: Option<&Span>) -> Attempt {
        let ends = goal.iter().flat_map(|&(a, b)| [a, b]);
        let mut updates: Vec<Index> = ends.filter(|&end| self.table.is_update(end)).collect();
        updates.sort_unstable();
        updates.dedup();
        let mut choices = vec![Vec::new()];
        if !updates.is_empty() {
            choices.insert(0, updates);
        }
        let mut is_proved = true;
        for keep in &choices {
            let most = if self.is_small() { CUTS.0 } else { CUTS.1 };
            let upto =
                pair.map_or_else(|| self.prefixes(goal), |pair| self.prefixes(&[pair.ends()]));
            let mut cuts = Cuts::new(self.table, upto, keep, true, most);
            for cut in &mut cuts {
                match self.attempt_cut(cut, goal, pair, span) {
                    Attempt::Impossible => {}
                    Attempt::Undecided => is_proved = false,
                    certified @ Attempt::Certified(..) => return certified,
                }
            }
            is_proved &= !cuts.is_cut_short;
        }
        if is_proved { Attempt::Impossible } else { Attempt::Undecided }
    }

    fn attempt_cut(
        &self,
        cut: Cut,
        goal: &[(Index, Index)],
        pair: Option<Pair>,
        span: Option<&Span>,
    ) -> Attempt {
        if pair.is_some_and(|pair| !pair.is_last(self.table, &cut)) {
            return Attempt::Impossible;
        }
        let Ok(mut order) = self.order(cut, goal, pair, true) else { return Attempt::Impossible };
        let retries = if self.is_small() { RETRIES.0 } else { RETRIES.1 };
        let ways = [
            (false, Hint::Observed, 0),
            (true, Hint::Observed, retries),
            (true, Hint::Reversed, retries),
        ];
        let mut is_proved = false;
        for (is_careful, hint, retries) in ways {
            let start = order.mark();
            let outcome = Scheduler::new(&mut order, is_careful, hint).run(retries);
            order.undo(start);
            match outcome {
                Outcome::Found(sequence) => {
                    if let Some((order, diverged)) = self.certified(&sequence, pair, span) {
                        return Attempt::Certified(order, diverged);
                    }
                    is_proved = false;
                }
                Outcome::Impossible if is_careful => is_proved = true,
                Outcome::Impossible | Outcome::GaveUp => {}
            }
            if is_proved {
                return Attempt::Impossible;
            }
        }
        Attempt::Undecided
    }

    /// The saturated order of a cut with a goal.
    fn order(
        &self,
        cut: Cut,
        goal: &[(Index, Index)],
        pair: Option<Pair>,
        with_values: bool,
    ) -> Result<Order<'_>, Cycle> {
        let mut order = Order::new(self.table, self.base, cut, with_values)?;
        for &(a, b) in goal {
            order.add(a, b)?;
        }
        if let Some(pair) = pair {
            pair.add_to(&mut order)?;
        }
        if self.known.keeps_lock_order {
            self.keep_lock_order(&mut order)?;
        }
        saturate(&mut order)?;
        Ok(order)
    }

    /// Acquires of a lock keep their order.
    fn keep_lock_order(&self, order: &mut Order<'_>) -> Result<(), Cycle> {
        let mut last = vec![None; self.table.locks.len()];
        for (index, item) in self.table.items.iter().enumerate() {
            let index = index as Index;
            if let Act::Acquire(section) = item.act
                && order.cut.has(self.table, index)
            {
                let lock = self.table.sections[section as usize].lock as usize;
                if let Some(before) = last[lock].replace(index) {
                    order.add(before, index)?;
                }
            }
        }
        Ok(())
    }

    /// The last step, on which soundness rests: the sequence is a correct reordering and shows what it
    /// was meant to.
    fn certified(
        &self,
        sequence: &[Index],
        pair: Option<Pair>,
        span: Option<&Span>,
    ) -> Option<(Vec<usize>, Vec<usize>)> {
        let order = self.table.expand(self.stretch, sequence, if pair.is_some() { 2 } else { 0 });
        let diverged = certify(self.stretch, &order).ok()?;
        let is_shown = match (self.goal, span) {
            (Goal::Atomicity, Some(span)) => {
                self.renamed.refuted(&order, &diverged).contains(&(span.begin as usize))
            }
            (Goal::Cooperability, _) => {
                let missing = self.renamed.missing_yields(&order, &diverged);
                let is_new = |at: &usize| !self.known.observed.contains(&self.stretch.number(*at));
                missing.iter().any(is_new)
            }
            (Goal::Races, _) => pair.is_some() && self.renamed.ends_in_race(&order),
            (Goal::Atomicity, None) => false,
        };
        is_shown.then_some((order, diverged))
    }

    fn races(&mut self) {
        let pairs = races::pairs(self.table, self.stretch);
        for (i, &pair) in pairs.iter().enumerate() {
            if self.is_late() {
                self.result.counts.not_tried += (pairs.len() - i) as u64;
                break;
            }
            let (a, b) = pair.ends();
            let observed = |index: Index| {
                let number = self.stretch.number(self.table.item(index).at as usize);
                self.known.observed.contains(&number)
            };
            if observed(a) && observed(b) {
                continue;
            }
            let (first, second) = (self.table.item(a).site, self.table.item(b).site);
            let sites = [first, second, Site::UNKNOWN, Site::UNKNOWN, Site::UNKNOWN];
            if self.is_alike(sites) {
                self.result.counts.alike += 1;
                continue;
            }
            self.result.counts.tried += 1;
            let attempt = self.attempt(&[], Some(pair), None);
            let tries = self.result.tries.entry(sites).or_default();
            match attempt {
                Attempt::Certified(order, diverged) => {
                    tries.succeeded += 1;
                    self.result.counts.certified += 1;
                    self.report(&[(a, b)], &order, &diverged);
                }
                Attempt::Impossible => {
                    tries.failed += 1;
                    self.result.counts.impossible += 1;
                }
                Attempt::Undecided => {
                    tries.failed += 1;
                    self.result.counts.undecided += 1;
                }
            }
        }
    }
}

/// The sites of a candidate: of its block, of its ends in the block, and of its remote ends.
fn sites(table: &Table, span: &Span, candidate: &Candidate) -> Sites {
    let site = |index: Index| table.item(index).site;
    match (candidate.goal.first(), candidate.goal.last()) {
        (Some(&(e1, f)), Some(&(g, e2))) => [span.site, site(e1), site(e2), site(f), site(g)],
        _ => [span.site; 5],
    }
}
