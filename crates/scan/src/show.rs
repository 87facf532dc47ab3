//! Numbers back into text: locks as expressions, places in the source, chains of calls.

use crate::body::{Body, CallKind};
use crate::expr::{FieldId, LockExpr, Origin, Root, Selector};
use crate::finding::Site;
use crate::held::{At, LocksHeld, Taking};
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
    /// A position in a method.
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
        while let Some(next) = via {
            method = next.callee;
            let Some(below) = self.held.below(&next) else { break };
            sites.push(self.site(method, below.at));
            via = below.via.filter(|_| sites.len() < DEPTH);
        }
        (sites, method)
    }

    /// The class that takes a lock.
    pub fn class(&self, method: MethodId) -> String {
        self.program.text(self.program.class_of(method).name).into_owned()
    }

    /// A lock as an expression in a method.
    pub fn expression(&self, method: MethodId, place: LockExpr) -> String {
        let mut text = self.root(method, place.root());
        for step in place.steps() {
            text = match step {
                Selector::Field(field) => format!("{text}.{}", self.field(field)),
                Selector::Element(index) => format!("{text}[{}]", self.root(method, index)),
                Selector::Invoke => format!("{text}()"),
            };
        }
        text
    }

    fn field(&self, field: FieldId) -> std::borrow::Cow<'_, str> {
        self.program.text(self.program.fields[field.0 as usize].name)
    }

    fn body(&self, method: MethodId) -> Option<&Body> {
        self.program.method(method).body.as_deref()
    }

    /// A root by the name of its variable, if the compiler kept it.
    fn root(&self, method: MethodId, root: Root) -> String {
        let is_static = self.program.method(method).is_static;
        let variable = self.body(method).and_then(|b| b.variable(Origin::new(root)));
        let variable = variable.map(|name| self.program.text(name).into_owned());
        match root {
            Root::Unknown => "an unknown lock".to_owned(),
            Root::Param(0) if !is_static => "this".to_owned(),
            Root::Param(n) => {
                variable.unwrap_or_else(|| format!("arg{}", n + u32::from(is_static)))
            }
            Root::Value(pc) | Root::New(pc) | Root::Lambda(pc) => {
                variable.unwrap_or_else(|| self.value(method, pc, root))
            }
            Root::Phi(_) => variable.unwrap_or_else(|| self.local(method, root)),
            Root::Static(field) => {
                let class = self.program.fields[field.0 as usize].class;
                format!("{}.{}", simple(&self.program.text(class)), self.field(field))
            }
            Root::Class(name) => format!("{}.class", simple(&self.program.text(name))),
            Root::Int(n) => n.to_string(),
            Root::Text(name) => format!("\"{}\"", self.program.text(name)),
        }
    }

    /// A variable without a name is named after its class.
    fn local(&self, method: MethodId, root: Root) -> String {
        let place = LockExpr::root_only(root);
        let class = self.body(method).and_then(|body| {
            let known = body.places.iter().zip(&body.types).filter(|(p, _)| **p == place);
            known.into_iter().find_map(|(_, class)| *class)
        });
        match class {
            Some(class) => format!("a local {}", simple(&self.program.text(class))),
            None => "a local variable".to_owned(),
        }
    }

    /// A value without a variable is named after the call that gave it.
    fn value(&self, method: MethodId, pc: u32, root: Root) -> String {
        let call = self.body(method).and_then(|body| Some((body, body.call_at(pc)?)));
        let Some((body, (site, args))) = call else {
            let fresh = matches!(root, Root::New(_));
            return if fresh { "a new object" } else { "a local value" }.to_owned();
        };
        let key = self.program.site_key(site);
        let name = self.program.text(key.name);
        let passed =
            if self.program.names.name(key.desc.0).starts_with(b"()") { "" } else { "…" };
        if name == "<init>" {
            return format!("new {}({passed})", simple(&self.program.text(key.class)));
        }
        let receiver = body.places.get(args as usize).filter(|_| key.kind != CallKind::Static);
        match receiver.filter(|p| p.root() != root && !matches!(p.root(), Root::Value(_))) {
            Some(receiver) => {
                format!("{}.{name}({passed})", self.expression(method, *receiver))
            }
            None => format!("{name}({passed})"),
        }
    }
}

/// The name of a class without its package.
fn simple(class: &str) -> &str {
    class.rsplit('/').next().unwrap_or(class)
}
