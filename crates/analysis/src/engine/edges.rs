//! How the edges of one event enter the graph: [`Inside`] a transaction that runs, or into a
//! [`Single`] event that is a transaction by itself.

use crate::engine::ancestors::Node;
use crate::engine::frontier::Visitor;
use crate::engine::precedence::Precedence;

/// An event of a running transaction.
pub struct Inside<'a, G> {
    graph: &'a mut G,
    current: Node,
    /// Whether an edge has closed a cycle.
    pub cycle: bool,
}

impl<'a, G: Precedence> Inside<'a, G> {
    /// An event of a transaction that runs.
    #[inline(always)]
    pub fn new(graph: &'a mut G, current: Node) -> Self {
        Inside { graph, current, cycle: false }
    }
}

impl<G: Precedence> Visitor for Inside<'_, G> {
    #[inline(always)]
    fn after(&mut self, node: Node) {
        if !self.graph.covers(self.current, node) && node != self.current {
            self.cycle |= self.graph.edge(node, self.current);
        }
    }

    #[inline(always)]
    fn settle(&mut self) -> Node {
        self.graph.settle(self.current);
        self.current
    }

    #[inline(always)]
    fn is_dead(&self, node: Node) -> bool {
        self.graph.is_dead(node)
    }

    fn implies(&self, newer: Node, older: Node) -> bool {
        self.graph.implies(newer, older)
    }

    fn are_alike(&self, one: Node, other: Node) -> bool {
        self.graph.are_alike(one, other)
    }

    #[inline(always)]
    fn horizon(&self, newer: Node) -> Node {
        self.graph.horizon(newer)
    }

    #[inline(always)]
    fn matters(&self, node: Node) -> bool {
        !(self.graph.covers(self.current, node) | (node == self.current) | self.graph.is_gone(node))
    }
}

/// An event that is a transaction by itself. No edge leaves it before all have come in, so it
/// cannot close a cycle.
pub struct Single<'a, G: Precedence> {
    graph: &'a mut G,
    /// The transaction of the same thread before it.
    last: Node,
    sources: G::Sources,
}

impl<'a, G: Precedence> Single<'a, G> {
    /// A single event of a thread whose transaction before it was `last`.
    #[inline(always)]
    pub fn new(graph: &'a mut G, last: Node) -> Self {
        Single { graph, last, sources: G::Sources::default() }
    }
}

impl<G: Precedence> Visitor for Single<'_, G> {
    #[inline(always)]
    fn after(&mut self, node: Node) {
        if !self.graph.covers(self.last, node) {
            self.graph.gather(&mut self.sources, node);
        }
    }

    #[inline(always)]
    fn settle(&mut self) -> Node {
        self.graph.single(self.last, &mut self.sources)
    }

    #[inline(always)]
    fn is_dead(&self, node: Node) -> bool {
        self.graph.is_dead(node)
    }

    fn implies(&self, newer: Node, older: Node) -> bool {
        self.graph.implies(newer, older)
    }

    fn are_alike(&self, one: Node, other: Node) -> bool {
        self.graph.are_alike(one, other)
    }

    #[inline(always)]
    fn horizon(&self, newer: Node) -> Node {
        self.graph.horizon(newer)
    }

    #[inline(always)]
    fn matters(&self, node: Node) -> bool {
        !(self.graph.covers(self.last, node) | (node == self.last) | self.graph.is_gone(node))
    }
}
