//! How the edges of one event enter the graph: [`Inside`] a transaction that runs, or into a
//! [`Single`] event that is a transaction by itself.

use crate::ancestors::{Ancestors, Node};
use crate::frontier::Visitor;
use crate::slots::SlotSet;

/// An event of a running transaction.
pub struct Inside<'a, S> {
    /// The graph.
    pub graph: &'a mut Ancestors<S>,
    /// The transaction.
    pub current: Node,
    /// Whether an edge has closed a cycle.
    pub cycle: bool,
}

impl<S: SlotSet> Visitor for Inside<'_, S> {
    #[inline(always)]
    fn after(&mut self, node: Node) {
        if !self.graph.covers(self.current, node) && node != self.current {
            self.cycle |= self.graph.edge(node, self.current);
        }
    }

    #[inline(always)]
    fn settle(&mut self) -> Node {
        self.current
    }

    #[inline(always)]
    fn is_dead(&self, node: Node) -> bool {
        self.graph.is_dead(node)
    }

    #[inline(always)]
    fn covers(&self, newer: Node, older: Node) -> bool {
        self.graph.covers(newer, older)
    }
}

/// An event that is a transaction by itself. No edge leaves it before all have come in, so it
/// cannot close a cycle.
pub struct Single<'a, S> {
    /// The graph.
    pub graph: &'a mut Ancestors<S>,
    /// The transaction of the same thread before it.
    pub last: Node,
    /// Running transactions that come before the event, besides those before `last`.
    pub set: Option<S>,
}

impl<S: SlotSet> Visitor for Single<'_, S> {
    #[inline(always)]
    fn after(&mut self, node: Node) {
        if self.graph.covers(self.last, node) {
            return;
        }
        let before = self.graph.generators(node);
        match &mut self.set {
            Some(set) => set.add(&before),
            None => self.set = Some(before),
        }
    }

    #[inline(always)]
    fn settle(&mut self) -> Node {
        match &self.set {
            None if self.graph.is_dead(self.last) => Node::DEAD,
            None => self.last,
            Some(set) => self.graph.single(self.last, set),
        }
    }

    #[inline(always)]
    fn is_dead(&self, node: Node) -> bool {
        self.graph.is_dead(node)
    }

    #[inline(always)]
    fn covers(&self, newer: Node, older: Node) -> bool {
        self.graph.covers(newer, older)
    }
}
