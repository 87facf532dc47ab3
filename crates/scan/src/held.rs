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
use crate::expr::{LockExpr, Name, Root, Selector};
use crate::hierarchy::{Fits, Hierarchy};
use crate::program::{ClassId, MethodId, Program};
use crate::summaries::Summaries;

/// A certain share.
pub const ALL: u8 = u8::MAX;

/// Locks of static fields and class objects are followed over this many calls. They mean the same
/// everywhere, so nothing else ends their way up, and after a few calls the holder of a lock is not
/// aware of them.
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

/// A lock comes up from one caller to the next in each round. No reader follows a chain this long.
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
    /// The called method that takes it; none when it is taken here.
    pub via: Option<Via>,
    /// What must be true of an argument, if the lock is only taken by one of several methods that a
    /// call on that argument may run.
    pub needs: Option<Needs>,
}

/// The next method on the way down to where a lock is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Via {
    /// The method.
    pub callee: MethodId,
    /// The lock there.
    pub lock: LockExpr,
    /// The class that one of its arguments must have.
    pub class: Option<ClassId>,
}

/// A lock is only taken if an argument is of some class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Needs {
    /// The argument.
    pub param: u8,
    /// Its class, or one above that.
    pub class: ClassId,
    /// The share of the lock when the argument is known to be of that class.
    pub full: u8,
}

/// A lock that a method takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Held {
    /// The lock, in terms of the method's parameters.
    pub lock: LockExpr,
    /// How it is taken.
    pub taking: Taking,
}

/// A lock that calls at a site take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct SiteLock {
    lock: LockExpr,
    share: u8,
    always: bool,
    hops: u8,
    via: MethodId,
    /// The share if it is certain that `via` runs.
    full: u8,
    /// Whether `via` is one of several methods.
    one_of_several: bool,
    needs: Option<Needs>,
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
    /// The classes above and below each class.
    pub hierarchy: &'p Hierarchy,
}

/// The arguments of a call, the receiver first.
#[derive(Clone, Copy)]
pub struct Passed<'b> {
    /// What they denote.
    pub places: &'b [LockExpr],
    /// Their classes, as far as the code says them.
    pub types: &'b [Option<Name>],
}

impl Passed<'_> {
    /// The number of the caller's own parameter that an argument is.
    fn parameter(&self, number: usize) -> Option<u8> {
        let place = self.places.get(number).filter(|p| p.len() == 0)?;
        if let Root::Param(n @ 0..255) = place.root() { Some(n as u8) } else { None }
    }

    /// What is left of a requirement in the caller's terms: `Err` when it cannot be met, nothing
    /// when it is met or no longer known.
    pub fn meets(&self, world: &World<'_>, needs: Needs) -> Result<Option<Needs>, CannotBe> {
        let number = usize::from(needs.param);
        let class = self.types.get(number).copied().flatten();
        match class.map_or(Fits::Maybe, |c| world.hierarchy.fits(world.program, c, needs.class)) {
            Fits::No => Err(CannotBe),
            Fits::Yes => Ok(None),
            Fits::Maybe => Ok(self.parameter(number).map(|param| Needs { param, ..needs })),
        }
    }
}

impl Passed<'_> {
    /// Whether an argument is certain to be of the class that a lock needs.
    pub fn is_certain(&self, world: &World<'_>, needs: Needs) -> bool {
        let class = self.types.get(usize::from(needs.param)).copied().flatten();
        class.is_some_and(|c| world.hierarchy.fits(world.program, c, needs.class) == Fits::Yes)
    }
}

/// An argument is not of the class that the lock needs.
pub struct CannotBe;

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

    /// How a method takes a lock: the likeliest way.
    pub fn taking(&self, method: MethodId, lock: LockExpr) -> Option<&Taking> {
        self.ways(method, lock).next()
    }

    /// How a method takes the lock that a way down goes on with.
    pub fn below(&self, via: &Via) -> Option<&Taking> {
        let needs = |t: &&Taking| t.needs.map(|n| n.class) == via.class;
        let exact = self.ways(via.callee, via.lock).find(needs);
        exact.or_else(|| self.taking(via.callee, via.lock))
    }

    fn ways(&self, method: MethodId, lock: LockExpr) -> impl Iterator<Item = &Taking> {
        let held = self.of(method);
        let from = held.partition_point(|h| h.lock < lock);
        held[from..].iter().take_while(move |h| h.lock == lock).map(|h| &h.taking)
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
            let taking = Taking::here(at);
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
                self.by_call(world, body, site, args, At::from(event), |lock, mut taking| {
                    taking.always &= event.reach == Reach::Always;
                    let lazy = event.reach == Reach::Sometimes && returns_value;
                    let reached = match taking.via {
                        Some(via) if lazy && computes_once(world.program, via.callee) => LAZY_SHARE,
                        _ => reach_share(event.reach),
                    };
                    let factor = times(CALL_SHARE, reached);
                    taking.share = times(taking.share, factor);
                    if let Some(needs) = &mut taking.needs {
                        needs.full = times(needs.full, factor);
                    }
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
            | Op::GetField { .. }
            | Op::SetField { .. }
            | Op::SetElement { .. }
            | Op::Escape { .. } => {}
        }
    }

    /// The locks that a call takes, in the caller's terms: the set L of figure 6(b).
    pub fn by_call(
        &self,
        world: &World<'_>,
        body: &Body,
        site: SiteId,
        first: u32,
        at: At,
        mut found: impl FnMut(LockExpr, Taking),
    ) {
        let passed = world.calls.passed(body, site, first);
        let args = passed.places;
        for lock in &self.sites[site.0 as usize] {
            let Ok((share, needs)) = lock.required(world, &passed) else { continue };
            let place = world.summaries.follow(body, lock.lock.translate(args));
            let class = lock.needs.map(|n| n.class);
            let via = Some(Via { callee: lock.via, lock: lock.lock, class });
            let hops = lock.hops.saturating_add(1);
            let taking = Taking { share, always: lock.always, hops, at, via, needs };
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
        captured: &[LockExpr],
        outer: Taking,
    ) -> Vec<(LockExpr, Taking)> {
        let locks = self.sites[site.0 as usize].iter().filter(|l| !l.lock.is_callback());
        let translated = locks.map(|lock| {
            let share = times(outer.share, lock.share);
            let via = Some(Via { callee: lock.via, lock: lock.lock, class: None });
            let place = world.summaries.follow(body, lock.lock.translate(captured));
            let (always, hops) =
                (outer.always && lock.always, outer.hops.saturating_add(lock.hops));
            (place, Taking { share, always, via, hops, at: outer.at, needs: None })
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
                let Taking { share, always, hops, needs, .. } = h.taking;
                let lock = SiteLock {
                    lock: h.lock,
                    share,
                    always: always && (own || single),
                    hops,
                    via: target,
                    full: share,
                    one_of_several: callees.choices > 1,
                    needs,
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

impl SiteLock {
    /// The share of the lock at a call with these arguments, and what must still be true of them.
    fn required(
        &self,
        world: &World<'_>,
        passed: &Passed<'_>,
    ) -> Result<(u8, Option<Needs>), CannotBe> {
        let mut share = self.share;
        let mut left = None;
        if let Some(needs) = self.needs {
            left = passed.meets(world, needs)?;
            if left.is_none() && !self.one_of_several && passed.is_certain(world, needs) {
                share = share.max(needs.full);
            }
        }
        if self.one_of_several && passed.places.first().is_some_and(|p| p.len() == 0) {
            let class = world.program.method(self.via).class;
            let own = Needs { param: 0, class, full: self.full };
            let here = passed.meets(world, own)?;
            left = left.or(here);
        }
        Ok((share, left))
    }
}

impl Taking {
    /// A lock that is taken at this very place, whatever happens.
    pub fn here(at: At) -> Taking {
        Taking { share: ALL, always: true, hops: 0, at, via: None, needs: None }
    }
}

/// The lock of a synchronized method.
pub fn own_lock(program: &Program, method: MethodId) -> LockExpr {
    if program.method(method).is_static {
        LockExpr::root_only(Root::Class(program.class_of(method).name))
    } else {
        LockExpr::param(0)
    }
}

/// The product of two shares.
pub fn times(a: u8, b: u8) -> u8 {
    (u16::from(a) * u16::from(b) / u16::from(ALL)) as u8
}

fn taken_here(lock: LockExpr, event: &Event) -> Held {
    let (share, always) = (reach_share(event.reach), event.reach == Reach::Always);
    Held { lock, taking: Taking { share, always, ..Taking::here(At::from(event)) } }
}

fn reach_share(reach: Reach) -> u8 {
    match reach {
        Reach::Always => ALL,
        Reach::Sometimes => CONDITION_SHARE,
        Reach::Failing => FAILING_SHARE,
    }
}

/// An explicit lock that is never given back here is one half of a locking method.
pub fn is_released(body: &Body, lock: LockExpr) -> bool {
    body.events.iter().any(|e| {
        matches!(e.op, Op::Exit { lock: exited, style: Style::Explicit } if body.place(exited) == lock)
    })
}

fn is_too_far(place: LockExpr, hops: u8) -> bool {
    place.is_global() && (hops > GLOBAL_HOPS || place.is_callback())
}

/// Whether a field is set between a lock and the next unlock in the code.
fn is_initialisation(body: &Body, enter: &Event) -> bool {
    let after = body.events.iter().skip_while(|e| e.pc <= enter.pc);
    let locked = after.take_while(|e| !matches!(e.op, Op::Exit { .. }));
    locked.into_iter().any(|e| matches!(e.op, Op::SetField { .. }))
}

/// Whether a private method sets a field under a lock: the second half of a value that is computed
/// when it is first asked for. Every lazy value of Scala has such a method.
fn computes_once(program: &Program, callee: MethodId) -> bool {
    let method = program.method(callee);
    let Some(body) = method.body.as_deref().filter(|_| method.is_private) else { return false };
    let sets = |e: &Event| matches!(e.op, Op::SetField { .. });
    let enters = |e: &&Event| matches!(e.op, Op::Enter { .. });
    let in_block = || body.events.iter().filter(enters).any(|e| is_initialisation(body, e));
    if method.synchronized { body.events.iter().any(sets) } else { in_block() }
}

/// Whether a place is `this.this$0`, the object that an object of an inner class belongs to.
fn is_outer_object(program: &Program, place: LockExpr) -> bool {
    match place.first() {
        Some(Selector::Field(field)) if place.len() == 1 => {
            let name = program.fields[field.0 as usize].name;
            program.names.name(name.0).starts_with(b"this$")
        }
        _other => false,
    }
}

/// The pseudo-lock for an interface call on a parameter that may be a lambda.
pub fn callback(callees: &Callees, args: &[LockExpr], event: &Event) -> Option<Held> {
    let receiver = args.first().filter(|p| callees.lambdas && p.len() == 0)?;
    let on_parameter = matches!(receiver.root(), Root::Param(_));
    on_parameter.then(|| taken_here(receiver.then(Selector::Invoke), event))
}

/// The lambda that a pseudo-lock stands for, with its captured values.
pub fn lambda_of(body: &Body, place: LockExpr) -> Option<(SiteId, &[LockExpr])> {
    let Root::Lambda(pc) = place.root() else { return None };
    let lambda = body.lambda(pc).filter(|_| place.is_callback())?;
    Some((lambda.site, body.places_from(lambda.args, lambda.captured.into())))
}

/// So many ways to one lock are kept, if they need arguments of different classes.
const WAYS: usize = 3;

/// One entry for each lock: the most likely one. Those that need an argument of a certain class
/// may have others beside them.
fn best_of_each(mut held: Vec<Held>) -> Box<[Held]> {
    held.sort_by_key(|h| {
        let Taking { share, always, hops, at, .. } = h.taking;
        (h.lock, std::cmp::Reverse((share, always)), hops, at)
    });
    let mut kept: Vec<Held> = Vec::with_capacity(held.len().min(64));
    for new in held {
        let same = kept.iter().rev().take_while(|h| h.lock == new.lock);
        let class = |h: &Held| h.taking.needs.map(|n| n.class);
        let (count, known) = same.fold((0, false), |(count, known), h| {
            (count + 1, known || class(h) == class(&new) || class(h).is_none())
        });
        if count < WAYS && !known {
            kept.push(new);
        }
    }
    kept.into()
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
