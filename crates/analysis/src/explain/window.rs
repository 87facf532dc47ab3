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
use paceline_trace::EventNo;

use super::boundary::{Transactions, Who};
use super::{Edge, Entered, EventRef, Found, Step, Txn};
use crate::channel::Channel;

/// How a transaction was reached: the edge into it, and how the edge's source was reached.
struct Link {
    txn: Arc<Txn>,
    edge: Edge,
    before: Option<Arc<Link>>,
}

/// How good a path from D is: few hops, then a late departure.
type Rank = (u32, Reverse<EventNo>);

#[derive(Clone)]
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

/// The search through the window of one transaction.
pub(super) struct Window {
    pub(super) begin: EventNo,
    pub(super) who: Who,
    /// The events at which a cycle closes, and which cycle it is.
    pub(super) wanted: VecDeque<(EventNo, usize)>,
    /// What D sent last.
    by_own: HashMap<Channel, EventRef>,
    /// The best offer of others.
    by_others: HashMap<Channel, Offer>,
    /// The running transaction of each, or its last one, if it is reached.
    reached: HashMap<Who, Reached>,
}

impl Window {
    pub(super) fn new(begin: Step, wanted: (EventNo, usize)) -> Window {
        Window {
            begin: begin.at.number,
            who: begin.place.who,
            wanted: VecDeque::from([wanted]),
            by_own: HashMap::new(),
            by_others: HashMap::new(),
            reached: HashMap::new(),
        }
    }

    /// The next cycle that is to close at this event.
    pub(super) fn due(&mut self, number: EventNo) -> Option<usize> {
        self.wanted.pop_front_if(|w| w.0 == number).map(|w| w.1)
    }

    /// The cycle that an event of D closes, if any.
    pub(super) fn closed_by(&self, step: Step) -> Option<Found> {
        let offers = step.ports.receives.iter().flatten().filter_map(|c| self.by_others.get(c));
        let best = offers.min_by_key(|o| o.rank)?;
        let closing = Edge { from: best.from, to: step.at };
        Some(Found { path: path(best.before.as_ref()), closing })
    }

    /// An event of D.
    pub(super) fn send_own(&mut self, step: Step) {
        let thread = Channel::Thread(step.at.event.thread);
        for channel in step.ports.sends.into_iter().chain([thread]) {
            self.by_own.insert(channel, step.at);
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
                let offer = || Offer { rank, from: step.at, before: Some(link.clone()) };
                let best = self.by_others.entry(channel).or_insert_with(offer);
                if rank <= best.rank {
                    *best = offer();
                }
            }
        }
    }

    /// The best offer that the event receives, if it is better than what its transaction has.
    fn better(&self, step: Step) -> Option<Offer> {
        let own = step.place.starts.then_some(Channel::Thread(step.at.event.thread));
        let channels = step.ports.receives.into_iter().chain([own]).flatten();
        let offers = channels.filter_map(|c| self.offer(c));
        let best = offers.min_by_key(|o| o.rank)?;
        let known = self.reached.get(&step.place.who).map(|r| r.rank);
        known.is_none_or(|k| best.rank < k).then_some(best)
    }

    /// The best offer on a channel. Nobody is closer to D than D itself.
    fn offer(&self, channel: Channel) -> Option<Offer> {
        let own = self.by_own.get(&channel).map(|&from| {
            let rank = (1, Reverse(from.number));
            Offer { rank, from, before: None }
        });
        own.or_else(|| self.by_others.get(&channel).cloned())
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
