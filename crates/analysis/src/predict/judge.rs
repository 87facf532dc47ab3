//! What a certified order shows: the exact analyses, run on the new order as on any trace. An update
//! that diverges may fail, so it counts as a read.

use hashbrown::HashMap;
use paceline_trace::{Batch, Event, IdCounts, Lines, Op};

use super::reordering::Stretch;
use crate::Analysis as _;
use crate::cooperability::{self, Cooperability};
use crate::explain::blame::Blame;

/// The events of a stretch with small numbers for all they touch, so that an analysis of it needs no
/// memory for the rest of the trace.
pub(super) struct Renamed {
    events: Vec<Event>,
    counts: IdCounts,
}

#[derive(Default)]
struct Names(HashMap<u32, u32>);

impl Names {
    fn of(&mut self, id: u32) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry(id).or_insert(next)
    }
}

impl Renamed {
    pub fn new(stretch: &Stretch) -> Renamed {
        let mut spaces: [Names; 6] = Default::default();
        let [threads, variables, locks, semaphores, barriers, labels] = &mut spaces;
        let mut events = stretch.events.clone();
        for event in &mut events {
            event.thread.0 = threads.of(event.thread.0);
            match &mut event.op {
                Op::Read(x)
                | Op::AtomicRead(x)
                | Op::Write(x)
                | Op::AtomicWrite(x)
                | Op::AtomicUpdate(x) => x.0 = variables.of(x.0),
                Op::Acquire(l)
                | Op::Release(l)
                | Op::AcquireShared(l)
                | Op::ReleaseShared(l)
                | Op::PreWait(l)
                | Op::PostWait(l)
                | Op::Notify(l) => l.0 = locks.of(l.0),
                Op::Fork(t) | Op::Join(t) => t.0 = threads.of(t.0),
                Op::Begin(m) | Op::End(m) => {
                    if m.is_named() {
                        m.0 = labels.of(m.0);
                    }
                }
                Op::Post(s) | Op::Take(s) => s.0 = semaphores.of(s.0),
                Op::BarrierEnter(b) | Op::BarrierExit(b) => b.0 = barriers.of(b.0),
                Op::Yield => {}
            }
        }
        let [threads, vars, locks, semaphores, barriers, labels] = spaces.map(|it| it.0.len());
        let counts = IdCounts { threads, vars, locks, semaphores, barriers, labels };
        Renamed { events, counts }
    }

    /// The stretch in a new order.
    fn batch(&self, order: &[usize], diverged: &[usize]) -> Batch {
        let in_order = order.iter().map(|&at| {
            let event = self.events[at];
            if let Op::AtomicUpdate(x) = event.op
                && diverged.contains(&at)
            {
                return Event { op: Op::AtomicRead(x), ..event };
            }
            event
        });
        Batch { first: 1, events: in_order.collect(), counts: self.counts, lines: Lines::None }
    }

    /// The blocks that are refuted, by the indices of their `begin`s in the stretch.
    pub fn refuted(&self, order: &[usize], diverged: &[usize]) -> Vec<usize> {
        let mut blame = Blame::default();
        let _ = blame.events(&self.batch(order, diverged));
        blame.finish();
        blame.refuted().iter().map(|block| order[block.begin_event as usize - 1]).collect()
    }

    /// The events before which a yield is missing.
    pub fn missing_yields(&self, order: &[usize], diverged: &[usize]) -> Vec<usize> {
        let mut yields = Cooperability::new(cooperability::Options::default());
        let _ = yields.events(&self.batch(order, diverged));
        yields.finish();
        yields.inferred().positions().iter().map(|&number| order[number as usize - 1]).collect()
    }

    /// Whether the last two events are plain accesses that conflict, of different threads.
    pub fn ends_in_race(&self, order: &[usize]) -> bool {
        let &[.., a, b] = order else { return false };
        let (a, b) = (self.events[a], self.events[b]);
        let is_plain = |event: Event| matches!(event.op, Op::Read(_) | Op::Write(_));
        let writes = |event: Event| matches!(event.op, Op::Write(_));
        is_plain(a)
            && is_plain(b)
            && a.thread != b.thread
            && a.op.variable() == b.op.variable()
            && (writes(a) || writes(b))
    }
}
