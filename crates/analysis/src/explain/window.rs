//! A shortest increasing cycle through one transaction D, found on the fly.
//!
//! Along an increasing path an event only passes on what its transaction has received before it.
//! So it is enough to know, for each channel, the best *offer* so far: the fewest hops from D that
//! a sender had come by when it sent. Among equally short ones, the one that left D latest is
//! kept: it refutes the most nested blocks. What D itself sends is kept apart, because it must
//! not hide what others send back to D.
//!
//! What is not reached from D leaves no trace here. Hops are few: once a transaction of a thread
//! is reached, the later ones of the thread are one hop away, so chains of [`Link`]s are no
//! longer than twice the number of threads.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::Arc;

use hashbrown::HashMap;
use paceline_trace::{EventNo, ThreadId};

use super::boundary::{Transactions, Who};
use super::{Edge, Entered, EventRef, Found, Step, Txn};
use crate::engine::channel::Channel;

/// How a transaction was reached: the edge into it, and how the edge's source was reached.
struct Link {
    txn: Arc<Txn>,
    edge: Edge,
    before: Option<Arc<Link>>,
}

/// How good a path from D is: few hops, then a late departure.
type Rank = (u32, Reverse<EventNo>);

struct Offer {
    rank: Rank,
    from: EventRef,
    /// How the sender was reached; none if it is D.
    before: Option<Arc<Link>>,
}

struct Reached {
    rank: Rank,
    link: Arc<Link>,
}

/// Something for each channel. Every event sends on the channel of its thread, so those are apart
/// from the others.
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

    /// What is there for a thread.
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
    fn improve(&mut self, channel: Channel, rank: Rank, at: EventRef, link: &Arc<Link>) {
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
            // Mostly the same transaction sends again.
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
    pub(super) who: Who,
    /// The events at which a cycle closes, and which cycle it is.
    pub(super) wanted: VecDeque<(EventNo, usize)>,
    /// What D sent last.
    by_own: Board<EventRef>,
    /// The best offer of others.
    by_others: Board<Offer>,
    /// The running transaction of each, or its last one, if it is reached.
    reached: HashMap<Who, Reached>,
}

impl Window {
    pub(super) fn new(begin: Step, wanted: (EventNo, usize)) -> Window {
        Window {
            begin: begin.at.number,
            who: begin.place.who,
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
    pub(super) fn closed_by(&self, step: Step) -> Option<Found> {
        let offers = step.ports.receives.iter().flatten().filter_map(|&c| self.by_others.get(c));
        let best = offers.min_by_key(|o| o.rank)?;
        let closing = Edge { from: best.from, to: step.at };
        Some(Found { path: path(best.before.as_ref()), closing })
    }

    /// An event of D.
    pub(super) fn send_own(&mut self, step: Step) {
        let thread = Channel::Thread(step.at.event.thread);
        for channel in step.ports.sends.into_iter().chain([thread]) {
            self.by_own.put(channel, step.at);
        }
    }

    /// An event of another transaction.
    pub(super) fn follow(&mut self, step: Step, transactions: &mut Transactions) {
        let (thread, who) = (step.at.event.thread, step.place.who);
        if step.place.starts {
            self.reached.remove(&who);
        }
        if let Some(Offer { rank, from, before }) = self.better(step) {
            let edge = Edge { from, to: step.at };
            let txn = transactions.of(step.place, step.at);
            self.reached.insert(who, Reached { rank, link: Arc::new(Link { txn, edge, before }) });
        }
        if let Some(Reached { rank, link }) = self.reached.get(&who) {
            let rank = (rank.0 + 1, rank.1);
            for channel in step.ports.sends.into_iter().chain([Channel::Thread(thread)]) {
                self.by_others.improve(channel, rank, step.at, link);
            }
        }
    }

    /// The best offer that the event receives, if it is better than what its transaction has.
    fn better(&self, step: Step) -> Option<Offer> {
        let own = step.place.starts.then_some(Channel::Thread(step.at.event.thread));
        let channels = step.ports.receives.into_iter().chain([own]).flatten();
        let offers = channels.filter_map(|c| self.offer(c));
        let best = offers.min_by_key(|o| o.0)?;
        let known = self.reached.get(&step.place.who).map(|r| r.rank);
        let is_better = known.is_none_or(|known| best.0 < known);
        is_better.then(|| Offer { rank: best.0, from: best.1, before: best.2.cloned() })
    }

    /// The best offer on a channel: its rank, its event, and how that was reached. Nobody is closer
    /// to D than D itself.
    fn offer(&self, channel: Channel) -> Option<(Rank, EventRef, Option<&Arc<Link>>)> {
        let own = self.by_own.get(channel).map(|&from| ((1, Reverse(from.number)), from, None));
        let others = || self.by_others.get(channel).map(|o| (o.rank, o.from, o.before.as_ref()));
        own.or_else(others)
    }
}

fn path(mut link: Option<&Arc<Link>>) -> Vec<Entered> {
    let mut path = Vec::new();
    while let Some(l) = link {
        path.push(Entered { txn: l.txn.clone(), edge: l.edge });
        link = l.before.as_ref();
    }
    path.reverse();
    path
}
