//! Which transaction comes before which: what the analyses ask of a graph of transactions. There
//! are two: [`crate::engine::ordered`] is fast but cannot hold a cycle, [`crate::engine::ancestors`] can.

use crate::engine::ancestors::{Full, Node, Renumbering};

/// What is older than these nodes is of no consequence to whoever comes next.
#[derive(Clone, Copy)]
pub struct Horizons {
    /// To anybody.
    pub all: Node,
    /// To whoever comes after the elder, if there is one that makes a difference.
    pub after_elder: Option<Node>,
}

/// A graph of transactions, with those that may still lie on a cycle.
pub trait Precedence {
    /// What a single event comes after, besides the transaction of its thread before.
    type Sources: Default;

    /// Whether the node is known at a glance to be dead. (A dead one may be found out later.)
    fn is_dead(&self, node: Node) -> bool;

    /// Whether the node is known to be dead, although perhaps not at a glance. This is no branch.
    #[inline(always)]
    fn is_gone(&self, node: Node) -> bool {
        self.is_dead(node)
    }

    /// Whether whoever comes after `newer` comes after what is before `older` anyway, if not seen at
    /// a glance.
    fn implies(&self, newer: Node, older: Node) -> bool {
        newer == older
    }

    /// Whether it is all the same which of two nodes somebody comes after.
    fn are_alike(&self, one: Node, other: Node) -> bool {
        one == other
    }

    /// What is older than these is of no consequence.
    fn horizons(&self) -> Horizons;

    /// Whether the node is known to come after the elder.
    fn is_after_elder(&self, node: Node) -> bool;

    /// Whoever comes after `newer` comes anyway after what is before those older than this.
    #[inline(always)]
    fn horizon(&self, newer: Node) -> Node {
        let Horizons { all, after_elder } = self.horizons();
        match after_elder {
            Some(second) if self.is_after_elder(newer) => second,
            Some(_) | None => all,
        }
    }

    /// Whether whoever comes after `newer` comes after what is before `older` anyway.
    #[inline(always)]
    fn covers(&self, newer: Node, older: Node) -> bool {
        older < self.horizon(newer)
    }

    /// Starts a transaction that comes after `last`, the thread's one before.
    fn begin(&mut self, last: Node) -> Result<Node, Full>;

    /// Ends a running transaction.
    fn end(&mut self, node: Node);

    /// An edge from `from` to `into`, which runs. Returns whether it closes a cycle that is not
    /// implied by earlier ones.
    fn edge(&mut self, from: Node, into: Node) -> bool;

    /// All edges into an event of `into` have come: none of them was seen by the others.
    fn settle(&mut self, into: Node);

    /// Adds a node to what a single event comes after.
    fn gather(&mut self, sources: &mut Self::Sources, node: Node);

    /// The node of a single event that comes after `last`, the thread's transaction before, and
    /// after the sources.
    fn single(&mut self, last: Node, sources: &mut Self::Sources) -> Node;

    /// A finished transaction that comes after the given one and nothing else: where a thread
    /// starts that was forked by it.
    fn shadow(&mut self, node: Node) -> Node;

    /// Whether the last event has closed a cycle that this graph cannot hold.
    fn is_broken(&self) -> bool;

    /// How many nodes have been numbered since the last [`Precedence::compact`].
    fn nodes(&self) -> usize;

    /// Renumbers the nodes, leaving out the dead. Every node that is kept outside must be
    /// exchanged through the returned table.
    #[must_use]
    fn compact(&mut self) -> Renumbering;
}

/// A graph of either kind, on its way into the other.
pub struct Parts {
    /// How many nodes have been numbered.
    pub nodes: usize,
    /// The transactions that run.
    pub running: Vec<Part>,
    /// Finished ones that are not dead; those that come after the same ones are together.
    pub finished: Vec<Part>,
}

/// Transactions that come after the same ones.
pub struct Part {
    /// The transactions.
    pub nodes: Vec<Node>,
    /// Those that run, of all that come before, by their index.
    pub after: Vec<u32>,
}
