//! A serial witness: the same events in an order in which the transactions run one after the
//! other. It is a topological order of the whole graph; of those transactions that can go next, the
//! one that started first in the trace does, so the witness stays close to what was observed.
//!
//! Conflicting events keep their order: those within a transaction are not moved, and those between
//! transactions are ordered by edges. It follows that the witness is well-formed:
//! - The events of a thread keep their order: blocks match, a prewait is followed by its postwait,
//!   and no thread releases a lock that it does not hold.
//! - Two periods in which a lock is held, not both shared, do not overlap in the trace. So one ends
//!   before the other starts, with a release that conflicts with the other's acquire, and it still
//!   does. A period that never ends is the last of these, and stays last.
//! - A fork conflicts with all of its child's events and with its joins, and these with the joins,
//!   so threads start and end where they should.
//! - A take stays after all posts that it was after. Of any takes that now come first, the one that
//!   was last in the trace had enough posts before it, so there is never a take too many.
//!
//! A transaction that never ends is contiguous too, but others may have to follow it.
//! Rounds of a barrier keep the order of their own enters and exits, but nothing in the definition
//! of conflicts orders two rounds, so they may overlap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

use paceline_trace::{Batch, Event};

use crate::Analysis;
use crate::explain::graph::{Builder, Keep, TransactionGraph};

/// Looks for a serial order. It keeps the whole trace in memory.
pub struct Witness {
    builder: Builder,
    events: Vec<Event>,
    /// The transaction of each event.
    transaction_of: Vec<u32>,
    serial: Option<Vec<Event>>,
}

impl Default for Witness {
    fn default() -> Self {
        Witness {
            builder: Builder::new(Keep::All),
            events: Vec::new(),
            transaction_of: Vec::new(),
            serial: None,
        }
    }
}

impl Witness {
    /// The events in a serial order, after `finish`; none if the trace is not serializable.
    pub fn serial(&self) -> Option<&[Event]> {
        self.serial.as_deref()
    }

    /// Sorts the events by the positions of their transactions.
    fn arrange(&self, positions: &[u32]) -> Vec<Event> {
        let mut order: Vec<usize> = (0..self.events.len()).collect();
        // Stable: the events of one transaction keep their order.
        order.sort_by_key(|&i| positions[self.transaction_of[i] as usize]);
        order.into_iter().map(|i| self.events[i]).collect()
    }
}

impl Analysis for Witness {
    fn events(&mut self, batch: &Batch) -> ControlFlow<()> {
        self.builder.reserve(&batch.counts);
        for (number, &event) in (batch.first..).zip(&batch.events) {
            // Every transaction is kept, so there is always one.
            let transaction = self.builder.event(number, event).unwrap_or_default();
            self.transaction_of.push(transaction as u32);
            self.events.push(event);
        }
        ControlFlow::Continue(())
    }

    fn finish(&mut self) {
        let graph = self.builder.build();
        self.serial = positions(&graph).map(|positions| self.arrange(&positions));
    }
}

/// The position of each transaction in the serial order.
fn positions(graph: &TransactionGraph) -> Option<Vec<u32>> {
    let count = graph.transactions.len();
    let mut before = vec![0u32; count];
    for &next in (0..count).flat_map(|t| graph.successors(t)) {
        before[next as usize] += 1;
    }
    let free = (0..count).filter(|&t| before[t] == 0).map(|t| Reverse(t as u32));
    // Transactions are numbered by their first events, so the least number started first.
    let mut free: BinaryHeap<Reverse<u32>> = free.collect();
    let mut positions = vec![0; count];
    let mut next_position = 0;
    while let Some(Reverse(transaction)) = free.pop() {
        positions[transaction as usize] = next_position;
        next_position += 1;
        for &next in graph.successors(transaction as usize) {
            before[next as usize] -= 1;
            if before[next as usize] == 0 {
                free.push(Reverse(next));
            }
        }
    }
    (next_position as usize == count).then_some(positions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::atomicity::{Engine, Options};
    use crate::definition::conflict::Conflicts;
    use crate::testing::random;
    use paceline_trace::validate::Validator;
    use paceline_trace::{Op, Trace};

    fn witness(trace: &Trace) -> Option<Trace> {
        let mut witness = Witness::default();
        let _ = witness.events(&trace.batch());
        witness.finish();
        let events = witness.serial()?.to_vec();
        Some(Trace { events, symbols: trace.symbols.clone() })
    }

    fn of(line: &str) -> Option<String> {
        witness(&Trace::parse(line).unwrap()).map(|t| t.to_line())
    }

    #[test]
    fn transactions_run_one_after_the_other() {
        let line = "1:begin(m) 1:r(x) 2:w(y) 1:r(y) 2:w(x) 1:end(m)";
        let serial = "2:w(y) 1:begin(m) 1:r(x) 1:r(y) 1:end(m) 2:w(x)";
        assert_eq!(of(line).as_deref(), Some(serial));
    }

    #[test]
    fn a_serial_trace_stays_as_it_is() {
        let line = "2:w(x) 1:begin(m) 1:r(x) 1:end(m) 3:begin(m) 3:w(x)";
        assert_eq!(of(line).as_deref(), Some(line));
    }

    #[test]
    fn a_cycle_has_no_witness() {
        assert_eq!(of("1:begin(m) 1:r(x) 2:w(x) 1:w(x) 1:end(m)"), None);
    }

    fn is_well_formed(trace: &Trace) -> bool {
        let mut validator = Validator::default();
        validator.check(&mut trace.batch()).is_ok()
    }

    /// In random traces each event has a site of its own: its index, plus one.
    fn index(event: &Event) -> usize {
        event.site.to_bits() as usize - 1
    }

    fn conflicts_keep_their_order(trace: &Trace, serial: &Trace) -> bool {
        let mut conflicts = Conflicts::default();
        trace.events.iter().for_each(|&e| _ = conflicts.push(e));
        let order: Vec<usize> = serial.events.iter().map(index).collect();
        let mut pairs = (0..order.len()).flat_map(|i| (0..i).map(move |j| (j, i)));
        pairs.all(|(j, i)| order[j] < order[i] || !conflicts.conflict(order[i], order[j]))
    }

    /// Inside of a block no other thread acts, unless the block is never closed.
    fn is_serial(trace: &Trace) -> bool {
        let mut open: Option<(usize, paceline_trace::ThreadId, usize)> = None;
        let ends = |from: usize, thread| trace.events[from..].iter().any(|e| e.thread == thread);
        for (i, event) in trace.events.iter().enumerate() {
            if let Some((_, thread, _)) = open
                && thread != event.thread
            {
                if ends(i, thread) {
                    return false;
                }
                open = None;
            }
            let (start, thread, mut depth) = open.unwrap_or((i, event.thread, 0));
            depth += usize::from(matches!(event.op, Op::Begin(_)));
            depth -= usize::from(matches!(event.op, Op::End(_)));
            open = (depth > 0).then_some((start, thread, depth));
        }
        true
    }

    #[test]
    fn a_witness_is_an_equivalent_serial_trace() {
        random::check(3000, 100, |trace| {
            let mut engine = Engine::Auto.start(Options { first_only: true });
            let _ = engine.events(&trace.batch());
            let Some(serial) = witness(trace) else {
                let wrong = engine.cycles().is_empty();
                return if wrong { Err("no witness".into()) } else { Ok(()) };
            };
            let mut same: Vec<usize> = serial.events.iter().map(index).collect();
            same.sort_unstable();
            let good = engine.cycles().is_empty()
                && same.into_iter().eq(0..trace.events.len())
                && is_well_formed(&serial)
                && conflicts_keep_their_order(trace, &serial)
                && is_serial(&serial);
            if good { Ok(()) } else { Err(serial.to_line()) }
        });
    }
}
