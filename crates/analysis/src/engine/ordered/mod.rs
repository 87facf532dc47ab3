//! The graph of transactions, with an order that all its edges follow.
//!
//! As long as there is no cycle, the transactions can be put into such an order. It makes edges cheap:
//! one from an earlier to a later transaction closes no cycle, and has no consequences but its own
//! entry. No set of ancestors is kept, so the cost does not depend on how many transactions run.
//!
//! - A transaction's *place* is a number. At first places go up in the order of beginnings.
//! - An edge against the order starts a search for those that must come first: its source and what
//!   is before it, down to the place of the target. If the target is among them there is a cycle.
//!   Otherwise they get places in front of it (after Pearce and Kelly, but backwards only).
//! - A transaction that has ended and that no running one comes before is dead: it can never lie on a
//!   cycle. For each one the edges from others that are alive are counted, so a death is known at
//!   once, and what it is the cause of. All older than `watermark` are dead.
//! - A *sweep*, once there are some times as many edges as the last one left, takes out those of the
//!   dead. If too many transactions are left, those that come after the same running ones become one,
//!   as they are interchangeable for ever. So the graph does not grow with the trace.
//! - One transaction that runs for long would keep everything alive that comes after it. So it becomes
//!   the *elder*, whose edges are not counted; who comes after it has a flag instead. What would be
//!   dead without the elder is united with it. What is older than `second` is dead or of that kind: to
//!   whoever comes after the elder anyway, it is as good as dead.
//!
//! A cycle has no order: then the graph is handed over to [`crate::engine::ancestors`].

mod death;
mod order;
mod sweep;

use crate::engine::ancestors::{Full, Node, Renumbering};
use crate::engine::precedence::{Horizons, Precedence};

/// Where a record is in the order.
type Place = u64;

/// Places start that far from each other, so that others fit in between.
const GAP: Place = 1 << 24;

/// What a node stands for: a record, another node that it has become one with, or nothing.
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
    /// The record is nobody's.
    Dead,
    /// In a sweep: it has become one with the record that its mark says.
    United,
}

/// A transaction that may still lie on a cycle.
#[derive(Clone, Copy)]
struct Record {
    place: Place,
    node: Node,
    /// The first of the edges into it, and of those from it.
    incoming: u32,
    outgoing: u32,
    /// How many edges come from others that are alive, those of the elder not counted.
    sources: u32,
    /// The record that the latest edge from here goes to.
    target: u32,
    /// The last search that came here; a sweep has other uses for it.
    mark: u32,
    state: State,
    /// It is known to come after the elder.
    after_elder: bool,
}

const _: () = assert!(size_of::<Record>() == 40);

const NOBODY: Record = Record {
    place: 0,
    node: Node::DEAD,
    incoming: NO_EDGE,
    outgoing: NO_EDGE,
    sources: 0,
    target: 0,
    mark: 0,
    state: State::Dead,
    after_elder: false,
};

impl Record {
    /// Nobody alive comes before it, but perhaps the elder; and so it will be.
    #[inline(always)]
    fn is_settled(&self) -> bool {
        (self.sources == 0) & (self.state == State::Finished)
    }
}

/// An edge: in a list of those into its target, and in one of those from its source. If the source
/// is dead, it is nobody.
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
    /// The first one is nobody's.
    records: Vec<Record>,
    free: Vec<u32>,
    edges: Vec<Edge>,
    running: usize,
    next_place: Place,
    watermark: Node,
    second: Node,
    /// The record of the elder; 0 if there is none.
    elder: usize,
    /// There is an elder once that many nodes are between the oldest one alive and the newest, and
    /// it is looked for from this number of nodes on.
    patience: u32,
    elect_at: usize,
    /// A sweep is due with that many edges.
    sweep_at: usize,
    /// With that many finished ones, equals become one.
    unite_at: usize,
    searches: u32,
    pending: Vec<u32>,
    found: Vec<u32>,
    /// What a single event comes after.
    sources: Vec<u32>,
    cycle: Vec<(Node, Node)>,
    swept: sweep::Scratch,
}

/// With fewer nodes between the two marks, to look whether a node is after the elder costs more than
/// the edges that it saves.
const WORTH_A_LOOK: u32 = 1 << 10;

/// An elder is looked for at most once in that many nodes.
const TERM: usize = 1 << 8;

/// A sweep is not worth while for fewer edges.
const FEWEST_EDGES: usize = 1 << 12;

/// It is not worth while to unite fewer records.
const FEWEST_RECORDS: usize = 64;

impl Default for Ordered {
    fn default() -> Self {
        Ordered {
            links: vec![Link::DEAD],
            records: vec![NOBODY],
            free: Vec::new(),
            edges: Vec::new(),
            running: 0,
            next_place: GAP,
            watermark: Node(1),
            second: Node(1),
            elder: 0,
            patience: WORTH_A_LOOK,
            elect_at: 0,
            sweep_at: FEWEST_EDGES,
            unite_at: FEWEST_RECORDS,
            searches: 0,
            pending: Vec::new(),
            found: Vec::new(),
            sources: Vec::new(),
            cycle: Vec::new(),
            swept: sweep::Scratch::default(),
        }
    }
}

impl Precedence for Ordered {
    /// They are kept here, so that they need no room of their own.
    type Sources = ();

    #[inline(always)]
    fn is_dead(&self, node: Node) -> bool {
        node < self.watermark
    }

    #[inline(always)]
    fn is_gone(&self, node: Node) -> bool {
        // Old ones are not looked up: the others are few, and stay in the cache.
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

    fn are_alike(&self, one: Node, other: Node) -> bool {
        let [one, other] = [one, other].map(|node| self.links[node.0 as usize]);
        one == other
    }

    #[inline(always)]
    fn horizons(&self) -> Horizons {
        let one_keeps_all = self.watermark.0 + self.patience < self.second.0;
        Horizons { all: self.watermark, after_elder: one_keeps_all.then_some(self.second) }
    }

    #[inline(always)]
    fn is_after_elder(&self, node: Node) -> bool {
        match self.links[node.0 as usize].target() {
            Target::Record(index) => self.records[index].after_elder,
            Target::Node(next) => next == self.records[self.elder].node,
            Target::Dead => false,
        }
    }

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
        self.retire_if_settled(index);
    }

    #[inline]
    fn edge(&mut self, from: Node, into: Node) -> bool {
        let Some(source) = self.find(from) else { return false };
        let Some(target) = self.find(into) else { return false };
        if self.is_known(source, target) || from == into {
            return false;
        }
        let follows = self.records[source].place < self.records[target].place;
        // What is united with a running one comes after it.
        if !follows && (source == target || self.closes_cycle(source, target)) {
            self.cycle.push((from, into));
            return true;
        }
        self.insert(source, target);
        false
    }

    #[inline(always)]
    fn settle(&mut self, _: Node) {}

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
            // It comes after one that has ended and after nobody else: that is all the same.
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
        self.retire_if_settled(index);
        self.keep_house();
        node
    }

    fn shadow(&mut self, node: Node) -> Node {
        let Some(own) = self.find(node) else { return Node::DEAD };
        let index = self.add(State::Finished, Some(own));
        let node = self.records[index].node;
        self.retire_if_settled(index);
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
    /// Sweeps with every new record, lets equals become one each time, and has an elder at once.
    #[cfg(test)]
    pub fn sweep_often(&mut self) {
        (self.sweep_at, self.unite_at, self.patience, self.elect_at) = (0, 0, 0, 0);
    }

    /// The edges that close cycles and are not in the graph.
    pub fn take_cycle(&mut self) -> Vec<(Node, Node)> {
        std::mem::take(&mut self.cycle)
    }

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

    /// Finds the record of a node that has become one with another, and makes the way shorter.
    fn follow(&mut self, node: Node) -> Option<usize> {
        let last = self.representative(node);
        match self.links[last.0 as usize].target() {
            Target::Record(index) => {
                self.links[node.0 as usize] = Link::forward(last);
                Some(index)
            }
            Target::Dead | Target::Node(_) => {
                self.links[node.0 as usize] = Link::DEAD;
                None
            }
        }
    }

    /// The node that a node has become one with in the end.
    fn representative(&self, mut node: Node) -> Node {
        while let Target::Node(next) = self.links[node.0 as usize].target() {
            node = next;
        }
        node
    }

    /// Whether there is such an edge already.
    #[inline(always)]
    fn is_known(&self, source: usize, target: usize) -> bool {
        match source == self.elder {
            true => self.records[target].after_elder,
            false => self.records[source].target == target as u32,
        }
    }

    /// A new transaction, the last one in the order, which comes after `last`.
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
            self.records.push(NOBODY);
        }
        self.records[index as usize] = Record { place: self.next_place, state, ..NOBODY };
        self.next_place += GAP;
        index as usize
    }

    #[inline]
    fn insert(&mut self, source: usize, target: usize) {
        if source == self.elder {
            self.records[target].after_elder = true;
            return;
        }
        let edge = self.edges.len() as u32;
        let from = &mut self.records[source];
        let after_elder = from.after_elder;
        let next_out = std::mem::replace(&mut from.outgoing, edge);
        from.target = target as u32;
        let into = &mut self.records[target];
        into.sources += 1;
        into.after_elder |= after_elder;
        let next_in = std::mem::replace(&mut into.incoming, edge);
        self.edges.push(Edge { source: source as u32, target: target as u32, next_in, next_out });
    }
}
