//! The running-ancestor graph: which transactions that still run come before a given one?
//!
//! An edge into a running transaction D closes a cycle exactly when D comes before the edge's
//! source. So the set of *running* transactions that reach a transaction is all that has to be
//! known about it, whether it still runs or not. A finished transaction whose set is empty is
//! dead: it can never lie on a cycle. Finished transactions with equal sets are interchangeable
//! for ever and share a *class*. So the graph never grows with the trace.
//!
//! - A running transaction owns a *slot*; sets are bit sets over slots. What comes before a slot is
//!   kept transitively closed. So the set of a class need not be: whoever comes after its members
//!   comes after what is before them.
//! - `end` only takes the slot out of the mask of running ones. Its set goes on to stand for the
//!   finished transaction until the next *sweep*, which takes finished slots out of all sets at
//!   once, turns what is left into classes, and frees the slots. A slot that no set mentions is
//!   freed on the spot.
//! - A [`Node`] is a number that grows in time. Everything older than `watermark` is dead: in the
//!   common case a predecessor costs one comparison and no memory access.
//! - One transaction that runs for ever would keep everything alive that comes after it. So there is
//!   a second mark: what is older than `second` comes after the *elder*, the oldest transaction that
//!   runs, and what is before it, and nothing else. To whoever comes after the elder anyway, it is
//!   as good as dead.
//! - Nodes are renumbered from time to time by [`Precedence::compact`], so that memory does not
//!   grow with the number of transactions.

mod sweep;

use hashbrown::HashMap;

use crate::engine::precedence::{Horizons, Precedence};
use crate::engine::slots::SlotSet;

/// A transaction, or a class of finished ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Node(pub u32);

impl Node {
    /// A transaction that can never lie on a cycle; also stands for "none".
    pub const DEAD: Node = Node(0);
}

/// What a node stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Link {
    Dead,
    /// The owner of a slot; it runs, or has finished since the last sweep.
    Slot(u32),
    Class(u32),
}

const _: () = assert!(size_of::<Link>() == 8);

struct Class<S> {
    /// Members of this class come after these, and after what comes before these.
    set: S,
    /// The class that this one has become one with; itself if none.
    forward: u32,
    /// A node that stands for the class.
    node: Node,
    /// The oldest node that belongs to it.
    oldest: Node,
}

/// A running transaction, or one that has finished since the last sweep.
struct Slot<S> {
    /// The slots that come before it: a transitively closed set.
    before: S,
    /// The slots that it comes before: the same relation, the other way round.
    after: S,
    node: Node,
}

impl<S: SlotSet> Slot<S> {
    fn free() -> Self {
        Slot { before: S::empty(), after: S::empty(), node: Node::DEAD }
    }
}

/// What a node comes after.
enum Reach {
    Nothing,
    /// A running transaction, and what is before it.
    Running(usize),
    /// What is before a transaction that has finished since the last sweep.
    Finished(usize),
    /// The set of a class, and what is before its members. All of them run.
    Class(usize),
}

/// The graph. `S` bounds the number of transactions that run at once.
pub struct Ancestors<S> {
    links: Vec<Link>,
    slots: Vec<Slot<S>>,
    free: Vec<u32>,
    running: S,
    /// Slots that have finished since the last sweep and are not free yet.
    finished: S,
    /// Every slot that is in some set (and maybe some that are not any more).
    mentioned: S,
    classes: Vec<Class<S>>,
    /// The classes that are neither dead nor forwarded.
    live: Vec<u32>,
    by_set: HashMap<S, u32>,
    /// What the edges into an event add that is not [settled](Precedence::settle).
    arrived: S,
    watermark: Node,
    /// What is older comes after the elder, and what is before that, at most.
    second: Node,
    /// The slot of the oldest transaction that ran at the last sweep.
    elder: usize,
}

/// How many slots there are at first.
const FEWEST_SLOTS: usize = 16;

/// No slot is left: the graph has to be made wider.
#[derive(Debug)]
pub struct Full;

impl<S: SlotSet> Default for Ancestors<S> {
    fn default() -> Self {
        Ancestors {
            links: vec![Link::Dead],
            slots: Vec::new(),
            free: Vec::new(),
            running: S::empty(),
            finished: S::empty(),
            mentioned: S::empty(),
            classes: Vec::new(),
            live: Vec::new(),
            by_set: HashMap::new(),
            arrived: S::empty(),
            watermark: Node(1),
            second: Node(1),
            elder: 0,
        }
    }
}

impl<S: SlotSet> Precedence for Ancestors<S> {
    type Sources = Option<S>;

    #[inline(always)]
    fn is_dead(&self, node: Node) -> bool {
        node < self.watermark
    }

    #[inline(always)]
    fn horizons(&self) -> Horizons {
        let one_keeps_all = self.watermark < self.second;
        Horizons { all: self.watermark, after_elder: one_keeps_all.then_some(self.second) }
    }

    #[inline(always)]
    fn is_after_elder(&self, node: Node) -> bool {
        match self.links[node.0 as usize] {
            Link::Dead => false,
            Link::Slot(slot) => self.slots[slot as usize].before.contains(self.elder),
            Link::Class(index) => {
                let class = &self.classes[index as usize];
                class.forward == index && class.set.contains(self.elder)
            }
        }
    }

    fn implies(&self, newer: Node, older: Node) -> bool {
        let Link::Slot(own) = self.links[newer.0 as usize] else { return newer == older };
        let before = &self.slots[own as usize].before;
        match self.links[older.0 as usize] {
            Link::Dead => true,
            Link::Slot(slot) => slot == own || before.contains(slot as usize),
            Link::Class(index) => {
                let Class { forward, set, .. } = &self.classes[index as usize];
                let mut slots = set.words().iter().enumerate();
                let before = |word| before.words().get(word).copied().unwrap_or(0);
                *forward == index && slots.all(|(word, slots)| slots & !before(word) == 0)
            }
        }
    }

    fn begin(&mut self, last: Node) -> Result<Node, Full> {
        let slot = self.take_slot()?;
        let node = self.new_node(Link::Slot(slot));
        let before = self.reach(last);
        let slot = slot as usize;
        self.mentioned.add(&before);
        before.for_each(|earlier| self.slots[earlier].after.insert(slot));
        self.slots[slot] = Slot { before, after: S::empty(), node };
        self.running.insert(slot);
        Ok(node)
    }

    fn end(&mut self, node: Node) {
        let slot = self.slot_of(node);
        self.running.remove(slot);
        self.slots[slot].before.keep(&self.running);
        let dead = self.slots[slot].before.is_empty();
        if dead {
            self.links[node.0 as usize] = Link::Dead;
        }
        if dead && !self.mentioned.contains(slot) {
            self.free.push(slot as u32);
        } else {
            self.finished.insert(slot);
        }
    }

    /// A cycle's last edge is added all the same, so that later cycles are seen with all their causes.
    #[inline]
    fn edge(&mut self, from: Node, into: Node) -> bool {
        let reach = self.resolve(from);
        if let Reach::Nothing = reach {
            return false;
        }
        let slot = self.slot_of(into);
        // What comes before `into` is closed: if the members are known, so is what is before them.
        let before = &self.slots[slot].before;
        let known = match reach {
            Reach::Nothing => true,
            Reach::Running(source) => before.contains(source),
            Reach::Finished(source) => self.slots[source].before.is_within(before),
            Reach::Class(class) => self.classes[class].set.is_within(before),
        };
        if known {
            return false;
        }
        let set = self.reach(from);
        self.arrived.add(&set);
        set.contains(slot)
    }

    #[inline(always)]
    fn settle(&mut self, into: Node) {
        if !self.arrived.is_empty() {
            let set = std::mem::replace(&mut self.arrived, S::empty());
            self.grow(self.slot_of(into), &set);
        }
    }

    #[inline(always)]
    fn gather(&mut self, sources: &mut Option<S>, node: Node) {
        let before = self.generators(node);
        match sources {
            Some(set) => set.add(&before),
            None => *sources = Some(before),
        }
    }

    fn single(&mut self, last: Node, sources: &mut Option<S>) -> Node {
        let Some(set) = sources else {
            return if self.is_dead(last) { Node::DEAD } else { last };
        };
        let own = self.generators(last);
        if set.is_within(&own) {
            return if own.is_empty() { Node::DEAD } else { last };
        }
        let mut all = own;
        all.add(set);
        self.class_node(&all)
    }

    fn shadow(&mut self, node: Node) -> Node {
        let set = self.generators(node);
        if set.is_empty() { Node::DEAD } else { self.class_node(&set) }
    }

    #[inline(always)]
    fn is_broken(&self) -> bool {
        false
    }

    fn nodes(&self) -> usize {
        self.links.len()
    }

    fn compact(&mut self) -> Renumbering {
        self.renumber()
    }
}

impl<S: SlotSet> Ancestors<S> {
    /// Makes sure that the next [`Precedence::begin`] finds a slot.
    #[inline(always)]
    pub fn ensure_room(&mut self) -> Result<(), Full> {
        if self.free.is_empty() { self.make_room() } else { Ok(()) }
    }

    /// The slot of a running transaction.
    #[inline]
    pub fn slot_of(&self, node: Node) -> usize {
        match self.links[node.0 as usize] {
            Link::Slot(slot) => slot as usize,
            Link::Dead | Link::Class(_) => unreachable!("{node:?} does not run"),
        }
    }

    /// Running transactions that come before the node, or are it. What is before them comes before
    /// the node as well, whether it is in the set or not.
    pub fn generators(&mut self, node: Node) -> S {
        match self.resolve(node) {
            Reach::Nothing => S::empty(),
            Reach::Running(slot) => {
                let mut set = S::empty();
                set.insert(slot);
                set
            }
            Reach::Finished(slot) => self.slots[slot].before.clone(),
            Reach::Class(class) => self.classes[class].set.clone(),
        }
    }

    /// All running transactions that come before the node, or are it.
    pub fn reach(&mut self, node: Node) -> S {
        let some = self.generators(node);
        let mut all = some.clone();
        some.for_each(|slot| all.add(&self.slots[slot].before));
        all.keep(&self.running);
        all
    }

    #[inline]
    fn resolve(&mut self, node: Node) -> Reach {
        if self.is_dead(node) {
            return Reach::Nothing;
        }
        match self.links[node.0 as usize] {
            Link::Dead => Reach::Nothing,
            Link::Slot(slot) if self.running.contains(slot as usize) => {
                Reach::Running(slot as usize)
            }
            Link::Slot(slot) => self.resolve_finished(node, slot as usize),
            Link::Class(class) => self.resolve_class(node, class),
        }
    }

    fn resolve_finished(&mut self, node: Node, slot: usize) -> Reach {
        let before = &mut self.slots[slot].before;
        before.keep(&self.running);
        if before.is_empty() {
            self.links[node.0 as usize] = Link::Dead;
            return Reach::Nothing;
        }
        Reach::Finished(slot)
    }

    fn resolve_class(&mut self, node: Node, index: u32) -> Reach {
        let index = self.root(index);
        self.refresh(index as usize);
        if self.classes[index as usize].set.is_empty() {
            self.links[node.0 as usize] = Link::Dead;
            return Reach::Nothing;
        }
        self.links[node.0 as usize] = Link::Class(index);
        Reach::Class(index as usize)
    }

    /// Exchanges the members of a class that have finished for what is before them.
    fn refresh(&mut self, index: usize) {
        let set = &mut self.classes[index].set;
        if set.is_disjoint(&self.finished) {
            return;
        }
        let mut finished = set.clone();
        finished.keep(&self.finished);
        finished.for_each(|slot| set.add(&self.slots[slot].before));
        set.keep(&self.running);
    }

    /// Whether an edge from `from` to `into`, which runs, would add nothing.
    #[inline(always)]
    pub fn is_known(&self, from: Node, into: Node) -> bool {
        match self.links[from.0 as usize] {
            Link::Slot(slot) => self.before(into).contains(slot as usize),
            Link::Dead | Link::Class(_) => false,
        }
    }

    /// The transactions that come before a running one. Some may have finished.
    #[inline]
    pub fn before(&self, node: Node) -> &S {
        &self.slots[self.slot_of(node)].before
    }

    /// Lets every running transaction in `set`, which is closed, come before `into`, which runs.
    pub fn put_before(&mut self, set: &S, into: Node) {
        let slot = self.slot_of(into);
        if !set.is_within(&self.slots[slot].before) {
            self.grow(slot, set);
        }
    }

    /// Adds `set` to what comes before `slot`, and before everything behind it.
    fn grow(&mut self, slot: usize, set: &S) {
        self.mentioned.add(set);
        let Slot { before, after, .. } = &self.slots[slot];
        let mut fresh = set.clone();
        fresh.take_out(before);
        let mut behind = after.clone();
        behind.insert(slot);
        behind.for_each(|later| self.slots[later].before.add(set));
        fresh.for_each(|earlier| self.slots[earlier].after.add(&behind));
    }

    fn class_node(&mut self, set: &S) -> Node {
        let class = self.class_of(set, None);
        self.classes[class as usize].node
    }

    /// The class of a set that is not empty; `member` is what becomes part of it.
    fn class_of(&mut self, set: &S, member: Option<Node>) -> u32 {
        self.mentioned.add(set);
        if let Some(&class) = self.by_set.get(set) {
            let oldest = &mut self.classes[class as usize].oldest;
            *oldest = member.map_or(*oldest, |m| m.min(*oldest));
            return class;
        }
        let class = self.classes.len() as u32;
        let node = member.unwrap_or_else(|| self.new_node(Link::Class(class)));
        let set = set.clone();
        self.by_set.insert(set.clone(), class);
        self.classes.push(Class { set, forward: class, node, oldest: node });
        self.live.push(class);
        class
    }

    fn new_node(&mut self, link: Link) -> Node {
        let node = Node(self.links.len() as u32);
        self.links.push(link);
        node
    }

    fn take_slot(&mut self) -> Result<u32, Full> {
        if self.free.is_empty() {
            self.make_room()?;
        }
        self.free.pop().ok_or(Full)
    }
}

/// What became of the nodes when they were numbered anew.
pub struct Renumbering {
    table: Vec<Node>,
    dead_before: Node,
}

impl Renumbering {
    /// The new numbers by the old ones; what is older than `dead_before` has none.
    pub fn new(table: Vec<Node>, dead_before: Node) -> Renumbering {
        Renumbering { table, dead_before }
    }

    /// The new number of a node.
    #[inline]
    pub fn of(&self, node: Node) -> Node {
        if node < self.dead_before { Node::DEAD } else { self.table[node.0 as usize] }
    }
}
