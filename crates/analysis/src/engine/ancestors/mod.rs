//! The running-ancestor graph: which running transactions precede a given one?
//!
//! An edge into a running transaction D closes a cycle exactly when D precedes the edge's source.
//! So the set of *running* transactions that reach a transaction is all that has to be known about
//! it, whether it still runs or not. A finished transaction whose set is empty is dead: it can
//! never lie on a cycle. Finished transactions with equal sets are interchangeable from then on and
//! share a *class*. There are never more classes than k(k+1)+1 when k transactions run, so the
//! graph does not grow with the trace.
//!
//! - A running transaction owns a *slot*; sets are bit sets over slots. The set before a slot is
//!   kept transitively closed. So the set of a class need not be: an event that happens after its
//!   members happens after what precedes them.
//! - `end` only removes the slot from the mask of running ones. Its set stands for the finished
//!   transaction until the next *sweep*, which takes finished slots out of all sets at once, turns
//!   what is left into classes, and frees the slots. A slot that no set mentions is freed at once.
//! - A [`Node`] is a number that grows in time. Everything older than `watermark` is dead: in the
//!   common case a predecessor costs one comparison and no memory access.
//! - A transaction that runs forever would keep everything alive that happens after it. So there is
//!   a second mark: a node older than `second` happens after the *oldest running transaction* and
//!   what precedes that, and after nothing else. An event that happens after the oldest running
//!   transaction anyway may treat it as dead.
//! - Nodes are renumbered from time to time by [`Precedence::compact`], so that memory does not
//!   grow with the number of transactions.

mod sweep;

use hashbrown::HashMap;

use super::precedence::{Full, Horizons, Node, Precedence, Relevance, Renumbering};
use super::slots::{SlotSet, SlotWords};

/// What a node stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Link {
    Dead,
    /// The owner of a slot; it runs, or has finished since the last sweep.
    Slot(u32),
    Class(u32),
}

const _: () = assert!(size_of::<Link>() == 8);

struct Class<W> {
    /// Members of this class happen after these, and after what precedes these.
    set: SlotSet<W>,
    /// The class that this one was merged into; itself if none.
    merged_into: u32,
    /// A node that stands for the class.
    node: Node,
    /// The oldest node that belongs to it.
    oldest: Node,
}

/// A running transaction, or one that has finished since the last sweep.
struct Slot<W> {
    /// The slots that precede it: a transitively closed set.
    before: SlotSet<W>,
    /// The slots that it precedes: the same relation, inverted.
    after: SlotSet<W>,
    node: Node,
}

impl<W: SlotWords> Slot<W> {
    fn free() -> Self {
        Slot { before: SlotSet::empty(), after: SlotSet::empty(), node: Node::DEAD }
    }
}

/// What happens before an event that happens after a node.
enum Reach {
    Nothing,
    /// A running transaction, and what precedes it.
    Running(usize),
    /// What precedes a transaction that has finished since the last sweep.
    Finished(usize),
    /// The set of a class, and what precedes its members. All of them run.
    Class(usize),
}

/// The graph. `W` bounds the number of transactions that run at once.
pub struct Ancestors<W> {
    links: Vec<Link>,
    slots: Vec<Slot<W>>,
    free: Vec<u32>,
    running: SlotSet<W>,
    /// Slots that have finished since the last sweep and are not free yet.
    finished: SlotSet<W>,
    /// Every slot that is in some set (and maybe some that no longer are).
    mentioned: SlotSet<W>,
    classes: Vec<Class<W>>,
    /// The classes that are neither dead nor merged into others.
    live: Vec<u32>,
    by_set: HashMap<SlotSet<W>, u32>,
    /// What the edges into an event add before [`Precedence::commit_edges`].
    pending: SlotSet<W>,
    /// Older nodes are dead.
    watermark: Node,
    /// Older nodes happen after the oldest running transaction and what precedes it, at most.
    second: Node,
    /// The slot of the oldest running transaction, as of the last sweep.
    oldest_running: usize,
}

/// How many slots there are at first. There are more as soon as they are needed.
const FEWEST_SLOTS: usize = 16;

impl<W: SlotWords> Default for Ancestors<W> {
    fn default() -> Self {
        Ancestors {
            links: vec![Link::Dead],
            slots: Vec::new(),
            free: Vec::new(),
            running: SlotSet::empty(),
            finished: SlotSet::empty(),
            mentioned: SlotSet::empty(),
            classes: Vec::new(),
            live: Vec::new(),
            by_set: HashMap::new(),
            pending: SlotSet::empty(),
            watermark: Node(1),
            second: Node(1),
            oldest_running: 0,
        }
    }
}

impl<W: SlotWords> Relevance for Ancestors<W> {
    #[inline(always)]
    fn is_dead(&self, node: Node) -> bool {
        node < self.watermark
    }

    #[inline(always)]
    fn horizons(&self) -> Horizons {
        let is_apart = self.watermark < self.second;
        Horizons { all: self.watermark, after_oldest: is_apart.then_some(self.second) }
    }

    #[inline(always)]
    fn is_after_oldest(&self, node: Node) -> bool {
        match self.links[node.0 as usize] {
            Link::Dead => false,
            Link::Slot(slot) => self.slots[slot as usize].before.contains(self.oldest_running),
            Link::Class(index) => {
                let class = &self.classes[index as usize];
                class.merged_into == index && class.set.contains(self.oldest_running)
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
                let Class { merged_into, set, .. } = &self.classes[index as usize];
                *merged_into == index && set.is_within(before)
            }
        }
    }
}

impl<W: SlotWords> Precedence for Ancestors<W> {
    type Sources = Option<SlotSet<W>>;

    fn begin(&mut self, last: Node) -> Result<Node, Full> {
        let slot = self.take_slot()?;
        let node = self.new_node(Link::Slot(slot));
        let before = self.reach(last);
        let slot = slot as usize;
        self.mentioned.add(&before);
        before.for_each(|earlier| self.slots[earlier].after.insert(slot));
        self.slots[slot] = Slot { before, after: SlotSet::empty(), node };
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

    /// The last edge of a cycle is added like any other, so that later cycles are seen with all
    /// their causes.
    #[inline]
    fn edge(&mut self, from: Node, into: Node) -> bool {
        let reach = self.resolve(from);
        if let Reach::Nothing = reach {
            return false;
        }
        let slot = self.slot_of(into);
        // The set before `into` is closed: if the members are in it, so is what precedes them.
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
        self.pending.add(&set);
        set.contains(slot)
    }

    #[inline(always)]
    fn commit_edges(&mut self, into: Node) {
        if !self.pending.is_empty() {
            let set = std::mem::replace(&mut self.pending, SlotSet::empty());
            self.grow(self.slot_of(into), &set);
        }
    }

    #[inline(always)]
    fn gather(&mut self, sources: &mut Option<SlotSet<W>>, node: Node) {
        let before = self.generators(node);
        match sources {
            Some(set) => set.add(&before),
            None => *sources = Some(before),
        }
    }

    fn single(&mut self, last: Node, sources: &mut Option<SlotSet<W>>) -> Node {
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

impl<W: SlotWords> Ancestors<W> {
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

    /// Running transactions that precede the node, or are it. What precedes them precedes the node
    /// as well, whether it is in the set or not.
    pub fn generators(&mut self, node: Node) -> SlotSet<W> {
        match self.resolve(node) {
            Reach::Nothing => SlotSet::empty(),
            Reach::Running(slot) => {
                let mut set = SlotSet::empty();
                set.insert(slot);
                set
            }
            Reach::Finished(slot) => self.slots[slot].before.clone(),
            Reach::Class(class) => self.classes[class].set.clone(),
        }
    }

    /// All running transactions that precede the node, or are it.
    pub fn reach(&mut self, node: Node) -> SlotSet<W> {
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

    /// Exchanges the members of a class that have finished for what precedes them.
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

    /// The transactions that precede a running one. Some may have finished.
    #[inline]
    pub fn before(&self, node: Node) -> &SlotSet<W> {
        &self.slots[self.slot_of(node)].before
    }

    /// Lets every running transaction in `set`, which is closed, precede `into`, which runs.
    pub fn put_before(&mut self, set: &SlotSet<W>, into: Node) {
        let slot = self.slot_of(into);
        if !set.is_within(&self.slots[slot].before) {
            self.grow(slot, set);
        }
    }

    /// Adds `set` to what precedes `slot`, and to what precedes everything that `slot` precedes.
    fn grow(&mut self, slot: usize, set: &SlotSet<W>) {
        self.mentioned.add(set);
        let Slot { before, after, .. } = &self.slots[slot];
        let mut fresh = set.clone();
        fresh.take_out(before);
        let mut later = after.clone();
        later.insert(slot);
        later.for_each(|slot| self.slots[slot].before.add(set));
        fresh.for_each(|earlier| self.slots[earlier].after.add(&later));
    }

    fn class_node(&mut self, set: &SlotSet<W>) -> Node {
        let class = self.class_of(set, None);
        self.classes[class as usize].node
    }

    /// The class of a set that is not empty; `member` is the node that becomes part of it.
    fn class_of(&mut self, set: &SlotSet<W>, member: Option<Node>) -> u32 {
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
        self.classes.push(Class { set, merged_into: class, node, oldest: node });
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
