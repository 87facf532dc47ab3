//! The graph of transactions in a topological order, which all its edges follow.
//!
//! Such an order exists as long as there is no cycle, and it makes edges cheap: one from an earlier
//! to a later transaction closes no cycle and costs no more than its entry. No set of ancestors is
//! kept, so the cost does not depend on how many transactions run.
//!
//! - A transaction has a *topological label*, a number. At first labels grow in the order of
//!   begins.
//! - An edge against the order starts a search for everything that must move: its source and the
//!   predecessors of that, down to the label of the target. If the target is among them there is a
//!   cycle. Otherwise they get labels below the target's, above those of their predecessors that
//!   stay. (Pearce and Kelly 2006 also search forwards from the target and permute the labels of
//!   both sides. Searching backwards only is enough, because labels have gaps.)
//! - A transaction that has ended, and that no running one precedes, is dead: it can never lie on a
//!   cycle. For each one the edges from live ones are counted, so its death is known at once, and
//!   so are the deaths that follow from it. Everything older than `watermark` is dead.
//! - A *sweep*, once there are several times as many edges as the last one left, drops the edges of
//!   dead transactions. If too many transactions are left, those that happen after the same running
//!   ones are merged: they are interchangeable from then on. So the graph does not grow with the
//!   trace.
//! - One transaction that runs for long would keep everything alive that happens after it. So the
//!   edges of the *oldest running transaction* are not counted; what happens after it has a flag
//!   instead. What would be dead without it is merged into it. What is older than `second` is dead
//!   or of that kind: an event that happens after the oldest running transaction anyway may treat
//!   it as dead.
//!
//! A cycle has no order: then the graph is exchanged for [`super::ancestors`].

mod reorder;
mod retire;
mod sweep;

use super::precedence::{Full, Horizons, Node, Precedence, Relevance, Renumbering};

/// The position of a record in the topological order.
type TopoLabel = u64;

/// The distance between new labels, so that others fit in between: two dozen moves into the same
/// gap can halve what is left of it before all records must be relabelled, and there are labels for
/// 2^40 transactions.
const GAP: TopoLabel = 1 << 24;

/// What a node stands for: a record, another node that it was merged into, or nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Link(u32);

enum Target {
    Dead,
    Record(usize),
    Node(Node),
}

impl Link {
    const DEAD: Link = Link(0);
    const FORWARD: u32 = 1 << 31;

    fn record(index: usize) -> Link {
        Link(index as u32)
    }

    fn forward(node: Node) -> Link {
        Link(node.0 | Self::FORWARD)
    }

    #[inline(always)]
    fn target(self) -> Target {
        match self.0 {
            0 => Target::Dead,
            forward if forward & Self::FORWARD != 0 => Target::Node(Node(forward ^ Self::FORWARD)),
            index => Target::Record(index as usize),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    Finished,
    /// The record is not in use.
    Dead,
    /// During a sweep: merged into the record that its mark names.
    Merged,
}

/// A transaction that may still lie on a cycle.
#[derive(Clone, Copy)]
struct Record {
    label: TopoLabel,
    node: Node,
    /// The first edge into it, and the first from it.
    incoming: u32,
    outgoing: u32,
    /// How many edges enter from live records, not counting the oldest running transaction.
    sources: u32,
    /// The record that the latest edge from here enters.
    target: u32,
    /// The last search that came here; a sweep has other uses for it.
    mark: u32,
    state: State,
    /// Whether it is known to happen after the oldest running transaction.
    after_oldest: bool,
}

const _: () = assert!(size_of::<Record>() == 40);

const UNUSED: Record = Record {
    label: 0,
    node: Node::DEAD,
    incoming: NO_EDGE,
    outgoing: NO_EDGE,
    sources: 0,
    target: 0,
    mark: 0,
    state: State::Dead,
    after_oldest: false,
};

impl Record {
    /// Whether it has ended, and nothing that is alive precedes it but, perhaps, the oldest running
    /// transaction. This cannot change any more.
    #[inline(always)]
    fn is_retirable(&self) -> bool {
        (self.sources == 0) & (self.state == State::Finished)
    }
}

/// An edge, in the list of those into its target and in the list of those from its source. The
/// source is 0 when it is dead.
#[derive(Clone, Copy)]
struct Edge {
    source: u32,
    target: u32,
    next_in: u32,
    next_out: u32,
}

const NO_EDGE: u32 = u32::MAX;

/// The graph.
pub struct Ordered {
    /// By node.
    links: Vec<Link>,
    /// The first one is never in use.
    records: Vec<Record>,
    free: Vec<u32>,
    edges: Vec<Edge>,
    running: usize,
    next_label: TopoLabel,
    /// Older nodes are dead.
    watermark: Node,
    /// Older nodes are dead or merged into the oldest running transaction.
    second: Node,
    /// The record of the oldest running transaction, once it is singled out; 0 before.
    oldest: usize,
    /// It is singled out when more than this many nodes lie between the oldest live node and the
    /// newest, and there are at least `choose_at` nodes.
    patience: u32,
    choose_at: usize,
    /// A sweep is due at this many edges.
    sweep_at: usize,
    /// A sweep merges when there are more finished transactions than this.
    merge_at: usize,
    searches: u32,
    pending: Vec<u32>,
    found: Vec<u32>,
    /// The predecessors of a single event.
    sources: Vec<u32>,
    /// Edges that would close cycles; they are not in the graph.
    cycle: Vec<(Node, Node)>,
    swept: sweep::Scratch,
}

/// With fewer nodes than this between the two marks, finding out whether a node happens after the
/// oldest running transaction costs more than the edges that it saves.
const WORTHWHILE_NODES: u32 = 1 << 10;

/// The oldest running transaction is looked for at most once in this many nodes, because that takes
/// a pass over all records.
const CHOICE_INTERVAL: usize = 1 << 8;

/// A sweep is not worth its cost for fewer edges than this: so many (64 KiB) stay in the cache.
const FEWEST_EDGES: usize = 1 << 12;

/// Merging is not worth its cost for fewer records than this.
const FEWEST_RECORDS: usize = 64;

impl Default for Ordered {
    fn default() -> Self {
        Ordered {
            links: vec![Link::DEAD],
            records: vec![UNUSED],
            free: Vec::new(),
            edges: Vec::new(),
            running: 0,
            next_label: GAP,
            watermark: Node(1),
            second: Node(1),
            oldest: 0,
            patience: WORTHWHILE_NODES,
            choose_at: 0,
            sweep_at: FEWEST_EDGES,
            merge_at: FEWEST_RECORDS,
            searches: 0,
            pending: Vec::new(),
            found: Vec::new(),
            sources: Vec::new(),
            cycle: Vec::new(),
            swept: sweep::Scratch::default(),
        }
    }
}

impl Relevance for Ordered {
    #[inline(always)]
    fn is_dead(&self, node: Node) -> bool {
        node < self.watermark
    }

    #[inline(always)]
    fn is_retired(&self, node: Node) -> bool {
        // Nodes below the watermark share one entry: the others are few, and stay in the cache.
        self.links[node.0.max(self.watermark.0 - 1) as usize] == Link::DEAD
    }

    fn implies(&self, newer: Node, older: Node) -> bool {
        match [older, newer].map(|node| self.links[node.0 as usize].target()) {
            [Target::Dead, _] => true,
            [Target::Record(older), Target::Record(newer)] => {
                older == newer || self.is_known(older, newer)
            }
            [Target::Record(_) | Target::Node(_), _] => false,
        }
    }

    fn are_interchangeable(&self, one: Node, other: Node) -> bool {
        let [one, other] = [one, other].map(|node| self.links[node.0 as usize]);
        one == other
    }

    #[inline(always)]
    fn horizons(&self) -> Horizons {
        let is_worthwhile = self.watermark.0 + self.patience < self.second.0;
        Horizons { all: self.watermark, after_oldest: is_worthwhile.then_some(self.second) }
    }

    #[inline(always)]
    fn is_after_oldest(&self, node: Node) -> bool {
        match self.links[node.0 as usize].target() {
            Target::Record(index) => self.records[index].after_oldest,
            Target::Node(next) => next == self.records[self.oldest].node,
            Target::Dead => false,
        }
    }
}

impl Precedence for Ordered {
    /// They are kept in the graph, so that their memory is used again.
    type Sources = ();

    fn begin(&mut self, last: Node) -> Result<Node, Full> {
        self.keep_house();
        let last = self.find(last);
        let index = self.add(State::Running, last);
        self.running += 1;
        Ok(self.records[index].node)
    }

    fn end(&mut self, node: Node) {
        let Some(index) = self.find(node) else { return };
        self.running -= 1;
        self.records[index].state = State::Finished;
        self.retire_if_due(index);
    }

    #[inline]
    fn edge(&mut self, from: Node, into: Node) -> bool {
        let Some(source) = self.find(from) else { return false };
        let Some(target) = self.find(into) else { return false };
        if self.is_known(source, target) || from == into {
            return false;
        }
        let follows = self.records[source].label < self.records[target].label;
        // What was merged into a running transaction happens after it.
        if !follows && (source == target || self.closes_cycle(source, target)) {
            self.cycle.push((from, into));
            return true;
        }
        self.insert(source, target);
        false
    }

    #[inline(always)]
    fn commit_edges(&mut self, _: Node) {}

    #[inline]
    fn gather(&mut self, (): &mut (), node: Node) {
        if let Some(index) = self.find(node) {
            self.sources.push(index as u32);
        }
    }

    fn single(&mut self, last: Node, (): &mut ()) -> Node {
        let own = self.find(last);
        let mut sources = std::mem::take(&mut self.sources);
        sources.retain(|&source| {
            own.is_none_or(|own| own != source as usize && !self.is_known(source as usize, own))
        });
        if sources.is_empty() {
            self.sources = sources;
            return if own.is_none() { Node::DEAD } else { last };
        }
        if let (None, &[source]) = (own, &sources[..])
            && self.records[source as usize].state == State::Finished
        {
            // It happens after one that has ended and after nothing else: they are interchangeable.
            sources.clear();
            self.sources = sources;
            return self.records[source as usize].node;
        }
        let index = self.add(State::Finished, own);
        let node = self.records[index].node;
        while let Some(source) = sources.pop() {
            if !self.is_known(source as usize, index) {
                self.insert(source as usize, index);
            }
        }
        self.sources = sources;
        self.retire_if_due(index);
        self.keep_house();
        node
    }

    fn shadow(&mut self, node: Node) -> Node {
        let Some(own) = self.find(node) else { return Node::DEAD };
        let index = self.add(State::Finished, Some(own));
        let node = self.records[index].node;
        self.retire_if_due(index);
        node
    }

    #[inline(always)]
    fn is_broken(&self) -> bool {
        !self.cycle.is_empty()
    }

    fn nodes(&self) -> usize {
        self.links.len()
    }

    fn compact(&mut self) -> Renumbering {
        self.renumber()
    }
}

impl Ordered {
    /// Sweeps with every new record, merges each time, and singles out the oldest running
    /// transaction at once.
    #[cfg(test)]
    pub fn sweep_often(&mut self) {
        (self.sweep_at, self.merge_at, self.patience, self.choose_at) = (0, 0, 0, 0);
    }

    /// The edges that close cycles and are not in the graph.
    pub fn take_cycle(&mut self) -> Vec<(Node, Node)> {
        std::mem::take(&mut self.cycle)
    }

    /// The record of a node, if it is not dead.
    #[inline]
    fn find(&mut self, node: Node) -> Option<usize> {
        if self.is_dead(node) {
            return None;
        }
        match self.links[node.0 as usize].target() {
            Target::Dead => None,
            Target::Record(index) => Some(index),
            Target::Node(_) => self.follow(node),
        }
    }

    /// The record of a node that was merged into another (union–find with path compression).
    fn follow(&mut self, node: Node) -> Option<usize> {
        let root = self.node_root(node);
        match self.links[root.0 as usize].target() {
            Target::Record(index) => {
                self.links[node.0 as usize] = Link::forward(root);
                Some(index)
            }
            Target::Dead | Target::Node(_) => {
                self.links[node.0 as usize] = Link::DEAD;
                None
            }
        }
    }

    /// The node that a node was merged into, directly or not.
    fn node_root(&self, mut node: Node) -> Node {
        while let Target::Node(next) = self.links[node.0 as usize].target() {
            node = next;
        }
        node
    }

    /// Whether such an edge is known to exist.
    #[inline(always)]
    fn is_known(&self, source: usize, target: usize) -> bool {
        match source == self.oldest {
            true => self.records[target].after_oldest,
            false => self.records[source].target == target as u32,
        }
    }

    /// A new transaction, the last one in the order, which happens after `last`.
    fn add(&mut self, state: State, last: Option<usize>) -> usize {
        let node = Node(self.links.len() as u32);
        let index = self.take(state);
        self.records[index].node = node;
        self.links.push(Link::record(index));
        if let Some(last) = last {
            self.insert(last, index);
        }
        index
    }

    /// A record at the end of the order, without a node.
    fn take(&mut self, state: State) -> usize {
        let index = self.free.pop().unwrap_or(self.records.len() as u32);
        if index as usize == self.records.len() {
            self.records.push(UNUSED);
        }
        self.records[index as usize] = Record { label: self.next_label, state, ..UNUSED };
        self.next_label += GAP;
        index as usize
    }

    #[inline]
    fn insert(&mut self, source: usize, target: usize) {
        if source == self.oldest {
            self.records[target].after_oldest = true;
            return;
        }
        let edge = self.edges.len() as u32;
        let from = &mut self.records[source];
        let after_oldest = from.after_oldest;
        let next_out = std::mem::replace(&mut from.outgoing, edge);
        from.target = target as u32;
        let into = &mut self.records[target];
        into.sources += 1;
        into.after_oldest |= after_oldest;
        let next_in = std::mem::replace(&mut into.incoming, edge);
        self.edges.push(Edge { source: source as u32, target: target as u32, next_in, next_out });
    }
}
