//! What methods give back and let go, so that a lock can be followed through them.
//!
//! - A getter returns a place of its own parameters (`return this.f`), `return this` among them:
//!   the result of its call is that place, and no unknown value.
//! - A factory returns a fresh object: its result is as private as if it had been made here.
//! - A constructor that keeps a parameter in a field makes that field of the new object another
//!   name for the argument. An iterator of a Vector locks the Vector through such a field.
//! - A part that knows its owner: when a field is only ever set to `new Part(this)`, and the
//!   constructor keeps the owner, then `x.part.owner` is another name for `x`. In the same way two
//!   fields may be names for one object: the two views of a read-write lock ([`crate::aliases`]).
//! - A parameter *escapes* when the method, or one that it calls, stores it where others may find
//!   it. A fresh object that never escapes has a lock that no other thread contends for.
//!
//! All are least fixed points over the call graph, found in rounds.

use hashbrown::HashMap;
use rayon::prelude::*;

use crate::aliases::{Aliases, Kept};
use crate::body::{Body, Event, Op, SiteId};
use crate::calls::Calls;
use crate::expr::{FieldId, LockExpr, Root, Selector};
use crate::held::unique;
use crate::program::{Method, MethodId, Program};

/// What the call of a method, or of any method of a site, gives back, in terms of its parameters.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Gives {
    /// Always this place.
    pub place: Option<LockExpr>,
    /// Always a fresh object.
    pub fresh: bool,
    /// Fields of the result, or of the object under construction, that are other names for places.
    pub fields: Box<[(FieldId, LockExpr)]>,
}

/// The summaries of all call sites.
pub struct Summaries {
    /// What each site gives back.
    gives: Vec<Gives>,
    /// Which arguments of each site escape, by bit.
    escapes: Vec<u32>,
    /// Fields that are other names for something.
    aliases: Aliases,
}

/// Getters of getters of getters are followed this far.
const ROUNDS: usize = 4;

/// Sites with more callees than this have results that are too different to say anything.
const CALLEES: usize = 256;

impl Summaries {
    /// Computes the summaries and replaces the results of getters in all bodies.
    pub fn new(program: &mut Program, calls: &Calls) -> Summaries {
        let mut gives = vec![Gives::default(); program.sites.len()];
        for _ in 0..ROUNDS {
            let sites = &gives;
            program.methods.par_iter_mut().for_each(|m| substitute(m, sites));
            let methods: Vec<Gives> = program.methods.par_iter().map(|m| given(m, sites)).collect();
            let next: Vec<Gives> =
                calls.callees.par_iter().map(|c| common(&c.targets, c.choices, &methods)).collect();
            if next == gives {
                break;
            }
            gives = next;
        }
        let aliases = Aliases::new(program, |body| kept_by_fresh(body, &gives));
        let bodies = program.methods.par_iter_mut().filter_map(|m| m.body.as_mut());
        bodies.flat_map_iter(|b| &mut b.places).for_each(|p| *p = aliases.shortest(*p));
        Summaries { escapes: escapes(program, calls), gives, aliases }
    }

    /// Whether an argument of a call at this site may be found by others afterwards.
    pub fn escapes(&self, site: SiteId, argument: usize) -> bool {
        argument >= 32 || self.escapes[site.0 as usize] >> argument & 1 == 1
    }

    /// Follows fields to what they are another name for: of fresh and returned objects, and from
    /// a part back to its owner.
    pub fn follow(&self, body: &Body, place: LockExpr) -> LockExpr {
        self.aliases.shortest(self.behind(body, place))
    }

    fn behind(&self, body: &Body, place: LockExpr) -> LockExpr {
        let Some(Selector::Field(field)) = place.first() else { return place };
        let known = match place.root() {
            Root::Value(pc) => self.behind_result(body, pc, field),
            Root::New(pc) => {
                self.behind_new(body, place, field).or_else(|| self.behind_result(body, pc, field))
            }
            Root::Unknown
            | Root::Param(_)
            | Root::Phi(_)
            | Root::Static(_)
            | Root::Class(_)
            | Root::Int(_)
            | Root::Text(_)
            | Root::Lambda(_) => None,
        };
        known.map_or(place, |base| place.after_first(base))
    }

    fn behind_result(&self, body: &Body, pc: u32, field: FieldId) -> Option<LockExpr> {
        let at_pc = |e: &&Event| u32::from(e.pc) == pc;
        let (site, args) = body.events.iter().filter(at_pc).find_map(|e| e.call())?;
        self.field_of(site, field, &body.places[args as usize..])
    }

    fn behind_new(&self, body: &Body, place: LockExpr, field: FieldId) -> Option<LockExpr> {
        let object = LockExpr::root_only(place.root());
        let calls = body.events.iter().filter_map(|e| e.call());
        let on_object = calls.filter(|call| body.places.get(call.1 as usize) == Some(&object));
        on_object
            .into_iter()
            .find_map(|(site, args)| self.field_of(site, field, &body.places[args as usize..]))
    }

    fn field_of(&self, site: SiteId, field: FieldId, args: &[LockExpr]) -> Option<LockExpr> {
        let fields = &self.gives[site.0 as usize].fields;
        let at = fields.binary_search_by_key(&field, |f| f.0).ok()?;
        Some(fields[at].1.translate(args)).filter(|p| !p.is_unknown())
    }
}

/// Replaces the results of getters and factories by what they are. Results are named by the
/// position of their call; the replacements are collected first, since a long method has as many
/// places as calls and must not look through all of them for each.
fn substitute(method: &mut Method, sites: &[Gives]) {
    let Some(body) = &mut method.body else { return };
    let mut known: HashMap<u32, LockExpr> = HashMap::new();
    for event in &body.events {
        let Op::Call { site, args } = event.op else { continue };
        let given = &sites[site.0 as usize];
        let result = LockExpr::root_only(Root::Value(event.pc.into()));
        let place = match given.place {
            Some(place) => {
                let renamed = |p: &mut LockExpr| *p = replaced(*p, &known);
                body.places[args as usize..].iter_mut().take(ARGUMENTS).for_each(renamed);
                place.translate(&body.places[args as usize..])
            }
            None if given.fresh => LockExpr::root_only(Root::New(event.pc.into())),
            None => continue,
        };
        if !place.is_unknown() && place.root() != result.root() {
            known.insert(result.root_code(), place);
        }
    }
    if !known.is_empty() {
        let places = body.places.iter_mut().chain(&mut method.returns);
        places.for_each(|p| *p = replaced(*p, &known));
    }
}

/// More arguments than any getter looks at.
const ARGUMENTS: usize = 8;

/// A place with the results that it starts with replaced. Code that runs in a loop may name results
/// in a circle; the way round is cut off.
fn replaced(place: LockExpr, known: &HashMap<u32, LockExpr>) -> LockExpr {
    let next = |p: &LockExpr| known.get(&p.root_code()).map(|&base| p.on(base));
    std::iter::successors(Some(place), next).take(8).last().unwrap_or(place)
}

/// What a method gives back, with what its callees give back.
fn given(method: &Method, sites: &[Gives]) -> Gives {
    let mut fields: Vec<(FieldId, LockExpr)> = method.captures.to_vec();
    let body = method.body.as_deref();
    if method.returns.is_none() {
        // A constructor also has what the constructor of its superclass has.
        fields
            .extend(body.into_iter().flat_map(|b| fields_from_calls(b, LockExpr::param(0), sites)));
    }
    let returns = method.returns.unwrap_or(LockExpr::UNKNOWN);
    let fresh = returns.len() == 0 && matches!(returns.root(), Root::New(_));
    if fresh {
        fields.extend(body.into_iter().flat_map(|b| fields_from_calls(b, returns, sites)));
    }
    Gives {
        place: Some(returns).filter(LockExpr::is_visible_outside),
        fresh,
        fields: distinct(fields).into(),
    }
}

/// The fields that calls on an object set: its constructor, or the factory that it came from.
fn fields_from_calls(body: &Body, object: LockExpr, sites: &[Gives]) -> Vec<(FieldId, LockExpr)> {
    let mut fields = Vec::new();
    for event in &body.events {
        let Op::Call { site, args } = event.op else { continue };
        let on_object = body.places.get(args as usize) == Some(&object);
        if on_object || object.root() == Root::New(event.pc.into()) {
            let args = &body.places[args as usize..];
            let set = sites[site.0 as usize].fields.iter().map(|(f, p)| (*f, p.translate(args)));
            fields.extend(set.filter(|f| f.1.is_visible_outside()));
        }
    }
    fields
}

/// The same for all objects that are made in a body.
fn kept_by_fresh(body: &Body, sites: &[Gives]) -> Vec<Kept> {
    let mut kept = Vec::new();
    for event in &body.events {
        let Op::Call { site, args } = event.op else { continue };
        let given = &sites[site.0 as usize].fields;
        if given.is_empty() {
            continue;
        }
        let passed = &body.places[args as usize..];
        let made_here = LockExpr::root_only(Root::New(event.pc.into()));
        let receiver = passed.first().filter(|p| p.len() == 0 && **p != made_here);
        let receiver = receiver.filter(|p| matches!(p.root(), Root::New(_)));
        for object in receiver.copied().into_iter().chain([made_here]) {
            let set = given.iter().map(|(f, p)| (object, *f, p.translate(passed)));
            kept.extend(set.filter(|k| k.2.is_visible_outside()));
        }
    }
    kept
}

/// Sorted, without the fields that are said to be two different things.
fn distinct(mut fields: Vec<(FieldId, LockExpr)>) -> Vec<(FieldId, LockExpr)> {
    if fields.len() < 2 {
        return fields;
    }
    fields.sort_unstable();
    fields.dedup();
    let clash = |i: usize, f: &[(FieldId, LockExpr)]| {
        (i > 0 && f[i - 1].0 == f[i].0) || f.get(i + 1).is_some_and(|n| n.0 == f[i].0)
    };
    (0..fields.len()).filter(|&i| !clash(i, &fields)).map(|i| fields[i]).collect()
}

/// What all callees of a site have in common. Fields are distinguished by their class, so that those
/// of one callee can be kept although another one gives something else.
fn common(targets: &[MethodId], choices: u32, methods: &[Gives]) -> Gives {
    if targets.is_empty() || targets.len() > CALLEES {
        return Gives::default();
    }
    let each = || targets.iter().map(|m| &methods[m.0 as usize]);
    let all = choices as usize == targets.len();
    let first = each().next().and_then(|g| g.place);
    let place = first.filter(|_| all && each().all(|g| g.place == first));
    let fields = distinct(each().flat_map(|g| g.fields.iter().copied()).collect());
    Gives { place, fresh: all && each().all(|g| g.fresh), fields: fields.into() }
}

/// Which arguments of each site escape. Without callees nothing is known: all but the receiver.
/// Found in rounds like LOCKSHELD: what did not change is not looked at again.
fn escapes(program: &Program, calls: &Calls) -> Vec<u32> {
    let mut methods: Vec<u32> = program.methods.iter().map(|m| m.stored).collect();
    let mut sites = vec![0; calls.callees.len()];
    let mut dirty: Vec<u32> = (0..calls.callees.len() as u32).collect();
    while !dirty.is_empty() {
        let at_site = |s: u32| escapes_at(program, calls, SiteId(s), &methods);
        let changed = update(&mut sites, &dirty, at_site);
        let callers = changed.iter().flat_map(|&s| calls.callers.get(s)).map(|m| m.0);
        let old = methods.clone();
        let in_method = |m: u32| {
            let body = program.method(MethodId(m)).body.as_deref();
            old[m as usize] | body.map_or(0, |b| passed_on(b, calls, &sites))
        };
        let changed = update(&mut methods, &unique(callers), in_method);
        dirty = unique(changed.iter().flat_map(|&m| calls.sites_of.get(m)).map(|s| s.0));
    }
    sites
}

fn escapes_at(program: &Program, calls: &Calls, site: SiteId, methods: &[u32]) -> u32 {
    let callees = calls.of(site);
    if callees.choices == 0 {
        let fixed = program.site_key(site).kind == crate::body::CallKind::Static;
        return if fixed { u32::MAX } else { u32::MAX - 1 };
    }
    callees.targets.iter().fold(0, |bits, m| bits | methods[m.0 as usize])
}

/// Computes some values anew; returns which changed.
fn update(values: &mut [u32], dirty: &[u32], new: impl Fn(u32) -> u32 + Sync) -> Vec<u32> {
    let computed: Vec<u32> = dirty.par_iter().map(|&i| new(i)).collect();
    let mut changed = Vec::new();
    for (&i, value) in dirty.iter().zip(computed) {
        if std::mem::replace(&mut values[i as usize], value) != value {
            changed.push(i);
        }
    }
    changed
}

/// The parameters that a method passes to calls that let them escape.
fn passed_on(body: &Body, calls: &Calls, sites: &[u32]) -> u32 {
    let mut bits = 0;
    for event in &body.events {
        let Op::Call { site, args } = event.op else { continue };
        for (i, place) in calls.args(body, site, args).iter().enumerate().take(32) {
            let escapes = sites[site.0 as usize] >> i & 1 == 1;
            if let (Root::Param(n @ 0..32), 0, true) = (place.root(), place.len(), escapes) {
                bits |= 1 << n;
            }
        }
    }
    bits
}
