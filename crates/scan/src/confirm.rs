//! Marks warnings that a trace confirms: inside the method that holds the outer lock, the inner
//! lock was released and taken again, and another thread had it in between.
//!
//! A trace names methods by the labels of its blocks (`pkg/Class.method(desc)`, or the same with
//! dots or without the descriptor), and locks by names of its own. Which lock of the trace is the
//! witness is known by where it is taken: the acquire stands at the file and line of one of the
//! warning's uses, or in the method at the end of one of its chains, by its site or by the
//! innermost open block; or the lock's name contains the class that takes it.

use std::ops::ControlFlow;

use hashbrown::HashMap;
use paceline_trace::pipeline::{Checking, read_named};
use paceline_trace::{Error, Event, EventNo, LabelId, LockId, Op, Source, Symbols, ThreadId};

use crate::finding::{Confirmation, Site, Warning};

/// What one thread is doing.
#[derive(Default)]
struct Thread {
    /// The open blocks.
    blocks: Vec<LabelId>,
    /// The warnings whose outer method is open.
    open: Vec<Open>,
}

/// A run of a method that a warning is about.
struct Open {
    warning: usize,
    /// How many blocks are open with this one.
    depth: usize,
    /// The locks that were taken and released in it, and what happened since.
    released: Vec<Released>,
    /// Locks that are held and may be the witness.
    held: Vec<LockId>,
}

struct Released {
    lock: LockId,
    at: EventNo,
    /// The first acquire by another thread since then.
    other: Option<EventNo>,
}

struct Confirmer<'c> {
    warnings: &'c mut [Warning],
    trace: &'c str,
    threads: HashMap<ThreadId, Thread>,
    /// The warnings about the method with this label.
    by_label: HashMap<LabelId, Vec<usize>>,
    by_method: HashMap<String, Vec<usize>>,
}

/// Reads a trace and marks what it confirms. Gives back how many warnings are newly confirmed.
pub fn confirm(
    warnings: &mut [Warning],
    trace: &str,
    source: &mut dyn Source,
) -> Result<usize, Error> {
    let before = warnings.iter().filter(|w| w.confirmed.is_some()).count();
    let mut by_method: HashMap<String, Vec<usize>> = HashMap::new();
    for (i, warning) in warnings.iter().enumerate() {
        let outers = warning.outer.iter().chain(&warning.also_held);
        for outer in outers {
            let method = &outer.site.method;
            let names = [Some(method.as_str()), method.split_once('(').map(|m| m.0)];
            for name in names.into_iter().flatten() {
                by_method.entry(name.to_owned()).or_default().push(i);
            }
        }
    }
    let mut confirmer =
        Confirmer { warnings, trace, threads: HashMap::new(), by_label: HashMap::new(), by_method };
    let (_, outcome) = read_named(source, Checking::Unchecked, |batch, symbols| {
        for (number, event) in (batch.first..).zip(&batch.events) {
            confirmer.event(number, event, symbols);
        }
        ControlFlow::Continue(())
    });
    outcome?;
    Ok(confirmer.warnings.iter().filter(|w| w.confirmed.is_some()).count() - before)
}

impl Confirmer<'_> {
    fn event(&mut self, number: EventNo, event: &Event, symbols: &Symbols) {
        match event.op {
            Op::Begin(label) => self.begin(event.thread, label, symbols),
            Op::End(_) => self.end(event.thread),
            Op::Acquire(lock) | Op::AcquireShared(lock) => {
                self.acquire(number, event, lock, symbols);
            }
            Op::Release(lock) | Op::ReleaseShared(lock) => self.release(number, event.thread, lock),
            Op::Read(_)
            | Op::Write(_)
            | Op::Fork(_)
            | Op::Join(_)
            | Op::Yield
            | Op::PreWait(_)
            | Op::PostWait(_)
            | Op::Notify(_)
            | Op::AtomicRead(_)
            | Op::AtomicWrite(_)
            | Op::AtomicUpdate(_)
            | Op::Post(_)
            | Op::Take(_)
            | Op::BarrierEnter(_)
            | Op::BarrierExit(_) => {}
        }
    }

    fn begin(&mut self, thread: ThreadId, label: LabelId, symbols: &Symbols) {
        let by_method = &self.by_method;
        let about = self.by_label.entry(label).or_insert_with(|| {
            let name = label.is_named().then(|| method_name(symbols.labels.name(label.0)));
            name.and_then(|n| by_method.get(&n).cloned()).unwrap_or_default()
        });
        let state = self.threads.entry(thread).or_default();
        state.blocks.push(label);
        let depth = state.blocks.len();
        let open =
            |&warning: &usize| Open { warning, depth, released: Vec::new(), held: Vec::new() };
        state.open.extend(about.iter().map(open));
    }

    fn end(&mut self, thread: ThreadId) {
        let state = self.threads.entry(thread).or_default();
        let depth = state.blocks.len();
        state.open.retain(|o| o.depth < depth);
        state.blocks.pop();
    }

    fn acquire(&mut self, number: EventNo, event: &Event, lock: LockId, symbols: &Symbols) {
        for (&thread, state) in &mut self.threads {
            if thread != event.thread {
                let released = state.open.iter_mut().flat_map(|o| &mut o.released);
                for entry in released.filter(|r| r.lock == lock) {
                    entry.other.get_or_insert(number);
                }
            }
        }
        let Some(state) = self.threads.get_mut(&event.thread) else { return };
        let innermost = state.blocks.last().copied();
        for open in &mut state.open {
            let warning = &mut self.warnings[open.warning];
            if !is_witness(warning, event, lock, innermost, symbols) {
                continue;
            }
            open.held.push(lock);
            let between = open.released.iter().find_map(|r| {
                r.other.filter(|_| r.lock == lock).map(|other| [r.at, other, number])
            });
            if let (Some(events), None) = (between, &warning.confirmed) {
                let name = String::from_utf8_lossy(symbols.locks.name(lock.0)).into_owned();
                warning.confirmed =
                    Some(Confirmation { trace: self.trace.to_owned(), lock: name, events });
            }
        }
    }

    fn release(&mut self, number: EventNo, thread: ThreadId, lock: LockId) {
        let Some(state) = self.threads.get_mut(&thread) else { return };
        for open in &mut state.open {
            if let Some(at) = open.held.iter().position(|&l| l == lock) {
                open.held.swap_remove(at);
                open.released.retain(|r| r.lock != lock);
                open.released.push(Released { lock, at: number, other: None });
            }
        }
    }
}

/// Whether an acquire in a trace is one of the two uses of the warning's lock.
fn is_witness(
    warning: &Warning,
    event: &Event,
    lock: LockId,
    innermost: Option<LabelId>,
    symbols: &Symbols,
) -> bool {
    let takers = [warning.first.last(), warning.second.last()].into_iter().flatten();
    let site = symbols.site_info(event.site);
    let block = innermost.filter(|l| l.is_named()).map(|l| symbols.labels.name(l.0));
    let stands_in = |method: &str| {
        let at_site = site.is_some_and(|s| is_method(symbols.texts.name(s.method.0), method));
        at_site || block.is_some_and(|name| is_method(name, method))
    };
    let uses = || warning.first.iter().chain(&warning.second);
    if site.is_some_and(|s| uses().any(|u| is_at(u, symbols.texts.name(s.file.0), s.line))) {
        return true;
    }
    let name = String::from_utf8_lossy(symbols.locks.name(lock.0)).replace('.', "/");
    takers.into_iter().any(|t| stands_in(&t.method)) || name.contains(&warning.lock.taken_in)
}

/// A method's name as class files write it, whatever a trace puts between its parts.
fn method_name(name: &[u8]) -> String {
    let text = String::from_utf8_lossy(name);
    let (path, desc) = text.split_at(text.find('(').unwrap_or(text.len()));
    match path.rsplit_once('.') {
        Some((class, method)) => format!("{}.{method}{desc}", class.replace('.', "/")),
        None => text.into_owned(),
    }
}

/// Whether a trace means this method, with its descriptor or without.
fn is_method(name: &[u8], method: &str) -> bool {
    let name = method_name(name);
    name == method || (!name.contains('(') && method.split_once('(').is_some_and(|m| m.0 == name))
}

/// Whether a use stands in this line of this file, of which a trace may know the name alone.
fn is_at(used: &Site, file: &[u8], line: u32) -> bool {
    let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let file = last(&String::from_utf8_lossy(file));
    line > 0 && used.line == Some(line) && used.file.as_deref().is_some_and(|f| last(f) == file)
}
