//! A shortest cycle of any kind: a breadth-first search over a stretch of the trace that is kept
//! in memory.
//!
//! The edges, of which there can be quadratically many, are never listed. A channel has its
//! receivers in time order, and a sender reaches all later ones. Those from some point on are
//! already reached by an earlier sender, so every receiver is visited once.

use std::sync::Arc;

use hashbrown::HashMap;
use paceline_trace::{Event, EventNo, Op};

use super::boundary::{EventContext, Transactions};
use super::{Edge, Entered, EventRef, FoundPath, TracedEvent, TracedTxn};
use crate::Cycle;
use crate::engine::channel::{Channel, Ports};

/// A cycle to look for, in the events from `since` on, where no transaction is running.
pub(super) struct Wanted {
    pub(super) since: EventNo,
    pub(super) cycle: Cycle,
    pub(super) index: usize,
}

/// The events that are kept.
#[derive(Default)]
pub(super) struct Tangle {
    /// In the order of `since`.
    wanted: Vec<Wanted>,
    first: EventNo,
    kept: Vec<KeptEvent>,
}

struct KeptEvent {
    event: Event,
    ports: Ports,
    context: EventContext,
}

impl Tangle {
    pub(super) fn new(mut wanted: Vec<Wanted>) -> Tangle {
        wanted.sort_by_key(|w| w.since);
        Tangle { wanted, ..Tangle::default() }
    }

    pub(super) fn is_done(&self) -> bool {
        self.wanted.is_empty()
    }

    /// Takes the next event; returns the cycles that it closes.
    pub(super) fn event(&mut self, traced: TracedEvent) -> Vec<(usize, RawCycle)> {
        let TracedEvent { at: EventRef { number, event }, ports, context } = traced;
        if self.wanted.first().is_none_or(|w| number < w.since) {
            self.kept.clear();
            return Vec::new();
        }
        if self.kept.is_empty() {
            self.first = number;
        }
        self.kept.push(KeptEvent { event, ports, context });
        let due = self.wanted.extract_if(.., |w| w.cycle.event == number);
        let due: Vec<Wanted> = due.collect();
        due.into_iter().filter_map(|w| Some((w.index, self.search(&w)?))).collect()
    }

    fn search(&self, wanted: &Wanted) -> Option<RawCycle> {
        let skip = wanted.since.checked_sub(self.first)? as usize;
        let graph = StretchGraph::new(&self.kept[skip..], wanted.since);
        graph.shortest(wanted.cycle.begin.checked_sub(wanted.since)? as usize)
    }
}

/// A cycle by the positions of its events.
pub(super) struct RawCycle {
    path: Vec<(Edge, RawTxn)>,
    closing: Edge,
}

/// A transaction, by its events in the stretch.
#[derive(Clone, Copy)]
struct RawTxn {
    first: EventRef,
    last: EventRef,
    unary: bool,
}

impl RawCycle {
    /// Transactions that still run get their end later.
    pub(super) fn resolve(self, transactions: &mut Transactions) -> FoundPath {
        let path = self.path.into_iter().map(|(edge, raw)| {
            let running = transactions.still_running(raw.first.number);
            Entered { txn: running.unwrap_or_else(|| Arc::new(raw.ended())), edge }
        });
        FoundPath { path: path.collect(), closing: self.closing }
    }
}

impl RawTxn {
    fn ended(self) -> TracedTxn {
        if self.unary {
            return TracedTxn::unary(self.first);
        }
        let txn = TracedTxn::block(self.first);
        let _ = txn.end.set(self.last);
        txn
    }
}

const NONE: u32 = u32::MAX;

/// The transactions of a stretch; each is named by the position of its first event.
struct StretchGraph<'a> {
    kept: &'a [KeptEvent],
    number: EventNo,
    /// The transaction of each event.
    txn_of: Vec<u32>,
    /// The next event of the same transaction.
    next: Vec<u32>,
    receivers: HashMap<Channel, Receivers>,
}

/// The events that receive on a channel.
#[derive(Default)]
struct Receivers {
    events: Vec<u32>,
    /// From here on all are reached.
    done: usize,
}

impl<'a> StretchGraph<'a> {
    fn new(kept: &'a [KeptEvent], number: EventNo) -> StretchGraph<'a> {
        let mut graph = StretchGraph {
            kept,
            number,
            txn_of: Vec::with_capacity(kept.len()),
            next: vec![NONE; kept.len()],
            receivers: HashMap::new(),
        };
        let mut last_of = HashMap::new();
        for (i, k) in kept.iter().enumerate() {
            let before = last_of.insert(k.context.owner, i);
            match before {
                Some(b) if !k.context.starts => {
                    graph.next[b] = i as u32;
                    graph.txn_of.push(graph.txn_of[b]);
                }
                Some(_) | None => graph.txn_of.push(i as u32),
            }
            let own = k.context.starts.then_some(Channel::Thread(k.event.thread));
            for channel in k.ports.receives.into_iter().chain([own]).flatten() {
                graph.receivers.entry(channel).or_default().events.push(i as u32);
            }
        }
        graph.receivers.values_mut().for_each(|r| r.done = r.events.len());
        graph
    }

    /// A shortest cycle from the transaction of `begin` back into it by the last event.
    fn shortest(mut self, begin: usize) -> Option<RawCycle> {
        let last = self.kept.len() - 1;
        let mut parent: Vec<Option<(u32, u32)>> = vec![None; self.kept.len()];
        let mut queue = std::collections::VecDeque::from([begin as u32]);
        while let Some(txn) = queue.pop_front() {
            if txn as usize != begin
                && let Some(from) = self.closes(txn, last)
            {
                return Some(self.raw(begin, &parent, (from, last as u32)));
            }
            for (from, to) in self.expand(txn) {
                let target = self.txn_of[to as usize];
                if target as usize != begin && parent[target as usize].is_none() {
                    parent[target as usize] = Some((from, to));
                    queue.push_back(target);
                }
            }
        }
        None
    }

    fn events_of(&self, txn: u32) -> impl Iterator<Item = u32> {
        std::iter::successors(Some(txn), |&e| Some(self.next[e as usize]).filter(|&n| n != NONE))
    }

    fn sends(&self, event: u32) -> impl Iterator<Item = Channel> + use<> {
        let k = &self.kept[event as usize];
        k.ports.sends.into_iter().chain([Channel::Thread(k.event.thread)])
    }

    /// The last event of the transaction that conflicts with `last`. A fork conflicts with every
    /// event of the thread; only the first receives it.
    fn closes(&self, txn: u32, last: usize) -> Option<u32> {
        let KeptEvent { event, ports, .. } = &self.kept[last];
        let forks = |e: u32| self.kept[e as usize].event.op == Op::Fork(event.thread);
        let sends = |e: u32| self.sends(e).any(|c| ports.receives.contains(&Some(c)));
        self.events_of(txn).filter(|&e| forks(e) || sends(e)).last()
    }

    /// The edges out of a transaction, except to events that are reached already.
    fn expand(&mut self, txn: u32) -> Vec<(u32, u32)> {
        let mut edges = Vec::new();
        let events: Vec<u32> = self.events_of(txn).collect();
        for event in events {
            for channel in self.sends(event) {
                let Some(receivers) = self.receivers.get_mut(&channel) else { continue };
                let after = receivers.events.partition_point(|&r| r <= event);
                let fresh = after.min(receivers.done)..receivers.done;
                edges.extend(receivers.events[fresh].iter().map(|&to| (event, to)));
                receivers.done = receivers.done.min(after);
            }
        }
        edges
    }

    fn raw(&self, begin: usize, parent: &[Option<(u32, u32)>], closing: (u32, u32)) -> RawCycle {
        let mut path = Vec::new();
        let mut at = self.txn_of[closing.0 as usize];
        while at as usize != begin
            && let Some(edge) = parent[at as usize]
        {
            path.push((self.edge(edge), self.raw_txn(at)));
            at = self.txn_of[edge.0 as usize];
        }
        path.reverse();
        RawCycle { path, closing: self.edge(closing) }
    }

    fn edge(&self, (from, to): (u32, u32)) -> Edge {
        Edge { from: self.event_ref(from), to: self.event_ref(to) }
    }

    fn event_ref(&self, i: u32) -> EventRef {
        EventRef { number: self.number + u64::from(i), event: self.kept[i as usize].event }
    }

    fn raw_txn(&self, txn: u32) -> RawTxn {
        let last = self.events_of(txn).last().unwrap_or(txn);
        let block = matches!(self.kept[txn as usize].event.op, Op::Begin(_));
        RawTxn { first: self.event_ref(txn), last: self.event_ref(last), unary: !block }
    }
}
