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
//!   it. A fresh object that never escapes has a lock that nobody contends for.
//!
//! All are least fixed points over the call graph, found in rounds.

use rayon::prelude::*;

use crate::aliases::Aliases;
use crate::body::{Body, Event, Op, SiteId};
use crate::calls::Calls;
use crate::place::{FieldId, Place, Root, Step};
use crate::program::{Method, MethodId, Program};

/// What the call of a method, or of any method of a site, gives back, in terms of its parameters.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Gives {
    /// Always this place.
    pub place: Option<Place>,
    /// Always a fresh object.
    pub fresh: bool,
    /// Fields of the result, or of the object under construction, that are other names for places.
    pub fields: Box<[(FieldId, Place)]>,
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

/// Sites with more callees than this have results that are too different to tell anything.
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
        let aliases = Aliases::new(program, |body, object| fields_from_calls(body, object, &gives));
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
    pub fn follow(&self, body: &Body, place: Place) -> Place {
        self.aliases.shortest(self.behind(body, place))
    }

    fn behind(&self, body: &Body, place: Place) -> Place {
        let Some(Step::Field(field)) = place.first() else { return place };
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

    fn behind_result(&self, body: &Body, pc: u32, field: FieldId) -> Option<Place> {
        let at_pc = |e: &&Event| u32::from(e.pc) == pc;
        let (site, args) = body.events.iter().filter(at_pc).find_map(|e| e.call())?;
        self.field_of(site, field, &body.places[args as usize..])
    }

    fn behind_new(&self, body: &Body, place: Place, field: FieldId) -> Option<Place> {
        let object = Place::root_only(place.root());
        let calls = body.events.iter().filter_map(|e| e.call());
        let on_object = calls.filter(|call| body.places.get(call.1 as usize) == Some(&object));
        on_object
            .into_iter()
            .find_map(|(site, args)| self.field_of(site, field, &body.places[args as usize..]))
    }

    fn field_of(&self, site: SiteId, field: FieldId, args: &[Place]) -> Option<Place> {
        let fields = &self.gives[site.0 as usize].fields;
        let at = fields.binary_search_by_key(&field, |f| f.0).ok()?;
        Some(fields[at].1.translate(args)).filter(|p| !p.is_unknown())
    }
}

/// Replaces the results of getters and factories by what they are.
fn substitute(method: &mut Method, sites: &[Gives]) {
    let Some(body) = &mut method.body else { return };
    for at in 0..body.events.len() {
        let Op::Call { site, args } = body.events[at].op else { continue };
        let given = &sites[site.0 as usize];
        let result = Place::root_only(Root::Value(body.events[at].pc.into()));
        let place = match given.place {
            Some(place) => place.translate(&body.places[args as usize..]),
            None if given.fresh => Place::root_only(Root::New(body.events[at].pc.into())),
            None => continue,
        };
        if place.is_unknown() || place.root() == result.root() {
            continue;
        }
        let replace = |p: &mut Place| {
            if p.root() == result.root() {
                *p = p.on(place);
            }
        };
        body.places.iter_mut().for_each(replace);
        method.returns.iter_mut().for_each(replace);
    }
}

/// What a method gives back, with what its callees give back.
fn given(method: &Method, sites: &[Gives]) -> Gives {
    let mut fields: Vec<(FieldId, Place)> = method.captures.to_vec();
    let body = method.body.as_deref();
    if method.returns.is_none() {
        // A constructor also has what the constructor of its superclass has.
        fields.extend(body.into_iter().flat_map(|b| fields_from_calls(b, Place::param(0), sites)));
    }
    let returns = method.returns.unwrap_or(Place::UNKNOWN);
    let fresh = returns.len() == 0 && matches!(returns.root(), Root::New(_));
    if fresh {
        fields.extend(body.into_iter().flat_map(|b| fields_from_calls(b, returns, sites)));
    }
    Gives {
        place: Some(returns).filter(Place::is_visible_outside),
        fresh,
        fields: distinct(fields).into(),
    }
}

/// The fields that calls on an object set: its constructor, or the factory that it came from.
fn fields_from_calls(body: &Body, object: Place, sites: &[Gives]) -> Vec<(FieldId, Place)> {
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

/// Sorted, without the fields that are said to be two different things.
fn distinct(mut fields: Vec<(FieldId, Place)>) -> Vec<(FieldId, Place)> {
    fields.sort_unstable();
    fields.dedup();
    let clash = |i: usize, f: &[(FieldId, Place)]| {
        (i > 0 && f[i - 1].0 == f[i].0) || f.get(i + 1).is_some_and(|n| n.0 == f[i].0)
    };
    (0..fields.len()).filter(|&i| !clash(i, &fields)).map(|i| fields[i]).collect()
}

/// What all callees of a site have in common. Fields are told apart by their class, so that those
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
fn escapes(program: &Program, calls: &Calls) -> Vec<u32> {
    let mut methods: Vec<u32> = program.methods.iter().map(|m| m.stored).collect();
    loop {
        let sites: Vec<u32> = calls
            .callees
            .par_iter()
            .enumerate()
            .map(|(site, c)| {
                let fixed = program.sites[site].kind == crate::body::CallKind::Static;
                let unknown = if fixed { u32::MAX } else { u32::MAX - 1 };
                let known = c.targets.iter().fold(0, |bits, m| bits | methods[m.0 as usize]);
                if c.choices == 0 { unknown } else { known }
            })
            .collect();
        let next: Vec<u32> = program
            .methods
            .par_iter()
            .zip(&methods)
            .map(|(m, &old)| old | m.body.as_deref().map_or(0, |b| passed_on(b, calls, &sites)))
            .collect();
        if next == methods {
            return sites;
        }
        methods = next;
    }
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
