//! Which events a candidate needs: thread prefixes, closed under kept orders and under what each
//! *strict* read saw.
//!
//! A read is strict when something depends on its value: it is not the last of its thread, or its
//! thread is joined, or it is an update that a strict read saw. All other reads may diverge.

use super::table::{Act, Index, Lane, Table};

/// A closed set of thread prefixes.
#[derive(Clone, Debug)]
pub(super) struct Cut {
    /// How many events of each lane.
    pub upto: Vec<u32>,
    /// The strict reads.
    pub strict: Vec<bool>,
}

impl Cut {
    pub fn has(&self, table: &Table, index: Index) -> bool {
        let item = table.item(index);
        item.position < self.upto[item.lane as usize]
    }
}

/// The cuts of a candidate, smallest first.
pub(super) struct Cuts<'a> {
    table: &'a Table,
    /// Updates that shall see what they saw, although they could be last.
    keep: &'a [Index],
    /// Whether reads must see what they saw.
    with_values: bool,
    todo: Vec<Vec<u32>>,
    seen: Vec<Vec<u32>>,
    most: usize,
    /// Some cuts were left out.
    pub is_cut_short: bool,
}

impl<'a> Cuts<'a> {
    /// The cuts around the given prefixes, at most so many.
    pub fn new(
        table: &'a Table,
        upto: Vec<u32>,
        keep: &'a [Index],
        with_values: bool,
        most: usize,
    ) -> Cuts<'a> {
        let (todo, seen) = (vec![upto], Vec::new());
        Cuts { table, keep, with_values, todo, seen, most, is_cut_short: false }
    }

    /// Open sections that exclude each other: one of them must be extended to its release. A
    /// section that stands open against closed ones may stay so, and be the last of its lock.
    fn branch(&mut self, cut: &Cut) -> bool {
        let (mut clash, mut against) = (Vec::new(), Vec::new());
        let open = open_sections(self.table, cut);
        for &number in &open {
            let section = self.table.sections[number as usize];
            let excludes = |&other: &u32| {
                let it = self.table.sections[other as usize];
                it.lock == section.lock && it.lane != section.lane && !(it.shared && section.shared)
            };
            if open.iter().any(excludes) {
                clash.push(number);
            } else if self.is_contended(cut, number) {
                against.push(number);
            }
        }
        let extended = if clash.is_empty() { &against } else { &clash };
        let mut all = cut.upto.clone();
        for &number in extended.iter().rev() {
            let section = self.table.sections[number as usize];
            if let Some(release) = section.release {
                let position = self.table.item(release).position + 1;
                let mut upto = cut.upto.clone();
                upto[section.lane as usize] = position;
                self.todo.push(upto);
                let all = &mut all[section.lane as usize];
                *all = (*all).max(position);
            }
        }
        // All of them at once is what mostly helps, if one does.
        if extended.len() > 1 {
            self.todo.push(all);
        }
        clash.is_empty()
    }

    fn is_contended(&self, cut: &Cut, number: u32) -> bool {
        let section = self.table.sections[number as usize];
        let lists = self.table.locks[section.lock as usize].excluded_by(section.shared);
        lists.iter().any(|list| {
            list.lane != section.lane && list.positions[0] < cut.upto[list.lane as usize]
        })
    }
}

impl Iterator for Cuts<'_> {
    type Item = Cut;

    fn next(&mut self) -> Option<Cut> {
        while let Some(upto) = self.todo.pop() {
            let cut = close(self.table, upto, self.keep, self.with_values);
            if self.seen.contains(&cut.upto) {
                continue;
            }
            if self.seen.len() == self.most {
                self.is_cut_short = true;
                return None;
            }
            self.seen.push(cut.upto.clone());
            if self.branch(&cut) {
                return Some(cut);
            }
        }
        None
    }
}

/// The sections that are open at the end of a cut.
pub(super) fn open_sections(table: &Table, cut: &Cut) -> Vec<u32> {
    let mut open = Vec::new();
    for (lane, &upto) in cut.upto.iter().enumerate() {
        let Some(last) = upto.checked_sub(1) else { continue };
        let last = table.event(lane as Lane, last);
        let act = table.item(last).act;
        open.extend(table.held(last).iter().filter(|&&held| act != Act::Release(held)));
    }
    open
}

/// The least closed cut that holds the given prefixes.
fn close(table: &Table, upto: Vec<u32>, keep: &[Index], with_values: bool) -> Cut {
    let lanes = upto.len();
    let strict = vec![false; table.items.len()];
    let mut closing = Closing {
        table,
        cut: Cut { upto, strict },
        needed: vec![0; lanes],
        settled: vec![0; lanes],
        joined: vec![false; lanes],
        with_values,
    };
    for &index in keep {
        closing.make_strict(index);
    }
    closing.run();
    closing.cut
}

struct Closing<'a> {
    table: &'a Table,
    cut: Cut,
    /// Of how many events of each lane the needs have been added.
    needed: Vec<u32>,
    /// How many events of each lane are known to be strict if they read.
    settled: Vec<u32>,
    joined: Vec<bool>,
    with_values: bool,
}

impl Closing<'_> {
    fn run(&mut self) {
        loop {
            let mut is_done = true;
            for lane in 0..self.cut.upto.len() {
                while self.needed[lane] < self.cut.upto[lane] {
                    self.add_needs(lane);
                    is_done = false;
                }
                let may_diverge = u32::from(!self.joined[lane]);
                while self.settled[lane] + may_diverge < self.cut.upto[lane] {
                    let index = self.table.event(lane as Lane, self.settled[lane]);
                    self.settled[lane] += 1;
                    self.make_strict(index);
                    is_done = false;
                }
            }
            if is_done {
                return;
            }
        }
    }

    fn add_needs(&mut self, lane: usize) {
        let table = self.table;
        let index = table.event(lane as Lane, self.needed[lane]);
        self.needed[lane] += 1;
        table.needs[index as usize].iter().for_each(|&need| self.include(need));
        if let Act::Join(child) = table.item(index).act
            && let Some(lane) = table.threads.iter().position(|&thread| thread == child)
        {
            self.joined[lane] = true;
        }
    }

    fn include(&mut self, index: Index) {
        let item = self.table.item(index);
        let upto = &mut self.cut.upto[item.lane as usize];
        *upto = (*upto).max(item.position + 1);
    }

    fn make_strict(&mut self, index: Index) {
        let mut index = index;
        while self.with_values
            && self.table.reads(index)
            && !std::mem::replace(&mut self.cut.strict[index as usize], true)
        {
            let Some(write) = self.table.source[index as usize] else { return };
            self.include(write);
            index = write;
            if !self.table.is_update(write) {
                return;
            }
        }
    }
}
