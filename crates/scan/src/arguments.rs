//! Synchronized methods of collections that use another collection step by step.
//!
//! The paper's own errors are of this kind: `addAll` of a synchronized collection takes a collection
//! as its argument and does not lock it. Which lock it would have to hold depends on the object that
//! is passed, so that the general analysis gives it a small share. For classes that are collections
//! themselves the pattern is worth a rule of its own.

use crate::body::{Body, CallKind, Event, Op};
use crate::calls::Calls;
use crate::expr::{LockExpr, Name, Root};
use crate::held::At;
use crate::program::{MethodId, Program};

/// Helper methods that the argument is passed to are followed this far.
const DEPTH: usize = 2;

/// A synchronized method that uses the collection it was given more than once.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    /// The method.
    pub method: MethodId,
    /// The argument.
    pub object: LockExpr,
    /// The first use.
    pub first: At,
    /// The last use, or the loop.
    pub second: At,
}

/// All such methods of a program.
pub fn arguments(program: &Program, calls: &Calls) -> Vec<Argument> {
    let methods = (0..program.methods.len() as u32).map(MethodId);
    let of_collections = methods.filter(|&m| {
        let method = program.method(m);
        let locks =
            method.synchronized || method.body.as_ref().is_some_and(|b| !b.lambdas.is_empty());
        locks && !method.is_static && is_collection(program, program.class_of(m).name)
    });
    of_collections.flat_map(|m| of_method(program, calls, m)).collect()
}

/// Whether a class is a collection or map, by the names above it.
fn is_collection(program: &Program, class: Name) -> bool {
    let mut work = vec![class];
    for _ in 0..64 {
        let Some(class) = work.pop() else { return false };
        let text = program.names.name(class.0);
        let kinds: [&[u8]; 6] = [b"Collection", b"List", b"Set", b"Map", b"Vector", b"Hashtable"];
        if text.starts_with(b"java/util/") && kinds.iter().any(|kind| text.ends_with(kind)) {
            return true;
        }
        if let Some(id) = program.by_name.get(&class) {
            let class = &program.classes[id.0 as usize];
            work.extend(class.interfaces.iter().chain(&class.parent));
        }
    }
    false
}

fn of_method(program: &Program, calls: &Calls, method: MethodId) -> Vec<Argument> {
    let Some(body) = &program.method(method).body else { return Vec::new() };
    let parameters = crate::bytecode::parameters(program.names.name(program.method(method).desc.0));
    let numbers = 1..=parameters.0.len() as u32;
    let found = numbers.filter_map(|n| {
        let (first, second) = match program.method(method).synchronized {
            true => walked(program, calls, body, n, 0)?,
            false => handed_on(program, calls, body, n)?,
        };
        Some(Argument { method, object: LockExpr::param(n), first, second })
    });
    found.collect()
}

/// The first and last use of a parameter that is a collection, if it is used step by step.
fn walked(
    program: &Program,
    calls: &Calls,
    body: &Body,
    param: u32,
    depth: usize,
) -> Option<(At, At)> {
    let object = LockExpr::param(param);
    let mut uses: Vec<(At, bool)> = Vec::new();
    for event in &body.events {
        let Some((site, args)) = event.call() else { continue };
        let key = program.site_key(site);
        let passed = calls.args(body, site, args);
        let on_it = key.kind != CallKind::Static && passed.first() == Some(&object);
        if on_it && is_interface(program.names.name(key.class.0)) {
            uses.push((At::from(event), walks(program.names.name(key.name.0))));
        } else if depth < DEPTH && passed_walks(program, calls, event, &object, depth, body) {
            uses.push((At::from(event), true));
        }
    }
    let captured = body
        .lambdas
        .iter()
        .filter(|l| body.places_from(l.args, l.captured.into()).contains(&object));
    for lambda in captured {
        let below = calls.of(lambda.site).single().and_then(|m| program.method(m).body.as_ref());
        let at = body.events.iter().find(|e| e.pc >= lambda.pc).map(At::from);
        uses.extend(at.filter(|_| below.is_some()).map(|at| (at, true)));
    }
    let walk = uses.iter().find(|u| u.1);
    match (walk, uses.first(), uses.last()) {
        (Some(walk), Some(first), _) => Some((first.0, walk.0)),
        (None, Some(first), Some(last)) if uses.len() > 1 => Some((first.0, last.0)),
        _ => None,
    }
}

/// The call that hands a parameter, caught in a lambda, to a synchronized method of the same object.
fn handed_on(program: &Program, calls: &Calls, body: &Body, param: u32) -> Option<(At, At)> {
    let object = LockExpr::param(param);
    let captures = |place: &LockExpr| {
        let Root::Lambda(pc) = place.root() else { return false };
        let lambda = body.lambda(pc);
        lambda.is_some_and(|l| body.places_from(l.args, l.captured.into()).contains(&object))
    };
    let hands_on = body.events.iter().find(|event| {
        let Some((site, args)) = event.call() else { return false };
        let callee = calls.of(site).single();
        let passed = calls.args(body, site, args);
        callee.is_some_and(|m| program.method(m).synchronized)
            && passed.first() == Some(&LockExpr::param(0))
            && passed.iter().any(captures)
    });
    hands_on.map(|event| (At::from(event), At::from(event)))
}

fn passed_walks(
    program: &Program,
    calls: &Calls,
    event: &Event,
    object: &LockExpr,
    depth: usize,
    body: &Body,
) -> bool {
    let Op::Call { site, args } = event.op else { return false };
    let callees = calls.of(site);
    let number = calls.args(body, site, args).iter().skip(1).position(|p| p == object);
    let (Some(number), Some(callee)) = (number, callees.single()) else {
        return false;
    };
    let Some(below) = &program.method(callee).body else { return false };
    let number = number as u32 + 1;
    matches!(object.root(), Root::Param(_))
        && walked(program, calls, below, number, depth + 1).is_some()
}

fn is_interface(class: &[u8]) -> bool {
    const KNOWN: [&[u8]; 6] = [b"Collection", b"List", b"Set", b"Map", b"Vector", b"Hashtable"];
    class.strip_prefix(b"java/util/").is_some_and(|c| KNOWN.contains(&c))
}

/// Calls that go through a collection one by one.
fn walks(name: &[u8]) -> bool {
    matches!(
        name,
        b"iterator" | b"listIterator" | b"entrySet" | b"keySet" | b"values" | b"elements"
    )
}
