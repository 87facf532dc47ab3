//! The calls or blocks around the events of findings. No trace format carries stacks, but a log of
//! method calls has their entries and exits, atomic or not, so one more pass over it knows what was
//! open at each event; where only blocks are declared, it is those.

use std::collections::HashMap;
use std::ops::ControlFlow;

use paceline_report::{compose, model};
use paceline_trace::pipeline::{Checking, read_named};
use paceline_trace::{Error, Event, EventNo, LabelId, Op, Site, Source as _, ThreadId};

use crate::trace_input::TraceInput;

/// An open call or block.
type Call = (LabelId, Site);

/// What is open in each thread, and was at the events that are wanted.
#[derive(Default)]
struct Stacks {
    /// In descending order: the next one is last.
    wanted: Vec<EventNo>,
    open: HashMap<ThreadId, Vec<Call>>,
    /// Innermost first.
    found: HashMap<EventNo, Vec<Call>>,
}

/// Adds to the findings of a trace what was around their events.
pub fn attach(trace: &TraceInput, findings: &mut [model::Finding]) -> Result<(), Error> {
    let events = findings.iter().flat_map(|f| f.threads.iter().map(|e| e.event));
    let mut stacks = Stacks::new(events.collect());
    if stacks.wanted.is_empty() {
        return Ok(());
    }
    let (mut open, mut marker) = trace.open_marked()?;
    let mut number = 0;
    let (_, outcome) = read_named(&mut open, Checking::Unchecked, |batch, symbols| {
        marker.prepare(batch, symbols);
        for event in &batch.events {
            let counts = marker.counts(event);
            number += u64::from(counts);
            stacks.event(counts.then_some(number), event);
        }
        if stacks.wanted.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    outcome?;
    let symbols = open.symbols();
    for event in findings.iter_mut().flat_map(|f| &mut f.threads) {
        let calls = stacks.found.get(&event.event).map_or(&[][..], Vec::as_slice);
        event.stack = calls.iter().map(|&(l, at)| compose::frame(l, at, symbols)).collect();
    }
    Ok(())
}

impl Stacks {
    fn new(mut wanted: Vec<EventNo>) -> Stacks {
        wanted.sort_unstable_by(|a, b| b.cmp(a));
        wanted.dedup();
        Stacks { wanted, ..Stacks::default() }
    }

    /// An event, with its number if it has one: blocks that do not count have none. What begins
    /// or ends with an event is around it.
    fn event(&mut self, number: Option<EventNo>, event: &Event) {
        if let Op::Begin(label) = event.op {
            self.open.entry(event.thread).or_default().push((label, event.site));
        }
        if number.is_some() && self.wanted.last().copied() == number {
            self.note(event.thread);
        }
        if let Op::End(label) = event.op {
            self.end(event.thread, label);
        }
    }

    fn note(&mut self, thread: ThreadId) {
        let Some(number) = self.wanted.pop() else { return };
        let open = self.open.get(&thread).map_or(&[][..], Vec::as_slice);
        self.found.insert(number, open.iter().rev().copied().collect());
    }

    /// Ends the innermost call with this label, and those inside, whose ends the log has lost.
    fn end(&mut self, thread: ThreadId, label: LabelId) {
        let Some(open) = self.open.get_mut(&thread) else { return };
        let ends = |call: &Call| !label.is_named() || call.0 == label;
        if let Some(at) = open.iter().rposition(ends) {
            open.truncate(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_is_what_is_open() {
        let line = "1:begin(a) 1:begin(b) 2:begin(c) 1:r(x) 1:end(b) 1:r(x) 1:end(a) 1:r(x)";
        let trace = paceline_trace::Trace::parse(line).unwrap();
        let mut stacks = Stacks::new(vec![1, 4, 5, 6, 4, 8]);
        for (number, event) in (1..).zip(&trace.events) {
            stacks.event(Some(number), event);
        }
        let labels = |number| {
            let calls = &stacks.found[&number];
            calls.iter().map(|c| trace.symbols.show_label(c.0, c.1)).collect::<Vec<_>>().join(" ")
        };
        assert_eq!([1, 4, 5, 6, 8].map(labels), ["a", "b a", "b a", "a", ""]);
    }
}
