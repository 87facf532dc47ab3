//! All classes together: one numbering of names, fields and call sites, and the methods with what
//! is kept of their code.
//!
//! Classes are read in parallel, each with numbers of its own, and join the program in the order
//! of the input: the numbers, and with them every result, are the same in every run.

use hashbrown::{HashMap, HashSet};
use paceline_trace::Interner;
use rayon::prelude::*;

use crate::body::{Body, FieldKey, Op, SiteId, SiteKey};
use crate::class::Parsed;
use crate::expr::{FieldId, LockExpr, Name};
use crate::flow::Stored;

/// A class of the program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ClassId(pub u32);

/// A method of the program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MethodId(pub u32);

/// A class.
pub struct Class {
    /// Its name, with slashes.
    pub name: Name,
    /// Its superclass.
    pub parent: Option<Name>,
    /// Its interfaces.
    pub interfaces: Box<[Name]>,
    /// Whether it is an interface.
    pub interface: bool,
    /// Whether it is abstract.
    pub is_abstract: bool,
    /// Whether code that was not read may make objects of it.
    pub public: bool,
    /// Whether it is only there to be called: nothing is reported in it.
    pub library: bool,
    /// Its source file.
    pub source: Option<Name>,
    /// Its annotations.
    pub annotations: Box<[Name]>,
    /// Its methods.
    pub methods: std::ops::Range<u32>,
}

/// A method.
pub struct Method {
    /// The class that declares it.
    pub class: ClassId,
    /// Its name.
    pub name: Name,
    /// Its descriptor.
    pub desc: Name,
    /// Whether it has no receiver.
    pub is_static: bool,
    /// Whether it is synchronized.
    pub synchronized: bool,
    /// Whether it has no code because a subclass must give it.
    pub is_abstract: bool,
    /// Whether only its own class can call it.
    pub is_private: bool,
    /// Whether code that was not read may call it.
    pub is_public: bool,
    /// Its first source line; 0 when unknown.
    pub line: u16,
    /// What is kept of its code.
    pub body: Option<Box<Body>>,
    /// What it always returns.
    pub returns: Option<LockExpr>,
    /// Fields that it assigns, if it has no body.
    pub sets: Box<[FieldId]>,
    /// The class of the fresh objects that it returns, if they are all of one.
    pub returns_class: Option<Name>,
    /// Which parameters it stores, by bit.
    pub stored: u32,
    /// Fields that it sets to a parameter, if it is a constructor.
    pub captures: Box<[(FieldId, LockExpr)]>,
    /// Fields of `this` that it sets to a fresh object.
    pub fills: Box<[(FieldId, LockExpr)]>,
    /// Its annotations.
    pub annotations: Box<[Name]>,
}

/// What is known about the objects that a field refers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldClass {
    /// No store was seen.
    Unseen,
    /// All stores put objects of this very class there.
    Exact(Name),
    /// Objects of different or unknown classes.
    Any,
}

/// All classes that were read.
#[derive(Default)]
pub struct Program {
    /// All names.
    pub names: Interner,
    /// All classes.
    pub classes: Vec<Class>,
    /// All methods.
    pub methods: Vec<Method>,
    /// Classes by name.
    pub by_name: HashMap<Name, ClassId>,
    /// All call sites.
    pub sites: Vec<SiteKey>,
    site_index: HashMap<SiteKey, SiteId>,
    /// All fields.
    pub fields: Vec<FieldKey>,
    field_index: HashMap<FieldKey, FieldId>,
    /// What each field holds.
    pub field_classes: Vec<FieldClass>,
    /// Stores of what a call returns: their classes are known when all methods are.
    pub returned_stores: Vec<(FieldId, SiteId)>,
    /// How many stores of a reference to each field there are.
    pub field_stores: Vec<u32>,
    /// Fields that some class declares.
    pub declared: HashSet<FieldId>,
    /// Those that are volatile.
    pub volatile: HashSet<FieldId>,
    /// Those that are private.
    pub private: HashSet<FieldId>,
    /// The annotations of fields.
    pub field_annotations: HashMap<FieldId, Box<[Name]>>,
    /// Classes of which objects are made.
    pub made: HashSet<Name>,
}

/// The program's numbers for those of a class.
struct Numbers {
    names: Vec<Name>,
    fields: Vec<FieldId>,
    sites: Vec<SiteId>,
}

impl Numbers {
    fn name(&self, name: Name) -> Name {
        self.names[name.0 as usize]
    }

    fn field(&self, field: FieldId) -> FieldId {
        self.fields[field.0 as usize]
    }

    fn site(&self, site: SiteId) -> SiteId {
        self.sites[site.0 as usize]
    }

    fn place(&self, place: LockExpr) -> LockExpr {
        place.renumber(|f| self.field(f), |n| self.name(n))
    }

    fn all_names(&self, names: &[Name]) -> Box<[Name]> {
        names.iter().map(|&n| self.name(n)).collect()
    }
}

impl Program {
    /// Adds classes. The first class of a name wins, as on a class path.
    pub fn join(&mut self, classes: Vec<(Parsed, bool)>) {
        let mut numbered: Vec<(Parsed, bool, Numbers)> = Vec::with_capacity(classes.len());
        for (parsed, library) in classes {
            let name = Name(self.names.intern(parsed.names.name(parsed.name.0)));
            let next = ClassId((self.classes.len() + numbered.len()) as u32);
            if *self.by_name.entry(name).or_insert(next) == next {
                let numbers = self.number(&parsed);
                numbered.push((parsed, library, numbers));
            }
        }
        numbered.par_iter_mut().for_each(|(parsed, _, numbers)| renumber(parsed, numbers));
        for (parsed, library, numbers) in numbered {
            self.add(parsed, library, &numbers);
        }
    }

    fn number(&mut self, parsed: &Parsed) -> Numbers {
        let count = parsed.names.len() as u32;
        let names: Vec<Name> =
            (0..count).map(|n| Name(self.names.intern(parsed.names.name(n)))).collect();
        let name = |n: Name| names[n.0 as usize];
        let mut fields = Vec::with_capacity(parsed.fields.len());
        for key in &parsed.fields {
            fields.push(self.field(FieldKey { class: name(key.class), name: name(key.name) }));
        }
        let mut sites = Vec::with_capacity(parsed.sites.len());
        for key in &parsed.sites {
            let (class, method, desc) = (name(key.class), name(key.name), name(key.desc));
            sites.push(self.site(SiteKey { class, name: method, desc, ..*key }));
        }
        Numbers { names, fields, sites }
    }

    /// The number of a field.
    pub fn field(&mut self, key: FieldKey) -> FieldId {
        let next = FieldId(self.fields.len() as u32);
        let id = *self.field_index.entry(key).or_insert(next);
        if id == next {
            self.fields.push(key);
            self.field_classes.push(FieldClass::Unseen);
            self.field_stores.push(0);
        }
        id
    }

    /// The field with this key, if it was mentioned.
    pub fn find_field(&self, key: FieldKey) -> Option<FieldId> {
        self.field_index.get(&key).copied()
    }

    /// The number of a call site.
    pub fn site(&mut self, key: SiteKey) -> SiteId {
        let next = SiteId(self.sites.len() as u32);
        let id = *self.site_index.entry(key).or_insert(next);
        if id == next {
            self.sites.push(key);
        }
        id
    }

    fn add(&mut self, parsed: Parsed, library: bool, numbers: &Numbers) {
        let class = ClassId(self.classes.len() as u32);
        let first = self.methods.len() as u32;
        self.made.extend(parsed.made.iter().map(|&n| numbers.name(n)));
        for &(field, stored) in &parsed.stores {
            self.see_store(numbers.field(field), stored, numbers);
        }
        for declared in &parsed.declared {
            let field = numbers.field(declared.field);
            self.declared.insert(field);
            self.volatile.extend(declared.is_volatile.then_some(field));
            self.private.extend(declared.is_private.then_some(field));
            if !declared.annotations.is_empty() {
                self.field_annotations.insert(field, numbers.all_names(&declared.annotations));
            }
        }
        self.methods.extend(parsed.methods.into_iter().map(|m| method(m, class, numbers)));
        self.classes.push(Class {
            name: numbers.name(parsed.name),
            parent: parsed.parent.map(|n| numbers.name(n)),
            interfaces: numbers.all_names(&parsed.interfaces),
            interface: parsed.interface,
            is_abstract: parsed.is_abstract,
            public: parsed.public,
            library,
            source: parsed.source.map(|n| numbers.name(n)),
            annotations: numbers.all_names(&parsed.annotations),
            methods: first..self.methods.len() as u32,
        });
    }

    fn see_store(&mut self, field: FieldId, stored: Stored, numbers: &Numbers) {
        self.field_stores[field.0 as usize] += 1;
        let class = match stored {
            Stored::Exact(class) => FieldClass::Exact(numbers.name(class)),
            Stored::Returned(site) => {
                self.returned_stores.push((field, numbers.site(site)));
                return;
            }
            Stored::Unknown => FieldClass::Any,
        };
        let seen = &mut self.field_classes[field.0 as usize];
        *seen = join_classes(*seen, class);
    }

    /// The text of a name.
    pub fn text(&self, name: Name) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(self.names.name(name.0))
    }

    /// The class of a method.
    pub fn class_of(&self, method: MethodId) -> &Class {
        &self.classes[self.method(method).class.0 as usize]
    }

    /// Whether two methods belong to one source class: to the same class, or to classes nested in it.
    pub fn are_nested(&self, a: MethodId, b: MethodId) -> bool {
        let outermost = |m: MethodId| {
            let name = self.names.name(self.class_of(m).name.0);
            let end = name.iter().position(|&c| c == b'$').unwrap_or(name.len());
            &name[..end]
        };
        outermost(a) == outermost(b)
    }

    /// A method.
    pub fn method(&self, method: MethodId) -> &Method {
        &self.methods[method.0 as usize]
    }

    /// A call site.
    pub fn site_key(&self, site: SiteId) -> &SiteKey {
        &self.sites[site.0 as usize]
    }

    /// The name of a method as the JVM writes it: `pkg/Class.method(desc)`.
    pub fn show_method(&self, method: MethodId) -> String {
        let Method { name, desc, .. } = *self.method(method);
        let class = self.text(self.class_of(method).name);
        format!("{class}.{}{}", self.text(name), self.text(desc))
    }
}

/// What two stores to one field say together.
pub fn join_classes(a: FieldClass, b: FieldClass) -> FieldClass {
    match (a, b) {
        (FieldClass::Unseen, other) | (other, FieldClass::Unseen) => other,
        (FieldClass::Exact(x), FieldClass::Exact(y)) if x == y => a,
        (FieldClass::Exact(_) | FieldClass::Any, FieldClass::Exact(_) | FieldClass::Any) => {
            FieldClass::Any
        }
    }
}

fn renumber(parsed: &mut Parsed, numbers: &Numbers) {
    for method in &mut parsed.methods {
        method.returns = method.returns.map(|p| numbers.place(p));
        for (field, place) in method.captures.iter_mut().chain(&mut method.fills) {
            (*field, *place) = (numbers.field(*field), numbers.place(*place));
        }
        if let Some(body) = &mut method.body {
            renumber_body(body, numbers);
        }
    }
}

fn renumber_body(body: &mut Body, numbers: &Numbers) {
    for place in &mut body.places {
        *place = numbers.place(*place);
    }
    body.types.iter_mut().flatten().for_each(|class| *class = numbers.name(*class));
    body.variables.iter_mut().for_each(|v| v.1 = numbers.name(v.1));
    for event in &mut body.events {
        match &mut event.op {
            Op::Call { site, .. } => *site = numbers.site(*site),
            Op::GetField { field, .. } | Op::SetField { field, .. } => {
                *field = numbers.field(*field);
            }
            Op::Enter { .. }
            | Op::Exit { .. }
            | Op::TryEnter { .. }
            | Op::Wait
            | Op::Define(_)
            | Op::SetElement { .. }
            | Op::Escape { .. } => {}
        }
    }
    for lambda in &mut body.lambdas {
        lambda.site = numbers.site(lambda.site);
        lambda.interface = numbers.name(lambda.interface);
    }
}

/// A method that was read, as one of the program: with its class, names and fields.
fn method(read: Method, class: ClassId, numbers: &Numbers) -> Method {
    Method {
        class,
        name: numbers.name(read.name),
        desc: numbers.name(read.desc),
        returns_class: read.returns_class.map(|n| numbers.name(n)),
        sets: read.sets.iter().map(|&f| numbers.field(f)).collect(),
        annotations: numbers.all_names(&read.annotations),
        ..read
    }
}

/// Counts the lines of a program: the sum over methods of their spans is not kept, so the largest
/// line of each source file stands for its length.
pub fn source_lines(program: &Program) -> u64 {
    let mut files: HashMap<(&[u8], Name), u16> = HashMap::new();
    for class in &program.classes {
        let Some(source) = class.source else { continue };
        let name = program.names.name(class.name.0);
        let folder = name.iter().rposition(|&b| b == b'/').map_or(&[][..], |i| &name[..i]);
        let methods = &program.methods[class.methods.start as usize..class.methods.end as usize];
        let events = methods.iter().filter_map(|m| m.body.as_ref()).flat_map(|b| &b.events);
        let last = events.map(|e| e.line).chain(methods.iter().map(|m| m.line)).max().unwrap_or(0);
        let longest = files.entry((folder, source)).or_default();
        *longest = last.max(*longest);
    }
    files.values().map(|&lines| u64::from(lines)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_keeps_its_class_only_while_all_stores_agree() {
        let (a, b) = (FieldClass::Exact(Name(1)), FieldClass::Exact(Name(2)));
        assert_eq!(join_classes(FieldClass::Unseen, a), a);
        assert_eq!(join_classes(a, a), a);
        assert_eq!(join_classes(a, b), FieldClass::Any);
        assert_eq!(join_classes(a, FieldClass::Any), FieldClass::Any);
    }
}
