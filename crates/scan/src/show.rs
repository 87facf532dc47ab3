//! Numbers back into text: locks as expressions, places in the source, chains of calls.

use crate::finding::Site;
use crate::held::{At, LocksHeld, Taking};
use crate::place::{FieldId, Place, Root, Step};
use crate::program::{MethodId, Program};

/// Chains of calls are shown down to this depth.
const DEPTH: usize = 12;

/// Writes things of a program as text.
pub struct Show<'s> {
    /// The program.
    pub program: &'s Program,
    /// Where locks are taken.
    pub held: &'s LocksHeld,
}

impl Show<'_> {
    /// A place in a method.
    pub fn site(&self, method: MethodId, at: At) -> Site {
        let class = self.program.class_of(method);
        let name = self.program.text(class.name);
        let folder = name.rfind('/').map_or("", |i| &name[..=i]);
        let file = class.source.map(|s| format!("{folder}{}", self.program.text(s)));
        let line = (at.line > 0).then_some(u32::from(at.line));
        Site { method: self.program.show_method(method), file, line }
    }

    /// The calls from a method down to where a lock is really taken, and that last method.
    pub fn chain(&self, method: MethodId, taking: &Taking) -> (Vec<Site>, MethodId) {
        let mut sites = vec![self.site(method, taking.at)];
        let (mut method, mut via) = (method, taking.via);
        while let Some((callee, lock)) = via {
            method = callee;
            let Some(below) = self.held.taking(callee, lock) else { break };
            sites.push(self.site(callee, below.at));
            via = below.via.filter(|_| sites.len() < DEPTH);
        }
        (sites, method)
    }

    /// The class that takes a lock.
    pub fn class(&self, method: MethodId) -> String {
        self.program.text(self.program.class_of(method).name).into_owned()
    }

    /// A lock as an expression in a method.
    pub fn expression(&self, method: MethodId, place: Place) -> String {
        let mut text = self.root(method, place.root());
        for step in place.steps() {
            text = match step {
                Step::Field(field) => format!("{text}.{}", self.field(field)),
                Step::Element(index) => format!("{text}[{}]", self.root(method, index)),
                Step::Invoke => format!("{text}()"),
            };
        }
        text
    }

    fn field(&self, field: FieldId) -> std::borrow::Cow<'_, str> {
        self.program.text(self.program.fields[field.0 as usize].name)
    }

    fn root(&self, method: MethodId, root: Root) -> String {
        let is_static = self.program.method(method).is_static;
        match root {
            Root::Unknown => "an unknown lock".to_owned(),
            Root::Param(0) if !is_static => "this".to_owned(),
            Root::Param(n) => format!("arg{}", n + u32::from(is_static)),
            Root::Value(pc) | Root::New(pc) | Root::Lambda(pc) => self.value(method, pc, root),
            Root::Phi(_) => "a local variable".to_owned(),
            Root::Static(field) => {
                let class = self.program.fields[field.0 as usize].class;
                format!("{}.{}", dotted(&self.program.text(class)), self.field(field))
            }
            Root::Class(name) => format!("{}.class", dotted(&self.program.text(name))),
            Root::Int(n) => n.to_string(),
            Root::Text(name) => format!("\"{}\"", self.program.text(name)),
        }
    }

    /// A value is named after the call that gave it.
    fn value(&self, method: MethodId, pc: u32, root: Root) -> String {
        let events = self.program.method(method).body.iter().flat_map(|b| &b.events);
        let call = events.filter(|e| u32::from(e.pc) == pc).find_map(|e| e.call());
        let call = call.map(|(site, _)| self.program.text(self.program.site_key(site).name));
        match (call, root) {
            (Some(name), _) => format!("{name}(…)"),
            (None, Root::New(_)) => "a new object".to_owned(),
            (None, _) => "a local value".to_owned(),
        }
    }
}

fn dotted(class: &str) -> String {
    class.replace('/', ".")
}
