//! The smallest sub-trace that still shows a violation: delta debugging (Zeller and Hildebrandt),
//! first over transactions, then over events.
//!
//! A part of the trace is good if it is well-formed and a cycle still closes in a transaction with
//! the same label. Events that make no sense without each other are removed together: `begin` and
//! its `end`, an acquire and its release, the two halves of a wait.
//!
//! Long traces are not searched. The explanation has the few events that matter, so the search
//! starts from the smallest of these that is good: its events, with the locks that they need; its
//! transactions; its threads; the whole trace. Events that have become malformed by what was left
//! out are dropped.

use hashbrown::{HashMap, HashSet};
use paceline_trace::validate::Validator;
use paceline_trace::{
    Event, EventNo, LabelId, LockId, Op, Site, SiteInfo, Symbols, ThreadId, Trace, ops,
};

use crate::Analysis;
use crate::atomicity::{Atomicity, Options, Running};
use crate::explain::{Explanation, TransactionRef};

/// The smallest part of the trace that still shows the explained violation: no event, with those
/// that belong to it, can be removed. Events keep their order, names and sites.
pub fn minimize(trace: &Trace, explanation: &Explanation) -> Trace {
    let label = explanation.transactions[0].label;
    let label = label.map(|l| trace.symbols.show_label(l, explanation.transactions[0].site));
    let good = |part: &Trace| shows(part, label.as_deref());
    let start = (0..STARTS).map(|stage| start(trace, explanation, stage)).find(good);
    // The whole trace shows it: that is where it was found.
    let start = start.unwrap_or_else(|| trace.clone());
    let fewer = reduce(&start, transactions(&start.events), good);
    reduce(&fewer, pairs(&fewer.events), good)
}

/// How many parts of the trace there are to start from.
const STARTS: usize = 4;

/// A part of the trace to start from; the first is the smallest.
fn start(trace: &Trace, explanation: &Explanation, stage: usize) -> Trace {
    let end = explanation.cycle.event;
    let on_cycle = &explanation.transactions;
    let chosen = match stage {
        0 => matter(trace, explanation),
        1 => select(trace, |n, e| on_cycle.iter().any(|t| holds(t, n, e))),
        2 => select(trace, |n, e| n <= end && on_cycle.iter().any(|t| t.thread == e.thread)),
        _ => select(trace, |n, _| n <= end),
    };
    rename(&well_formed(chosen, &trace.symbols), &trace.symbols)
}

fn well_formed(mut events: Vec<Event>, symbols: &Symbols) -> Vec<Event> {
    let mut validator = Validator::default();
    validator.reserve(&symbols.counts());
    events.retain(|e| validator.event(e).is_ok());
    events
}

fn select(trace: &Trace, wanted: impl Fn(EventNo, &Event) -> bool) -> Vec<Event> {
    let numbered = (1..).zip(&trace.events);
    numbered.filter(|&(n, e)| wanted(n, e)).map(|(_, &e)| e).collect()
}

fn holds(transaction: &TransactionRef, number: EventNo, event: &Event) -> bool {
    transaction.thread == event.thread
        && (transaction.first_event..=transaction.last_event).contains(&number)
}

/// The events of the explanation, and those without which they would be malformed.
fn matter(trace: &Trace, explanation: &Explanation) -> Vec<Event> {
    let mut wanted: HashSet<usize> =
        explanation.interleaving.iter().map(|e| e.number as usize - 1).collect();
    let last = explanation.interleaving.last().map_or(0, |e| e.number as usize);
    for unit in pairs(&trace.events[..last]) {
        if unit.iter().any(|i| wanted.contains(i)) {
            wanted.extend(unit);
        }
    }
    select(trace, |n, _| wanted.contains(&(n as usize - 1)))
}

/// Removes units of events as long as the rest is good.
fn reduce(trace: &Trace, mut units: Vec<Vec<usize>>, good: impl Fn(&Trace) -> bool) -> Trace {
    let mut best = trace.clone();
    let mut chunk = units.len().div_ceil(2);
    while chunk > 0 {
        let (mut at, mut smaller) = (0, false);
        while at < units.len() {
            let end = (at + chunk).min(units.len());
            let rest = [&units[..at], &units[end..]].concat();
            let part = part(trace, &rest);
            if good(&part) {
                (best, units, smaller) = (part, rest, true);
            } else {
                at = end;
            }
        }
        // Single units until none can be removed any more; otherwise in halves.
        if chunk > 1 || !smaller {
            chunk /= 2;
        }
    }
    best
}

fn part(trace: &Trace, units: &[Vec<usize>]) -> Trace {
    let mut chosen: Vec<usize> = units.iter().flatten().copied().collect();
    chosen.sort_unstable();
    let events: Vec<Event> = chosen.into_iter().map(|i| trace.events[i]).collect();
    rename(&events, &trace.symbols)
}

/// Whether the trace is well-formed and a cycle closes in a transaction with this label.
fn shows(trace: &Trace, label: Option<&str>) -> bool {
    let mut batch = trace.batch();
    if Validator::default().check(&mut batch).is_err() {
        return false;
    }
    let mut engine = Running::new(Options::default());
    let _ = engine.events(&batch);
    engine.finish();
    engine.cycles().iter().any(|cycle| {
        let Event { op, site, .. } = trace.events[cycle.begin as usize - 1];
        let Op::Begin(found) = op else { return false };
        Some(trace.symbols.show_label(found, site).as_str()) == label
    })
}

/// The events of each transaction.
fn transactions(events: &[Event]) -> Vec<Vec<usize>> {
    let mut units: Vec<Vec<usize>> = Vec::new();
    let mut open: HashMap<ThreadId, (usize, usize)> = HashMap::new();
    for (i, event) in events.iter().enumerate() {
        let (unit, mut depth) = open.get(&event.thread).copied().unwrap_or((units.len(), 0));
        depth += usize::from(matches!(event.op, Op::Begin(_)));
        depth -= usize::from(matches!(event.op, Op::End(_)));
        if unit == units.len() {
            units.push(Vec::new());
        }
        units[unit].push(i);
        open.insert(event.thread, (unit, depth));
        if depth == 0 {
            open.remove(&event.thread);
        }
    }
    units
}

/// Units of events that make no sense without each other, and all others by themselves.
fn pairs(events: &[Event]) -> Vec<Vec<usize>> {
    let mut units: Vec<Vec<usize>> = Vec::new();
    let mut blocks: HashMap<ThreadId, Vec<usize>> = HashMap::new();
    let mut held: HashMap<(ThreadId, LockId), usize> = HashMap::new();
    for (i, &Event { thread, op, .. }) in events.iter().enumerate() {
        let fresh = units.len();
        let unit = match op {
            Op::Begin(_) => {
                blocks.entry(thread).or_default().push(fresh);
                fresh
            }
            Op::End(_) => blocks.entry(thread).or_default().pop().unwrap_or(fresh),
            Op::Acquire(l) | Op::AcquireShared(l) => {
                held.insert((thread, l), fresh);
                fresh
            }
            Op::Release(l) | Op::ReleaseShared(l) | Op::PreWait(l) | Op::PostWait(l) => {
                held.get(&(thread, l)).copied().unwrap_or(fresh)
            }
            ops!(Access | Thread | Semaphore | Barrier) | Op::Yield | Op::Notify(_) => fresh,
        };
        if unit == fresh {
            units.push(Vec::new());
        }
        units[unit].push(i);
    }
    units
}

/// The same events with no more names than they need, so that checking them is cheap however large
/// the original trace is.
fn rename(events: &[Event], old: &Symbols) -> Trace {
    let mut trace = Trace::default();
    for event in events {
        let renamed = renamed(event, old, &mut trace.symbols);
        trace.events.push(renamed);
    }
    trace
}

fn renamed(event: &Event, old: &Symbols, new: &mut Symbols) -> Event {
    let label = |l: LabelId, new: &mut Symbols| {
        if l.is_named() { new.label(old.labels.name(l.0)) } else { l }
    };
    let thread = new.thread(old.threads.name(event.thread.0));
    let op = match event.op {
        Op::Read(x) => Op::Read(new.var(&old.vars.name(x.0))),
        Op::Write(x) => Op::Write(new.var(&old.vars.name(x.0))),
        Op::AtomicRead(x) => Op::AtomicRead(new.var(&old.vars.name(x.0))),
        Op::AtomicWrite(x) => Op::AtomicWrite(new.var(&old.vars.name(x.0))),
        Op::AtomicUpdate(x) => Op::AtomicUpdate(new.var(&old.vars.name(x.0))),
        Op::Acquire(l) => Op::Acquire(new.lock(old.locks.name(l.0))),
        Op::Release(l) => Op::Release(new.lock(old.locks.name(l.0))),
        Op::AcquireShared(l) => Op::AcquireShared(new.lock(old.locks.name(l.0))),
        Op::ReleaseShared(l) => Op::ReleaseShared(new.lock(old.locks.name(l.0))),
        Op::PreWait(l) => Op::PreWait(new.lock(old.locks.name(l.0))),
        Op::PostWait(l) => Op::PostWait(new.lock(old.locks.name(l.0))),
        Op::Notify(l) => Op::Notify(new.lock(old.locks.name(l.0))),
        Op::Fork(t) => Op::Fork(new.thread(old.threads.name(t.0))),
        Op::Join(t) => Op::Join(new.thread(old.threads.name(t.0))),
        Op::Post(s) => Op::Post(new.semaphore(old.semaphores.name(s.0))),
        Op::Take(s) => Op::Take(new.semaphore(old.semaphores.name(s.0))),
        Op::BarrierEnter(b) => Op::BarrierEnter(new.barrier(old.barriers.name(b.0))),
        Op::BarrierExit(b) => Op::BarrierExit(new.barrier(old.barriers.name(b.0))),
        Op::Begin(l) => Op::Begin(label(l, new)),
        Op::End(l) => Op::End(label(l, new)),
        Op::Yield => Op::Yield,
    };
    Event { thread, op, site: renamed_site(event.site, old, new) }
}

fn renamed_site(site: Site, old: &Symbols, new: &mut Symbols) -> Site {
    let Some(&SiteInfo { file, method, line, column }) = old.site_info(site) else { return site };
    let file = new.text(old.texts.name(file.0));
    let method = new.text(old.texts.name(method.0));
    new.site(SiteInfo { file, method, line, column })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::explain;
    use crate::testing::random;

    fn minimal(trace: &Trace) -> Option<(Explanation, Trace)> {
        let mut engine = Running::new(Options { first_only: true });
        let _ = engine.events(&trace.batch());
        let explanation = explain(&trace.batch(), engine.cycles()).pop()??;
        let minimal = minimize(trace, &explanation);
        Some((explanation, minimal))
    }

    fn of(line: &str) -> String {
        minimal(&Trace::parse(line).unwrap()).unwrap().1.to_line()
    }

    #[test]
    fn events_that_do_not_matter_are_removed() {
        let line = "1:fork(2) 1:begin(m) 1:acq(l) 1:r(x) 1:rel(l) 3:r(x) 2:acq(l) 2:w(x) 2:w(y) \
                    2:rel(l) 1:w(x) 1:begin(n) 1:r(y) 1:end(n) 1:end(m) 2:r(y)";
        assert_eq!(of(line), "1:begin(m) 1:r(x) 2:w(x) 1:w(x) 1:end(m)");
    }

    #[test]
    fn acquires_keep_their_releases() {
        let line =
            "1:begin(m) 1:acq(l) 1:yield 1:rel(l) 2:acq(l) 2:rel(l) 1:acq(l) 1:rel(l) 1:end(m)";
        let short = "1:begin(m) 1:acq(l) 1:rel(l) 2:acq(l) 2:rel(l) 1:acq(l) 1:rel(l) 1:end(m)";
        assert_eq!(of(line), short);
    }

    #[test]
    fn sites_are_kept() {
        let mut trace = Trace::parse("3:r(z) 1:begin(m) 1:r(x) 2:w(x) 1:w(x)").unwrap();
        let (file, method) = (trace.symbols.text(b"Set.java"), trace.symbols.text(b"add"));
        trace.symbols.site(SiteInfo { file, method, line: 1, column: 0 });
        trace.events[2].site = trace.symbols.site(SiteInfo { file, method, line: 7, column: 0 });
        let (_, minimal) = minimal(&trace).unwrap();
        assert_eq!(minimal.symbols.show_site(minimal.events[1].site), "Set.java:7");
        assert_eq!(minimal.symbols.sites().len(), 1);
        assert_eq!(minimal.symbols.vars.len(), 1);
    }

    /// Well-formed, still a violation of the same block, and nothing can be removed.
    #[test]
    fn the_result_is_a_minimal_violation() {
        let found = std::cell::Cell::new(0);
        random::check(400, 100, |trace| {
            let Some((explanation, minimal)) = minimal(trace) else { return Ok(()) };
            found.set(found.get() + 1);
            let TransactionRef { label, site, .. } = explanation.transactions[0];
            let label = label.map(|l| trace.symbols.show_label(l, site));
            let good = |t: &Trace| shows(t, label.as_deref());
            let units = pairs(&minimal.events);
            let smaller = (0..units.len()).map(|i| {
                let mut rest = units.clone();
                rest.remove(i);
                part(&minimal, &rest)
            });
            let smaller = smaller.filter(good).map(|t| t.to_line()).next();
            match smaller {
                Some(line) => Err(format!("{line} is smaller than {}", minimal.to_line())),
                None if good(&minimal) => Ok(()),
                None => Err(minimal.to_line()),
            }
        });
        assert!(found.get() > 100, "{}", found.get());
    }
}
