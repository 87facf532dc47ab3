//! Housekeeping: the dead are taken out, equals become one, nodes are renumbered.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

use super::{Edge, FEWEST_RECORDS, Link, NO_EDGE, Ordered, Record, State};
use crate::ancestors::{Node, Renumbering};
use crate::precedence::{Part, Parts};

/// Kept from sweep to sweep for its room only.
#[derive(Default)]
pub(super) struct Scratch {
    edges: Vec<Edge>,
}

impl Ordered {
    /// Takes out the dead; if many are left, lets equals become one.
    #[cold]
    pub(super) fn sweep(&mut self) {
        self.sort();
        self.prune();
        if self.taken.len() - self.running > self.unite_at {
            self.unite();
            self.prune();
            let finished = self.taken.len() - self.running;
            self.unite_at = FEWEST_RECORDS.max(3 * finished).max(16 * self.running);
        }
        // In a large graph, a sweep costs more than a few dead ones that are not known to be dead.
        let times = if self.taken.len() > 4 * FEWEST_RECORDS { 5 } else { 3 };
        self.sweep_at = FEWEST_RECORDS + times * self.taken.len();
        // The marks that the sweep has left behind are 0 and 1.
        self.searches = 1;
    }

    /// Puts the records into the order of their places.
    fn sort(&mut self) {
        if std::mem::take(&mut self.moved) {
            let records = &self.records;
            self.taken.sort_by_key(|&index| records[index as usize].place);
        }
    }

    /// Takes out the dead, and the edges from them. Sources are seen before their targets, so one
    /// pass will do.
    fn prune(&mut self) {
        self.elder = self.oldest_running();
        self.watermark = Node(self.links.len() as u32);
        self.second = self.watermark;
        let mut edges = std::mem::take(&mut self.swept.edges);
        edges.clear();
        let mut taken = std::mem::take(&mut self.taken);
        taken.retain(|&index| self.survives(index, &mut edges));
        self.taken = taken;
        self.swept.edges = std::mem::replace(&mut self.edges, edges);
    }

    /// The record of the oldest transaction that runs, if any.
    fn oldest_running(&self) -> usize {
        let running = self.taken.iter().map(|&index| index as usize);
        let running = running.filter(|&index| self.records[index].state == State::Running);
        running.min_by_key(|&index| self.records[index].node).unwrap_or(0)
    }

    /// Copies the edges into a record that come from somebody alive. Nobody finished survives
    /// without any.
    fn survives(&mut self, index: u32, edges: &mut Vec<Edge>) -> bool {
        let at = index as usize;
        if self.records[at].state == State::United {
            self.free.push(index);
            return false;
        }
        let mut edge = std::mem::replace(&mut self.records[at].edges, NO_EDGE);
        // In a sweep, the mark says that the elder is the only running one before it.
        let (mut only_elder, mut after_elder) = (true, false);
        while edge != NO_EDGE {
            let Edge { mut source, next } = self.edges[edge as usize];
            edge = next;
            if self.records[source as usize].state == State::United {
                source = self.records[source as usize].mark;
            }
            let earlier = &mut self.records[source as usize];
            if earlier.state == State::Dead || earlier.target == index {
                continue;
            }
            earlier.target = index;
            let is_elder = source as usize == self.elder;
            only_elder &= is_elder || earlier.mark != 0;
            after_elder |= is_elder || earlier.after_elder;
            let next = std::mem::replace(&mut self.records[at].edges, edges.len() as u32);
            edges.push(Edge { source, next });
        }
        let record = &mut self.records[at];
        record.target = 0;
        if record.state == State::Running {
            only_elder = at == self.elder;
        } else if record.edges == NO_EDGE {
            record.state = State::Dead;
            self.links[record.node.0 as usize] = Link::DEAD;
            self.free.push(index);
            return false;
        }
        record.after_elder = after_elder;
        record.mark = u32::from(only_elder && record.state == State::Finished);
        self.watermark = self.watermark.min(record.oldest);
        if !only_elder {
            self.second = self.second.min(record.oldest);
        }
        true
    }

    /// Lets finished transactions that come after the same running ones become one: the first of
    /// them in the order, so that what comes after any of them still comes after it.
    fn unite(&mut self) {
        let rows = self.rows();
        let hasher = DefaultHashBuilder::default();
        let hash = |row: u32| hasher.hash_one(rows.of(row));
        let mut classes: HashTable<u32> = HashTable::new();
        for (row, &index) in self.taken.iter().enumerate() {
            let (row, Record { node, oldest, state, .. }) =
                (row as u32, self.records[index as usize]);
            if state == State::Running {
                continue;
            }
            let same = |&other: &u32| rows.of(row) == rows.of(other);
            let Some(&first) = classes.find(hash(row), same) else {
                classes.insert_unique(hash(row), row, |&other| hash(other));
                continue;
            };
            let first = self.taken[first as usize];
            let class = &mut self.records[first as usize];
            class.oldest = class.oldest.min(oldest);
            self.links[node.0 as usize] = Link::forward(class.node);
            let united = &mut self.records[index as usize];
            (united.state, united.mark) = (State::United, first);
        }
    }

    /// The sets of running transactions that come before each record, or are it.
    fn rows(&mut self) -> Rows {
        let mut rows = Rows::new(self.taken.len(), self.running);
        let mut running = 0;
        for (row, &index) in self.taken.iter().enumerate() {
            let record = &mut self.records[index as usize];
            record.mark = row as u32;
            let mut edge = record.edges;
            if record.state == State::Running {
                rows.insert(row, running);
                running += 1;
            }
            while edge != NO_EDGE {
                let Edge { source, next } = self.edges[edge as usize];
                rows.add(row, self.records[source as usize].mark as usize);
                edge = next;
            }
        }
        rows
    }

    /// Renumbers the nodes.
    pub(super) fn renumber(&mut self) -> Renumbering {
        self.sweep();
        let mut table = vec![Node::DEAD; self.links.len()];
        let mut next = 1;
        for &index in &self.taken {
            let Record { node, oldest, .. } = &mut self.records[index as usize];
            table[node.0 as usize] = Node(next);
            (*node, *oldest) = (Node(next), Node(next));
            next += 1;
        }
        for old in self.watermark.0 as usize..self.links.len() {
            table[old] = table[self.representative(Node(old as u32)).0 as usize];
        }
        self.links.truncate(1);
        self.links.resize(next as usize, Link::DEAD);
        for &index in &self.taken {
            self.links[self.records[index as usize].node.0 as usize] = Link::record(index as usize);
        }
        self.second = Node(1);
        Renumbering::new(table, std::mem::replace(&mut self.watermark, Node(1)))
    }

    /// The graph as something that can hold cycles, too, is made of. The edges that close them are
    /// not in it.
    pub fn take_apart(mut self) -> Parts {
        self.sort();
        self.prune();
        let rows = self.rows();
        let mut finished: Vec<Part> = Vec::new();
        let mut running = Vec::new();
        let mut part_of = vec![None; self.records.len()];
        for (row, &index) in self.taken.iter().enumerate() {
            let Record { node, state, .. } = self.records[index as usize];
            let mut part = Part { nodes: vec![node], after: rows.members(row) };
            if state == State::Running {
                let own = running.len() as u32;
                part.after.retain(|&other| other != own);
                running.push(part);
            } else {
                part.nodes.clear();
                part_of[index as usize] = Some(finished.len());
                finished.push(part);
            }
        }
        for node in (self.watermark.0..self.links.len() as u32).map(Node) {
            if let Some(part) = self.find(node).and_then(|index| part_of[index]) {
                finished[part].nodes.push(node);
            }
        }
        Parts { nodes: self.links.len(), running, finished }
    }

    /// The graph of what another kind was made of, if there is no cycle.
    pub fn assemble(parts: &Parts) -> Ordered {
        let mut graph = Ordered::default();
        graph.links.resize(parts.nodes, Link::DEAD);
        let mut order: Vec<usize> = (0..parts.running.len()).collect();
        // Whoever comes before somebody else has fewer before himself.
        order.sort_by_key(|&i| parts.running[i].after.len());
        let mut records = vec![0; parts.running.len()];
        for i in order {
            records[i] = graph.take(State::Running);
            graph.running += 1;
            graph.fill(records[i], &parts.running[i], &records);
        }
        for part in &parts.finished {
            let index = graph.take(State::Finished);
            graph.fill(index, part, &records);
            let places = part.after.iter().map(|&i| graph.records[records[i as usize]].place);
            graph.records[index].place = places.max().unwrap_or(0) + 1;
        }
        graph.moved = true;
        graph.sweep();
        graph
    }

    fn fill(&mut self, index: usize, part: &Part, running: &[usize]) {
        let Some((&first, others)) = part.nodes.split_first() else { return };
        let oldest = others.iter().copied().fold(first, Node::min);
        (self.records[index].node, self.records[index].oldest) = (first, oldest);
        self.links[first.0 as usize] = Link::record(index);
        others.iter().for_each(|other| self.links[other.0 as usize] = Link::forward(first));
        part.after.iter().for_each(|&i| self.insert(running[i as usize], index));
    }
}

/// Sets of running transactions.
struct Rows {
    width: usize,
    words: Vec<u64>,
}

impl Rows {
    fn new(rows: usize, members: usize) -> Rows {
        let width = members.div_ceil(64);
        Rows { width, words: vec![0; rows * width] }
    }

    fn of(&self, row: u32) -> &[u64] {
        &self.words[row as usize * self.width..][..self.width]
    }

    fn insert(&mut self, row: usize, member: usize) {
        self.words[row * self.width + member / 64] |= 1 << (member % 64);
    }

    /// Adds what is in an earlier row.
    fn add(&mut self, row: usize, earlier: usize) {
        let (before, from) = self.words.split_at_mut(row * self.width);
        let earlier = &before[earlier * self.width..][..self.width];
        from.iter_mut().zip(earlier).for_each(|(mine, theirs)| *mine |= theirs);
    }

    fn members(&self, row: usize) -> Vec<u32> {
        let has =
            |&member: &u32| self.of(row as u32)[member as usize / 64] >> (member % 64) & 1 != 0;
        (0..self.width as u32 * 64).filter(has).collect()
    }
}
