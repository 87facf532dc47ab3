//! What was predicted, as pictures: each new order is a process of its own, below the observed one
//! and at the same time, with the blocks, locks and events of the finding as they can happen.

use std::io::{self, Write};

use paceline_trace::{Event, EventNo, Symbols, ThreadId};

use super::{Args, OBSERVED, Shown, Thread, Writer, blocks_of, locks_of, marks, shown};
use crate::model::{Facts, Finding, Report, Witness};

/// The predictions of a report, and what must be kept of the trace to draw them.
#[derive(Default)]
pub struct Kept {
    predictions: Vec<Prediction>,
    /// Where the orders begin that have not begun yet, falling.
    starts: Vec<EventNo>,
    /// The events of all new orders by number, growing; and those that have been seen.
    wanted: Vec<EventNo>,
    events: Vec<Event>,
}

/// A finding with its order.
struct Prediction {
    finding: Finding,
    order: Witness,
    /// What was open where the new order begins to differ.
    before: Vec<Option<Thread>>,
}

impl Kept {
    /// The predictions among the findings of a report.
    pub fn of(report: &Report) -> Kept {
        let orders: Vec<&Witness> = orders(report);
        let with_order = |finding: &Finding| {
            let how = finding.reordering.as_ref()?;
            let order = (*orders.iter().find(|order| order.how == *how)?).clone();
            Some(Prediction { finding: finding.clone(), order, before: Vec::new() })
        };
        let predictions: Vec<_> = report.findings.iter().filter_map(with_order).collect();
        let mut wanted: Vec<_> =
            predictions.iter().flat_map(|it| it.order.witness.iter().copied()).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let mut starts: Vec<_> = predictions.iter().map(|it| it.order.after + 1).collect();
        starts.sort_unstable_by(|a, b| b.cmp(a));
        starts.dedup();
        Kept { predictions, starts, wanted, events: Vec::new() }
    }

    /// Keeps what is needed of the next event; `threads` is what is open before it.
    pub fn keep(&mut self, number: EventNo, event: &Event, threads: &[Option<Thread>]) {
        if self.starts.pop_if(|start| *start == number).is_some() {
            for it in self.predictions.iter_mut().filter(|it| it.order.after + 1 == number) {
                it.before = threads.to_vec();
            }
        }
        if self.wanted.get(self.events.len()) == Some(&number) {
            self.events.push(*event);
        }
    }

    fn event(&self, number: EventNo) -> Option<Event> {
        self.events.get(self.wanted.binary_search(&number).ok()?).copied()
    }
}

/// The orders that were predicted, of whatever property.
fn orders(report: &Report) -> Vec<&Witness> {
    let mut orders = Vec::new();
    for (_, verdict) in report.verdicts.iter() {
        match &verdict.facts {
            Facts::Atomicity(it) => {
                orders.extend(it.predicted.iter().flatten().map(|block| &block.order));
            }
            Facts::Cooperability(it) => {
                orders.extend(it.predicted.iter().flatten().map(|missing| &missing.order));
            }
            Facts::Race(it) => {
                orders.extend(it.predicted.iter().flatten().map(|race| &race.order));
            }
            Facts::Determinism(_) | Facts::Reduction(_) | Facts::Other(_) => {}
        }
    }
    orders
}

impl<W: Write> Writer<W> {
    /// Draws all predictions, each in a process of its own.
    pub(super) fn draw_predictions(&mut self, symbols: &Symbols) -> io::Result<()> {
        let mut kept = std::mem::take(&mut self.predictions);
        let predictions = std::mem::take(&mut kept.predictions);
        for (pid, prediction) in (OBSERVED + 1..).zip(predictions) {
            self.pid = pid;
            self.draw_prediction(prediction, &kept, symbols)?;
        }
        Ok(())
    }

    fn draw_prediction(
        &mut self,
        prediction: Prediction,
        kept: &Kept,
        symbols: &Symbols,
    ) -> io::Result<()> {
        let Prediction { finding, order, before } = prediction;
        let name = format!("as it can happen: {} [{}]", finding.title, finding.id);
        let args = Some(Args { name: Some(&name), ..Args::default() });
        self.put(Shown { args, ..shown("M", 0, 0.0, Some("process_name")) })?;
        let args = Some(Args { sort_index: Some(self.pid.into()), ..Args::default() });
        self.put(Shown { args, ..shown("M", 0, 0.0, Some("process_sort_index")) })?;
        self.marks = marks([&finding], &mut self.arrows);
        let mut latest = 0;
        for number in &order.witness {
            if let Some(mark) = self.marks.get_mut(number) {
                mark.is_moved = *number < latest;
            }
            latest = latest.max(*number);
        }
        self.last = order.after;
        self.reopen(before, order.after as f64, symbols)?;
        for (at, &number) in (order.after + 1..).zip(&order.witness) {
            if let Some(event) = kept.event(number) {
                self.event(at, number, &event, symbols)?;
            }
        }
        self.close_all()
    }

    /// Opens what was open where the order begins.
    fn reopen(
        &mut self,
        before: Vec<Option<Thread>>,
        at: f64,
        symbols: &Symbols,
    ) -> io::Result<()> {
        for (thread, open) in (0..).map(ThreadId).zip(before) {
            let Some(open) = open.filter(|it| !it.blocks.is_empty() || !it.held.is_empty()) else {
                continue;
            };
            self.meet(thread, symbols)?;
            for label in &open.blocks {
                self.put(shown("B", blocks_of(thread), at, Some(label)))?;
            }
            for (_, name) in &open.held {
                self.put(shown("B", locks_of(thread), at, Some(name)))?;
            }
            *self.thread(thread) = open;
        }
        Ok(())
    }
}
