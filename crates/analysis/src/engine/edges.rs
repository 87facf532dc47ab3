//! How the edges of one event enter the graph: [`Inside`] a running transaction, or into a
//! [`Single`] event that is a transaction by itself.

use super::frontier::Visitor;
use super::precedence::{Node, Precedence, Relevance, covers};

/// An event of a running transaction.
pub struct Inside<'a, G> {
    graph: &'a mut G,
    current: Node,
    /// Whether an edge has closed a cycle.
    pub cycle: bool,
}

impl<'a, G: Precedence> Inside<'a, G> {
    /// An event of `current`, which runs.
    #[inline(always)]
    pub fn new(graph: &'a mut G, current: Node) -> Self {
        Inside { graph, current, cycle: false }
    }
}

impl<G: Precedence> Visitor for Inside<'_, G> {
    type Graph = G;

    #[inline(always)]
    fn graph(&self) -> &G {
        self.graph
    }

    #[inline(always)]
    fn matters(&self, node: Node) -> bool {
        is_news(self.graph, self.current, node)
    }

    #[inline(always)]
    fn after(&mut self, node: Node) {
        if !covers(self.graph, self.current, node) && node != self.current {
            self.cycle |= self.graph.edge(node, self.current);
        }
    }

    #[inline(always)]
    fn finish(&mut self) -> Node {
        self.graph.commit_edges(self.current);
        self.current
    }
}

/// An event that is a transaction by itself. No edge leaves it before all of its own have entered,
/// so it cannot close a cycle.
pub struct Single<'a, G: Precedence> {
    graph: &'a mut G,
    /// The previous transaction of the same thread.
    last: Node,
    sources: G::Sources,
}

impl<'a, G: Precedence> Single<'a, G> {
    /// A single event of a thread whose previous transaction is `last`.
    #[inline(always)]
    pub fn new(graph: &'a mut G, last: Node) -> Self {
        Single { graph, last, sources: G::Sources::default() }
    }
}

impl<G: Precedence> Visitor for Single<'_, G> {
    type Graph = G;

    #[inline(always)]
    fn graph(&self) -> &G {
        self.graph
    }

    #[inline(always)]
    fn matters(&self, node: Node) -> bool {
        is_news(self.graph, self.last, node)
    }

    #[inline(always)]
    fn after(&mut self, node: Node) {
        if !covers(self.graph, self.last, node) {
            self.graph.gather(&mut self.sources, node);
        }
    }

    #[inline(always)]
    fn finish(&mut self) -> Node {
        self.graph.single(self.last, &mut self.sources)
    }
}

/// Whether an edge from `node` may say more than that the event happens after `known`.
#[inline(always)]
fn is_news(graph: &impl Relevance, known: Node, node: Node) -> bool {
    !(covers(graph, known, node) | (node == known) | graph.is_retired(node))
}
