//! A shortest increasing cycle through one transaction D, found on the fly.
//!
//! Along an increasing path an event only passes on what its transaction has received before it.
//! So it is enough to know, for each channel, the best *offer* so far: the fewest hops from D by
//! which a sender had been reached when it sent. Among equally short ones, the one that left D
//! latest is kept: it refutes the most nested blocks. What D itself sends is kept apart, because it
//! must not hide what others send back to D.
//!
//! Only what is reached from D is kept. Hops are few: once a transaction of a thread is reached,
//! the later ones of the thread are one hop away, so chains of [`Hop`]s are no longer than twice
//! the number of threads.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::Arc;

use hashbrown::HashMap;
use paceline_trace::{EventNo, ThreadId};

use super::boundary::{Owner, Transactions};
use super::{Edge, Entered, EventRef, FoundPath, TracedEvent, TracedTxn};
use crate::engine::channel::Channel;

/// How a transaction was reached: the edge into it, and how the edge's source was reached.
struct Hop {
    txn: Arc<TracedTxn>,
    edge: Edge,
    before: Option<Arc<Hop>>,
}

/// How good a path from D is: few hops, then a late departure.
type Rank = (u32, Reverse<EventNo>);

struct Offer {
    rank: Rank,
    from: EventRef,
    /// How the sender was reached; none if it is D.
    before: Option<Arc<Hop>>,
}

struct Reached {
    rank: Rank,
    link: Arc<Hop>,
}

/// A value for each channel. Every event sends on the channel of its thread, so these have a table
/// of their own.
struct Board<T> {
    threads: Vec<Option<T>>,
    others: HashMap<Channel, T>,
}

impl<T> Board<T> {
    fn new() -> Board<T> {
        Board { threads: Vec::new(), others: HashMap::new() }
    }

    fn get(&self, channel: Channel) -> Option<&T> {
        match channel {
            Channel::Thread(thread) => self.threads.get(thread.index())?.as_ref(),
            Channel::Written(_)
            | Channel::Read(_)
            | Channel::Released(_)
            | Channel::ReleasedShared(_)
            | Channel::Posted(_)
            | Channel::Arrived(_) => self.others.get(&channel),
        }
    }

    /// The value of a thread's channel.
    fn of_thread(&mut self, thread: ThreadId) -> &mut Option<T> {
        if self.threads.len() <= thread.index() {
            self.threads.resize_with(thread.index() + 1, || None);
        }
        &mut self.threads[thread.index()]
    }
}

impl Board<EventRef> {
    fn put(&mut self, channel: Channel, at: EventRef) {
        match channel {
            Channel::Thread(thread) => *self.of_thread(thread) = Some(at),
            Channel::Written(_)
            | Channel::Read(_)
            | Channel::Released(_)
            | Channel::ReleasedShared(_)
            | Channel::Posted(_)
            | Channel::Arrived(_) => {
                self.others.insert(channel, at);
            }
        }
    }
}

impl Board<Offer> {
    /// Puts an offer unless there is a better one.
    fn improve(&mut self, channel: Channel, rank: Rank, at: EventRef, link: &Arc<Hop>) {
        let best = match channel {
            Channel::Thread(thread) => self.of_thread(thread).as_mut(),
            Channel::Written(_)
            | Channel::Read(_)
            | Channel::Released(_)
            | Channel::ReleasedShared(_)
            | Channel::Posted(_)
            | Channel::Arrived(_) => self.others.get_mut(&channel),
        };
        match best {
            Some(best) if rank > best.rank => {}
            // Most often the same transaction sends again.
            Some(Offer { rank: old, from, before: Some(before) }) if Arc::ptr_eq(before, link) => {
                (*old, *from) = (rank, at);
            }
            Some(best) => *best = Offer { rank, from: at, before: Some(link.clone()) },
            None => self.add(channel, Offer { rank, from: at, before: Some(link.clone()) }),
        }
    }

    fn add(&mut self, channel: Channel, offer: Offer) {
        if let Channel::Thread(thread) = channel {
            *self.of_thread(thread) = Some(offer);
        } else {
            self.others.insert(channel, offer);
        }
    }
}

/// The search through the window of one transaction.
pub(super) struct Window {
    pub(super) begin: EventNo,
    pub(super) owner: Owner,
    /// The events at which a cycle closes, and which cycle it is.
    pub(super) wanted: VecDeque<(EventNo, usize)>,
    /// What D sent last.
    by_own: Board<EventRef>,
    /// The best offer of others.
    by_others: Board<Offer>,
    /// The running transaction of each owner, or its last one, if it is reached.
    reached: HashMap<Owner, Reached>,
}

impl Window {
    pub(super) fn new(begin: TracedEvent, wanted: (EventNo, usize)) -> Window {
        Window {
            begin: begin.at.number,
            owner: begin.context.owner,
            wanted: VecDeque::from([wanted]),
            by_own: Board::new(),
            by_others: Board::new(),
            reached: HashMap::new(),
        }
    }

    /// The next cycle that is to close at this event.
    pub(super) fn due(&mut self, number: EventNo) -> Option<usize> {
        self.wanted.pop_front_if(|w| w.0 == number).map(|w| w.1)
    }

    /// The cycle that an event of D closes, if any.
    pub(super) fn closed_by(&self, traced: TracedEvent) -> Option<FoundPath> {
        let offers = traced.ports.receives.iter().flatten().filter_map(|&c| self.by_others.get(c));
        let best = offers.min_by_key(|o| o.rank)?;
        let closing = Edge { from: best.from, to: traced.at };
        Some(FoundPath { path: path(best.before.as_ref()), closing })
    }

    /// An event of D.
    pub(super) fn send_own(&mut self, traced: TracedEvent) {
        let thread = Channel::Thread(traced.at.event.thread);
        for channel in traced.ports.sends.into_iter().chain([thread]) {
            self.by_own.put(channel, traced.at);
        }
    }

    /// An event of another transaction.
    pub(super) fn follow(&mut self, traced: TracedEvent, transactions: &mut Transactions) {
        let (thread, owner) = (traced.at.event.thread, traced.context.owner);
        if traced.context.starts {
            self.reached.remove(&owner);
        }
        if let Some(Offer { rank, from, before }) = self.better(traced) {
            let edge = Edge { from, to: traced.at };
            let txn = transactions.of(traced.context, traced.at);
            self.reached.insert(owner, Reached { rank, link: Arc::new(Hop { txn, edge, before }) });
        }
        if let Some(Reached { rank, link }) = self.reached.get(&owner) {
            let rank = (rank.0 + 1, rank.1);
            for channel in traced.ports.sends.into_iter().chain([Channel::Thread(thread)]) {
                self.by_others.improve(channel, rank, traced.at, link);
            }
        }
    }

    /// The best offer that the event receives, if it is better than what its transaction has.
    fn better(&self, traced: TracedEvent) -> Option<Offer> {
        let own = traced.context.starts.then_some(Channel::Thread(traced.at.event.thread));
        let channels = traced.ports.receives.into_iter().chain([own]).flatten();
        let offers = channels.filter_map(|c| self.offer(c));
        let best = offers.min_by_key(|o| o.0)?;
        let known = self.reached.get(&traced.context.owner).map(|r| r.rank);
        let is_better = known.is_none_or(|known| best.0 < known);
        is_better.then(|| Offer { rank: best.0, from: best.1, before: best.2.cloned() })
    }

    /// The best offer on a channel: its rank, its event, and how that was reached. An offer of D
    /// itself is better than any other.
    fn offer(&self, channel: Channel) -> Option<(Rank, EventRef, Option<&Arc<Hop>>)> {
        let own = self.by_own.get(channel).map(|&from| ((1, Reverse(from.number)), from, None));
        let others = || self.by_others.get(channel).map(|o| (o.rank, o.from, o.before.as_ref()));
        own.or_else(others)
    }
}

fn path(mut link: Option<&Arc<Hop>>) -> Vec<Entered> {
    let mut path = Vec::new();
    while let Some(l) = link {
        path.push(Entered { txn: l.txn.clone(), edge: l.edge });
        link = l.before.as_ref();
    }
    path.reverse();
    path
}
