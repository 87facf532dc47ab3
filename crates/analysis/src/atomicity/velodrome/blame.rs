//! Which transaction is to blame for a cycle: §4.3 of the paper.
//!
//! The transaction that closes the cycle is to blame if the cycle is *increasing*: every other
//! transaction on it is left by an event that is not before the one by which it was entered. Then
//! the path of transactions is a path of events, and the transaction cannot be moved together.
//! Several paths may close a cycle with the same last edge. We look for an increasing one, and
//! among those for the one that leaves the blamed transaction last, because it refutes the most
//! blocks.

use hashbrown::HashMap;
use paceline_trace::EventNo;

use super::graph::{Edge, Graph, Slot, Step};

/// How a node was reached: by the earliest event so far.
#[derive(Clone, Copy)]
struct Arrival {
    from: Slot,
    edge: Edge,
}

/// The edges of a cycle, from the transaction that closes it and back to it.
pub(super) struct ClosedCycle {
    pub edges: Vec<Edge>,
    pub increasing: bool,
}

/// The cycle that an edge from `last` to `closing` would close.
pub(super) fn find(graph: &Graph, last: Step, closing: Step) -> ClosedCycle {
    let back = Edge { to: closing.slot, tail: last.at, head: closing.at };
    let (mut edges, increasing) = match increasing(graph, last, closing.slot) {
        Some(edges) => (edges, true),
        None => (shortest(graph, last.slot, closing.slot), false),
    };
    edges.push(back);
    ClosedCycle { edges, increasing }
}

fn increasing(graph: &Graph, last: Step, root: Slot) -> Option<Vec<Edge>> {
    let mut first: Vec<Edge> = graph.successors(root).to_vec();
    first.sort_by_key(|edge| std::cmp::Reverse(edge.tail));
    let mut arrivals = HashMap::new();
    for edge in first {
        spread(graph, Arrival { from: root, edge }, last.slot, &mut arrivals);
        if arrivals.get(&last.slot).is_some_and(|a: &Arrival| a.edge.head <= last.at) {
            return Some(trace_back(&arrivals, last.slot, root));
        }
    }
    None
}

/// Follows increasing paths as long as they reach a node by an earlier event than known.
fn spread(graph: &Graph, start: Arrival, goal: Slot, arrivals: &mut HashMap<Slot, Arrival>) {
    let mut todo = vec![start];
    while let Some(arrival) = todo.pop() {
        let here = arrival.edge.to;
        let known: EventNo = arrivals.get(&here).map_or(EventNo::MAX, |a| a.edge.head);
        if arrival.edge.head >= known || !graph.reaches(here, goal) {
            continue;
        }
        arrivals.insert(here, arrival);
        let onward = graph.successors(here).iter().filter(|e| e.tail >= arrival.edge.head);
        todo.extend(onward.map(|&edge| Arrival { from: here, edge }));
    }
}

fn shortest(graph: &Graph, goal: Slot, root: Slot) -> Vec<Edge> {
    let mut arrivals: HashMap<Slot, Arrival> = HashMap::new();
    let mut layer = vec![root];
    while !layer.is_empty() && !arrivals.contains_key(&goal) {
        let mut next = Vec::new();
        for from in layer {
            for &edge in graph.successors(from).iter().filter(|e| graph.reaches(e.to, goal)) {
                arrivals.entry(edge.to).or_insert_with(|| {
                    next.push(edge.to);
                    Arrival { from, edge }
                });
            }
        }
        layer = next;
    }
    trace_back(&arrivals, goal, root)
}

/// Arrivals lead back to the root without going in circles, because the graph has none.
fn trace_back(arrivals: &HashMap<Slot, Arrival>, goal: Slot, root: Slot) -> Vec<Edge> {
    let mut edges = Vec::new();
    let mut here = goal;
    while here != root {
        let arrival = arrivals[&here];
        edges.push(arrival.edge);
        here = arrival.from;
    }
    edges.reverse();
    edges
}
