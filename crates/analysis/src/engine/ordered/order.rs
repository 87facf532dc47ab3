//! Keeping the order when an edge goes against it.

use super::{Edge, GAP, NO_EDGE, Ordered, Place, Record};

impl Ordered {
    /// Changes the order so that an edge follows it; if the edge closes a cycle there is none.
    #[cold]
    pub(super) fn closes_cycle(&mut self, source: usize, target: usize) -> bool {
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
            let Record { incoming, after_elder, .. } = self.records[index as usize];
            let (mut edge, mut source) =
                (incoming, if after_elder { self.elder as u32 } else { 0 });
            loop {
                let earlier = &mut self.records[source as usize];
                if earlier.place < floor {
                    below = below.max(earlier.place);
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
        self.move_in_front(below, floor);
        false
    }

    /// Gives places between two others to those that were found.
    fn move_in_front(&mut self, below: Place, floor: Place) {
        let records = &mut self.records;
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
        let found = std::mem::take(&mut self.found);
        let mut order = self.alive();
        let records = &self.records;
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
