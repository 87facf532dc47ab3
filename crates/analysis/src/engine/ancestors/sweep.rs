//! Housekeeping: a sweep frees slots and makes classes; nodes are renumbered, sets widened, and the
//! graph is exchanged for an ordered one and back.

use super::{Ancestors, Class, FEWEST_SLOTS, Link, Slot};
use crate::engine::precedence::{Full, Node, Part, Parts, Renumbering};
use crate::engine::slots::{SlotSet, SlotWords};

impl<W: SlotWords> Ancestors<W> {
    /// Makes sure that a slot is free. A sweep costs about as much as all slots together, so it has
    /// to free a quarter of them to be worth it; otherwise there are too few slots.
    pub(super) fn make_room(&mut self) -> Result<(), Full> {
        self.sweep();
        let known = self.slots.len();
        if self.free.len() > known / 4 {
            return Ok(());
        }
        if known == W::CAPACITY {
            return Err(Full);
        }
        let wanted = (known * 2).max(FEWEST_SLOTS).min(W::CAPACITY);
        self.slots.resize_with(wanted, Slot::free);
        self.free.extend((known as u32..wanted as u32).rev());
        Ok(())
    }

    /// Takes the finished slots out of every set and frees them.
    fn sweep(&mut self) {
        self.refresh_classes();
        let finished = self.finished.clone();
        let live = std::mem::take(&mut self.live);
        self.by_set.clear();
        self.mentioned = SlotSet::empty();
        for class in live {
            self.rehash(class);
        }
        finished.for_each(|slot| self.retire(slot));
        let running = self.running.clone();
        running.for_each(|slot| {
            self.slots[slot].before.keep(&running);
            self.slots[slot].after.keep(&running);
            self.mentioned.add(&self.slots[slot].before);
        });
        self.finished = SlotSet::empty();
        self.watermark = self.oldest();
        self.find_oldest_running();
    }

    /// Finds the oldest running transaction, and sets the second mark.
    fn find_oldest_running(&mut self) {
        let mut oldest = (Node(self.links.len() as u32), 0);
        self.running.for_each(|slot| oldest = oldest.min((self.slots[slot].node, slot)));
        self.oldest_running = oldest.1;
        self.second = self.watermark;
        if !self.running.is_empty() {
            let mut known = self.slots[self.oldest_running].before.clone();
            known.insert(self.oldest_running);
            self.second = self.oldest_but(&known);
        }
    }

    fn refresh_classes(&mut self) {
        for i in 0..self.live.len() {
            self.refresh(self.live[i] as usize);
        }
    }

    /// Enters a class again after its set has changed; equal classes are merged.
    fn rehash(&mut self, index: u32) {
        let Class { set, oldest, .. } = &self.classes[index as usize];
        if set.is_empty() {
            return;
        }
        let oldest = *oldest;
        match self.by_set.get(set) {
            Some(&same) => {
                self.classes[index as usize].merged_into = same;
                let older = &mut self.classes[same as usize].oldest;
                *older = oldest.min(*older);
            }
            None => {
                self.mentioned.add(set);
                self.by_set.insert(set.clone(), index);
                self.live.push(index);
            }
        }
    }

    /// Turns a finished transaction into a member of its class.
    fn retire(&mut self, slot: usize) {
        self.free.push(slot as u32);
        let Slot { before, node, .. } = &self.slots[slot];
        let (mut set, node) = (before.clone(), *node);
        set.keep(&self.running);
        self.links[node.0 as usize] =
            if set.is_empty() { Link::Dead } else { Link::Class(self.class_of(&set, Some(node))) };
    }

    /// The oldest node that is not dead.
    fn oldest(&self) -> Node {
        self.oldest_but(&SlotSet::empty())
    }

    /// The oldest node that is not one of these running ones, and happens after others than these.
    fn oldest_but(&self, known: &SlotSet<W>) -> Node {
        let mut oldest = Node(self.links.len() as u32);
        let mut others = self.running.clone();
        others.take_out(known);
        others.for_each(|slot| oldest = oldest.min(self.slots[slot].node));
        let classes = self.live.iter().map(|&c| &self.classes[c as usize]);
        let others = classes.filter(|class| !class.set.is_within(known));
        others.map(|class| class.oldest).fold(oldest, Node::min)
    }

    /// The same graph with room for more transactions at once.
    pub fn widen<V: SlotWords>(self) -> Ancestors<V> {
        let wide = SlotSet::<W>::in_storage::<V>;
        Ancestors {
            links: self.links,
            slots: self
                .slots
                .iter()
                .map(|s| Slot { before: wide(&s.before), after: wide(&s.after), node: s.node })
                .collect(),
            free: self.free,
            running: wide(&self.running),
            finished: wide(&self.finished),
            mentioned: wide(&self.mentioned),
            classes: self
                .classes
                .iter()
                .map(|c| Class {
                    set: wide(&c.set),
                    merged_into: c.merged_into,
                    node: c.node,
                    oldest: c.oldest,
                })
                .collect(),
            live: self.live,
            by_set: self.by_set.iter().map(|(set, &class)| (wide(set), class)).collect(),
            pending: wide(&self.pending),
            watermark: self.watermark,
            second: self.second,
            oldest_running: self.oldest_running,
        }
    }

    /// Renumbers the nodes.
    pub(super) fn renumber(&mut self) -> Renumbering {
        self.sweep();
        let mut table = vec![Node::DEAD; self.links.len()];
        let old_links = std::mem::replace(&mut self.links, vec![Link::Dead]);
        let classes = std::mem::take(&mut self.classes);
        let live = std::mem::take(&mut self.live);
        self.by_set.clear();
        let mut new_class = vec![u32::MAX; classes.len()];
        for index in live {
            let class = &classes[index as usize];
            let new = self.classes.len() as u32;
            new_class[index as usize] = new;
            let node = self.new_node(Link::Class(new));
            self.by_set.insert(class.set.clone(), new);
            let set = class.set.clone();
            self.classes.push(Class { set, merged_into: new, node, oldest: node });
            self.live.push(new);
        }
        let running = self.running.clone();
        running.for_each(|slot| {
            let node = self.new_node(Link::Slot(slot as u32));
            table[self.slots[slot].node.0 as usize] = node;
            self.slots[slot].node = node;
        });
        for (old, link) in old_links.into_iter().enumerate() {
            if let Link::Class(mut index) = link {
                while classes[index as usize].merged_into != index {
                    index = classes[index as usize].merged_into;
                }
                if let Some(new) = self.classes.get(new_class[index as usize] as usize) {
                    table[old] = new.node;
                }
            }
        }
        let dead_before = std::mem::replace(&mut self.watermark, Node(1));
        self.second = Node(1);
        Renumbering::new(table, dead_before)
    }

    /// The parts of the graph, unless a running transaction lies on a cycle.
    pub fn take_apart(&mut self) -> Option<Parts> {
        self.sweep();
        let mut indices = vec![0; self.slots.len()];
        let mut parts =
            Parts { nodes: self.links.len(), running: Vec::new(), finished: Vec::new() };
        let mut cycle = false;
        self.running.for_each(|slot| {
            cycle |= self.slots[slot].before.contains(slot);
            indices[slot] = parts.running.len() as u32;
            parts.running.push(Part { nodes: vec![self.slots[slot].node], after: Vec::new() });
        });
        let list = |set: &SlotSet<W>| {
            let mut list = Vec::new();
            set.for_each(|slot| list.push(indices[slot]));
            list
        };
        let mut part_of = vec![usize::MAX; self.classes.len()];
        for &class in &self.live {
            part_of[class as usize] = parts.finished.len();
            let after = list(&self.classes[class as usize].set);
            parts.finished.push(Part { nodes: Vec::new(), after });
        }
        let mut next = 0;
        self.running.for_each(|slot| {
            parts.running[next].after = list(&self.slots[slot].before);
            next += 1;
        });
        for node in self.watermark.0..self.links.len() as u32 {
            if let Link::Class(index) = self.links[node as usize]
                && let Some(part) = parts.finished.get_mut(part_of[self.root(index) as usize])
            {
                part.nodes.push(Node(node));
            }
        }
        (!cycle).then_some(parts)
    }

    /// The graph made of the parts of one of the other kind. There must be room for as many slots
    /// as transactions run.
    pub fn assemble(parts: &Parts) -> Self {
        let &Parts { nodes, ref running, ref finished } = parts;
        let set = |after: &[u32]| {
            let mut set = SlotSet::empty();
            after.iter().for_each(|&slot| set.insert(slot as usize));
            set
        };
        let mut graph = Self::default();
        graph.links.resize(nodes, Link::Dead);
        graph.slots.resize_with(running.len(), Slot::free);
        for (slot, part) in running.iter().enumerate() {
            let (node, before) = (part.nodes[0], set(&part.after));
            graph.links[node.0 as usize] = Link::Slot(slot as u32);
            graph.mentioned.add(&before);
            graph.running.insert(slot);
            before.for_each(|earlier| graph.slots[earlier].after.insert(slot));
            graph.slots[slot] = Slot { before, node, after: graph.slots[slot].after.clone() };
        }
        for part in finished {
            for &node in &part.nodes {
                let class = graph.class_of(&set(&part.after), Some(node));
                graph.links[node.0 as usize] = Link::Class(class);
            }
        }
        graph
    }

    /// The root of a class: the class that it was merged into, directly or not.
    pub(super) fn root(&self, mut index: u32) -> u32 {
        while self.classes[index as usize].merged_into != index {
            index = self.classes[index as usize].merged_into;
        }
        index
    }
}
