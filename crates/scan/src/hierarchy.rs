//! Which class extends which: method lookup, overriding methods, and which classes can have objects.

use rayon::prelude::*;

use crate::body::{CallKind, FieldKey, SiteKey};
use crate::expr::{FieldId, Name};
use crate::program::{ClassId, MethodId, Program};

/// The classes above and below each class.
pub struct Hierarchy {
    parents: Vec<Option<ClassId>>,
    interfaces: Vec<Box<[ClassId]>>,
    children: Vec<Vec<ClassId>>,
    /// Whether the class or something below it can have objects.
    live: Vec<bool>,
    /// The methods of each class by name and descriptor, sorted.
    methods: Vec<Box<[(Name, Name, MethodId)]>>,
}

impl Hierarchy {
    /// Of all classes of a program.
    pub fn new(program: &Program) -> Hierarchy {
        let find = |name: &Name| program.by_name.get(name).copied();
        let classes = &program.classes;
        let parents: Vec<_> = classes.iter().map(|c| c.parent.as_ref().and_then(find)).collect();
        let interfaces: Vec<Box<[ClassId]>> =
            classes.iter().map(|c| c.interfaces.iter().filter_map(find).collect()).collect();
        let mut children = vec![Vec::new(); classes.len()];
        for i in 0..classes.len() {
            for above in parents[i].iter().chain(&interfaces[i]) {
                children[above.0 as usize].push(ClassId(i as u32));
            }
        }
        let methods =
            classes.par_iter().map(|c| method_table(program, c.methods.clone())).collect();
        let live = live(program, &parents, &interfaces);
        Hierarchy { parents, interfaces, children, live, methods }
    }

    fn declared(&self, class: ClassId, name: Name, desc: Name) -> Option<MethodId> {
        let table = &self.methods[class.0 as usize];
        table.binary_search_by_key(&(name, desc), |m| (m.0, m.1)).ok().map(|i| table[i].2)
    }

    /// The classes from this one up to the root.
    fn chain(&self, class: ClassId) -> impl Iterator<Item = ClassId> + '_ {
        // A damaged input may have a cycle; no real hierarchy is this deep.
        std::iter::successors(Some(class), |c| self.parents[c.0 as usize]).take(1000)
    }

    /// The method that a call on an object of this very class runs.
    pub fn lookup(
        &self,
        program: &Program,
        class: ClassId,
        name: Name,
        desc: Name,
    ) -> Option<MethodId> {
        let inherited = self.chain(class).find_map(|c| self.declared(c, name, desc));
        inherited.or_else(|| self.default_method(program, class, name, desc))
    }

    fn default_method(
        &self,
        program: &Program,
        class: ClassId,
        name: Name,
        desc: Name,
    ) -> Option<MethodId> {
        let mut work: Vec<ClassId> =
            self.chain(class).flat_map(|c| self.interfaces[c.0 as usize].iter().copied()).collect();
        let mut seen = work.len();
        while let Some(interface) = work.pop() {
            let declared = self.declared(interface, name, desc);
            if let Some(method) = declared.filter(|&m| !program.method(m).is_abstract) {
                return Some(method);
            }
            seen += 1;
            if seen < 10_000 {
                work.extend(&self.interfaces[interface.0 as usize]);
            }
        }
        None
    }

    /// The field that an access means: declared in the class it names, or above.
    pub fn declaring_field(&self, program: &Program, field: FieldId) -> FieldId {
        let key = program.fields[field.0 as usize];
        let Some(&class) = program.by_name.get(&key.class) else { return field };
        let inherited = self.chain(class).chain(self.above(class)).find_map(|c| {
            let key = FieldKey { class: program.classes[c.0 as usize].name, name: key.name };
            program.find_field(key).filter(|f| program.declared.contains(f))
        });
        inherited.unwrap_or(field)
    }

    fn above(&self, class: ClassId) -> impl Iterator<Item = ClassId> + '_ {
        self.chain(class).flat_map(|c| self.interfaces[c.0 as usize].iter().copied())
    }

    /// The method found by looking up from the class that the site names.
    pub fn resolved(&self, program: &Program, site: &SiteKey) -> Option<MethodId> {
        let class = *program.by_name.get(&site.class)?;
        self.lookup(program, class, site.name, site.desc)
    }

    /// Every method that a site may call (CALLEES), in order. `seen` is scratch space with a mark
    /// for each class.
    pub fn targets(&self, program: &Program, site: &SiteKey, seen: &mut Marks) -> Vec<MethodId> {
        let resolved = self.resolved(program, site);
        let fixed = site.exact || matches!(site.kind, CallKind::Special | CallKind::Static);
        if fixed || program.by_name.get(&site.class).is_none() {
            return resolved.filter(|&m| !program.method(m).is_abstract).into_iter().collect();
        }
        let mut targets: Vec<MethodId> = resolved.into_iter().collect();
        let class = program.by_name[&site.class];
        self.overriding(program, class, site, seen, &mut targets);
        targets.sort_unstable();
        targets.dedup();
        targets.retain(|&m| {
            let method = program.method(m);
            let live = self.live[method.class.0 as usize] || resolved == Some(m);
            live && !method.is_abstract
        });
        targets
    }

    fn overriding(
        &self,
        program: &Program,
        class: ClassId,
        site: &SiteKey,
        seen: &mut Marks,
        targets: &mut Vec<MethodId>,
    ) {
        let interface = program.classes[class.0 as usize].interface;
        seen.clear();
        let mut work = vec![class];
        while let Some(above) = work.pop() {
            for &child in &self.children[above.0 as usize] {
                if !self.live[child.0 as usize] || !seen.mark(child) {
                    continue;
                }
                work.push(child);
                let own = self.declared(child, site.name, site.desc);
                let own = own.filter(|&m| !program.method(m).is_static);
                // A class may implement an interface by a method that it inherits.
                let inherits = interface && !program.classes[child.0 as usize].interface;
                let inherited = || {
                    inherits.then(|| self.lookup(program, child, site.name, site.desc)).flatten()
                };
                targets.extend(own.or_else(inherited));
            }
        }
    }

    /// Whether a value that the code says is of `class` can be an object of `wanted`.
    pub fn fits(&self, program: &Program, class: Name, wanted: ClassId) -> Fits {
        let target = &program.classes[wanted.0 as usize];
        if target.name == class {
            return Fits::Yes;
        }
        let Some(&own) = program.by_name.get(&class) else {
            let known = FINAL.contains(&program.names.name(class.0));
            return if known { Fits::No } else { Fits::Maybe };
        };
        let declared = &program.classes[own.0 as usize];
        if self.chain(own).any(|c| c == wanted) {
            return Fits::Yes;
        }
        let possible =
            declared.interface || target.interface || self.chain(wanted).any(|c| c == own);
        if possible { Fits::Maybe } else { Fits::No }
    }

    /// Whether an object of this class can exist as such: it is neither abstract nor dead.
    pub fn is_concrete(&self, program: &Program, class: Name) -> bool {
        program.by_name.get(&class).is_some_and(|c| {
            let class = &program.classes[c.0 as usize];
            !class.is_abstract && !class.interface && can_have_objects(program, class)
        })
    }
}

/// Whether a value can be of a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fits {
    /// It never is.
    No,
    /// It may be.
    Maybe,
    /// It always is.
    Yes,
}

/// Classes of the JDK without subclasses, which are known without having been read.
const FINAL: &[&[u8]] = &[
    b"java/lang/String",
    b"java/lang/Integer",
    b"java/lang/Long",
    b"java/lang/Boolean",
    b"java/lang/Character",
    b"java/lang/Double",
    b"java/lang/Class",
    b"java/lang/StringBuilder",
    b"java/lang/StringBuffer",
];

/// A mark for each class that is cleared in no time.
#[derive(Default)]
pub struct Marks {
    stamps: Vec<u32>,
    now: u32,
}

impl Marks {
    /// For so many classes.
    pub fn new(classes: usize) -> Marks {
        Marks { stamps: vec![0; classes], now: 0 }
    }

    fn clear(&mut self) {
        self.now += 1;
    }

    fn mark(&mut self, class: ClassId) -> bool {
        std::mem::replace(&mut self.stamps[class.0 as usize], self.now) != self.now
    }
}

fn method_table(program: &Program, methods: std::ops::Range<u32>) -> Box<[(Name, Name, MethodId)]> {
    let mut table: Vec<_> = methods
        .map(|m| {
            let method = &program.methods[m as usize];
            (method.name, method.desc, MethodId(m))
        })
        .collect();
    table.sort_unstable();
    table.into()
}

/// Rapid type analysis, with one allowance: a public class may be made by code that was not read.
fn can_have_objects(program: &Program, class: &crate::program::Class) -> bool {
    !class.is_abstract && (class.public || program.made.contains(&class.name))
}

/// Marks every class that can have objects, and all classes above it.
fn live(
    program: &Program,
    parents: &[Option<ClassId>],
    interfaces: &[Box<[ClassId]>],
) -> Vec<bool> {
    let mut live = vec![false; program.classes.len()];
    let mut work: Vec<u32> = (0..program.classes.len() as u32)
        .filter(|&c| can_have_objects(program, &program.classes[c as usize]))
        .collect();
    // A lambda is an object of its interface.
    let lambdas = program.methods.iter().filter_map(|m| m.body.as_ref()).flat_map(|b| &b.lambdas);
    work.extend(lambdas.filter_map(|l| program.by_name.get(&l.interface)).map(|c| c.0));
    while let Some(class) = work.pop() {
        if !std::mem::replace(&mut live[class as usize], true) {
            let above = parents[class as usize].iter().chain(&interfaces[class as usize]);
            work.extend(above.map(|c| c.0));
        }
    }
    live
}
