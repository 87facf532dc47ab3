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
//! - A *sweep*, once there are some times as many transactions as the last one left, takes out those that no running
//!   one comes before: they are dead, they can never lie on a cycle. All older than `watermark` are.
//! - If too many are left, those that come after the same running ones become one, as they are
//!   interchangeable for ever. So the graph does not grow with the trace.
//! - One transaction that runs for ever would keep everything alive that comes after it. So there is
//!   a second mark: what is older than `second` comes after the *elder*, the oldest one that runs, and
//!   nothing else. To whoever comes after the elder anyway, it is as good as dead.
//!
//! A cycle has no order: then the graph is handed over to [`crate::ancestors`].

mod sweep;

use crate::ancestors::{Full, Node, Renumbering};
use crate::precedence::Precedence;

/// Where a record is in the order.
type Place = u64;

/// Places start that far from each other, so that others fit in between.
const GAP: Place = 1 << 24;

/// What a node stands for: a record, another node that it has become one with, or nothing.
#[derive(Clone, Copy)]
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
    /// Its record is given back by the next sweep.
    Dead,
    /// In a sweep: it has become one with the record that its mark says.
    United,
}

/// A transaction that may still lie on a cycle.
#[derive(Clone, Copy)]
struct Record {
    place: Place,
    node: Node,
    /// The oldest node that stands for it.
    oldest: Node,
    /// The first of the edges into it.
    edges: u32,
    /// The record that the latest edge from here goes to.
    target: u32,
    /// The last search that came here; a sweep has other uses for it.
    mark: u32,
    state: State,
    /// It is known to come after the elder.
    after_elder: bool,
}

const _: () = assert!(size_of::<Record>() == 32);

const NOBODY: Record = Record {
    place: 0,
    node: Node::DEAD,
    oldest: Node::DEAD,
    edges: NO_EDGE,
    target: 0,
    mark: 0,
    state: State::Dead,
    after_elder: false,
};

/// An edge into a record: the records before it are a linked list.
#[derive(Clone, Copy)]
struct Edge {
    source: u32,
    next: u32,
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
    /// The records that are taken. Oldest first, unless some have moved.
    taken: Vec<u32>,
    moved: bool,
    running: usize,
    next_place: Place,
    watermark: Node,
    second: Node,
    elder: usize,
    /// A sweep is due with that many records.
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

/// A sweep is not worth while for fewer records.
const FEWEST_RECORDS: usize = 64;

impl Default for Ordered {
    fn default() -> Self {
        Ordered {
            links: vec![Link::DEAD],
            records: vec![NOBODY],
            free: Vec::new(),
            edges: Vec::new(),
            taken: Vec::new(),
            moved: false,
            running: 0,
            next_place: GAP,
            watermark: Node(1),
            second: Node(1),
            elder: 0,
            sweep_at: FEWEST_RECORDS,
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
    fn horizon(&self, newer: Node) -> Node {
        let one_keeps_all = self.watermark.0 + WORTH_A_LOOK < self.second.0;
        if one_keeps_all && self.is_after_elder(newer) { self.second } else { self.watermark }
    }

    fn begin(&mut self, last: Node) -> Result<Node, Full> {
        let last = self.find(last);
        let index = self.add(State::Running, last);
        let node = self.records[index].node;
        self.running += 1;
        self.sweep_if_due();
        Ok(node)
    }

    fn end(&mut self, node: Node) {
        let Some(index) = self.find(node) else { return };
        self.running -= 1;
        self.records[index].state = State::Finished;
        if self.records[index].edges == NO_EDGE {
            self.records[index].state = State::Dead;
            self.links[node.0 as usize] = Link::DEAD;
        }
        if self.running == 0 {
            self.watermark = Node(self.links.len() as u32);
            self.second = self.watermark;
        }
    }

    #[inline]
    fn edge(&mut self, from: Node, into: Node) -> bool {
        let Some(source) = self.find(from) else { return false };
        let Some(target) = self.find(into) else { return false };
        let known = self.records[source].target == target as u32;
        if known || source == target {
            return false;
        }
        let follows = self.records[source].place < self.records[target].place;
        if !follows && self.closes_cycle(source, target) {
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
        let records = &self.records;
        self.sources.retain(|&source| {
            let target = records[source as usize].target as usize;
            own != Some(source as usize) && own != Some(target)
        });
        if self.sources.is_empty() {
            return if own.is_none() { Node::DEAD } else { last };
        }
        let index = self.add(State::Finished, own);
        while let Some(source) = self.sources.pop() {
            if self.records[source as usize].target != index as u32 {
                self.insert(source as usize, index);
            }
        }
        let node = self.records[index].node;
        self.sweep_if_due();
        node
    }

    fn shadow(&mut self, node: Node) -> Node {
        let Some(own) = self.find(node) else { return Node::DEAD };
        let index = self.add(State::Finished, Some(own));
        self.records[index].node
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
    /// Sweeps with every new record, and lets equals become one each time.
    #[cfg(test)]
    pub fn sweep_often(&mut self) {
        (self.sweep_at, self.unite_at) = (0, 0);
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

    #[inline(always)]
    fn is_after_elder(&self, node: Node) -> bool {
        match self.links[node.0 as usize].target() {
            Target::Record(index) => self.records[index].after_elder,
            Target::Dead | Target::Node(_) => false,
        }
    }

    /// A new transaction, the last one in the order, which comes after `last`.
    fn add(&mut self, state: State, last: Option<usize>) -> usize {
        let node = Node(self.links.len() as u32);
        let index = self.take(state);
        (self.records[index].node, self.records[index].oldest) = (node, node);
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
        self.taken.push(index);
        index as usize
    }

    #[inline]
    fn insert(&mut self, source: usize, target: usize) {
        let after_elder = self.records[source].after_elder || source == self.elder;
        self.records[source].target = target as u32;
        let next = std::mem::replace(&mut self.records[target].edges, self.edges.len() as u32);
        self.records[target].after_elder |= after_elder;
        self.edges.push(Edge { source: source as u32, next });
    }

    #[inline(always)]
    fn sweep_if_due(&mut self) {
        if self.taken.len() >= self.sweep_at {
            self.sweep();
        }
    }

    /// Changes the order so that an edge follows it; if the edge closes a cycle there is none.
    #[cold]
    fn closes_cycle(&mut self, source: usize, target: usize) -> bool {
        let floor = self.records[target].place;
        self.searches += 1;
        self.found.clear();
        self.pending.clear();
        self.pending.push(source as u32);
        self.records[source].mark = self.searches;
        let mut below = 0;
        while let Some(index) = self.pending.pop() {
            if index == target as u32 {
                return true;
            }
            self.found.push(index);
            let mut edge = self.records[index as usize].edges;
            while edge != NO_EDGE {
                let Edge { source, next } = self.edges[edge as usize];
                edge = next;
                let earlier = &mut self.records[source as usize];
                if earlier.place < floor {
                    below = below.max(earlier.place);
                } else if earlier.mark != self.searches {
                    earlier.mark = self.searches;
                    self.pending.push(source);
                }
            }
        }
        self.move_in_front(below, floor);
        false
    }

    /// Gives places between two others to those that were found.
    fn move_in_front(&mut self, below: Place, floor: Place) {
        let records = &mut self.records;
        self.moved = true;
        self.found.sort_unstable_by_key(|&index| records[index as usize].place);
        let step = (floor - below) / (self.found.len() as Place + 1);
        if step == 0 {
            return self.spread(below, floor);
        }
        let mut place = floor;
        for &index in self.found.iter().rev() {
            place -= step;
            records[index as usize].place = place;
        }
    }

    /// There is no room between two places: gives new ones to all.
    fn spread(&mut self, below: Place, floor: Place) {
        let records = &self.records;
        let found = std::mem::take(&mut self.found);
        let mut order: Vec<u32> = self.taken.clone();
        order.sort_by_key(|&index| {
            let Record { place, mark, .. } = records[index as usize];
            let is_found = mark == self.searches && place >= floor;
            (if is_found { below } else { place }, is_found, place)
        });
        self.next_place = GAP;
        for index in order {
            self.records[index as usize].place = self.next_place;
            self.next_place += GAP;
        }
        self.found = found;
    }
}
