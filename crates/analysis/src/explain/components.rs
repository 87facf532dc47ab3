//! Every violating transaction: those that lie on some cycle, which are the members of the
//! non-trivial strongly connected components of the whole graph. Linear in time and memory:
//! Tarjan's algorithm, with an explicit stack, so that depth is no limit.

use std::ops::ControlFlow;

use paceline_trace::Batch;

use crate::Analysis;
use crate::explain::TransactionRef;
use crate::explain::graph::{Builder, Keep, TransactionGraph};

/// A transaction on a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Violating {
    /// The transaction.
    pub transaction: TransactionRef,
    /// Its component; the members of one component lie on cycles with each other.
    pub component: usize,
}

/// Finds all violating transactions.
pub struct Components {
    builder: Builder,
    violating: Vec<Violating>,
    count: usize,
}

impl Default for Components {
    fn default() -> Self {
        Components { builder: Builder::new(Keep::Cyclic), violating: Vec::new(), count: 0 }
    }
}

impl Components {
    /// The transactions on cycles, in the order of their first events; known after `finish`.
    pub fn violating(&self) -> &[Violating] {
        &self.violating
    }

    /// How many components they form.
    pub fn count(&self) -> usize {
        self.count
    }
}

impl Analysis for Components {
    fn events(&mut self, batch: &Batch) -> ControlFlow<()> {
        self.builder.reserve(&batch.counts);
        for (number, &event) in (batch.first..).zip(&batch.events) {
            self.builder.event(number, event);
        }
        ControlFlow::Continue(())
    }

    fn finish(&mut self) {
        let graph = self.builder.build();
        let mut search = Search::new(&graph);
        (0..graph.transactions.len()).for_each(|root| search.from(root));
        self.count = search.components;
        let both = graph.transactions.iter().zip(search.state);
        self.violating = both
            .filter_map(|(&transaction, state)| match state {
                State::In(component) => Some(Violating { transaction, component }),
                State::Alone | State::New | State::Open(_) => None,
            })
            .collect();
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    /// On the stack; the lowest position on it that is known to be reachable from here.
    Open(usize),
    /// Not on any cycle.
    Alone,
    In(usize),
}

/// A depth-first search that closes a component when it leaves its first member.
struct Search<'a> {
    graph: &'a TransactionGraph,
    state: Vec<State>,
    /// The members of the components that are not closed.
    stack: Vec<usize>,
    /// The path from the root: a transaction, its position on the stack, and how many of its
    /// successors have been visited.
    path: Vec<(usize, usize, usize)>,
    components: usize,
}

impl<'a> Search<'a> {
    fn new(graph: &'a TransactionGraph) -> Search<'a> {
        let state = vec![State::New; graph.transactions.len()];
        Search { graph, state, stack: Vec::new(), path: Vec::new(), components: 0 }
    }

    fn from(&mut self, root: usize) {
        self.visit(root);
        while let Some((at, position, seen)) = self.path.last_mut() {
            let (at, position) = (*at, *position);
            if let Some(&next) = self.graph.successors(at).get(*seen) {
                *seen += 1;
                self.visit(next as usize);
                self.lower(at, next as usize);
            } else {
                self.path.pop();
                self.leave(at, position);
            }
        }
    }

    fn visit(&mut self, at: usize) {
        if self.state[at] == State::New {
            let position = self.stack.len();
            self.state[at] = State::Open(position);
            self.stack.push(at);
            self.path.push((at, position, 0));
        }
    }

    /// What `to` reaches, `at` reaches.
    fn lower(&mut self, at: usize, to: usize) {
        if let (State::Open(mine), State::Open(theirs)) = (self.state[at], self.state[to]) {
            self.state[at] = State::Open(mine.min(theirs));
        }
    }

    fn leave(&mut self, at: usize, position: usize) {
        if self.state[at] == State::Open(position) {
            self.close(position);
        } else if let Some(&(before, ..)) = self.path.last() {
            self.lower(before, at);
        }
    }

    fn close(&mut self, position: usize) {
        let alone = self.stack.len() - position == 1;
        let state = if alone { State::Alone } else { State::In(self.components) };
        self.components += usize::from(!alone);
        for member in self.stack.drain(position..) {
            self.state[member] = state;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::conflict::Conflicts;
    use crate::testing::random;
    use hashbrown::HashMap;
    use paceline_trace::{EventNo, Op, Trace};

    fn violating(trace: &Trace) -> Components {
        let mut components = Components::default();
        let _ = components.events(&trace.batch());
        components.finish();
        components
    }

    fn firsts(line: &str) -> Vec<(EventNo, usize)> {
        let components = violating(&Trace::parse(line).unwrap());
        components.violating().iter().map(|v| (v.transaction.first_event, v.component)).collect()
    }

    #[test]
    fn both_sides_of_a_cycle_are_listed() {
        assert_eq!(firsts("1:begin(m) 1:r(x) 2:w(x) 1:w(x) 1:end(m) 2:r(x)"), [(1, 0), (3, 0)]);
        assert_eq!(firsts("1:begin(m) 1:r(x) 1:w(x) 1:end(m) 2:w(x)"), []);
    }

    #[test]
    fn separate_cycles_are_separate_components() {
        let cycle = |t: u32, x: &str| format!("{t}:begin(m) {t}:r({x}) 9:w({x}) {t}:w({x}) ");
        let found = firsts(&format!("{} 1:end(m) {}", cycle(1, "x"), cycle(2, "y")));
        assert_eq!(found, [(1, 1), (3, 1), (6, 0), (8, 0)]);
    }

    #[test]
    fn depth_is_no_limit() {
        let mut line = String::from("1:begin(m) 1:w(x0) ");
        (0..50_000).for_each(|i| line += &format!("{}:r(x{i}) {}:w(x{}) ", i + 2, i + 2, i + 1));
        let components = violating(&Trace::parse(&format!("{line} 1:r(x50000)")).unwrap());
        assert_eq!(components.violating().len(), 100_001);
        assert_eq!(components.count(), 1);
    }

    /// First events of the transactions that reach themselves, by definition, each with the
    /// smallest one of its component.
    fn by_definition(trace: &Trace) -> Vec<(EventNo, EventNo)> {
        let mut conflicts = Conflicts::default();
        let (mut open, mut txn_of) = (HashMap::new(), Vec::new());
        let n = trace.events.len();
        let mut reach = vec![vec![false; n]; n];
        for &event in &trace.events {
            let at = conflicts.push(event);
            let (txn, mut depth) = open.get(&event.thread).copied().unwrap_or((at, 0));
            depth += usize::from(matches!(event.op, Op::Begin(_)));
            depth -= usize::from(matches!(event.op, Op::End(_)));
            txn_of.push(txn);
            open.insert(event.thread, (txn, depth));
            open.retain(|_, o| o.1 > 0);
            for e in (0..at).filter(|&e| txn_of[e] != txn && conflicts.conflict(e, at)) {
                reach[txn_of[e]][txn] = true;
            }
        }
        for via in 0..n {
            let onward = reach[via].clone();
            for row in reach.iter_mut().filter(|row| row[via]) {
                row.iter_mut().zip(&onward).for_each(|(r, &o)| *r |= o);
            }
        }
        let together = |a: usize, b: usize| reach[a][b] && reach[b][a];
        let on_cycle = (0..n).filter(|&a| reach[a][a]);
        on_cycle
            .filter_map(|a| {
                let least = (0..n).find(|&b| together(a, b))?;
                Some((a as u64 + 1, least as u64 + 1))
            })
            .collect()
    }

    #[test]
    fn violating_transactions_are_those_of_the_definition() {
        random::check(2000, 100, |trace| {
            let expected = by_definition(trace);
            let components = violating(trace);
            let least = |component| {
                let same = components.violating().iter().find(|v| v.component == component);
                same.map(|v| v.transaction.first_event)
            };
            let found = components.violating().iter();
            let found: Vec<_> = found
                .filter_map(|v| Some((v.transaction.first_event, least(v.component)?)))
                .collect();
            if found == expected { Ok(()) } else { Err(format!("{found:?}, not {expected:?}")) }
        });
    }
}
