//! Restores the topological order when an edge goes against it.

use super::{Edge, GAP, NO_EDGE, Ordered, Record, TopoLabel};

impl Ordered {
    /// Changes the order so that an edge follows it. Returns true, and changes nothing, if the edge
    /// closes a cycle.
    #[cold]
    pub(super) fn closes_cycle(&mut self, source: usize, target: usize) -> bool {
        let floor = self.records[target].label;
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
            let Record { incoming, after_oldest, .. } = self.records[index as usize];
            let (mut edge, mut source) =
                (incoming, if after_oldest { self.oldest as u32 } else { 0 });
            loop {
                let earlier = &mut self.records[source as usize];
                if earlier.label < floor {
                    below = below.max(earlier.label);
                } else if earlier.mark != self.searches {
                    earlier.mark = self.searches;
                    self.pending.push(source);
                }
                if edge == NO_EDGE {
                    break;
                }
                Edge { source, next_in: edge, .. } = self.edges[edge as usize];
            }
        }
        self.relabel_found(below, floor);
        false
    }

    /// Gives the records that were found labels between two others.
    fn relabel_found(&mut self, below: TopoLabel, floor: TopoLabel) {
        let records = &mut self.records;
        self.found.sort_unstable_by_key(|&index| records[index as usize].label);
        let distance = (floor - below) / (self.found.len() as TopoLabel + 1);
        if distance == 0 {
            return self.relabel_all(below, floor);
        }
        let mut label = floor;
        for &index in self.found.iter().rev() {
            label -= distance;
            records[index as usize].label = label;
        }
    }

    /// There is no room between the two labels: gives new ones to all records.
    fn relabel_all(&mut self, below: TopoLabel, floor: TopoLabel) {
        let found = std::mem::take(&mut self.found);
        let mut order = self.alive();
        let records = &self.records;
        order.sort_by_key(|&index| {
            let Record { label, mark, .. } = records[index as usize];
            let is_found = mark == self.searches && label >= floor;
            (if is_found { below } else { label }, is_found, label)
        });
        self.next_label = GAP;
        for index in order {
            self.records[index as usize].label = self.next_label;
            self.next_label += GAP;
        }
        self.found = found;
    }
}
