//! What is looked at in a stretch: its blocks, or the transactions between yields.

use hashbrown::HashMap;
use paceline_trace::{Event, Op, Site, ThreadId};

use super::reordering::Stretch;
use super::table::{Lane, Span, Table};

/// How many events that matter each thread has had so far.
struct Progress<'a> {
    table: &'a Table,
    next: usize,
    lane_of: HashMap<ThreadId, Lane>,
    done: Vec<u32>,
}

impl<'a> Progress<'a> {
    fn new(table: &'a Table) -> Progress<'a> {
        let lanes = table.threads.iter().enumerate();
        let lane_of = lanes.map(|(lane, &thread)| (thread, lane as Lane)).collect();
        Progress { table, next: 0, lane_of, done: vec![0; table.lanes.len()] }
    }

    /// The lane of an event, and how many events were before it.
    fn before(&mut self, at: usize, event: &Event) -> Option<(Lane, u32)> {
        let lane = self.lane_of.get(&event.thread).copied();
        let before = lane.map(|lane| (lane, self.done[lane as usize]));
        if self.table.items.get(self.next).is_some_and(|item| item.at as usize == at) {
            self.next += 1;
            if let Some(lane) = lane {
                self.done[lane as usize] += 1;
            }
        }
        before
    }
}

/// The blocks that have events that matter, nested ones too.
pub(super) fn blocks(stretch: &Stretch, table: &Table) -> Vec<Span> {
    let mut progress = Progress::new(table);
    let mut open: HashMap<Lane, Vec<(u32, Site, u32)>> = HashMap::new();
    let mut spans = Vec::new();
    let mut close = |lane: Lane, (begin, site, start): (u32, Site, u32), end: u32| {
        if end > start + 1 {
            spans.push(Span { begin, lane, positions: (start, end), site });
        }
    };
    for (at, event) in stretch.events.iter().enumerate() {
        let Some((lane, before)) = progress.before(at, event) else { continue };
        let stack = open.entry(lane).or_default();
        if let Op::Begin(_) = event.op {
            stack.push((at as u32, event.site, before));
        } else if let (Op::End(_), Some(block)) = (event.op, stack.pop_if(|_| is_end(event))) {
            close(lane, block, before);
        }
    }
    for (lane, stack) in open {
        let end = table.lanes[lane as usize].len() as u32;
        stack.into_iter().for_each(|block| close(lane, block, end));
    }
    spans.sort_by_key(|span| span.begin);
    spans
}

fn is_end(event: &Event) -> bool {
    matches!(event.op, Op::End(_))
}

/// The transactions between yields: a thread's events are split at a `yield`, after a `prewait` and
/// before a `join`.
pub(super) fn transactions(stretch: &Stretch, table: &Table) -> Vec<Span> {
    let mut progress = Progress::new(table);
    let mut open: HashMap<Lane, (u32, Site, u32)> = HashMap::new();
    let mut spans = Vec::new();
    let mut close = |lane: Lane, (begin, site, start): (u32, Site, u32), end: u32| {
        if end > start + 1 {
            spans.push(Span { begin, lane, positions: (start, end), site });
        }
    };
    for (at, event) in stretch.events.iter().enumerate() {
        let Some((lane, before)) = progress.before(at, event) else { continue };
        if matches!(event.op, Op::Yield | Op::Join(_))
            && let Some(running) = open.remove(&lane)
        {
            close(lane, running, before);
        }
        let running = *open.entry(lane).or_insert((at as u32, event.site, before));
        if matches!(event.op, Op::PreWait(_)) {
            open.remove(&lane);
            close(lane, running, progress.done[lane as usize]);
        }
    }
    for (lane, running) in open {
        close(lane, running, table.lanes[lane as usize].len() as u32);
    }
    spans.sort_by_key(|span| span.begin);
    spans
}
