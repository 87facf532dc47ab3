//! Ways out of a block and back: e1 of the block before f of another thread, and g, which is f or
//! comes after it, before e2 of the block; or with further threads in between. Each step from one
//! thread to another is a conflict, and together they are the goal of a search.
//!
//! In a small stretch all of them are listed. In a larger one only those with the events nearest to the
//! block are, because the others fail for the same reasons or show the same.

use hashbrown::HashSet;

use super::table::{Act, ByLane, Index, Lane, Span, Table};

/// An order to aim at: conflicts between threads.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Candidate {
    pub goal: Vec<(Index, Index)>,
}

impl Candidate {
    /// How many of its conflicts are between sections of a lock.
    fn by_locks(&self, table: &Table) -> usize {
        let is_lock = |&&(_, to): &&(Index, Index)| matches!(table.item(to).act, Act::Acquire(_));
        self.goal.iter().filter(is_lock).count()
    }

    /// How far apart in the observed trace its events are.
    fn distance(&self) -> u64 {
        self.goal.iter().map(|&(a, b)| u64::from(a.abs_diff(b))).sum()
    }
}

/// Up to this many events of a stretch all ways are listed.
pub(super) const SMALL: usize = 40;

/// So many of the nearest events on either side, of each thread and variable, are tried in a larger
/// stretch.
const NEAREST: usize = 2;

/// At most so many events of a block are tried as its first or last; longer blocks repeat
/// themselves, so of each site one is taken.
const ENDS: usize = 48;

/// At most so many candidates of a block are listed.
const MOST: usize = 4096;

/// The candidates of a block, the nearest first.
pub(super) fn candidates(table: &Table, span: &Span) -> Vec<Candidate> {
    let mut found =
        if table.items.len() <= SMALL { all(table, span) } else { nearest(table, span) };
    // Through few threads first: they are the most likely ones. By data before by locks: that is what a
    // reader understands.
    found.sort_by_cached_key(|it| (it.goal.len(), it.by_locks(table), it.distance()));
    found
}

/// All ways, through any number of threads.
fn all(table: &Table, span: &Span) -> Vec<Candidate> {
    let mut walk =
        Walk { table, span, first: 0, path: Vec::new(), lanes: vec![span.lane], found: vec![] };
    for f in 0..table.items.len() as Index {
        let lane = table.item(f).lane;
        let mut block = walk.block();
        // The first one is the weakest demand.
        if lane != span.lane
            && let Some(e1) = block.find(|&e1| table.conflict(e1, f))
        {
            walk.first = e1;
            walk.lanes.push(lane);
            walk.path.push((e1, f));
            walk.go_on(f);
            walk.path.clear();
            walk.lanes.truncate(1);
        }
    }
    walk.found
}

struct Walk<'a> {
    table: &'a Table,
    span: &'a Span,
    first: Index,
    path: Vec<(Index, Index)>,
    lanes: Vec<Lane>,
    found: Vec<Candidate>,
}

impl<'a> Walk<'a> {
    fn block(&self) -> impl Iterator<Item = Index> + use<'a> {
        let (start, end) = self.span.positions;
        self.table.lanes[self.span.lane as usize][start as usize..end as usize].iter().copied()
    }

    /// The path has come to an event of another thread.
    fn go_on(&mut self, at: Index) {
        let table = self.table;
        let item = table.item(at);
        for &g in &table.lanes[item.lane as usize][item.position as usize..] {
            for e2 in self.block().filter(|&e2| e2 > self.first && table.conflict(g, e2)) {
                let goal = [&self.path[..], &[(g, e2)]].concat();
                self.found.push(Candidate { goal });
            }
            if self.lanes.len() == table.lanes.len() {
                continue;
            }
            for h in 0..table.items.len() as Index {
                let lane = table.item(h).lane;
                if !self.lanes.contains(&lane) && table.conflict(g, h) {
                    self.lanes.push(lane);
                    self.path.push((g, h));
                    self.go_on(h);
                    self.path.pop();
                    self.lanes.pop();
                }
            }
        }
    }
}

/// The ways with the nearest events, through one or two other threads.
fn nearest(table: &Table, span: &Span) -> Vec<Candidate> {
    let (start, end) = span.positions;
    let block = &table.lanes[span.lane as usize][start as usize..end as usize];
    let (Some(&first), Some(&last)) = (block.first(), block.last()) else { return Vec::new() };
    let ends = ends(table, block);
    let mut found = Vec::new();
    let mut known = HashSet::new();
    for (i, &e1) in ends.iter().enumerate() {
        for f in after(table, e1, first, last) {
            if found.len() >= MOST {
                return found;
            }
            for &e2 in &ends[i + 1..] {
                let Some(g) = next_before(table, f, e2) else { continue };
                if !are_exclusive(table, e1, e2, f, g) && known.insert((e1, f, g, e2)) {
                    found.push(Candidate { goal: vec![(e1, f), (g, e2)] });
                }
            }
            chains(table, span, e1, f, &ends[i + 1..], &mut found);
        }
    }
    found
}

/// The events of a block that are tried as its first or last: one of each site and target, and the last
/// of them too.
fn ends(table: &Table, block: &[Index]) -> Vec<Index> {
    if block.len() <= ENDS {
        return block.to_vec();
    }
    let mut sites = HashSet::new();
    let mut keep = |&&index: &&Index| {
        let item = table.item(index);
        sites.insert((item.site, std::mem::discriminant(&item.act)))
    };
    let mut ends: Vec<Index> = block.iter().filter(&mut keep).take(ENDS / 2).copied().collect();
    sites_again(table, block, &mut ends);
    ends.sort_unstable();
    ends.dedup();
    ends
}

fn sites_again(table: &Table, block: &[Index], ends: &mut Vec<Index>) {
    let mut sites = HashSet::new();
    let is_new = |&&index: &&Index| {
        let item = table.item(index);
        sites.insert((item.site, std::mem::discriminant(&item.act)))
    };
    let last: Vec<Index> = block.iter().rev().filter(is_new).take(ENDS / 2).copied().collect();
    ends.extend(last);
}

/// Events of other threads that would conflict with `e1` if they came after it, the nearest ones on
/// either side of the block.
fn after(table: &Table, e1: Index, first: Index, last: Index) -> Vec<Index> {
    let lane = table.item(e1).lane;
    let mut found = Vec::new();
    let mut near = |lists: &ByLane| {
        for list in lists.iter().filter(|list| list.lane != lane) {
            let events = &table.lanes[list.lane as usize];
            let before = list.positions.partition_point(|&p| events[p as usize] < first);
            let behind = list.positions.partition_point(|&p| events[p as usize] <= last);
            let inside = &list.positions[before..behind];
            let sides = [
                &list.positions[before.saturating_sub(NEAREST)..before],
                &inside[..inside.len().min(NEAREST)],
                &inside[inside.len().saturating_sub(NEAREST)..],
                &list.positions[behind..list.positions.len().min(behind + NEAREST)],
            ];
            found.extend(sides.concat().iter().map(|&p| events[p as usize]));
        }
    };
    match table.item(e1).act {
        Act::Read(x) => near(&table.variables[x as usize].writes),
        Act::Write(x) | Act::Update(x) => {
            near(&table.variables[x as usize].reads);
            near(&table.variables[x as usize].writes);
        }
        Act::Release(section) => {
            let section = table.sections[section as usize];
            near(table.locks[section.lock as usize].excluded_by(section.shared));
        }
        Act::Post(channel) | Act::Enter(channel) => {
            near(&table.channels[channel as usize].receivers);
        }
        Act::Fork(child) => {
            let lane = table.threads.iter().position(|&thread| thread == child);
            found.extend(lane.and_then(|lane| table.lanes[lane].first()));
        }
        Act::Acquire(_) | Act::Join(_) | Act::Take(_) | Act::Exit(_) | Act::Notify => {}
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// The first event of f's thread, from f on, that would conflict with e2 if it came before it.
fn next_before(table: &Table, f: Index, e2: Index) -> Option<Index> {
    let item = table.item(f);
    let next = |lists: &ByLane| {
        let list = lists.iter().find(|list| list.lane == item.lane)?;
        Some(table.event(item.lane, list.first_from(item.position)?))
    };
    match table.item(e2).act {
        Act::Read(x) => next(&table.variables[x as usize].writes),
        Act::Write(x) | Act::Update(x) => {
            let variable = &table.variables[x as usize];
            let (read, write) = (next(&variable.reads), next(&variable.writes));
            read.into_iter().chain(write).min()
        }
        Act::Acquire(section) => {
            let section = table.sections[section as usize];
            let lock = &table.locks[section.lock as usize];
            // The section that f is in, or the next one.
            let held = table.held(f).iter().map(|&held| table.sections[held as usize]);
            let excluded = |other: &super::table::Section| {
                other.lock == section.lock && !(other.shared && section.shared)
            };
            let own = held.filter(excluded).find_map(|held| held.release);
            own.or_else(|| {
                let acquire = next(lock.excluded_by(section.shared))?;
                let Act::Acquire(section) = table.item(acquire).act else { return None };
                table.sections[section as usize].release
            })
        }
        Act::Take(channel) | Act::Exit(channel) => next(&table.channels[channel as usize].senders),
        Act::Join(child) => (table.threads[item.lane as usize] == child).then_some(f),
        Act::Release(_) | Act::Fork(_) | Act::Post(_) | Act::Enter(_) | Act::Notify => None,
    }
}

/// Whether a lock forbids it: both ends are in one section, and the other thread's event in
/// another section of that lock. The search would find out, at more cost.
fn are_exclusive(table: &Table, e1: Index, e2: Index, f: Index, g: Index) -> bool {
    let both = table.held(e1).iter().filter(|section| table.held(e2).contains(section));
    let sections = both.map(|&section| table.sections[section as usize]);
    let excludes = |section: super::table::Section, event: Index| {
        table.held(event).iter().any(|&other| {
            let other = table.sections[other as usize];
            other.lock == section.lock && !(other.shared && section.shared)
        })
    };
    sections.into_iter().any(|section| excludes(section, f) || excludes(section, g))
}

/// Events of a thread that are looked at as a step to the next thread.
const STEPS: usize = 8;

/// Ways through a second thread: from f on, the nearest steps to a third one that were observed,
/// and from there back.
fn chains(
    table: &Table,
    span: &Span,
    e1: Index,
    f: Index,
    ends: &[Index],
    found: &mut Vec<Candidate>,
) {
    let item = table.item(f);
    let rest = &table.lanes[item.lane as usize][item.position as usize..];
    for &g in rest.iter().take(STEPS) {
        for h in after(table, g, g, g) {
            // A step that was observed costs nothing; others multiply the candidates.
            if h < g || table.item(h).lane == span.lane {
                continue;
            }
            for &e2 in ends.iter().take(STEPS) {
                if let Some(k) = next_before(table, h, e2)
                    && found.len() < MOST
                {
                    found.push(Candidate { goal: vec![(e1, f), (g, h), (k, e2)] });
                }
            }
        }
    }
}
