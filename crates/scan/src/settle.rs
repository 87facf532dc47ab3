//! What can only be known when all classes are there: which field an access means, and the class
//! of the objects behind fields that are always set to the same kind of object.

use rayon::prelude::*;

use crate::body::{CallKind, Op, SiteKey};
use crate::expr::{FieldId, LockExpr, Name, Root, Selector};
use crate::hierarchy::Hierarchy;
use crate::program::{FieldClass, Method, MethodId, Program, join_classes};

/// Makes every field number that of the declaration, and call sites as exact as the fields allow.
pub fn settle(program: &mut Program, hierarchy: &Hierarchy) {
    see_returned(program, hierarchy);
    let count = program.fields.len() as u32;
    let shared = &*program;
    let declared: Vec<FieldId> =
        (0..count).into_par_iter().map(|f| hierarchy.declaring_field(shared, FieldId(f))).collect();
    for (field, &to) in declared.iter().enumerate() {
        if to.0 as usize != field {
            let class = program.field_classes[field];
            let known = &mut program.field_classes[to.0 as usize];
            *known = join_classes(*known, class);
            program.field_stores[to.0 as usize] += program.field_stores[field];
        }
    }
    program.methods.par_iter_mut().for_each(|m| use_declared(m, &declared));
    refine(program);
}

/// Stores of what a factory returns: if it always makes objects of one class, the field gets such.
fn see_returned(program: &mut Program, hierarchy: &Hierarchy) {
    for (field, site) in std::mem::take(&mut program.returned_stores) {
        let key = *program.site_key(site);
        let fixed = key.exact || matches!(key.kind, CallKind::Special | CallKind::Static);
        let made = hierarchy.resolved(program, &key).filter(|_| fixed);
        let class = made.and_then(|m| program.method(m).returns_class);
        let seen = &mut program.field_classes[field.0 as usize];
        *seen = join_classes(*seen, class.map_or(FieldClass::Any, FieldClass::Exact));
    }
}

fn use_declared(method: &mut Method, declared: &[FieldId]) {
    let field = |f: FieldId| declared[f.0 as usize];
    let place = |p: LockExpr| p.renumber(field, |n| n);
    method.returns = method.returns.map(place);
    for (captured, value) in method.captures.iter_mut().chain(&mut method.fills) {
        (*captured, *value) = (field(*captured), place(*value));
    }
    method.sets.iter_mut().for_each(|f| *f = field(*f));
    let Some(body) = &mut method.body else { return };
    for known in &mut body.places {
        *known = place(*known);
    }
    for event in &mut body.events {
        if let Op::GetField { field: f, .. } | Op::SetField { field: f, .. } = &mut event.op {
            *f = field(*f);
        }
    }
}

/// Gives calls on fields with a known class a site of their own.
fn refine(program: &mut Program) {
    let shared = &*program;
    let methods = (0..program.methods.len() as u32).into_par_iter();
    let wanted: Vec<(MethodId, usize, SiteKey)> =
        methods.flat_map_iter(|m| better_sites(shared, MethodId(m))).collect();
    for (method, event, key) in wanted {
        let better = program.site(key);
        let Some(body) = &mut program.methods[method.0 as usize].body else { continue };
        if let Op::Call { site, .. } = &mut body.events[event].op {
            *site = better;
        }
    }
}

fn better_sites(program: &Program, id: MethodId) -> Vec<(MethodId, usize, SiteKey)> {
    let Some(body) = &program.method(id).body else { return Vec::new() };
    let better = |(i, event): (usize, &crate::body::Event)| {
        let Op::Call { site, args } = event.op else { return None };
        let key = program.site_key(site);
        let by_class = !key.exact && matches!(key.kind, CallKind::Virtual | CallKind::Interface);
        let class = by_class.then(|| exact_class(program, &body.place(args))).flatten()?;
        Some((id, i, SiteKey { kind: CallKind::Virtual, exact: true, class, ..*key }))
    };
    body.events.iter().enumerate().filter_map(better).collect()
}

/// The class of the objects at a place that ends with a field, if there is but one.
pub fn exact_class(program: &Program, place: &LockExpr) -> Option<Name> {
    let field = match (place.steps().last(), place.root()) {
        (Some(Selector::Field(field)), _) | (None, Root::Static(field)) => field,
        _other => return None,
    };
    match program.field_classes[field.0 as usize] {
        FieldClass::Exact(class) => Some(class),
        FieldClass::Unseen | FieldClass::Any => None,
    }
}
