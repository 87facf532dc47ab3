//! LOCKSHELD: which locks a call of a method may take and give back (paper, figure 7).
//!
//! ```text
//! LOCKSHELD(m) = { x | SYNC x sb in m } \ {*}
//!              ∪ { TRANSLATELOCK_st(x) | st in CALLS(m), m' in CALLEES(st), x in LOCKSHELD(m') } \ {*}
//! ```
//!
//! The least solution is found in rounds: the sites whose callees changed are summed up again,
//! then the methods that contain those sites.
//!
//! Beyond the paper, each lock carries its *share*: of all methods that the call may run, how many
//! take it. With plain class hierarchy analysis a call like `o.toString()` "takes" every lock
//! that any class takes in its `toString`; a share multiplies along the chain of calls, and what
//! falls below 1/255 is dropped. This is what keeps the sets small without a limit on callees.
//! A call on a concrete class counts that class's own method fully.
//!
//! A call of an interface method on a parameter takes the lock `p.<call>`, which stands for
//! whatever the caller's lambda locks, and is replaced where the lambda is seen.

use rayon::prelude::*;

use crate::body::{Body, Event, Op, Reach, SiteId, Style};
use crate::calls::{Callees, Calls};
use crate::place::{Place, Root, Step};
use crate::program::{MethodId, Program};
use crate::summaries::Summaries;

/// A certain share.
pub const ALL: u8 = u8::MAX;

/// Locks of static fields and class objects are followed over this many calls. They mean the same
/// everywhere, so nothing else ends their way up, and after a few calls nobody who holds a lock
/// thinks of them.
const GLOBAL_HOPS: u8 = 2;

/// A lock in a field of one of many implementations says little about the object at hand: below
/// this share it is dropped. Locks on the object itself add up over the implementations and are
/// kept, and so is the outer object of an inner class: an iterator that locks its collection.
const FIELD_SHARE: u8 = 32;

/// What is left of the share of a lock that is taken under a condition, or in a loop: after two
/// conditions the lock is rather not taken.
const CONDITION_SHARE: u8 = 160;

/// What is left of it where the method is about to throw.
const FAILING_SHARE: u8 = 24;

/// What is left of it for each further call on the way: long chains are less believable.
const CALL_SHARE: u8 = 235;

/// The share of a lock that is taken under a condition to compute what a method returns: the
/// condition is most often that it has not been computed yet, so that the second call does
/// without the lock.
const LAZY_SHARE: u8 = 64;

/// A lock comes up from one caller to the next in each round; nobody looks for one this far down.
const ROUNDS: usize = 64;

/// Where something happens in a method.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct At {
    /// The position in the bytecode.
    pub pc: u16,
    /// The source line; 0 when unknown.
    pub line: u16,
}

impl From<&Event> for At {
    fn from(event: &Event) -> At {
        At { pc: event.pc, line: event.line }
    }
}

/// How a method comes to take a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Taking {
    /// How likely a run of the method takes it, as far as the choice of callees goes.
    pub share: u8,
    /// Whether every normal run takes it.
    pub always: bool,
    /// Over how many calls.
    pub hops: u8,
    /// Where in the method.
    pub at: At,
    /// The called method that takes it, and the lock's place there; none when it is taken here.
    pub via: Option<(MethodId, Place)>,
}

/// A lock that a method takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Held {
    /// The lock, in terms of the method's parameters.
    pub lock: Place,
    /// How it is taken.
    pub taking: Taking,
}

/// A lock that calls at a site take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct SiteLock {
    lock: Place,
    share: u8,
    always: bool,
    hops: u8,
    via: MethodId,
}

/// LOCKSHELD of all methods.
pub struct LocksHeld {
    methods: Vec<Box<[Held]>>,
    sites: Vec<Box<[SiteLock]>>,
}

/// What the rounds need to know.
pub struct World<'p> {
    /// The classes.
    pub program: &'p Program,
    /// The call graph.
    pub calls: &'p Calls,
    /// What methods give back.
    pub summaries: &'p Summaries,
}

impl LocksHeld {
    /// Computes the least solution.
    pub fn new(world: &World<'_>) -> LocksHeld {
        let mut held = LocksHeld {
            methods: vec![Box::default(); world.program.methods.len()],
            sites: vec![Box::default(); world.program.sites.len()],
        };
        let mut dirty: Vec<u32> = (0..world.program.methods.len() as u32).collect();
        for _ in 0..ROUNDS {
            if dirty.is_empty() {
                break;
            }
            let changed = held.update_methods(world, &dirty);
            let sites =
                unique(changed.iter().flat_map(|&m| world.calls.sites_of.get(m)).map(|s| s.0));
            let changed = held.update_sites(world, &sites);
            dirty = unique(changed.iter().flat_map(|&s| world.calls.callers.get(s)).map(|m| m.0));
        }
        held
    }

    fn update_methods(&mut self, world: &World<'_>, dirty: &[u32]) -> Vec<u32> {
        let new: Vec<(u32, Box<[Held]>)> = dirty
            .par_iter()
            .map(|&m| (m, self.in_method(world, MethodId(m))))
            .filter(|(m, new)| *new != self.methods[*m as usize])
            .collect();
        store(&mut self.methods, new)
    }

    fn update_sites(&mut self, world: &World<'_>, dirty: &[u32]) -> Vec<u32> {
        let new: Vec<(u32, Box<[SiteLock]>)> = dirty
            .par_iter()
            .map(|&s| (s, self.at_site(world, world.calls.of(SiteId(s)))))
            .filter(|(s, new)| *new != self.sites[*s as usize])
            .collect();
        store(&mut self.sites, new)
    }

    /// The locks that a method takes, sorted by place.
    pub fn of(&self, method: MethodId) -> &[Held] {
        &self.methods[method.0 as usize]
    }

    /// How a method takes a lock.
    pub fn taking(&self, method: MethodId, lock: Place) -> Option<&Taking> {
        let held = self.of(method);
        held.binary_search_by_key(&lock, |h| h.lock).ok().map(|i| &held[i].taking)
    }

    /// Whether calls at this site take any lock.
    pub fn any_at(&self, site: SiteId) -> bool {
        !self.sites[site.0 as usize].is_empty()
    }

    fn in_method(&self, world: &World<'_>, id: MethodId) -> Box<[Held]> {
        let method = world.program.method(id);
        let mut held = Vec::new();
        if method.synchronized {
            let at = At { pc: 0, line: method.line };
            let taking = Taking { share: ALL, always: true, hops: 0, at, via: None };
            held.push(Held { lock: own_lock(world.program, id), taking });
        }
        if let Some(body) = &method.body {
            let returns_value = !world.program.names.name(method.desc.0).ends_with(b")V");
            for event in &body.events {
                self.of_event(world, body, event, returns_value, &mut held);
            }
        }
        held.retain(|h| h.lock.is_visible_outside());
        best_of_each(held)
    }

    fn of_event(
        &self,
        world: &World<'_>,
        body: &Body,
        event: &Event,
        returns_value: bool,
        held: &mut Vec<Held>,
    ) {
        match event.op {
            Op::Enter { lock, style } => {
                if style == Style::Monitor || is_released(body, body.place(lock)) {
                    let mut taken = taken_here(body.place(lock), event);
                    if event.reach == Reach::Sometimes
                        && returns_value
                        && is_initialisation(body, event)
                    {
                        taken.taking.share = LAZY_SHARE;
                    }
                    held.push(taken);
                }
            }
            Op::TryEnter { lock } if is_released(body, body.place(lock)) => {
                let mut tried = taken_here(body.place(lock), event);
                tried.taking.always = false;
                held.push(tried);
            }
            Op::Call { site, args } => {
                let passed = world.calls.args(body, site, args);
                self.by_call(world, body, site, passed, At::from(event), |lock, mut taking| {
                    taking.always &= event.reach == Reach::Always;
                    let lazy = event.reach == Reach::Sometimes && returns_value;
                    let reached = match taking.via {
                        Some((callee, _)) if lazy && computes_once(world.program, callee) => {
                            LAZY_SHARE
                        }
                        _ => reach_share(event.reach),
                    };
                    taking.share = times(times(taking.share, CALL_SHARE), reached);
                    if taking.share > 0 {
                        held.push(Held { lock, taking });
                    }
                });
                held.extend(callback(world.calls.of(site), passed, event));
            }
            Op::TryEnter { .. }
            | Op::Exit { .. }
            | Op::Wait
            | Op::Define(_)
            | Op::SetField(_)
            | Op::SetElement
            | Op::Escape { .. } => {}
        }
    }

    /// The locks that a call takes, in the caller's terms: the set L of figure 6(b).
    pub fn by_call(
        &self,
        world: &World<'_>,
        body: &Body,
        site: SiteId,
        args: &[Place],
        at: At,
        mut found: impl FnMut(Place, Taking),
    ) {
        for lock in &self.sites[site.0 as usize] {
            let place = world.summaries.follow(body, lock.lock.translate(args));
            let via = Some((lock.via, lock.lock));
            let taking = Taking {
                share: lock.share,
                always: lock.always,
                hops: lock.hops.saturating_add(1),
                at,
                via,
            };
            match lambda_of(body, place) {
                Some((site, captured)) => {
                    for (lock, inner) in self.by_lambda(world, body, site, captured, taking) {
                        found(lock, inner);
                    }
                }
                None if place.is_unknown() || is_too_far(place, taking.hops) => {}
                None if place.len() > 0 && taking.share < FIELD_SHARE => {}
                None => found(place, taking),
            }
        }
    }

    /// The locks of a lambda that is called somewhere below.
    pub fn by_lambda(
        &self,
        world: &World<'_>,
        body: &Body,
        site: SiteId,
        captured: &[Place],
        outer: Taking,
    ) -> Vec<(Place, Taking)> {
        let locks = self.sites[site.0 as usize].iter().filter(|l| !l.lock.is_callback());
        let translated = locks.map(|lock| {
            let share = times(outer.share, lock.share);
            let via = Some((lock.via, lock.lock));
            let place = world.summaries.follow(body, lock.lock.translate(captured));
            let (always, hops) =
                (outer.always && lock.always, outer.hops.saturating_add(lock.hops));
            (place, Taking { share, always, via, hops, at: outer.at })
        });
        translated
            .filter(|(p, t)| !p.is_unknown() && t.share > 0 && !is_too_far(*p, t.hops))
            .collect()
    }

    /// The locks of a site: those of its callees, each with its share of them.
    fn at_site(&self, world: &World<'_>, callees: &Callees) -> Box<[SiteLock]> {
        let mut all: Vec<(SiteLock, u32)> = Vec::new();
        for &target in &callees.targets {
            let own = callees.own == Some(target);
            let single = callees.choices == 1;
            all.extend(self.of(target).iter().map(|h| {
                let Taking { share, always, hops, .. } = h.taking;
                let lock = SiteLock {
                    lock: h.lock,
                    share,
                    always: always && (own || single),
                    hops,
                    via: target,
                };
                // The own method counts as if it were all of them.
                let weight = if own { callees.choices } else { 1 };
                (lock, u32::from(share) * weight)
            }));
        }
        all.sort_by_key(|(l, weight)| (l.lock, std::cmp::Reverse(*weight), l.via));
        let groups = all.chunk_by(|a, b| a.0.lock == b.0.lock);
        let summed = groups.map(|group| {
            let sum: u32 = group.iter().map(|g| g.1).sum();
            let share = (sum / callees.choices).min(u32::from(ALL)) as u8;
            SiteLock { share, ..group[0].0 }
        });
        let kept = |l: &SiteLock| match l.share {
            0 => false,
            FIELD_SHARE.. => true,
            _ => l.lock.len() == 0 || is_outer_object(world.program, l.lock),
        };
        summed.filter(kept).collect()
    }
}

/// The lock of a synchronized method.
pub fn own_lock(program: &Program, method: MethodId) -> Place {
    if program.method(method).is_static {
        Place::root_only(Root::Class(program.class_of(method).name))
    } else {
        Place::param(0)
    }
}

/// The product of two shares.
pub fn times(a: u8, b: u8) -> u8 {
    (u16::from(a) * u16::from(b) / u16::from(ALL)) as u8
}

fn taken_here(lock: Place, event: &Event) -> Held {
    let (share, always) = (reach_share(event.reach), event.reach == Reach::Always);
    Held { lock, taking: Taking { share, always, hops: 0, at: At::from(event), via: None } }
}

fn reach_share(reach: Reach) -> u8 {
    match reach {
        Reach::Always => ALL,
        Reach::Sometimes => CONDITION_SHARE,
        Reach::Failing => FAILING_SHARE,
    }
}

/// An explicit lock that is never given back here is a half of somebody's own locking method.
pub fn is_released(body: &Body, lock: Place) -> bool {
    body.events.iter().any(|e| {
        matches!(e.op, Op::Exit { lock: exited, style: Style::Explicit } if body.place(exited) == lock)
    })
}

fn is_too_far(place: Place, hops: u8) -> bool {
    place.is_global() && (hops > GLOBAL_HOPS || place.is_callback())
}

/// Whether a field is set between a lock and the next unlock in the code.
fn is_initialisation(body: &Body, enter: &Event) -> bool {
    let after = body.events.iter().skip_while(|e| e.pc <= enter.pc);
    let locked = after.take_while(|e| !matches!(e.op, Op::Exit { .. }));
    locked.into_iter().any(|e| matches!(e.op, Op::SetField(_)))
}

/// Whether a private method sets a field under a lock: the second half of a value that is computed
/// when it is first asked for. Every lazy value of Scala has such a method.
fn computes_once(program: &Program, callee: MethodId) -> bool {
    let method = program.method(callee);
    let Some(body) = method.body.as_deref().filter(|_| method.is_private) else { return false };
    let sets = |e: &Event| matches!(e.op, Op::SetField(_));
    let enters = |e: &&Event| matches!(e.op, Op::Enter { .. });
    let in_block = || body.events.iter().filter(enters).any(|e| is_initialisation(body, e));
    if method.synchronized { body.events.iter().any(sets) } else { in_block() }
}

/// Whether a place is `this.this$0`, the object that an object of an inner class belongs to.
fn is_outer_object(program: &Program, place: Place) -> bool {
    match place.first() {
        Some(Step::Field(field)) if place.len() == 1 => {
            let name = program.fields[field.0 as usize].name;
            program.names.name(name.0).starts_with(b"this$")
        }
        _other => false,
    }
}

/// The pseudo-lock for an interface call on a parameter that may be a lambda.
pub fn callback(callees: &Callees, args: &[Place], event: &Event) -> Option<Held> {
    let receiver = args.first().filter(|p| callees.lambdas && p.len() == 0)?;
    let on_parameter = matches!(receiver.root(), Root::Param(_));
    on_parameter.then(|| taken_here(receiver.then(Step::Invoke), event))
}

/// The lambda that a pseudo-lock stands for, with its captured values.
pub fn lambda_of(body: &Body, place: Place) -> Option<(SiteId, &[Place])> {
    let Root::Lambda(pc) = place.root() else { return None };
    let lambda = body.lambda(pc).filter(|_| place.is_callback())?;
    Some((lambda.site, body.places_from(lambda.args, lambda.captured.into())))
}

/// One entry for each lock: the most likely one.
fn best_of_each(mut held: Vec<Held>) -> Box<[Held]> {
    held.sort_by_key(|h| {
        let Taking { share, always, hops, at, .. } = h.taking;
        (h.lock, std::cmp::Reverse((share, always)), hops, at)
    });
    held.dedup_by_key(|h| h.lock);
    held.into()
}

/// Sorted, each one once.
pub fn unique(items: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut items: Vec<u32> = items.collect();
    items.sort_unstable();
    items.dedup();
    items
}

fn store<T>(all: &mut [T], new: Vec<(u32, T)>) -> Vec<u32> {
    let mut changed = Vec::with_capacity(new.len());
    for (index, value) in new {
        all[index as usize] = value;
        changed.push(index);
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_multiply_and_fade() {
        assert_eq!(times(ALL, 100), 100);
        assert_eq!(times(128, 128), 64);
        assert_eq!(times(10, 10), 0);
    }
}
