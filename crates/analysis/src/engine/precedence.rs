//! Which transaction precedes which: the questions that properties and tables ask of a graph of
//! transactions. There are two graphs: [`super::ordered`] is fast but cannot hold a cycle,
//! [`super::ancestors`] can.

/// A transaction, or several finished ones that are interchangeable. Numbers grow in time, until
/// [`Precedence::compact`] gives out new ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Node(pub u32);

impl Node {
    /// A transaction that can never lie on a cycle; also stands for "none".
    pub const DEAD: Node = Node(0);
}

/// There is no room for another running transaction: the graph has to be made wider.
#[derive(Debug)]
pub struct Full;

/// Nodes older than a horizon add nothing to what precedes the next event.
#[derive(Clone, Copy)]
pub struct Horizons {
    /// Holds for every event. Everything older is dead.
    pub all: Node,
    /// Holds for events that happen after the oldest running transaction; given when it is far
    /// enough from `all` to be worth the question.
    pub after_oldest: Option<Node>,
}

/// Which earlier transactions still matter.
///
/// A transaction is *dead* when it has ended and no running transaction precedes it: then it can
/// never lie on a cycle. A graph may learn late that one is dead, so all answers are one-sided:
/// "yes" is certain, "no" means that nothing is known. Once an answer is "yes", it stays so.
pub trait Relevance {
    /// Whether the node is dead, as far as one comparison shows (fast path).
    fn is_dead(&self, node: Node) -> bool;

    /// Whether the node is dead, as far as looking it up shows. Compiles to code without branches.
    #[inline(always)]
    fn is_retired(&self, node: Node) -> bool {
        self.is_dead(node)
    }

    /// The horizons of this moment.
    fn horizons(&self) -> Horizons;

    /// Whether the node happens after the oldest running transaction.
    fn is_after_oldest(&self, _node: Node) -> bool {
        false
    }

    /// Whether an edge from `newer` makes one from `older` redundant (slow path of [`covers`]).
    fn implies(&self, newer: Node, older: Node) -> bool {
        newer == older
    }

    /// Whether edges from the two nodes are interchangeable.
    fn are_interchangeable(&self, one: Node, other: Node) -> bool {
        one == other
    }
}

/// Edges from nodes older than this are redundant for an event that happens after `newer`.
#[inline(always)]
pub fn horizon(graph: &impl Relevance, newer: Node) -> Node {
    let Horizons { all, after_oldest } = graph.horizons();
    match after_oldest {
        Some(second) if graph.is_after_oldest(newer) => second,
        Some(_) | None => all,
    }
}

/// Whether an edge from `newer` makes one from `older` redundant (fast path).
#[inline(always)]
pub fn covers(graph: &impl Relevance, newer: Node, older: Node) -> bool {
    older < horizon(graph, newer)
}

/// A graph of the transactions that may still lie on a cycle.
///
/// The edges of an event inside a block enter its running transaction one by one
/// ([`edge`](Precedence::edge)) and take effect together
/// ([`commit_edges`](Precedence::commit_edges)), so that none of them is judged by the others. An
/// event outside every block is a transaction by itself: its predecessors are collected
/// ([`gather`](Precedence::gather)), then it gets a node ([`single`](Precedence::single)).
pub trait Precedence: Relevance {
    /// The predecessors of a single event, besides the previous transaction of its thread.
    type Sources: Default;

    /// Starts a transaction that happens after `last`, the previous one of its thread.
    fn begin(&mut self, last: Node) -> Result<Node, Full>;

    /// Ends a running transaction.
    fn end(&mut self, node: Node);

    /// Adds an edge from `from` to `into`, which runs. Returns whether it closes a cycle that
    /// earlier edges do not imply.
    fn edge(&mut self, from: Node, into: Node) -> bool;

    /// All edges into an event of `into` have been added: they take effect.
    fn commit_edges(&mut self, into: Node);

    /// Adds a predecessor of a single event.
    fn gather(&mut self, sources: &mut Self::Sources, node: Node);

    /// The node of a single event that happens after `last`, the previous transaction of its
    /// thread, and after the sources.
    fn single(&mut self, last: Node, sources: &mut Self::Sources) -> Node;

    /// A finished transaction that happens after the given one and after nothing else: what the
    /// first event of a thread that the given one forked happens after.
    fn shadow(&mut self, node: Node) -> Node;

    /// Whether the last event has closed a cycle that this graph cannot hold.
    fn is_broken(&self) -> bool;

    /// How many nodes have been numbered since the last [`compact`](Precedence::compact).
    fn nodes(&self) -> usize;

    /// Renumbers the nodes, without the dead. Every node that is kept outside of the graph must be
    /// exchanged through the returned table.
    #[must_use]
    fn compact(&mut self) -> Renumbering;
}

/// New node numbers for old ones.
pub struct Renumbering {
    table: Vec<Node>,
    dead_before: Node,
}

impl Renumbering {
    /// New numbers, indexed by the old ones; nodes older than `dead_before` have none.
    pub fn new(table: Vec<Node>, dead_before: Node) -> Renumbering {
        Renumbering { table, dead_before }
    }

    /// The new number of a node.
    #[inline]
    pub fn of(&self, node: Node) -> Node {
        if node < self.dead_before { Node::DEAD } else { self.table[node.0 as usize] }
    }
}

/// A graph taken apart, to be assembled as one of the other kind.
pub struct Parts {
    /// How many nodes have been numbered.
    pub nodes: usize,
    /// The running transactions.
    pub running: Vec<Part>,
    /// The finished ones that are not dead; those that happen after the same running ones are
    /// together.
    pub finished: Vec<Part>,
}

/// Transactions that happen after the same running ones.
pub struct Part {
    /// The transactions.
    pub nodes: Vec<Node>,
    /// Indices into [`Parts::running`]: all that precede them.
    pub after: Vec<u32>,
}
