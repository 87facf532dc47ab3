//! Tables of a stretch for the search: the events that matter, by thread, by variable and by lock,
//! what each read saw, and the kept orders.
//!
//! An event matters unless what it touches is touched by one thread only in this stretch, or never
//! written: such events fit in wherever their thread is. `begin`, `end` and `yield` only delimit.

use hashbrown::HashMap;
use paceline_trace::{Op, Site, ThreadId};

use super::reordering::Stretch;

/// An event of the table, by its index in observed order.
pub(super) type Index = u32;
/// A thread of the table.
pub(super) type Lane = u32;

/// What an event does, as far as the search cares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Act {
    Read(u32),
    Write(u32),
    /// Reads and writes in one.
    Update(u32),
    /// The section that it opens.
    Acquire(u32),
    /// The section that it closes.
    Release(u32),
    Fork(ThreadId),
    Join(ThreadId),
    Post(u32),
    Take(u32),
    /// The round.
    Enter(u32),
    Exit(u32),
    /// Kept orders only.
    Notify,
}

/// An event that matters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    /// Its index in the stretch.
    pub at: u32,
    pub lane: Lane,
    /// Its position among the events of its lane.
    pub position: u32,
    pub act: Act,
    pub site: Site,
}

/// A critical section.
#[derive(Clone, Copy, Debug)]
pub(super) struct Section {
    pub lock: u32,
    pub shared: bool,
    pub lane: Lane,
    pub acquire: Index,
    /// `None`: it is open at the end of the stretch.
    pub release: Option<Index>,
}

/// A block to be refuted: a range of positions in its lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// The index of its `begin` in the stretch.
    pub begin: u32,
    pub lane: Lane,
    pub positions: (u32, u32),
    pub site: Site,
}

/// Positions of one lane, in order.
#[derive(Clone, Default, Debug)]
pub(super) struct Positions {
    pub lane: Lane,
    pub positions: Vec<u32>,
}

impl Positions {
    /// The last position below a bound.
    pub fn last_below(&self, bound: u32) -> Option<u32> {
        let count = self.positions.partition_point(|&p| p < bound);
        Some(self.positions[count.checked_sub(1)?])
    }

    /// The first position that is not below a bound.
    pub fn first_from(&self, bound: u32) -> Option<u32> {
        self.positions.get(self.positions.partition_point(|&p| p < bound)).copied()
    }
}

/// One list for each lane that has something.
pub(super) type ByLane = Vec<Positions>;

pub(super) fn note(lists: &mut ByLane, lane: Lane, position: u32) {
    match lists.iter_mut().find(|list| list.lane == lane) {
        Some(list) => list.positions.push(position),
        None => lists.push(Positions { lane, positions: vec![position] }),
    }
}

/// The accesses of a variable.
#[derive(Default)]
pub(super) struct Variable {
    pub reads: ByLane,
    pub writes: ByLane,
    /// Reads that see the value from before the stretch.
    pub initial: ByLane,
}

/// The sections of a lock, by the positions of their acquires.
#[derive(Default)]
pub(super) struct Lock {
    pub exclusive: ByLane,
    pub shared: ByLane,
    /// Either.
    pub all: ByLane,
}

impl Lock {
    /// The sections that cannot overlap with a shared or an exclusive one.
    pub fn excluded_by(&self, shared: bool) -> &ByLane {
        if shared { &self.exclusive } else { &self.all }
    }
}

/// All tables.
#[derive(Default)]
pub(super) struct Table {
    pub items: Vec<Item>,
    pub lanes: Vec<Vec<Index>>,
    pub threads: Vec<ThreadId>,
    /// How many items are carried: they come first and never move.
    pub carried: usize,
    /// What each read saw; `None` is the value from before the stretch.
    pub source: Vec<Option<Index>>,
    /// The reads of each write.
    pub readers: Vec<ByLane>,
    /// Kept orders: what must be there before each event, of other lanes. Together with the order
    /// of threads they generate P4.
    pub needs: Vec<Vec<Index>>,
    /// The other way round.
    pub needed_by: Vec<Vec<Index>>,
    pub variables: Vec<Variable>,
    pub locks: Vec<Lock>,
    pub sections: Vec<Section>,
    /// The sections that each event is in; those of its own acquire and release included.
    pub held: Vec<u32>,
    pub held_sets: Vec<Vec<u32>>,
    /// The posts and takes of each semaphore, the enters and exits of each round.
    pub channels: Vec<Channel>,
}

/// What is sent before it is received.
#[derive(Default)]
pub(super) struct Channel {
    pub senders: ByLane,
    pub receivers: ByLane,
}

impl Table {
    /// The table of a stretch.
    pub fn new(stretch: &Stretch) -> Table {
        super::build::table(stretch)
    }

    pub fn item(&self, index: Index) -> &Item {
        &self.items[index as usize]
    }

    /// The event at a position of a lane.
    pub fn event(&self, lane: Lane, position: u32) -> Index {
        self.lanes[lane as usize][position as usize]
    }

    pub fn variable(&self, act: Act) -> Option<u32> {
        match act {
            Act::Read(x) | Act::Write(x) | Act::Update(x) => Some(x),
            Act::Acquire(_)
            | Act::Release(_)
            | Act::Fork(_)
            | Act::Join(_)
            | Act::Post(_)
            | Act::Take(_)
            | Act::Enter(_)
            | Act::Exit(_)
            | Act::Notify => None,
        }
    }

    pub fn reads(&self, index: Index) -> bool {
        matches!(self.item(index).act, Act::Read(_) | Act::Update(_))
    }

    pub fn writes(&self, index: Index) -> bool {
        matches!(self.item(index).act, Act::Write(_) | Act::Update(_))
    }

    pub fn is_update(&self, index: Index) -> bool {
        matches!(self.item(index).act, Act::Update(_))
    }

    pub fn held(&self, index: Index) -> &[u32] {
        &self.held_sets[self.held[index as usize] as usize]
    }

    /// Whether an event conflicts with a later one of another thread.
    pub fn conflict(&self, earlier: Index, later: Index) -> bool {
        let (e, f) = (self.item(earlier), self.item(later));
        if let Act::Fork(child) = e.act {
            let joins = matches!(f.act, Act::Join(joined) if joined == child);
            return joins || self.threads[f.lane as usize] == child;
        }
        if let Act::Join(child) = f.act {
            return self.threads[e.lane as usize] == child;
        }
        if let (Some(x), Some(y)) = (self.variable(e.act), self.variable(f.act)) {
            return x == y && (self.writes(earlier) || self.writes(later));
        }
        if let (Act::Release(s), Act::Acquire(r)) = (e.act, f.act) {
            let (s, r) = (self.sections[s as usize], self.sections[r as usize]);
            return s.lock == r.lock && !(s.shared && r.shared);
        }
        let pair = (e.act, f.act);
        matches!(pair, (Act::Post(s), Act::Take(r)) | (Act::Enter(s), Act::Exit(r)) if s == r)
    }

    /// The events of the stretch in the order of the given items, with those that do not matter
    /// fitted in: right before the next item of their thread, or before its join. The last items, so
    /// many, stay side by side.
    pub fn expand(&self, stretch: &Stretch, order: &[Index], together: usize) -> Vec<usize> {
        let carried = stretch.carried.len();
        let mut pending: HashMap<ThreadId, Vec<usize>> = HashMap::new();
        for (at, event) in stretch.events.iter().enumerate().skip(carried).rev() {
            pending.entry(event.thread).or_default().push(at);
        }
        let mut all: Vec<usize> = (0..carried).collect();
        let mut flush = |all: &mut Vec<usize>, thread: ThreadId, end: usize| {
            let Some(rest) = pending.get_mut(&thread) else { return };
            while rest.last().is_some_and(|&at| at < end) {
                all.extend(rest.pop());
            }
        };
        for (i, &index) in order.iter().enumerate() {
            let at = self.item(index).at as usize;
            if at < carried {
                continue;
            }
            if i + together == order.len() {
                for &last in &order[i..] {
                    let at = self.item(last).at as usize;
                    flush(&mut all, stretch.events[at].thread, at);
                }
            }
            let event = &stretch.events[at];
            if let Op::Join(child) = event.op {
                flush(&mut all, child, at);
            }
            flush(&mut all, event.thread, at + 1);
        }
        all
    }
}
