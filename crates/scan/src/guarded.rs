//! What a method reads and writes while it holds a lock.
//!
//! Needed to distinguish a stale value from a harmless one: a value that was read under a lock is stale
//! after the release only if the second use, under the same lock, writes what was read.

use hashbrown::HashSet;

use crate::body::{Body, Event, Op, Style};
use crate::expr::{FieldId, LockExpr, Origin, Root, Selector};
use crate::held::{LocksHeld, Taking, Via, World};
use crate::link::Links;
use crate::program::MethodId;

/// Calls below the one that takes the lock are followed this far.
const DEPTH: usize = 3;

/// An access to a field, or to the collection that a field holds.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// The field.
    pub field: FieldId,
    /// The value that was read; none for a write.
    pub read: Option<Origin>,
}

/// The events between taking a lock and giving it back, by number. The code of a locked block is
/// contiguous: it ends with the last release before the lock is taken again.
pub fn region(body: &Body, enter_pc: u16) -> std::ops::Range<u32> {
    let events = &body.events;
    let is_enter = |e: &Event| matches!(e.op, Op::Enter { .. } | Op::TryEnter { .. });
    let Some(from) = events.iter().position(|e| e.pc == enter_pc && is_enter(e)) else {
        return 0..events.len() as u32;
    };
    let lock_of = |op: Op| {
        if let Op::Enter { lock, style } | Op::Exit { lock, style } = op {
            return Some((body.place(lock), style));
        }
        if let Op::TryEnter { lock } = op {
            Some((body.place(lock), Style::Explicit))
        } else {
            None
        }
    };
    let own = lock_of(events[from].op);
    let mut end = None;
    for (i, event) in events.iter().enumerate().skip(from + 1) {
        if lock_of(event.op) != own {
            continue;
        }
        if matches!(event.op, Op::Exit { .. }) {
            end = Some(i);
        } else if end.is_some() {
            break;
        }
    }
    from as u32..end.map_or(events.len(), |e| e + 1) as u32
}

/// The field that a place ends with.
pub fn last_field(place: LockExpr) -> Option<FieldId> {
    match (place.steps().last(), place.root()) {
        (Some(Selector::Field(field)), _) | (None, Root::Static(field)) => Some(field),
        _other => None,
    }
}

/// Methods of plain collections that change them.
fn is_change(name: &[u8]) -> bool {
    const CHANGES: [&[u8]; 16] = [
        b"put", b"add", b"remove", b"clear", b"set", b"push", b"pop", b"poll", b"offer", b"retain",
        b"replace", b"compute", b"merge", b"append", b"delete", b"insert",
    ];
    CHANGES.iter().any(|c| name.starts_with(c))
}

/// What is asked about locked code.
pub struct Guarded<'g> {
    /// The program.
    pub world: &'g World<'g>,
    /// Where locks are taken.
    pub held: &'g LocksHeld,
}

impl Guarded<'_> {
    /// The accesses in some events of a method.
    pub fn accesses(&self, body: &Body, events: std::ops::Range<u32>) -> Vec<Access> {
        let mut found = Vec::new();
        for event in events {
            let Event { op, pc, .. } = body.events[event as usize];
            match op {
                Op::GetField { field, place } => {
                    let read = Some(body.origins[place as usize]);
                    found.push(Access { field, read });
                }
                Op::SetField { field, .. } => found.push(Access { field, read: None }),
                Op::SetElement { place } => {
                    let array = body.places.get(place as usize).copied().and_then(last_field);
                    found.extend(array.map(|field| Access { field, read: None }));
                }
                Op::Call { site, args } => {
                    let key = self.world.program.site_key(site);
                    let names = &self.world.program.names;
                    let receiver = body.places.get(args as usize).copied().and_then(last_field);
                    let plain = names.name(key.class.0).starts_with(b"java/util/");
                    if let Some(field) = receiver.filter(|_| plain) {
                        let read = Some(Origin::new(Root::Value(pc.into())));
                        found.push(Access { field, read });
                        if is_change(names.name(key.name.0)) {
                            found.push(Access { field, read: None });
                        }
                    }
                }
                Op::Enter { .. }
                | Op::Exit { .. }
                | Op::TryEnter { .. }
                | Op::Wait
                | Op::Define(_)
                | Op::Escape { .. } => {}
            }
        }
        found
    }

    fn links<'b>(&'b self, body: &'b Body) -> Links<'b> {
        Links { body, calls: self.world.calls }
    }

    /// The fields that a use of a lock reads and whose values its method hands out, when the use is
    /// a call: `taking` is how the called method takes the lock.
    pub fn read_by(&self, method: MethodId, taking: &Taking, depth: usize) -> HashSet<FieldId> {
        let Some(body) = &self.world.program.method(method).body else { return HashSet::new() };
        let links = self.links(body);
        let handed_out = |read: Origin| {
            let values = links.computed_from(&[read]);
            body.returned.iter().any(|r| values.contains(r)) || links.any_decision(&values)
        };
        match taking.via {
            None => {
                let accesses = self.accesses(body, region(body, taking.at.pc));
                let reads = accesses.iter().filter(|a| a.read.is_some_and(handed_out));
                reads.map(|a| a.field).collect()
            }
            Some(via) if depth < DEPTH => {
                let below = self.below(&via);
                let result = Origin::new(Root::Value(taking.at.pc.into()));
                match below.filter(|_| handed_out(result)) {
                    Some(below) => self.read_by(via.callee, &below, depth + 1),
                    None => HashSet::new(),
                }
            }
            Some(_) => HashSet::new(),
        }
    }

    /// The fields that a use of a lock writes, when the use is a call.
    pub fn written_by(&self, method: MethodId, taking: &Taking, depth: usize) -> HashSet<FieldId> {
        let Some(body) = &self.world.program.method(method).body else { return HashSet::new() };
        match taking.via {
            None => self.written_in(body, region(body, taking.at.pc), depth),
            Some(via) if depth < DEPTH => match self.below(&via) {
                Some(below) => self.written_by(via.callee, &below, depth + 1),
                None => HashSet::new(),
            },
            Some(_) => HashSet::new(),
        }
    }

    /// The fields written in some events of a method, and by the methods called there that are
    /// certain to run.
    pub fn written_in(
        &self,
        body: &Body,
        events: std::ops::Range<u32>,
        depth: usize,
    ) -> HashSet<FieldId> {
        let accesses = self.accesses(body, events.clone());
        let mut written: HashSet<FieldId> =
            accesses.iter().filter(|a| a.read.is_none()).map(|a| a.field).collect();
        for event in events.filter(|_| depth < DEPTH) {
            let Some((site, _)) = body.events[event as usize].call() else { continue };
            let callees = self.world.calls.of(site);
            let Some(callee) = callees.single() else { continue };
            written.extend(&self.world.program.method(callee).sets);
            if let Some(below) = &self.world.program.method(callee).body {
                let all = 0..below.events.len() as u32;
                written.extend(self.written_in(below, all, depth + 1));
            }
        }
        written
    }

    /// Whether a use that is a call tests one of the fields again under the lock.
    pub fn tests_again(
        &self,
        method: MethodId,
        taking: &Taking,
        fields: &HashSet<FieldId>,
    ) -> bool {
        let Some(body) = &self.world.program.method(method).body else { return false };
        match taking.via {
            None => self.tests_in(body, region(body, taking.at.pc), fields),
            Some(via) => match self.below(&via) {
                Some(below) if below.hops < taking.hops => {
                    self.tests_again(via.callee, &below, fields)
                }
                _ => false,
            },
        }
    }

    /// Whether a branch depends on one of the fields as it is read in some events of a method.
    pub fn tests_in(
        &self,
        body: &Body,
        events: std::ops::Range<u32>,
        fields: &HashSet<FieldId>,
    ) -> bool {
        let accesses = self.accesses(body, events.clone());
        let reads = accesses.iter().filter(|a| fields.contains(&a.field)).filter_map(|a| a.read);
        let reads: Vec<Origin> = reads.collect();
        let links = self.links(body);
        let values = links.computed_from(&reads);
        let blocks = body.block_of(events.start)..=body.block_of(events.end.saturating_sub(1));
        let here = |d: &(u32, Origin)| blocks.contains(&d.0) && values.contains(&d.1);
        body.decisions.iter().any(here) || self.calls_test(body, events, fields)
    }

    /// Whether a method that is certain to be called in some events tests one of the fields.
    fn calls_test(
        &self,
        body: &Body,
        events: std::ops::Range<u32>,
        fields: &HashSet<FieldId>,
    ) -> bool {
        let calls = body.events[events.start as usize..events.end as usize].iter();
        let callees = calls.filter_map(|e| self.world.calls.of(e.call()?.0).single());
        let bodies = callees.filter_map(|m| self.world.program.method(m).body.as_deref());
        { bodies }.any(|below| {
            let reads: Vec<Origin> = self
                .accesses(below, 0..below.events.len() as u32)
                .iter()
                .filter(|a| fields.contains(&a.field))
                .filter_map(|a| a.read)
                .collect();
            let links = self.links(below);
            links.any_decision(&links.computed_from(&reads))
        })
    }

    fn below(&self, via: &Via) -> Option<Taking> {
        self.held.below(via).copied()
    }
}
