//! Helper methods: the only question or act of a composite action may stand in a method of the same
//! class, `if (!has(key)) add(key)`.
//!
//! A method is a helper when it asks or changes an object that its callers know too, and does not
//! do both by itself. A question counts when its answer is returned.

use rayon::prelude::*;

use crate::body::{Event, Op};
use crate::calls::Calls;
use crate::expr::{LockExpr, Origin, Root};
use crate::link::Links;
use crate::program::{MethodId, Program};
use crate::roles::{Action, Family, Role, Roles, role_on};
use crate::settle::exact_class;

/// What a helper does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Helped {
    /// The object, in terms of the helper's parameters.
    pub object: LockExpr,
    /// The key, in the same terms.
    pub key: LockExpr,
    /// The kind of object.
    pub family: Family,
    /// What is done.
    pub action: Action,
}

/// What the helpers of a program do.
pub struct Helpers(Vec<Box<[Helped]>>);

/// A method with more events than this is no helper: what it does is a matter of its own.
const SIZE: usize = 24;

impl Helpers {
    /// Of a program.
    pub fn new(program: &Program, calls: &Calls, roles: &Roles) -> Helpers {
        let methods = (0..program.methods.len() as u32).into_par_iter();
        Helpers(methods.map(|m| helped(program, calls, roles, MethodId(m))).collect())
    }

    /// What a method does as a helper.
    pub fn of(&self, method: MethodId) -> &[Helped] {
        &self.0[method.0 as usize]
    }
}

fn helped(program: &Program, calls: &Calls, roles: &Roles, method: MethodId) -> Box<[Helped]> {
    let Some(body) = &program.method(method).body else { return Box::default() };
    if body.events.len() > SIZE {
        return Box::default();
    }
    let links = Links { body, calls };
    let mut found: Vec<Helped> = Vec::new();
    for event in &body.events {
        let Some((helped, result)) = of_event(program, calls, roles, body, event) else { continue };
        let handed_out = || {
            let values = links.computed_from(&[result]);
            body.returned.iter().any(|r| values.contains(r))
                || (links.any_decision(&values) && returns_truth(program, method))
        };
        if !helped.action.asks() || handed_out() {
            found.push(helped);
        }
    }
    let asks = found.iter().any(|h| h.action.asks());
    let acts = found.iter().any(|h| !h.action.asks());
    if asks && acts { Box::default() } else { found.into() }
}

fn returns_truth(program: &Program, method: MethodId) -> bool {
    program.names.name(program.method(method).desc.0).ends_with(b")Z")
}

fn of_event(
    program: &Program,
    calls: &Calls,
    roles: &Roles,
    body: &crate::body::Body,
    event: &Event,
) -> Option<(Helped, Origin)> {
    let Op::Call { site, args } = event.op else { return None };
    let mut role = roles.of(site);
    if role == Role::Open {
        let class = exact_class(program, body.places.get(args as usize)?)?;
        role = role_on(program, class, program.site_key(site));
    }
    let Role::Call(family, action) = role else { return None };
    let relevant = !matches!(action, Action::View | Action::Iterate | Action::Index);
    let args = calls.args(body, site, args);
    let object = args.first().copied().filter(|p| relevant && p.is_visible_outside())?;
    let key = args.get(1).copied().unwrap_or(LockExpr::UNKNOWN);
    let result = Origin::new(Root::Value(event.pc.into()));
    Some((Helped { object, key, family, action }, result))
}
