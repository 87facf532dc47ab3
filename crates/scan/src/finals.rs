//! The second interprocedural extension (paper, section 4.4, figure 8): potential witnesses are
//! carried up the expanded call graph until a lock is found that is held around them.
//!
//! ```text
//! FINAL_T(n) = A(n)_T ∪ { TRANSLATELOCK_st(x) | st in CALLS(n), m in CALLEES(st), x in FINAL_T(m) } \ {*}
//! FINAL_P(n) = A(n)_P ∪ ((FINAL_T(s) ∪ FINAL_P(s)) \ {e})      for SYNC e s in n
//! ```
//!
//! The nodes of the expanded graph are methods and synchronized blocks; the blocks around a call
//! are known from [`Facts::held_at`]. As in the paper, a witness that has its context is not
//! carried further. For pairs (figure 10) both locks are translated.
//!
//! Beyond the paper: a witness may be the pseudo-lock of a lambda that was passed in. Its context
//! may be known while the lock is not; such a witness is carried on to the caller that made the
//! lambda.

use hashbrown::HashMap;

use crate::body::Body;
use crate::facts::Facts;
use crate::held::{ALL, At, LocksHeld, Taking, World, lambda_of, times};
use crate::place::Place;
use crate::program::MethodId;
use crate::state::{Context, Twice};

/// Of one lock in one method, this many potential witnesses are carried up: more of them would be
/// merged into one warning in the end.
const PER_LOCK: usize = 4;

/// Locks of static fields and class objects are carried up this far.
const GLOBAL_HOPS: u8 = 2;

/// A full instance of the pattern.
#[derive(Clone, Debug)]
pub struct Witness {
    /// The method in which the lock is taken twice.
    pub method: MethodId,
    /// How, in that method's terms.
    pub twice: Twice,
    /// The lock held all the time, and the method that holds it.
    pub context: (MethodId, Context),
    /// The witness in terms of the method that holds the context.
    pub lock: Place,
    /// The second lock, which is the same unless pairs are wanted.
    pub second: Place,
    /// How the context's method comes to the method with the witness: the calls on the way.
    pub path: Vec<(MethodId, At)>,
    /// The share of the calls on the way.
    pub share: u8,
    /// How the lambda behind the pseudo-lock takes it, and the method that made the lambda.
    pub lambda: Option<(MethodId, Taking)>,
}

/// A potential witness in a method.
#[derive(Clone)]
struct Potential {
    origin: u32,
    lock: Place,
    second: Place,
    share: u8,
    hops: u8,
    /// The context, when only the lock behind a lambda is missing.
    context: Option<(MethodId, Context)>,
    path: Vec<(MethodId, At)>,
}

struct Finals<'f> {
    world: &'f World<'f>,
    held: &'f LocksHeld,
    facts: &'f [Option<Box<Facts>>],
    origins: Vec<(MethodId, Twice)>,
    /// How many were carried of each lock in each method.
    carried: HashMap<(MethodId, Place, Place, bool), usize>,
    work: std::collections::VecDeque<(MethodId, Potential)>,
    found: Vec<Witness>,
}

/// All instances of the pattern.
pub fn witnesses(
    world: &World<'_>,
    held: &LocksHeld,
    facts: &[Option<Box<Facts>>],
) -> Vec<Witness> {
    let mut finals = Finals {
        world,
        held,
        facts,
        origins: Vec::new(),
        carried: HashMap::new(),
        work: std::collections::VecDeque::new(),
        found: Vec::new(),
    };
    for (method, facts) in facts.iter().enumerate() {
        let twice = facts.iter().flat_map(|f| &f.twice);
        twice.for_each(|t| finals.start(MethodId(method as u32), t));
    }
    while let Some((method, potential)) = finals.work.pop_front() {
        finals.carry(method, &potential);
    }
    finals.found
}

impl Finals<'_> {
    fn start(&mut self, method: MethodId, twice: &Twice) {
        let origin = self.origins.len() as u32;
        self.origins.push((method, *twice));
        let potential = Potential {
            origin,
            lock: twice.first.lock,
            second: twice.second.lock,
            share: ALL,
            hops: 0,
            context: twice.context.map(|c| (method, c)),
            path: Vec::new(),
        };
        let open = potential.lock.is_callback() || potential.second.is_callback();
        if potential.context.is_some() && !open {
            self.found.push(self.witness(&potential, None));
        } else {
            self.keep(method, potential);
        }
    }

    /// Puts a potential witness of a method on the list, if callers can see its lock.
    fn keep(&mut self, method: MethodId, potential: Potential) {
        let visible =
            |p: Place| p.is_visible_outside() && !(p.is_global() && potential.hops > GLOBAL_HOPS);
        if !visible(potential.lock) || !visible(potential.second) {
            return;
        }
        let key = (method, potential.lock, potential.second, potential.context.is_some());
        let count = self.carried.entry(key).or_default();
        *count += 1;
        if *count <= PER_LOCK {
            self.work.push_back((method, potential));
        }
    }

    /// To all calls of a method.
    fn carry(&mut self, method: MethodId, potential: &Potential) {
        let calls = self.world.calls;
        for &site in calls.sites_of.get(method.0) {
            let callees = calls.of(site);
            let certain = callees.own == Some(method) || callees.choices == 1;
            let part = if certain { ALL } else { (u32::from(ALL) / callees.choices) as u8 };
            let share = times(potential.share, part);
            if share == 0 {
                continue;
            }
            for &caller in calls.callers.get(site.0) {
                let Some(body) = &self.world.program.method(caller).body else { continue };
                for (i, event) in body.events.iter().enumerate() {
                    if let Some((_, args)) = event.call().filter(|call| call.0 == site) {
                        let args = calls.args(body, site, args);
                        let hops = potential.hops.saturating_add(1);
                        let up = Potential { share, hops, ..potential.clone() };
                        self.arrive(caller, body, i as u32, At::from(event), args, up);
                    }
                }
            }
        }
    }

    /// At one call: the witness is in the caller's terms from here on.
    fn arrive(
        &mut self,
        caller: MethodId,
        body: &Body,
        event: u32,
        at: At,
        args: &[Place],
        mut up: Potential,
    ) {
        let follow = |p: Place| self.world.summaries.follow(body, p.translate(args));
        let same = up.lock == up.second;
        up.lock = follow(up.lock);
        up.second = if same { up.lock } else { follow(up.second) };
        if up.lock.is_unknown() || up.second.is_unknown() {
            return;
        }
        if up.context.is_none() {
            up.path.insert(0, (caller, at));
            let held = self.facts[caller.0 as usize].as_ref().map_or(&[][..], |f| f.held_at(event));
            if held.iter().any(|c| c.lock == up.lock || c.lock == up.second) {
                return;
            }
            up.context = held.last().map(|&c| (caller, c));
        }
        self.settle(caller, body, up);
    }

    /// Reports a witness that has all it needs; carries the others on.
    fn settle(&mut self, method: MethodId, body: &Body, up: Potential) {
        let private = |p: Place| matches!(p.root(), crate::place::Root::New(_));
        if let Some((site, captured)) = lambda_of(body, up.lock).filter(|_| up.lock == up.second) {
            let outer = self.origins[up.origin as usize].1.second.taking;
            for (lock, taking) in self.held.by_lambda(self.world, body, site, captured, outer) {
                if up.context.is_some_and(|c| c.0 == method && c.1.lock == lock) || private(lock) {
                    continue;
                }
                let known = Potential { lock, second: lock, ..up.clone() };
                if known.context.is_some() {
                    self.found.push(self.witness(&known, Some((method, taking))));
                }
            }
            return;
        }
        let open = up.lock.is_callback() || up.second.is_callback();
        if up.context.is_some() && !open {
            if !private(up.lock) && !private(up.second) {
                self.found.push(self.witness(&up, None));
            }
        } else {
            self.keep(method, up);
        }
    }

    fn witness(&self, potential: &Potential, lambda: Option<(MethodId, Taking)>) -> Witness {
        let (method, twice) = self.origins[potential.origin as usize];
        let own =
            Context { lock: Place::UNKNOWN, style: crate::body::Style::Monitor, at: At::default() };
        Witness {
            method,
            twice,
            context: potential.context.unwrap_or((method, own)),
            lock: potential.lock,
            second: potential.second,
            path: potential.path.clone(),
            share: potential.share,
            lambda,
        }
    }
}
