//! What is searched and what is found: a stretch of the observed trace, and a new order of it.

use paceline_trace::{Event, EventNo, LabelId, Site, ThreadId};

use crate::explain::{EventRef, Explanation};

/// A stretch of the observed trace that stands on its own. Everything before it happens as it was
/// observed; the few earlier events that still matter are *carried*: the acquires of locks that
/// are held, the `begin`s of open blocks, pending waits, and the barrier rounds that threads are in.
/// They open the stretch in their observed order and never move.
#[derive(Clone, Default, Debug)]
pub struct Stretch {
    /// Carried events, then the events of the stretch proper, in observed order.
    pub events: Vec<Event>,
    /// The numbers of the carried events.
    pub carried: Vec<EventNo>,
    /// The number of the first event that is not carried.
    pub first: EventNo,
}

impl Stretch {
    /// A whole trace.
    pub fn whole(events: &[Event]) -> Stretch {
        Stretch { events: events.to_vec(), carried: Vec::new(), first: 1 }
    }

    /// The number of an event in the observed trace.
    pub fn number(&self, index: usize) -> EventNo {
        match self.carried.get(index) {
            Some(&number) => number,
            None => self.first + (index - self.carried.len()) as u64,
        }
    }
}

/// A block declared atomic, as an instance of the observed trace.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Block {
    /// The number of its `begin`.
    pub begin_event: EventNo,
    /// Its thread.
    pub thread: ThreadId,
    /// Its label.
    pub label: LabelId,
    /// The site of its `begin`.
    pub site: Site,
}

/// What a correct reordering shows that the observed order does not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Shown {
    /// This block is refuted.
    Refuted(Block),
    /// These two accesses race: they stand side by side. The lower number comes first.
    Race(EventNo, EventNo),
    /// A yield is missing before this event.
    MissingYield(EventNo),
}

/// A certified prediction: the observed run could have gone this way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Predicted {
    /// What the new order shows.
    pub shown: Shown,
    /// The order that was aimed at: pairs of events of different threads, the first before the
    /// second. A hunt can use them as gates.
    pub goal: Vec<(EventNo, EventNo)>,
    /// The events from 1 to this one come first, as observed.
    pub after: EventNo,
    /// What follows, in its new order. Events that are missing do not take place.
    pub witness: Vec<EventNo>,
    /// Reads of the witness that see another write than observed. Each is the last of its thread.
    pub diverging: Vec<EventNo>,
    /// Lock sections that changed places, by their acquires: the first was observed before the
    /// second, and comes after it now.
    pub reversed: Vec<(EventNo, EventNo)>,
    /// For a refuted block: a cycle through it in the new order.
    pub explanation: Option<Explanation>,
    /// The event that the prediction is about: a `begin`, an access, or what needs a yield.
    pub shown_event: Option<EventRef>,
    /// The events of the goal, for a prediction without a cycle.
    pub events: Vec<EventRef>,
}

/// A candidate that only the values forbid: its order respects threads, locks and kept orders, but a
/// read would see another write. It is no finding, and the best target for a hunt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    /// The block that would be refuted.
    pub block: Block,
    /// The order to aim at.
    pub goal: Vec<(EventNo, EventNo)>,
}

/// How often what happened. Nothing is left out silently.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Windows that were searched.
    pub windows: u64,
    /// Candidates that were tried.
    pub tried: u64,
    /// Of those: a certified reordering was found.
    pub certified: u64,
    /// Of those: proved impossible, whatever the values.
    pub impossible: u64,
    /// Of those: impossible only because a read would see another write.
    pub other_value: u64,
    /// Of those: neither a reordering nor a proof was found.
    pub undecided: u64,
    /// Candidates not tried because several from the same sites were.
    pub alike: u64,
    /// Candidates not tried because the budget was spent.
    pub not_tried: u64,
}

impl Counts {
    /// Adds what another part of the search has counted.
    pub fn add(&mut self, other: &Counts) {
        let Counts {
            windows,
            tried,
            certified,
            impossible,
            other_value,
            undecided,
            alike,
            not_tried,
        } = other;
        self.windows += windows;
        self.tried += tried;
        self.certified += certified;
        self.impossible += impossible;
        self.other_value += other_value;
        self.undecided += undecided;
        self.alike += alike;
        self.not_tried += not_tried;
    }
}
