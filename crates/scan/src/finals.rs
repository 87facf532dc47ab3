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
//! lambda. And a potential witness whose share has fallen so low that the warning would not be
//! shown in any case is dropped: its share can only fall further, and in large programs nearly all
//! are of this kind.

use hashbrown::HashMap;

use crate::body::{Body, SiteId};
use crate::expr::LockExpr;
use crate::facts::Facts;
use crate::held::{ALL, At, LocksHeld, Needs, Passed, Taking, World, lambda_of, times};
use crate::program::MethodId;
use crate::state::{Context, Twice};

/// Of one lock in one method, this many potential witnesses are carried up: more of them would be
/// merged into one warning in the end.
const PER_LOCK: u8 = 4;

/// Of pairs of different locks, this many are carried up in one method. In a large program a method
/// that is called from everywhere has tens of thousands of them: without a bound `--pairs` did not
/// end within minutes on clojure 1.10.3, whose scan takes half a second.
const PAIRS: u32 = 24;

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
    pub lock: LockExpr,
    /// The second lock, which is the same unless pairs are wanted.
    pub second: LockExpr,
    /// How the context's method comes to the method with the witness: the calls on the way.
    pub path: Vec<(MethodId, At)>,
    /// The share of the calls on the way.
    pub share: u8,
    /// The smaller share of the two uses, with what is known about the arguments.
    pub uses: u8,
    /// How the lambda behind the pseudo-lock takes it, and the method that made the lambda.
    pub lambda: Option<(MethodId, Taking)>,
}

/// A potential witness in a method.
#[derive(Clone, Copy)]
struct Potential {
    origin: u32,
    lock: LockExpr,
    second: LockExpr,
    share: u8,
    hops: u8,
    /// What must be true of the method's arguments for the first and the second use.
    needs: [Option<Needs>; 2],
    /// The shares of both uses, as far as the arguments are known.
    uses: [u8; 2],
    /// The context, when only the lock behind a lambda is missing.
    context: Option<(MethodId, Context)>,
    /// The last call on the way here, in [`Finals::hops`].
    path: Option<HopId>,
}

/// A call on the way up.
#[derive(Clone, Copy)]
struct HopId(u32);

/// A call on the way up, and the call below it. Ways share their lower ends.
struct Hop {
    call: (MethodId, At),
    below: Option<HopId>,
}

/// Where a potential witness comes from.
struct Origin {
    method: MethodId,
    twice: Twice,
    share: u8,
}

struct Finals<'f, S> {
    world: &'f World<'f>,
    held: &'f LocksHeld,
    facts: &'f [Option<Box<Facts>>],
    /// The smallest share that is of interest.
    floor: u8,
    origins: Vec<Origin>,
    hops: Vec<Hop>,
    /// How many were carried of each lock in each method.
    carried: HashMap<(MethodId, LockExpr, LockExpr, bool), u8>,
    /// How many pairs of different locks were carried in each method.
    pairs: HashMap<MethodId, u32>,
    /// How many were not.
    cut: usize,
    work: std::collections::VecDeque<(MethodId, Potential)>,
    sink: S,
}

/// Gives all instances of the pattern whose share is `floor` or more, and some others, to `sink`.
/// Returns how many pairs of different locks were not carried further.
pub fn witnesses(
    world: &World<'_>,
    held: &LocksHeld,
    facts: &[Option<Box<Facts>>],
    floor: u8,
    sink: impl FnMut(&Witness),
) -> usize {
    let mut finals = Finals {
        world,
        held,
        facts,
        floor,
        origins: Vec::new(),
        hops: Vec::new(),
        carried: HashMap::new(),
        pairs: HashMap::new(),
        cut: 0,
        work: std::collections::VecDeque::new(),
        sink,
    };
    for (method, facts) in facts.iter().enumerate() {
        let twice = facts.iter().flat_map(|f| &f.twice);
        twice.for_each(|t| finals.start(MethodId(method as u32), t));
    }
    while let Some((method, potential)) = finals.work.pop_front() {
        finals.carry(method, &potential);
    }
    finals.cut
}

impl<S: FnMut(&Witness)> Finals<'_, S> {
    fn start(&mut self, method: MethodId, twice: &Twice) {
        let origin = self.origins.len() as u32;
        let takings = [twice.first.taking, twice.second.taking];
        let at_best = takings.map(|t| t.needs.map_or(t.share, |n| n.full.max(t.share)));
        let share = at_best[0].min(at_best[1]);
        self.origins.push(Origin { method, twice: *twice, share });
        let potential = Potential {
            origin,
            lock: twice.first.lock,
            second: twice.second.lock,
            share: ALL,
            hops: 0,
            needs: takings.map(|t| t.needs),
            uses: takings.map(|t| t.share),
            context: twice.context.map(|c| (method, c)),
            path: None,
        };
        let open = potential.lock.is_callback() || potential.second.is_callback();
        if potential.context.is_some() && !open {
            self.emit(&potential, None);
        } else if share >= self.floor {
            self.keep(method, potential);
        }
    }

    /// Puts a potential witness of a method on the list, if callers can see its lock.
    fn keep(&mut self, method: MethodId, potential: Potential) {
        let visible = |p: LockExpr| {
            p.is_visible_outside() && !(p.is_global() && potential.hops > GLOBAL_HOPS)
        };
        if !visible(potential.lock) || !visible(potential.second) {
            return;
        }
        if potential.lock != potential.second {
            let pairs = self.pairs.entry(method).or_default();
            *pairs += 1;
            if *pairs > PAIRS {
                self.cut += 1;
                return;
            }
        }
        let key = (method, potential.lock, potential.second, potential.context.is_some());
        let count = self.carried.entry(key).or_default();
        if *count < PER_LOCK {
            *count += 1;
            self.work.push_back((method, potential));
        }
    }

    /// To all calls of a method.
    fn carry(&mut self, method: MethodId, potential: &Potential) {
        let calls = self.world.calls;
        let origin_share = self.origins[potential.origin as usize].share;
        for &site in calls.sites_of.get(method.0) {
            let callees = calls.of(site);
            let certain = callees.own == Some(method) || callees.choices == 1;
            let part = if certain { ALL } else { (u32::from(ALL) / callees.choices) as u8 };
            let share = times(potential.share, part);
            if times(origin_share, share) < self.floor {
                continue;
            }
            let up = Potential { share, hops: potential.hops.saturating_add(1), ..*potential };
            for &caller in calls.callers.get(site.0) {
                self.carry_to(caller, site, up);
            }
        }
    }

    /// To all calls at a site in one method.
    fn carry_to(&mut self, caller: MethodId, site: SiteId, up: Potential) {
        let Some(body) = &self.world.program.method(caller).body else { return };
        for (i, event) in body.events.iter().enumerate() {
            if let Some((_, args)) = event.call().filter(|call| call.0 == site) {
                let passed = self.world.calls.passed(body, site, args);
                self.arrive(caller, body, i as u32, At::from(event), passed, up);
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
        passed: Passed<'_>,
        mut up: Potential,
    ) {
        for (needs, share) in up.needs.iter_mut().zip(&mut up.uses) {
            let Some(wanted) = *needs else { continue };
            let Ok(left) = passed.meets(self.world, wanted) else { return };
            if left.is_none() && passed.is_certain(self.world, wanted) {
                *share = wanted.full.max(*share);
            }
            *needs = left;
        }
        let args = passed.places;
        let follow = |p: LockExpr| self.world.summaries.follow(body, p.translate(args));
        let same = up.lock == up.second;
        up.lock = follow(up.lock);
        up.second = if same { up.lock } else { follow(up.second) };
        if up.lock.is_unknown() || up.second.is_unknown() {
            return;
        }
        if up.context.is_none() {
            let held = self.facts[caller.0 as usize].as_ref().map_or(&[][..], |f| f.held_at(event));
            if held.iter().any(|c| c.lock == up.lock || c.lock == up.second) {
                return;
            }
            up.context = held.last().map(|&c| (caller, c));
            self.hops.push(Hop { call: (caller, at), below: up.path });
            up.path = Some(HopId(self.hops.len() as u32 - 1));
        }
        self.settle(caller, body, up);
    }

    /// Reports a witness that has all it needs; carries the others on.
    fn settle(&mut self, method: MethodId, body: &Body, up: Potential) {
        let private = |p: LockExpr| matches!(p.root(), crate::expr::Root::New(_));
        if let Some((site, captured)) = lambda_of(body, up.lock).filter(|_| up.lock == up.second) {
            let outer = self.origins[up.origin as usize].twice.second.taking;
            for (lock, taking) in self.held.by_lambda(self.world, body, site, captured, outer) {
                if up.context.is_some_and(|c| c.0 == method && c.1.lock == lock) || private(lock) {
                    continue;
                }
                let known = Potential { lock, second: lock, ..up };
                if known.context.is_some() {
                    self.emit(&known, Some((method, taking)));
                }
            }
            return;
        }
        let open = up.lock.is_callback() || up.second.is_callback();
        if up.context.is_some() && !open {
            if !private(up.lock) && !private(up.second) {
                self.emit(&up, None);
            }
        } else {
            self.keep(method, up);
        }
    }

    fn emit(&mut self, potential: &Potential, lambda: Option<(MethodId, Taking)>) {
        let Origin { method, twice, .. } = self.origins[potential.origin as usize];
        let own = Context {
            lock: LockExpr::UNKNOWN,
            style: crate::body::Style::Monitor,
            at: At::default(),
        };
        let path = self.path(potential.path);
        (self.sink)(&Witness {
            method,
            twice,
            context: potential.context.unwrap_or((method, own)),
            lock: potential.lock,
            second: potential.second,
            path,
            share: potential.share,
            uses: potential.uses[0].min(potential.uses[1]),
            lambda,
        });
    }

    /// The calls on a way, the outermost first.
    fn path(&self, last: Option<HopId>) -> Vec<(MethodId, At)> {
        let hop = |id: HopId| &self.hops[id.0 as usize];
        let hops = std::iter::successors(last.map(hop), |h| h.below.map(hop));
        hops.map(|h| h.call).collect()
    }
}
