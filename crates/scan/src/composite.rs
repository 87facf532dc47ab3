//! Composite actions: an object that is safe one call at a time is asked and then changed.
//!
//! Not from the paper: rules for what Java programs get wrong most ("check-then-act"). Questions
//! are carried by the same dataflow as the locks and forgotten under the same conditions
//! (DEPENDS). An act after a question is a candidate, unless a lock was held from the question to
//! the act, or the question was asked again. Candidates become findings only where the answer
//! matters for the act ([`crate::link`]).
//!
//! Helper methods of the same class count as the question or the act that they contain.

use crate::body::{Body, Event, Op, SiteId};
use crate::calls::Calls;
use crate::expr::{FieldId, LockExpr, Origin, Root};
use crate::finding::Confidence;
use crate::held::At;
use crate::helpers::Helpers;
use crate::link::{Link, Links};
use crate::program::{MethodId, Program};
use crate::roles::{Action, Family, Role, Roles, role_on};
use crate::rules::Rule;
use crate::settle::exact_class;
use crate::state::State;

/// What is used: by a call, or directly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// A call.
    Call(SiteId),
    /// A field is read.
    Read(FieldId),
    /// A field is assigned.
    Write(FieldId),
}

/// One end of a composite action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Point {
    /// Where.
    pub at: At,
    /// The number of the event.
    pub event: u32,
    /// What is used.
    pub what: Use,
}

/// The locks that are held at a question, by where they were taken; the outermost four.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HeldAt([Option<u16>; 4]);

impl HeldAt {
    fn new(state: &State) -> HeldAt {
        let mut held = HeldAt::default();
        held.0.iter_mut().zip(state.contexts()).for_each(|(to, c)| *to = Some(c.at.pc));
        held
    }

    /// Whether a lock of a state was held then and ever since.
    fn still(&self, state: &State) -> bool {
        state.contexts().any(|c| self.0.contains(&Some(c.at.pc)))
    }

    /// A lock is given back.
    pub fn forget(&mut self, pc: u16) {
        self.0.iter_mut().filter(|h| **h == Some(pc)).for_each(|h| *h = None);
    }
}

/// A question whose answer may be acted upon.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Question {
    /// The collection, atomic variable or field.
    pub object: LockExpr,
    /// The key, if it is about one.
    pub key: LockExpr,
    /// The kind of object; none for a field.
    pub family: Option<Family>,
    /// What is asked.
    pub action: Action,
    /// Where.
    pub point: Point,
    /// Which locks were held.
    pub held: HeldAt,
}

/// A composite action that other threads can come between.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Composite {
    /// The rule.
    pub rule: Rule,
    /// The collection, atomic variable or field.
    pub object: LockExpr,
    /// The key, for maps.
    pub key: LockExpr,
    /// The question; the same as the act for an iteration.
    pub first: Point,
    /// The act.
    pub second: Point,
    /// How the answer matters for the act.
    pub link: Link,
    /// How sure it is, as far as the method itself goes.
    pub confidence: Confidence,
    /// Whether the act is done under a lock.
    pub locked: bool,
}

/// What a candidate is made of.
#[derive(Clone, Copy)]
struct Act {
    object: LockExpr,
    key: LockExpr,
    family: Option<Family>,
    action: Action,
    point: Point,
}

/// Follows questions and acts through one method.
pub struct Composites<'c> {
    /// The program.
    pub program: &'c Program,
    /// The call graph.
    pub calls: &'c Calls,
    /// What calls mean.
    pub roles: &'c Roles,
    /// What helper methods do.
    pub helpers: &'c Helpers,
    /// The code of the method.
    pub body: &'c Body,
    /// The method.
    pub method: MethodId,
    /// What was found.
    pub found: Vec<Composite>,
}

impl Composites<'_> {
    /// The effect of a call.
    pub fn call(
        &mut self,
        number: u32,
        event: &Event,
        site: SiteId,
        args: &[LockExpr],
        state: &mut State,
    ) {
        let point = Point { at: At::from(event), event: number, what: Use::Call(site) };
        if let (Some(&object), Some((family, action))) = (args.first(), self.role(site, args)) {
            let key = args.get(1).copied().unwrap_or(LockExpr::UNKNOWN);
            let act = Act { object, key, family: Some(family), action, point };
            self.apply(&act, state);
            return;
        }
        if let Some(&view) = args.first().filter(|_| self.roles.of(site) == Role::Open) {
            self.view(view, site, point, state);
        }
        self.helper_call(site, args, point, state);
    }

    /// The role of a call, with what is known about the object.
    fn role(&self, site: SiteId, args: &[LockExpr]) -> Option<(Family, Action)> {
        match self.roles.of(site) {
            Role::Call(family, action) => Some((family, action)),
            Role::Open => {
                let class = exact_class(self.program, args.first()?)?;
                let role = role_on(self.program, class, self.program.site_key(site));
                if let Role::Call(family, action) = role { Some((family, action)) } else { None }
            }
            Role::Other | Role::Sleep => None,
        }
    }

    /// The questions and acts in a method of the same class that is called, or in a lambda.
    fn helper_call(&mut self, site: SiteId, args: &[LockExpr], point: Point, state: &mut State) {
        let callees = self.calls.of(site);
        let single = callees.single().filter(|&m| self.program.are_nested(m, self.method));
        let helpers = self.helpers;
        if let Some(callee) = single {
            for helped in helpers.of(callee) {
                self.apply_translated(helped, args, point, state);
            }
        }
        for place in args.iter().filter(|p| p.len() == 0) {
            let Root::Lambda(pc) = place.root() else { continue };
            let Some(lambda) = self.body.lambda(pc) else { continue };
            let captured = self.body.places_from(lambda.args, lambda.captured.into());
            let behind = self.calls.of(lambda.site);
            for helped in behind.single().into_iter().flat_map(|m| helpers.of(m)) {
                if !helped.action.asks() {
                    self.apply_translated(helped, captured, point, state);
                }
            }
        }
    }

    fn apply_translated(
        &mut self,
        helped: &crate::helpers::Helped,
        args: &[LockExpr],
        point: Point,
        state: &mut State,
    ) {
        let object = helped.object.translate(args);
        let key = helped.key.translate(args);
        let (family, action) = (Some(helped.family), helped.action);
        self.apply(&Act { object, key, family, action, point }, state);
    }

    /// A view of a map that locks itself is iterated over.
    fn view(&mut self, view: LockExpr, site: SiteId, point: Point, state: &mut State) {
        let name = self.program.names.name(self.program.site_key(site).name.0);
        let (Root::Value(pc), 0, b"iterator") = (view.root(), view.len(), name) else { return };
        let Some((made_by, args)) = self.body.call_at(pc) else { return };
        let args = self.calls.args(self.body, made_by, args);
        let role = self.role(made_by, args);
        if let Some((of @ (Family::LockedMap | Family::Hashtable), Action::View)) = role {
            let (family, action) = (Some(of), Action::Iterate);
            let (object, key) = (args[0], LockExpr::UNKNOWN);
            self.apply(&Act { object, key, family, action, point }, state);
        }
    }

    /// A read of a field that other threads are meant to see.
    pub fn read(
        &mut self,
        number: u32,
        event: &Event,
        field: FieldId,
        place: LockExpr,
        state: &mut State,
    ) {
        if self.is_shared(field, place) {
            let point = Point { at: At::from(event), event: number, what: Use::Read(field) };
            let (key, family, action) = (LockExpr::UNKNOWN, None, Action::Value);
            self.apply(&Act { object: place, key, family, action, point }, state);
        }
    }

    /// An assignment of such a field.
    pub fn write(
        &mut self,
        number: u32,
        event: &Event,
        field: FieldId,
        place: LockExpr,
        state: &mut State,
    ) {
        if self.is_shared(field, place) {
            let point = Point { at: At::from(event), event: number, what: Use::Write(field) };
            let (key, family, action) = (LockExpr::UNKNOWN, None, Action::Assign);
            self.apply(&Act { object: place, key, family, action, point }, state);
        }
    }

    fn is_shared(&self, field: FieldId, place: LockExpr) -> bool {
        self.program.volatile.contains(&field) || place.root() == Root::Static(field)
    }

    fn apply(&mut self, act: &Act, state: &mut State) {
        if act.object.is_unknown() || state.is_private(act.object) || self.is_being_made(act.object)
        {
            return;
        }
        if act.action == Action::Iterate {
            self.iterate(act, state);
            return;
        }
        let candidates: Vec<Question> =
            state.questions.iter().copied().filter(|q| self.is_about(q, act)).collect();
        for question in candidates.iter().filter(|q| act.action.relies_on(q.action)) {
            if !self.is_protected(question, act, state) {
                self.note(question, act, state.frames.len() > 1);
            }
        }
        if act.action.asks() {
            state.questions.retain(|q| !candidates.contains(q) || q.action != act.action);
            let held = HeldAt::new(state);
            let Act { object, key, family, action, point } = *act;
            let key =
                if family.is_some_and(|f| action.has_key(f)) { key } else { LockExpr::UNKNOWN };
            state.ask(Question { object, key, family, action, point, held });
        } else if act.action != Action::View {
            state.questions.retain(|q| !candidates.contains(q));
        }
    }

    /// Whether an object is still under construction, so that no other thread can know it.
    fn is_being_made(&self, object: LockExpr) -> bool {
        match self.program.names.name(self.program.method(self.method).name.0) {
            b"<init>" => object.root() == Root::Param(0),
            b"<clinit>" => true,
            _ => false,
        }
    }

    /// Whether a question is about the same object, and the same key if it has one.
    fn is_about(&self, question: &Question, act: &Act) -> bool {
        let same_key = || {
            question.key.is_unknown()
                || (act.action == Action::Index)
                || self.same_value(question.key, act.key, 0)
        };
        question.object == act.object
            && question.family.is_some() == act.family.is_some()
            && same_key()
    }

    /// Whether two expressions give one value: the same place, or the same getter called twice.
    fn same_value(&self, a: LockExpr, b: LockExpr, depth: usize) -> bool {
        if a == b {
            return !a.is_unknown();
        }
        let (Root::Value(first), Root::Value(second)) = (a.root(), b.root()) else { return false };
        let steps = a.steps().eq(b.steps());
        let (Some(x), Some(y)) = (self.body.call_at(first), self.body.call_at(second)) else {
            return false;
        };
        let args = |call: (SiteId, u32)| self.calls.args(self.body, call.0, call.1);
        let mut pairs = args(x).iter().zip(args(y));
        steps
            && x.0 == y.0
            && depth < 3
            && self.is_getter(x.0)
            && pairs.all(|(&a, &b)| self.same_value(a, b, depth + 1))
    }

    /// Whether a method is likely to give the same again when it is called again.
    fn is_getter(&self, site: SiteId) -> bool {
        const GETTERS: [&[u8]; 9] =
            [b"get", b"is", b"to", b"name", b"key", b"id", b"valueOf", b"of", b"intern"];
        let name = self.program.names.name(self.program.site_key(site).name.0);
        GETTERS.iter().any(|g| name.starts_with(g))
    }

    /// A lock that is held from the question to the act protects both, if it can: a lock of this
    /// object says nothing about a collection that it was only given.
    fn is_protected(&self, question: &Question, act: &Act, state: &State) -> bool {
        let given = matches!(act.object.root(), Root::Param(1..)) && act.object.len() == 0;
        let locked = matches!(
            act.family,
            Some(
                Family::LockedMap
                    | Family::Hashtable
                    | Family::LockedSet
                    | Family::LockedList
                    | Family::Vector
            )
        );
        if given && locked { state.holds(act.object) } else { question.held.still(state) }
    }

    fn iterate(&mut self, act: &Act, state: &State) {
        let locked = state.frames.len() > 1;
        let vector = matches!(act.family, Some(Family::Vector | Family::Hashtable));
        if state.holds(act.object) || (locked && vector) {
            return;
        }
        let confidence = match (locked, vector) {
            (true, _) => Confidence::Low,
            (false, true) => Confidence::Medium,
            (false, false) => Confidence::High,
        };
        self.add(Composite {
            rule: Rule::CollectionIteration,
            object: act.object,
            key: LockExpr::UNKNOWN,
            first: act.point,
            second: act.point,
            link: Link::None,
            confidence,
            locked,
        });
    }

    fn note(&mut self, question: &Question, act: &Act, locked: bool) {
        let rule = match act.family {
            None => Rule::VolatileUpdate,
            Some(Family::ConcurrentMap) => Rule::MapCheckThenAct,
            Some(Family::Atomic) => Rule::AtomicCheckThenAct,
            Some(_) => Rule::CollectionCheckThenAct,
        };
        let confidence = match (act.family, act.action) {
            (Some(Family::Vector | Family::Hashtable), _) => Confidence::Medium,
            (Some(Family::Set | Family::LockedSet), Action::Put | Action::Remove) => {
                Confidence::Medium
            }
            _ => Confidence::High,
        };
        let (object, key, first, second) = (act.object, act.key, question.point, act.point);
        let link = Link::None;
        self.add(Composite { rule, object, key, first, second, link, confidence, locked });
    }

    fn add(&mut self, new: Composite) {
        let same = |c: &Composite| (c.rule, c.first, c.second) == (new.rule, new.first, new.second);
        if !self.found.iter().any(same) {
            self.found.push(new);
        }
    }

    /// Decides which candidates are findings: those where the answer matters.
    pub fn judge(mut self) -> Vec<Composite> {
        let links = Links { body: self.body, calls: self.calls };
        let mut found = std::mem::take(&mut self.found);
        found.retain_mut(|c| self.is_finding(&links, c));
        found.extend(self.ignored_results(&links));
        found.sort_by_key(|c| (c.second.event, c.first.event, c.rule));
        found
    }

    fn is_finding(&self, links: &Links<'_>, found: &mut Composite) -> bool {
        if found.rule == Rule::CollectionIteration {
            return true;
        }
        let Some(answer) = self.result(found.first) else { return false };
        let values = links.computed_from(&[answer]);
        let decides = links.is_decided(&values, found.second.event);
        let feeds = links.is_passed(&values, found.second.event);
        found.link = match (decides, feeds) {
            (true, _) => Link::Decides,
            (false, true) => Link::Feeds,
            (false, false) => return false,
        };
        match found.second.what {
            Use::Write(field) => self.is_field_finding(links, field, feeds, found),
            Use::Read(_) => false,
            Use::Call(site) => self.is_call_finding(links, site, feeds, found),
        }
    }

    /// `x = f(x)` on a volatile field, or a field that is set when it was found to be unset. Flags
    /// that are tested and then set are mostly set by one thread only: they are unsure.
    fn is_field_finding(
        &self,
        links: &Links<'_>,
        field: FieldId,
        feeds: bool,
        found: &mut Composite,
    ) -> bool {
        let name = self.program.names.name(self.program.fields[field.0 as usize].name.0);
        // Compilers cache class objects and call sites in fields like these.
        if name.contains(&b'$') || name.starts_with(b"__") {
            return false;
        }
        let Some(answer) = self.result(found.first) else { return false };
        let unset = links.is_tested_alone(answer, found.second.event);
        let volatile = self.program.volatile.contains(&field);
        let Op::SetField { place, .. } = self.body.events[found.second.event as usize].op else {
            return false;
        };
        let refers = self.body.types.get(place as usize).copied().flatten().is_some();
        let (rule, confidence) = match (volatile, feeds) {
            (true, true) if !unset => (Rule::VolatileUpdate, Confidence::High),
            (false, true) if !unset => return false,
            _ if refers && unset && found.locked && !feeds => (Rule::LazyInit, Confidence::High),
            _ if refers && unset => (Rule::LazyInit, Confidence::Medium),
            (true, _) => (Rule::VolatileUpdate, Confidence::Low),
            (false, _) => return false,
        };
        (found.rule, found.confidence) = (rule, confidence);
        true
    }

    /// An act whose result is tested is safe, if the result says that the answer was too old.
    fn is_call_finding(
        &self,
        links: &Links<'_>,
        site: SiteId,
        feeds: bool,
        found: &mut Composite,
    ) -> bool {
        let Some((_, args)) = self.body.events[found.second.event as usize].call() else {
            return false;
        };
        let args = self.calls.args(self.body, site, args);
        let Some((_, action)) = self.role(site, args).filter(|r| r.1.says_so()) else {
            return true;
        };
        let Some(result) = self.result(found.second) else { return true };
        if action == Action::Update && feeds && found.link == Link::Feeds {
            return true;
        }
        let values = links.computed_from(&[result]);
        let tested = links.any_decision(&values);
        let used = self.is_used(result);
        if action == Action::Update {
            return !tested && !self.body.returned.contains(&result);
        }
        if !self.is_receiver(result) {
            found.confidence = found.confidence.min(Confidence::Medium);
        }
        !tested && used
    }

    /// Whether something is called on a value.
    fn is_receiver(&self, value: Origin) -> bool {
        self.body.events.iter().filter_map(Event::call).any(|(site, args)| {
            let receiver = self.program.site_key(site).kind != crate::body::CallKind::Static;
            receiver && self.body.origins.get(args as usize) == Some(&value)
        })
    }

    fn is_used(&self, value: Origin) -> bool {
        self.body.sources.iter().any(|s| s.1 == value)
            || self.body.decisions.iter().any(|d| d.1 == value)
            || self.body.returned.contains(&value)
            || self.body.origins.contains(&value)
    }

    /// The value that a question or act gives.
    fn result(&self, point: Point) -> Option<Origin> {
        let event = &self.body.events[point.event as usize];
        if let Op::GetField { place, .. } = event.op {
            return Some(self.body.origins[place as usize]);
        }
        event.call().map(|_| Origin::new(Root::Value(point.at.pc.into())))
    }

    /// `putIfAbsent` whose result is dropped, although the value that was offered is used.
    fn ignored_results(&self, links: &Links<'_>) -> Vec<Composite> {
        let mut found = Vec::new();
        for (number, event) in self.body.events.iter().enumerate() {
            let Op::Call { site, args: first } = event.op else { continue };
            let args = self.calls.args(self.body, site, first);
            let role = self.role(site, args);
            if role != Some((Family::ConcurrentMap, Action::PutIfAbsent)) || args.len() < 3 {
                continue;
            }
            let offered = self.body.origins[first as usize + 2];
            let dropped = !self.is_used(Origin::new(Root::Value(event.pc.into())));
            let made = matches!(offered.get(), Root::New(_) | Root::Value(_));
            let used = dropped && made && self.is_used_after(links, offered, number);
            if used && !self.is_asked_again(links, args, number) {
                let what = Use::Call(site);
                let point = Point { at: At::from(event), event: number as u32, what };
                let fresh = matches!(offered.get(), Root::New(_));
                found.push(Composite {
                    rule: Rule::IgnoredPutIfAbsent,
                    object: args[0],
                    key: args[1],
                    first: point,
                    second: point,
                    link: Link::Feeds,
                    confidence: if fresh { Confidence::High } else { Confidence::Medium },
                    locked: false,
                });
            }
        }
        found
    }

    /// Whether the map is asked about the same key after an event: what counts is its answer then.
    fn is_asked_again(&self, links: &Links<'_>, map: &[LockExpr], event: usize) -> bool {
        let block = self.body.block_of(event as u32);
        let mut later = self.body.events.iter().enumerate().skip(event + 1);
        later.any(|(i, e)| {
            let Some((site, first)) = e.call() else { return false };
            let args = self.calls.args(self.body, site, first);
            self.role(site, args).is_some_and(|role| role.1 == Action::Get)
                && args.first() == map.first()
                && args.get(1).zip(map.get(1)).is_some_and(|(&a, &b)| self.same_value(a, b, 0))
                && links.can_reach(block, self.body.block_of(i as u32), u32::MAX)
        })
    }

    /// Whether a value is returned or passed on after an event.
    fn is_used_after(&self, links: &Links<'_>, value: Origin, event: usize) -> bool {
        let block = self.body.block_of(event as u32);
        let later = |i: usize| {
            let other = self.body.block_of(i as u32);
            (other == block && i > event)
                || (other != block && links.can_reach(block, other, u32::MAX))
        };
        let passed = |i: usize, e: &Event| {
            let Some((site, args)) = e.call() else { return false };
            let count = usize::from(self.calls.of(site).args);
            later(i) && self.body.origins_from(args, count).contains(&value)
        };
        let through_phi = self
            .body
            .sources
            .iter()
            .filter(|s| s.1 == value)
            .any(|s| matches!(s.0.get(), Root::Phi(_)) && self.body.returned.contains(&s.0));
        through_phi
            || self.body.returned.contains(&value)
            || self.body.events.iter().enumerate().any(|(i, e)| passed(i, e))
    }
}
