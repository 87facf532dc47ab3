//! The whole transaction graph of a trace, for what cannot be decided on the fly: which
//! transactions lie on cycles, and in which order they could have run one after the other.
//!
//! Of the edges, of which there can be quadratically many, only those are kept that imply the
//! others ([`crate::engine::frontier`]): a few for each event, so memory is linear in the trace.

use paceline_trace::{Event, EventNo, IdCounts, Op};

use crate::engine::frontier::{Frontier, Visitor};
use crate::engine::precedence::{Horizons, Node, Relevance};
use crate::explain::TransactionRef;

/// Which transactions and edges are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keep {
    /// All of them.
    All,
    /// Those that may lie on a cycle. A single event without incoming edges cannot, nor can a
    /// finished block without them.
    Cyclic,
}

#[derive(Clone, Copy)]
struct Thread {
    /// The transaction that runs, if any.
    current: Node,
    /// The transaction before it; before the thread's first event, the one that forked it.
    last: Node,
    depth: usize,
    /// Whether an edge enters the running transaction.
    entered: bool,
}

const IDLE: Thread = Thread { current: Node::DEAD, last: Node::DEAD, depth: 0, entered: false };

/// Builds the graph.
pub struct Builder {
    keep: Keep,
    frontier: Frontier,
    threads: Vec<Thread>,
    transactions: Vec<TransactionRef>,
    /// Which nodes can no longer lie on a cycle. The node of a transaction is its index plus one.
    dead: Vec<bool>,
    /// Between nodes.
    edges: Vec<(u32, u32)>,
}

/// The graph: transactions are named by their index.
pub struct TransactionGraph {
    /// In the order of their first events.
    pub transactions: Vec<TransactionRef>,
    /// Where the successors of each one start.
    starts: Vec<usize>,
    successors: Vec<u32>,
}

impl Builder {
    /// An empty graph.
    pub fn new(keep: Keep) -> Builder {
        Builder {
            keep,
            frontier: Frontier::default(),
            threads: Vec::new(),
            transactions: Vec::new(),
            dead: vec![true],
            edges: Vec::new(),
        }
    }

    /// Makes room for the ids that are in use.
    pub fn reserve(&mut self, counts: &IdCounts) {
        self.frontier.reserve(counts);
        if self.threads.len() < counts.threads {
            self.threads.resize(counts.threads, IDLE);
        }
    }

    /// Adds an event. Returns the index of its transaction, if that is kept.
    pub fn event(&mut self, number: EventNo, event: Event) -> Option<usize> {
        let thread = self.threads[event.thread.index()];
        let starts = thread.current == Node::DEAD;
        let unary = starts && !matches!(event.op, Op::Begin(_));
        let edges_before = self.edges.len();
        let mut adding = Adding {
            node: if starts { Node(self.dead.len() as u32) } else { thread.current },
            live: Live { dead: &self.dead },
            edges: &mut self.edges,
            edges_needed: edges_before + usize::from(unary && self.keep == Keep::Cyclic),
        };
        if starts {
            adding.after(thread.last);
        }
        if let Op::Join(child) = event.op {
            let Thread { current, last, .. } = self.threads[child.index()];
            adding.after(if current == Node::DEAD { last } else { current });
        }
        let node = self.frontier.event(event.thread, event.op, &mut adding);
        let entered = self.edges.len() > edges_before;
        if let Op::Fork(child) = event.op {
            self.threads[child.index()].last = node;
        }
        if node == Node::DEAD {
            return None;
        }
        if starts {
            self.start(number, event);
        }
        self.update(number, event, node, entered);
        Some(node.0 as usize - 1)
    }

    fn start(&mut self, number: EventNo, event: Event) {
        let label = if let Op::Begin(label) = event.op { Some(label) } else { None };
        self.transactions.push(TransactionRef {
            thread: event.thread,
            label,
            site: event.site,
            unary: label.is_none(),
            first_event: number,
            last_event: number,
            ended: false,
        });
        self.dead.push(false);
    }

    /// Updates thread and transaction after an event.
    fn update(&mut self, number: EventNo, event: Event, node: Node, entered: bool) {
        let thread = &mut self.threads[event.thread.index()];
        let transaction = &mut self.transactions[node.0 as usize - 1];
        transaction.last_event = number;
        thread.current = node;
        thread.entered |= entered;
        thread.depth += usize::from(matches!(event.op, Op::Begin(_)));
        thread.depth -= usize::from(matches!(event.op, Op::End(_)));
        if thread.depth == 0 {
            transaction.ended = true;
            self.dead[node.0 as usize] = self.keep == Keep::Cyclic && !thread.entered;
            *thread = Thread { last: node, ..IDLE };
        }
    }

    /// The graph, when all events have been added.
    pub fn build(&mut self) -> TransactionGraph {
        let edges = std::mem::take(&mut self.edges);
        let transactions = std::mem::take(&mut self.transactions);
        let mut starts = vec![0; transactions.len() + 1];
        edges.iter().for_each(|&(from, _)| starts[from as usize] += 1);
        // Now `starts[i + 1]` is a count; sums make it the end of i, and placing the edges from
        // the end moves each down to its start.
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut successors = vec![0; edges.len()];
        for &(from, into) in edges.iter().rev() {
            starts[from as usize] -= 1;
            successors[starts[from as usize]] = into - 1;
        }
        starts.remove(0);
        starts.push(edges.len());
        TransactionGraph { transactions, starts, successors }
    }
}

impl TransactionGraph {
    /// The successors of a transaction; some may occur more than once.
    pub fn successors(&self, transaction: usize) -> &[u32] {
        &self.successors[self.starts[transaction]..self.starts[transaction + 1]]
    }
}

/// Adds the edges into one event's transaction.
struct Adding<'a> {
    node: Node,
    live: Live<'a>,
    edges: &'a mut Vec<(u32, u32)>,
    /// The transaction is left out if there are fewer edges than this in the end.
    edges_needed: usize,
}

/// Knows which nodes can no longer lie on a cycle, and nothing else.
struct Live<'a> {
    dead: &'a [bool],
}

impl Relevance for Live<'_> {
    /// The node of the event itself has no entry yet when its transaction starts with it.
    fn is_dead(&self, node: Node) -> bool {
        self.dead.get(node.0 as usize).copied().unwrap_or(false)
    }

    /// There are none: dead nodes may be younger than live ones.
    fn horizons(&self) -> Horizons {
        Horizons { all: Node::DEAD, after_oldest: None }
    }

    fn implies(&self, newer: Node, older: Node) -> bool {
        newer == older || self.is_dead(older)
    }
}

impl<'a> Visitor for Adding<'a> {
    type Graph = Live<'a>;

    fn graph(&self) -> &Live<'a> {
        &self.live
    }

    fn matters(&self, node: Node) -> bool {
        !self.live.is_dead(node)
    }

    fn after(&mut self, node: Node) {
        let edge = (node.0, self.node.0);
        if node != self.node && self.matters(node) && self.edges.last() != Some(&edge) {
            self.edges.push(edge);
        }
    }

    fn finish(&mut self) -> Node {
        if self.edges.len() < self.edges_needed { Node::DEAD } else { self.node }
    }
}
