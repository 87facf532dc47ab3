//! Housekeeping: edges of dead transactions are dropped, interchangeable transactions merged, nodes
//! renumbered, and the graph is exchanged for one that can hold cycles and back.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

use super::{
    Edge, FEWEST_EDGES, FEWEST_RECORDS, Link, NO_EDGE, Ordered, Record, State, Target, UNUSED,
};
use crate::engine::precedence::{Node, Part, Parts, Renumbering};

/// Memory that one sweep leaves to the next.
#[derive(Default)]
pub(super) struct Scratch {
    edges: Vec<Edge>,
}

impl Ordered {
    /// Drops the edges of dead transactions; if many are left, merges interchangeable ones.
    ///
    /// The next sweep is due at eight times the edges that are left, the next merge at three times
    /// the records: so the cost of either is spread over several times as many new ones.
    #[cold]
    pub(super) fn sweep(&mut self) {
        let mut alive = self.alive();
        let finished = alive.len() - self.running;
        if finished > self.merge_at {
            self.sort(&mut alive);
            self.merge(&alive);
            alive.retain(|&index| self.records[index as usize].state != State::Merged);
            let left = alive.len() - self.running;
            self.merge_at = FEWEST_RECORDS.max(3 * left).max(16 * self.running);
        }
        self.rebuild(&alive);
        self.sweep_at = FEWEST_EDGES + 8 * self.edges.len();
        self.searches = 0;
    }

    /// All records in use.
    pub(super) fn alive(&self) -> Vec<u32> {
        let is_alive = |index: &u32| self.records[*index as usize].state != State::Dead;
        (1..self.records.len() as u32).filter(is_alive).collect()
    }

    /// Sorts records by their topological labels.
    fn sort(&self, records: &mut [u32]) {
        records.sort_unstable_by_key(|&index| self.records[index as usize].label);
    }

    /// Builds the lists of edges anew, each edge once, without those of dead transactions.
    fn rebuild(&mut self, alive: &[u32]) {
        for &index in alive {
            let record = &mut self.records[index as usize];
            (record.outgoing, record.target, record.sources) = (NO_EDGE, 0, 0);
        }
        let empty = std::mem::take(&mut self.swept.edges);
        let old = std::mem::replace(&mut self.edges, empty);
        for &index in alive {
            let record = &mut self.records[index as usize];
            let mut edge = std::mem::replace(&mut record.incoming, NO_EDGE);
            while edge != NO_EDGE {
                let Edge { source, next_in, .. } = old[edge as usize];
                edge = next_in;
                let source = self.root(source);
                if source != 0 && self.records[source].target != index {
                    self.insert(source, index as usize);
                }
            }
        }
        self.swept.edges = old;
        self.swept.edges.clear();
        self.free_merged();
    }

    /// Frees the records that were merged into others.
    fn free_merged(&mut self) {
        for (index, record) in self.records.iter_mut().enumerate() {
            record.mark = 0;
            if record.state == State::Merged {
                *record = UNUSED;
                self.free.push(index as u32);
            }
        }
    }

    /// The record itself, or the one that it was merged into.
    fn root(&self, index: u32) -> usize {
        let Record { state, mark, .. } = self.records[index as usize];
        if state == State::Merged { mark as usize } else { index as usize }
    }

    /// Merges finished transactions that happen after the same running ones into the first of them
    /// in topological order, so that the edges from any of them still follow the order.
    fn merge(&mut self, alive: &[u32]) {
        let rows = self.rows(alive);
        let hasher = DefaultHashBuilder::default();
        let hash = |row: u32| hasher.hash_one(rows.of(row));
        let mut classes: HashTable<u32> = HashTable::new();
        for (row, &index) in alive.iter().enumerate() {
            let (row, Record { node, state, .. }) = (row as u32, self.records[index as usize]);
            if state == State::Running || index as usize == self.oldest {
                continue;
            }
            let same = |&other: &u32| rows.of(row) == rows.of(other);
            let Some(&first) = classes.find(hash(row), same) else {
                classes.insert_unique(hash(row), row, |&other| hash(other));
                continue;
            };
            let first = alive[first as usize];
            self.links[node.0 as usize] = Link::forward(self.records[first as usize].node);
            let merged = &mut self.records[index as usize];
            (merged.state, merged.mark) = (State::Merged, first);
        }
    }

    /// For each record, the set of running transactions that precede it or are it.
    fn rows(&mut self, alive: &[u32]) -> AncestorRows {
        let mut rows = AncestorRows::new(alive.len(), self.running);
        let mut running = 0;
        for (row, &index) in alive.iter().enumerate() {
            let record = &mut self.records[index as usize];
            record.mark = row as u32;
            let Record { incoming: mut edge, state, after_oldest, .. } = *record;
            if state == State::Running {
                rows.insert(row, running);
                running += 1;
            }
            if after_oldest {
                rows.add(row, self.records[self.oldest].mark as usize);
            }
            while edge != NO_EDGE {
                let Edge { source, next_in, .. } = self.edges[edge as usize];
                if source != 0 {
                    rows.add(row, self.records[source as usize].mark as usize);
                }
                edge = next_in;
            }
        }
        rows
    }

    /// Renumbers the nodes. Those merged into the oldest running transaction share a number of
    /// their own, because they happen after it.
    pub(super) fn renumber(&mut self) -> Renumbering {
        let mut table = vec![Node::DEAD; self.links.len()];
        let mut links = vec![Link::DEAD];
        let mut after_oldest = Node::DEAD;
        let oldest = (self.oldest != 0).then_some(self.oldest);
        for index in oldest.into_iter().chain(1..self.records.len()) {
            let Record { state, node, .. } = &mut self.records[index];
            if *state == State::Dead || table[node.0 as usize] != Node::DEAD {
                continue;
            }
            let new = Node(links.len() as u32);
            table[node.0 as usize] = new;
            links.push(Link::record(index));
            if index == self.oldest {
                after_oldest = Node(links.len() as u32);
                links.push(Link::forward(new));
            }
        }
        for old in (self.watermark.0..self.links.len() as u32).map(Node) {
            if let Target::Node(_) = self.links[old.0 as usize].target()
                && let Some(index) = self.find(old)
            {
                let node = self.records[index].node;
                table[old.0 as usize] =
                    if index == self.oldest { after_oldest } else { table[node.0 as usize] };
            }
        }
        self.number_records(links);
        Renumbering::new(table, std::mem::replace(&mut self.watermark, Node(1)))
    }

    /// Gives the records the numbers of the nodes that stand for them.
    fn number_records(&mut self, links: Vec<Link>) {
        self.links = links;
        for (node, link) in self.links.iter().enumerate() {
            if let Target::Record(index) = link.target() {
                self.records[index].node = Node(node as u32);
            }
        }
        (self.second, self.choose_at) = (Node(if self.oldest == 0 { 1 } else { 3 }), 0);
    }

    /// The parts of the graph, for one that can hold cycles. The edges that close them are not in
    /// it.
    pub fn take_apart(mut self) -> Parts {
        let mut alive = self.alive();
        self.sort(&mut alive);
        let rows = self.rows(&alive);
        let mut finished: Vec<Part> = Vec::new();
        let mut running = Vec::new();
        let mut part_of = vec![None; self.records.len()];
        for (row, &index) in alive.iter().enumerate() {
            let Record { node, state, .. } = self.records[index as usize];
            let after = rows.members(row);
            let is_oldest = index as usize == self.oldest;
            if state == State::Finished || is_oldest {
                part_of[index as usize] = Some(finished.len());
                finished.push(Part { nodes: Vec::new(), after: after.clone() });
            }
            if state == State::Running {
                let own = running.len() as u32;
                let others = after.into_iter().filter(|&other| other != own).collect();
                running.push(Part { nodes: vec![node], after: others });
            }
        }
        for node in (self.watermark.0..self.links.len() as u32).map(Node) {
            let Some(index) = self.find(node) else { continue };
            let Record { state, node: own, .. } = self.records[index];
            if let Some(part) = part_of[index]
                && !(state == State::Running && node == own)
            {
                finished[part].nodes.push(node);
            }
        }
        finished.retain(|part| !part.nodes.is_empty());
        Parts { nodes: self.links.len(), running, finished }
    }

    /// The graph made of the parts of one of the other kind, in which there must be no cycle.
    pub fn assemble(parts: &Parts) -> Ordered {
        let mut graph = Ordered::default();
        graph.links.resize(parts.nodes, Link::DEAD);
        let mut order: Vec<usize> = (0..parts.running.len()).collect();
        // A transaction that precedes another one has fewer predecessors.
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
            let labels = part.after.iter().map(|&i| graph.records[records[i as usize]].label);
            graph.records[index].label = labels.max().unwrap_or(0) + 1;
            graph.retire_if_due(index);
        }
        graph.advance();
        graph
    }

    fn fill(&mut self, index: usize, part: &Part, running: &[usize]) {
        let Some((&first, others)) = part.nodes.split_first() else { return };
        self.records[index].node = first;
        self.links[first.0 as usize] = Link::record(index);
        others.iter().for_each(|other| self.links[other.0 as usize] = Link::forward(first));
        part.after.iter().for_each(|&i| self.insert(running[i as usize], index));
    }
}

/// Sets of running transactions.
struct AncestorRows {
    width: usize,
    words: Vec<u64>,
}

impl AncestorRows {
    fn new(rows: usize, members: usize) -> AncestorRows {
        let width = members.div_ceil(64);
        AncestorRows { width, words: vec![0; rows * width] }
    }

    fn of(&self, row: u32) -> &[u64] {
        &self.words[row as usize * self.width..][..self.width]
    }

    fn insert(&mut self, row: usize, member: usize) {
        self.words[row * self.width + member / 64] |= 1 << (member % 64);
    }

    /// Adds the members of an earlier row.
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
