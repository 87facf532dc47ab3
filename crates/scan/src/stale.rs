//! Values that are stale when they are used: read under a lock, used under the same lock after it was
//! given back in between.
//!
//! No outer lock is needed for this shape, `if (!full()) put(x)` with two methods that lock the same
//! object. What makes it a mistake is that the first use reads what the second one writes, and that
//! the value matters for the write ([`crate::link`]). A second use that tests the field again under
//! the lock is right.

use hashbrown::{HashMap, HashSet};

use crate::body::{Body, Op};
use crate::expr::{FieldId, Origin, Root};
use crate::guarded::{Guarded, region};
use crate::held::{LocksHeld, Taking, World};
use crate::link::{Link, Links};
use crate::state::{Released, Twice};

/// A stale value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stale {
    /// The use that gives the value.
    pub first: Released,
    /// The use that relies on it.
    pub second: Released,
    /// A field that is read and written.
    pub field: FieldId,
    /// How the value matters.
    pub link: Link,
}

/// All uses of locks in one method.
pub struct Uses<'u> {
    /// The program.
    pub world: &'u World<'u>,
    /// Where locks are taken.
    pub held: &'u LocksHeld,
    /// The method.
    pub body: &'u Body,
    /// The uses, each place once.
    pub all: Vec<Released>,
}

/// A method with more pairs of uses than this is generated code: what is connected with what in it
/// says nothing, and would take long to find out.
const PAIRS: usize = 256;

/// Of the uses before the second one so many are tried.
const EARLIER: usize = 8;

impl Uses<'_> {
    /// Notes a use.
    pub fn add(&mut self, new: Released) {
        let same = |u: &Released| u.lock == new.lock && u.taking.at == new.taking.at;
        if !new.lock.is_unknown() && !self.all.iter().any(same) {
            self.all.push(new);
        }
    }

    fn links(&self) -> Links<'_> {
        Links { body: self.body, calls: self.world.calls }
    }

    /// Finds out how the first use of each pair matters for the second. Of several first uses the
    /// one that matters most is kept.
    pub fn connect(&self, twice: &mut [Twice]) {
        if twice.len() > PAIRS {
            return;
        }
        let links = self.links();
        let mut known: HashMap<(u16, u16), Link> = HashMap::new();
        for pair in twice {
            let second = pair.second.taking;
            let mut link = |first: &Taking| {
                let key = (first.at.pc, second.at.pc);
                *known.entry(key).or_insert_with(|| self.link(&links, first, &second))
            };
            pair.link = link(&pair.first.taking);
            let start = pair.context.map_or(0, |c| c.at.pc);
            let (first_lock, second_lock) = (pair.first.lock, pair.second.lock);
            let same_lock = |u: &&Released| u.lock == first_lock && u.lock == second_lock;
            let earlier = self
                .all
                .iter()
                .filter(same_lock)
                .filter(|u| u.taking.at.pc >= start && u.taking.at.pc < second.at.pc);
            for other in earlier.take(EARLIER) {
                let better = link(&other.taking);
                if better > pair.link {
                    (pair.first, pair.link) = (*other, better);
                }
            }
        }
    }

    fn link(&self, links: &Links<'_>, first: &Taking, second: &Taking) -> Link {
        if first.at.pc == second.at.pc {
            return Link::Loop;
        }
        let given = self.values(first);
        let values = links.computed_from(&given);
        let mut events = self.events(second);
        if events.clone().next().is_some_and(|e| links.is_decided(&values, e)) {
            return Link::Decides;
        }
        if events.any(|e| links.is_passed(&values, e)) {
            return Link::Feeds;
        }
        if links.meet(&given, &self.values(second)) { Link::Together } else { Link::None }
    }

    fn call_at(&self, pc: u16) -> Option<u32> {
        let at = |e: &crate::body::Event| e.pc == pc && matches!(e.op, Op::Call { .. });
        self.body.events.iter().position(at).map(|i| i as u32)
    }

    /// The events of a use: the call, or all between taking the lock and giving it back.
    fn events(&self, taking: &Taking) -> std::ops::Range<u32> {
        match self.call_at(taking.at.pc) {
            Some(call) => call..call + 1,
            None => region(self.body, taking.at.pc),
        }
    }

    /// The values that a use gives: the result of the call, or all that is read under the lock.
    fn values(&self, taking: &Taking) -> Vec<Origin> {
        if self.call_at(taking.at.pc).is_some() {
            return vec![Origin::new(Root::Value(taking.at.pc.into()))];
        }
        let mut values = Vec::new();
        for event in region(self.body, taking.at.pc) {
            let event = &self.body.events[event as usize];
            if let Op::GetField { place, .. } = event.op {
                values.push(self.body.origins[place as usize]);
            } else if event.call().is_some() {
                values.push(Origin::new(Root::Value(event.pc.into())));
            }
        }
        values
    }

    /// The stale values among pairs of uses without an outer lock.
    pub fn stale(&self, twice: &[Twice]) -> Vec<Stale> {
        if self.converts() {
            return Vec::new();
        }
        let open = twice.iter().filter(|t| t.context.is_none() && t.link.flows());
        let ordered = open.filter(|t| t.first.taking.at.pc < t.second.taking.at.pc);
        let same = ordered.filter(|t| t.first.lock == t.second.lock);
        same.filter_map(|t| {
            let field = self.stale_field(&t.first.taking, &t.second.taking)?;
            Some(Stale { first: t.first, second: t.second, field, link: t.link })
        })
        .collect()
    }

    /// A StampedLock that is converted from reading to writing is not given back in between.
    fn converts(&self) -> bool {
        let name = |site| self.world.program.names.name(self.world.program.site_key(site).name.0);
        let calls = self.body.events.iter().filter_map(crate::body::Event::call);
        calls.map(|c| name(c.0)).any(|n| matches!(n, b"tryConvertToWriteLock" | b"validate"))
    }

    /// A field that the first use reads and the second one writes without testing it again.
    fn stale_field(&self, first: &Taking, second: &Taking) -> Option<FieldId> {
        let guarded = Guarded { world: self.world, held: self.held };
        let read = match first.via {
            Some(via) => {
                let below = self.held.below(&via)?;
                guarded.read_by(via.callee, below, 0)
            }
            None => self.read_here(&guarded, first, second),
        };
        if read.is_empty() {
            return None;
        }
        let (written, tested) = match second.via {
            Some(via) => {
                let below = self.held.below(&via)?;
                let written = guarded.written_by(via.callee, below, 0);
                (written, guarded.tests_again(via.callee, below, &read))
            }
            None => {
                let events = region(self.body, second.at.pc);
                let written = guarded.written_in(self.body, events.clone(), 0);
                (written, guarded.tests_in(self.body, events, &read))
            }
        };
        let mut stale: Vec<FieldId> = read.intersection(&written).copied().collect();
        stale.sort_unstable();
        stale.first().copied().filter(|_| !tested)
    }

    /// The fields whose values, read in a locked block of this method, matter for a later use.
    fn read_here(
        &self,
        guarded: &Guarded<'_>,
        first: &Taking,
        second: &Taking,
    ) -> HashSet<FieldId> {
        let links = self.links();
        let events = self.events(second);
        let matters = |read: Origin| {
            let values = links.computed_from(&[read]);
            links.is_decided(&values, events.start)
                || events.clone().any(|e| links.is_passed(&values, e))
        };
        let accesses = guarded.accesses(self.body, region(self.body, first.at.pc));
        let reads = accesses.iter().filter(|a| a.read.is_some_and(matters));
        reads.map(|a| a.field).collect()
    }
}
