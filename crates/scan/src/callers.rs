//! Whether a lock is held around all calls of a method.
//!
//! A method that is only called with a lock held needs none of its own: what looks like a broken
//! composite action in it may well be whole. Public and protected methods may be called by code
//! that was not read.

use crate::calls::Calls;
use crate::facts::Facts;
use crate::program::{MethodId, Program};

/// Such methods that call each other are followed this far.
const DEPTH: usize = 4;

/// What is asked about callers.
#[derive(Clone, Copy)]
pub struct Callers<'c> {
    /// The program.
    pub program: &'c Program,
    /// The call graph.
    pub calls: &'c Calls,
    /// The facts of all methods.
    pub facts: &'c [Option<Box<Facts>>],
}

impl Callers<'_> {
    /// Whether the method is neither public nor protected and all of its callers hold a lock.
    pub fn all_hold_a_lock(&self, method: MethodId) -> bool {
        self.all_hold(method, DEPTH)
    }

    fn all_hold(&self, method: MethodId, depth: usize) -> bool {
        let sites = self.calls.sites_of.get(method.0);
        let callers = sites.iter().flat_map(|site| self.calls.callers.get(site.0));
        let mut callers = callers.peekable();
        !self.program.method(method).is_public
            && depth > 0
            && callers.peek().is_some()
            && callers.all(|&caller| self.holds(caller, method, depth))
    }

    /// Whether a caller holds a lock at each of its calls of the method. The caller of a lambda is
    /// not known.
    fn holds(&self, caller: MethodId, method: MethodId, depth: usize) -> bool {
        let Some(body) = &self.program.method(caller).body else { return false };
        let calls_it = |site| self.calls.of(site).targets.contains(&method);
        let facts = self.facts[caller.0 as usize].as_deref();
        let locked = |event: usize| facts.is_some_and(|f| !f.held_at(event as u32).is_empty());
        let events = body.events.iter().enumerate();
        let calls = events.filter(|(_, e)| e.call().is_some_and(|(site, _)| calls_it(site)));
        let mut calls = calls.map(|(i, _)| i);
        !body.lambdas.iter().any(|l| calls_it(l.site))
            && (calls.all(locked) || self.all_hold(caller, depth - 1))
    }
}
