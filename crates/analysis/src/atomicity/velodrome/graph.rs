//! Velodrome's happens-before graph: transactions that may still come to lie on a cycle, edges with
//! the two events that caused them, reference-counted collection, and the ancestors of each node.
//!
//! Edges only enter running nodes, so a finished node without incoming edges can never lie on a
//! cycle: it is collected at once, and its outgoing edges with it. The graph has no cycles (an edge
//! that would close one is not added), so counting references finds all garbage.
//!
//! The nodes of a thread are a chain in the graph, so the ancestors of a node are, for each thread,
//! all nodes of that thread up to some point: one number per thread. Sets of nodes, as in the
//! paper, would need memory quadratic in the live nodes. (Of a chain, only the front can be
//! collected, so no live node is cut off from a later one.)

use paceline_trace::{EventNo, ThreadId};

/// The position of a node, used again when the node is collected.
pub(super) type Slot = u32;

/// An event of a transaction. Once the transaction is collected, it stands for nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Step {
    pub slot: Slot,
    /// Which of the nodes that have used the slot.
    generation: u32,
    pub at: EventNo,
}

impl Step {
    /// Stands for nothing.
    pub const NOTHING: Step = Step { slot: 0, generation: 0, at: 0 };

    /// A later event of the same transaction.
    pub fn later(self, at: EventNo) -> Step {
        Step { at, ..self }
    }

    pub fn same_node(self, other: Step) -> bool {
        (self.slot, self.generation) == (other.slot, other.generation)
    }
}

/// An edge: the event at its tail precedes the event at its head.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub to: Slot,
    pub tail: EventNo,
    pub head: EventNo,
}

#[derive(Default)]
struct Node {
    generation: u32,
    thread: usize,
    /// The position of the node among those of its thread, from 1.
    index: u32,
    begin: EventNo,
    running: bool,
    incoming: u32,
    /// For each thread, the last of its nodes that precedes this one; missing ones are 0.
    ancestors: Vec<u32>,
    successors: Vec<Edge>,
}

/// How many nodes there were: Table 1 of the paper.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Stats {
    /// Nodes allocated.
    pub allocated: u64,
    /// The most that were alive at once.
    pub max_alive: u64,
}

/// The graph.
#[derive(Default)]
pub(super) struct Graph {
    nodes: Vec<Node>,
    free: Vec<Slot>,
    /// Per thread, how many nodes it has had.
    counts: Vec<u32>,
    alive: u64,
    pub stats: Stats,
    work: Vec<Slot>,
}

impl Graph {
    pub fn reserve_threads(&mut self, threads: usize) {
        self.counts.resize(threads.max(self.counts.len()), 0);
    }

    #[inline]
    pub fn is_alive(&self, step: Step) -> bool {
        self.nodes.get(step.slot as usize).is_some_and(|n| n.generation == step.generation)
    }

    pub fn is_running(&self, slot: Slot) -> bool {
        self.node(slot).running
    }

    pub fn begin(&self, slot: Slot) -> EventNo {
        self.node(slot).begin
    }

    pub fn successors(&self, slot: Slot) -> &[Edge] {
        &self.node(slot).successors
    }

    fn node(&self, slot: Slot) -> &Node {
        &self.nodes[slot as usize]
    }

    fn node_mut(&mut self, slot: Slot) -> &mut Node {
        &mut self.nodes[slot as usize]
    }

    /// A new node, which runs until [`Graph::finish`].
    pub fn allocate(&mut self, thread: ThreadId, at: EventNo) -> Step {
        let slot = self.free.pop().unwrap_or_else(|| {
            // Generation 0 is never in use: it belongs to `Step::NOTHING`.
            self.nodes.push(Node { generation: 1, ..Node::default() });
            self.nodes.len() as Slot - 1
        });
        self.counts[thread.index()] += 1;
        let index = self.counts[thread.index()];
        let node = self.node_mut(slot);
        (node.thread, node.index, node.begin) = (thread.index(), index, at);
        node.running = true;
        let generation = node.generation;
        self.alive += 1;
        self.stats.allocated += 1;
        self.stats.max_alive = self.stats.max_alive.max(self.alive);
        Step { slot, generation, at }
    }

    /// The transaction is over: no edge will enter its node any more.
    pub fn finish(&mut self, slot: Slot) {
        let node = self.node_mut(slot);
        node.running = false;
        if node.incoming == 0 {
            self.collect(slot);
        }
    }

    fn collect(&mut self, slot: Slot) {
        self.work.push(slot);
        while let Some(dead) = self.work.pop() {
            let node = self.node_mut(dead);
            node.generation += 1;
            node.ancestors.clear();
            let mut successors = std::mem::take(&mut node.successors);
            for edge in successors.drain(..) {
                let next = self.node_mut(edge.to);
                next.incoming -= 1;
                if next.incoming == 0 && !next.running {
                    self.work.push(edge.to);
                }
            }
            self.node_mut(dead).successors = successors;
            self.free.push(dead);
            self.alive -= 1;
        }
    }

    /// Whether there is a path, of any length including none, from one live node to another.
    pub fn reaches(&self, from: Slot, to: Slot) -> bool {
        from == to || {
            let node = self.node(from);
            self.node(to).ancestors.get(node.thread).is_some_and(|&last| last >= node.index)
        }
    }

    /// Adds an edge from a live step to a step of another, running node that does not reach it. Of
    /// several edges between two nodes only the latest is kept.
    pub fn add_edge(&mut self, from: Step, to: Step) {
        debug_assert!(!self.reaches(to.slot, from.slot));
        let edge = Edge { to: to.slot, tail: from.at, head: to.at };
        let successors = &mut self.node_mut(from.slot).successors;
        match successors.iter().rposition(|e| e.to == to.slot) {
            Some(old) => {
                // The latest edges are at the end: that is where the next search begins.
                successors.swap_remove(old);
                successors.push(edge);
            }
            None => {
                successors.push(edge);
                self.node_mut(to.slot).incoming += 1;
            }
        }
        if !self.reaches(from.slot, to.slot) {
            self.inherit(from.slot, to.slot);
            self.pass_on(to.slot);
        }
    }

    /// Passes new ancestors of a node on to all its descendants.
    fn pass_on(&mut self, slot: Slot) {
        self.work.push(slot);
        while let Some(parent) = self.work.pop() {
            for i in 0..self.node(parent).successors.len() {
                let child = self.node(parent).successors[i].to;
                if self.inherit(parent, child) {
                    self.work.push(child);
                }
            }
        }
    }

    /// Adds a parent and its ancestors to the ancestors of its child; false if all were known.
    fn inherit(&mut self, parent: Slot, child: Slot) -> bool {
        let mut ancestors = std::mem::take(&mut self.node_mut(child).ancestors);
        let node = self.node(parent);
        let least = node.ancestors.len().max(node.thread + 1);
        if ancestors.len() < least {
            ancestors.resize(least, 0);
        }
        let mut grown = ancestors[node.thread] < node.index;
        ancestors[node.thread] = ancestors[node.thread].max(node.index);
        for (mine, &theirs) in ancestors.iter_mut().zip(&node.ancestors) {
            grown |= *mine < theirs;
            *mine = (*mine).max(theirs);
        }
        self.node_mut(child).ancestors = ancestors;
        grown
    }
}
