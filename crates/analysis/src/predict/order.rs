//! A partial order on the events of a cut, transitively closed, with undo.
//!
//! Threads are chains, so what precedes an event is one number for each lane: how many events of
//! that lane. A question costs one comparison. An edge is propagated along threads and along direct
//! edges to what follows; a cycle shows as an event that would have to follow a later one of its
//! own thread. (Bit sets over events cost n²/64 words; this is n·k, with k lanes.)

use super::cut::{Cut, open_sections};
use super::table::{Index, Lane, Positions, Table};

/// There is no such order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cycle;

const NO_LINK: u32 = u32::MAX;

/// A point to come back to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    trail: usize,
    links: usize,
}

/// The order of a whole table that every cut has: threads, kept orders, what reads saw.
pub(super) struct Base {
    clocks: Vec<u32>,
}

impl Base {
    pub fn new(table: &Table) -> Base {
        let width = table.lanes.len();
        let mut clocks = vec![0; table.items.len() * width];
        for index in 0..table.items.len() {
            let row = row_of(table, &clocks, index as Index, true);
            clocks[index * width..][..width].copy_from_slice(&row);
        }
        Base { clocks }
    }
}

/// What precedes an event, and itself, from the rows of those before it.
fn row_of(table: &Table, clocks: &[u32], index: Index, with_source: bool) -> Vec<u32> {
    let width = table.lanes.len();
    let item = table.item(index);
    let before = item.position.checked_sub(1).map(|p| table.event(item.lane, p));
    let source = table.source[index as usize].filter(|_| with_source);
    let mut row = vec![0; width];
    for other in before.into_iter().chain(source).chain(table.needs[index as usize].iter().copied())
    {
        let other = &clocks[other as usize * width..][..width];
        row.iter_mut().zip(other).for_each(|(a, &b)| *a = (*a).max(b));
    }
    row[item.lane as usize] = item.position + 1;
    row
}

/// The order. One object serves all candidates of a table.
pub(super) struct Order<'a> {
    pub table: &'a Table,
    pub cut: Cut,
    width: usize,
    clocks: Vec<u32>,
    /// Direct edges besides those of the table.
    heads: Vec<u32>,
    links: Vec<(Index, Index, u32)>,
    trail: Vec<(usize, u32)>,
    /// Events whose clocks have grown since the rules were last applied to them.
    dirty: Vec<Index>,
    is_dirty: Vec<bool>,
    todo: Vec<Index>,
    with_values: bool,
}

impl<'a> Order<'a> {
    /// The order of a cut: the base, the initial values, and the open sections.
    pub fn new(table: &'a Table, base: &Base, cut: Cut, with_values: bool) -> Result<Self, Cycle> {
        let count = table.items.len();
        let mut order = Order {
            table,
            cut,
            width: table.lanes.len(),
            clocks: if with_values { base.clocks.clone() } else { vec![0; base.clocks.len()] },
            heads: vec![NO_LINK; count],
            links: Vec::new(),
            trail: Vec::new(),
            dirty: Vec::new(),
            is_dirty: vec![false; count],
            todo: Vec::new(),
            with_values,
        };
        order.reset_rows();
        order.add_initial_values()?;
        order.add_open_sections()?;
        order.add_all_to_dirty();
        Ok(order)
    }

    /// Rows that differ from the base: those of reads that may diverge, or all.
    fn reset_rows(&mut self) {
        let table = self.table;
        let (width, count) = (self.width, table.items.len() as Index);
        let set = |order: &mut Self, index: Index| {
            let with_source = order.cut.strict[index as usize];
            let row = row_of(table, &order.clocks, index, with_source);
            order.clocks[index as usize * width..][..width].copy_from_slice(&row);
        };
        if !self.with_values {
            (0..count).for_each(|index| set(self, index));
            return;
        }
        for lane in 0..width {
            let Some(last) = self.cut.upto[lane].checked_sub(1) else { continue };
            let last = table.event(lane as Lane, last);
            if table.reads(last) && !self.cut.strict[last as usize] {
                set(self, last);
            }
        }
    }

    fn clock(&self, index: Index, lane: Lane) -> u32 {
        self.clocks[index as usize * self.width + lane as usize]
    }

    /// How many events of a lane precede an event, its own lane's included.
    pub fn before(&self, index: Index, lane: Lane) -> u32 {
        self.clock(index, lane)
    }

    pub fn is_before(&self, a: Index, b: Index) -> bool {
        let item = self.table.item(a);
        a != b && self.clock(b, item.lane) > item.position
    }

    pub fn mark(&self) -> Mark {
        Mark { trail: self.trail.len(), links: self.links.len() }
    }

    pub fn undo(&mut self, mark: Mark) {
        while self.trail.len() > mark.trail
            && let Some((at, clock)) = self.trail.pop()
        {
            self.clocks[at] = clock;
        }
        while self.links.len() > mark.links
            && let Some((from, _, next)) = self.links.pop()
        {
            self.heads[from as usize] = next;
        }
        self.dirty.drain(..).for_each(|index| self.is_dirty[index as usize] = false);
        self.todo.clear();
    }

    /// Puts `a` before `b`.
    pub fn add(&mut self, a: Index, b: Index) -> Result<(), Cycle> {
        if a == b || self.is_before(b, a) {
            return Err(Cycle);
        }
        if self.is_before(a, b) {
            return Ok(());
        }
        self.links.push((a, b, self.heads[a as usize]));
        self.heads[a as usize] = self.links.len() as u32 - 1;
        if self.join(b, a)? {
            self.todo.push(b);
        }
        self.propagate()
    }

    fn propagate(&mut self) -> Result<(), Cycle> {
        let table = self.table;
        while let Some(index) = self.todo.pop() {
            let item = table.item(index);
            if item.position + 1 < self.cut.upto[item.lane as usize] {
                self.pass_on(index, table.event(item.lane, item.position + 1))?;
            }
            for &after in &table.needed_by[index as usize] {
                self.pass_on(index, after)?;
            }
            if table.writes(index) {
                for list in &table.readers[index as usize] {
                    self.pass_on_to_readers(index, list)?;
                }
            }
            let mut link = self.heads[index as usize];
            while link != NO_LINK {
                let (_, to, next) = self.links[link as usize];
                self.pass_on(index, to)?;
                link = next;
            }
        }
        Ok(())
    }

    /// The first reader of a lane passes it on to the others.
    fn pass_on_to_readers(&mut self, index: Index, list: &Positions) -> Result<(), Cycle> {
        let reader = self.table.event(list.lane, list.positions[0]);
        if self.cut.strict[reader as usize] {
            self.pass_on(index, reader)?;
        }
        Ok(())
    }

    fn pass_on(&mut self, from: Index, to: Index) -> Result<(), Cycle> {
        if self.cut.has(self.table, to) && self.join(to, from)? {
            self.todo.push(to);
        }
        Ok(())
    }

    /// Adds what precedes `from`, and itself, to what precedes `to`. Whether anything is new.
    fn join(&mut self, to: Index, from: Index) -> Result<bool, Cycle> {
        let (to_row, from_row) = (to as usize * self.width, from as usize * self.width);
        let mut is_new = false;
        for lane in 0..self.width {
            let clock = self.clocks[from_row + lane];
            let known = self.clocks[to_row + lane];
            if clock > known {
                self.trail.push((to_row + lane, known));
                self.clocks[to_row + lane] = clock;
                is_new = true;
            }
        }
        let item = self.table.item(to);
        if self.clock(to, item.lane) > item.position + 1 {
            return Err(Cycle);
        }
        if is_new {
            self.add_to_dirty(to);
        }
        Ok(is_new)
    }

    fn add_to_dirty(&mut self, index: Index) {
        if !std::mem::replace(&mut self.is_dirty[index as usize], true) {
            self.dirty.push(index);
        }
    }

    fn add_all_to_dirty(&mut self) {
        let table = self.table;
        for (lane, &upto) in self.cut.upto.clone().iter().enumerate() {
            table.lanes[lane][..upto as usize].iter().for_each(|&index| self.add_to_dirty(index));
        }
    }

    pub fn take_dirty(&mut self) -> Option<Index> {
        let index = self.dirty.pop()?;
        self.is_dirty[index as usize] = false;
        Some(index)
    }

    /// The last strict read of a list that is in the cut.
    pub fn last_strict(&self, list: &Positions) -> Option<Index> {
        let last = list.last_below(self.cut.upto[list.lane as usize])?;
        let index = self.table.event(list.lane, last);
        if self.cut.strict[index as usize] {
            return Some(index);
        }
        // Only the last event of a lane is not strict.
        let before = self.table.event(list.lane, list.last_below(last)?);
        self.cut.strict[before as usize].then_some(before)
    }

    /// Reads of the value from before the stretch come before all writes.
    fn add_initial_values(&mut self) -> Result<(), Cycle> {
        let table = self.table;
        if !self.with_values {
            return Ok(());
        }
        for variable in &table.variables {
            for reads in &variable.initial {
                let Some(read) = self.last_strict(reads) else { continue };
                for writes in variable.writes.iter().filter(|writes| writes.lane != reads.lane) {
                    let first = table.event(writes.lane, writes.positions[0]);
                    if self.cut.has(table, first) {
                        self.add(read, first)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// An open section is the last of its lock.
    fn add_open_sections(&mut self) -> Result<(), Cycle> {
        let table = self.table;
        for number in open_sections(table, &self.cut) {
            let section = table.sections[number as usize];
            let lists = table.locks[section.lock as usize].excluded_by(section.shared);
            for list in lists.iter().filter(|list| list.lane != section.lane) {
                let Some(last) = list.last_below(self.cut.upto[list.lane as usize]) else {
                    continue;
                };
                let release = self.release_of(table.event(list.lane, last)).ok_or(Cycle)?;
                self.add(release, section.acquire)?;
            }
        }
        Ok(())
    }

    /// The release that ends the section of an acquire, if it is in the cut.
    pub fn release_of(&self, acquire: Index) -> Option<Index> {
        let super::table::Act::Acquire(section) = self.table.item(acquire).act else { return None };
        let release = self.table.sections[section as usize].release;
        release.filter(|&release| self.cut.has(self.table, release))
    }
}
