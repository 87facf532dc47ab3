//! What is known about the program: its sites, and the fields of the classes that were loaded.

use std::collections::HashMap;

use paceline_wire::{Kind, MAX_SITE};

use crate::classfile::{ClassFile, Failure, Outcome, access};
use crate::options::Options;
use crate::rewrite::Detail;
use crate::rewrite::names::dotted;
use crate::rewrite::site::{MethodFacts, Name, Program, Site, Target};

/// A class that was loaded.
#[derive(Clone, Default, Debug)]
struct Known {
    super_name: Vec<u8>,
    fields: HashMap<Vec<u8>, u16>,
}

/// What the hook knows about a site: these bits, and above them the number of the field.
pub mod access_facts {
    /// The rest is known.
    pub const KNOWN: u64 = 1;
    /// It writes.
    pub const WRITE: u64 = 2;
    /// The field is volatile.
    pub const VOLATILE: u64 = 4;
    /// Where the offset of the word of objects is.
    pub const WORD_OFFSET: u32 = 3;
    /// Where the offset of the field is.
    pub const FIELD_OFFSET: u32 = 21;
    /// The largest offset.
    pub const MOST: u64 = (1 << 18) - 1;
    /// Where the number of the field is.
    pub const FIELD: u32 = 40;
    /// Nothing is observed.
    pub const NOTHING: u64 = 1 << 63;
}

/// Sites and classes.
#[derive(Default)]
pub struct Facts {
    sites: Vec<Site>,
    classes: HashMap<Vec<u8>, Known>,
    /// The site at the end of a class initialiser, by dotted class name.
    initialisers: HashMap<Vec<u8>, u32>,
    /// Fields are numbered by their declaring class and name.
    fields: HashMap<(Vec<u8>, Name), u64>,
}

/// A site as it is declared in the stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Declared {
    /// The kind, with volatile accesses as atomic ones.
    pub kind: Option<Kind>,
    /// The target's name.
    pub target: Vec<u8>,
    /// Whether records have an index.
    pub indexed: bool,
}

impl Facts {
    /// Remembers the fields of a class.
    pub fn learn(&mut self, class: &ClassFile) {
        let fields = class.fields.iter().map(|f| (f.name.to_vec(), f.access)).collect();
        let known = Known { super_name: class.super_name.to_vec(), fields };
        self.classes.insert(class.name.to_vec(), known);
    }

    /// A site by its number.
    pub fn site(&self, number: u32) -> Option<&Site> {
        self.sites.get((number as usize).checked_sub(1)?)
    }

    /// How many sites there are.
    pub fn count(&self) -> usize {
        self.sites.len()
    }

    /// Forgets the sites from a number on: the class was not rewritten after all.
    pub fn truncate(&mut self, count: usize) {
        self.sites.truncate(count);
    }

    /// The class that declares a field, and its access flags: searched from the class that the
    /// code names upwards.
    pub fn declaring<'f>(&'f self, owner: &'f [u8], name: &[u8]) -> Option<(&'f [u8], u16)> {
        let mut class = owner;
        loop {
            let known = self.classes.get(class)?;
            if let Some(&access) = known.fields.get(name) {
                return Some((class, access));
            }
            class = &known.super_name;
        }
    }

    /// The site at the end of a class's initialiser.
    pub fn initialiser(&self, class: &[u8]) -> Option<u32> {
        self.initialisers.get(&dotted(class)).copied()
    }

    /// A site as the stream shall show it.
    pub fn declared(&self, site: &Site) -> Declared {
        match &site.target {
            Target::Object => Declared { kind: site.kind, target: Vec::new(), indexed: false },
            Target::Element => Declared { kind: site.kind, target: Vec::new(), indexed: true },
            Target::Text(text) => {
                Declared { kind: site.kind, target: text.to_vec(), indexed: false }
            }
            Target::Field { owner, name } => {
                let (class, flags) = self.declaring(owner, name).unwrap_or((owner, 0));
                let target = [&dotted(class)[..], b".", name].concat();
                let kind =
                    if flags & access::VOLATILE != 0 { site.kind.map(volatile) } else { site.kind };
                Declared { kind, target, indexed: false }
            }
        }
    }

    /// What the hook has to know about a site that accesses something.
    pub fn access(&mut self, number: u32) -> u64 {
        use access_facts::{FIELD, KNOWN, VOLATILE, WRITE};
        let Some(site) = self.site(number) else { return KNOWN };
        let is_write = !matches!(site.kind, Some(Kind::Read | Kind::AtomicRead));
        let facts = KNOWN | if is_write { WRITE } else { 0 };
        let Target::Field { owner, name } = site.target.clone() else { return facts };
        let (class, flags) = self.declaring(&owner, &name).unwrap_or((&owner, 0));
        let key = (class.to_vec(), name);
        let next = self.fields.len() as u64;
        let field = *self.fields.entry(key).or_insert(next);
        facts | if flags & access::VOLATILE != 0 { VOLATILE } else { 0 } | field << FIELD
    }

    fn add(&mut self, site: Site) -> Outcome<u32> {
        let number = self.sites.len() as u32 + 1;
        if number > MAX_SITE {
            return Err(Failure::TooManySites);
        }
        if let (Target::Text(text), Some(Kind::Post)) = (&site.target, site.kind)
            && let Some(class) = text.strip_suffix(b".<clinit>")
        {
            self.initialisers.insert(class.to_vec(), number);
        }
        self.sites.push(site);
        Ok(number)
    }
}

/// An access of a volatile field.
fn volatile(kind: Kind) -> Kind {
    if kind == Kind::Write {
        Kind::AtomicWrite
    } else if kind == Kind::Read {
        Kind::AtomicRead
    } else {
        kind
    }
}

/// What the rewriter sees of all this.
pub struct View<'v> {
    /// Sites and classes.
    pub facts: &'v mut Facts,
    /// What was chosen.
    pub options: &'v Options,
}

impl Program for View<'_> {
    fn site(&mut self, site: Site) -> Outcome<u32> {
        self.facts.add(site)
    }

    fn field_access(&self, owner: &[u8], name: &[u8]) -> Option<u16> {
        self.facts.declaring(owner, name).map(|(_, access)| access)
    }

    fn detail(&self) -> Detail {
        self.options.detail
    }

    fn is_block(&self, method: &MethodFacts) -> bool {
        self.options.is_block(method)
    }

    fn is_surely_block(&self, label: &[u8]) -> bool {
        self.options.is_surely_block(label)
    }

    fn is_yield(&self, method: &MethodFacts) -> bool {
        self.options.is_yield(method)
    }
}

/// A site of the agent itself.
pub fn own_site(kind: Option<Kind>, method: &str) -> Site {
    Site {
        kind,
        target: Target::Object,
        file: Name::from(&b""[..]),
        method: method.as_bytes().into(),
        line: 0,
        model: 0,
    }
}

impl Facts {
    /// Adds a site that no class has.
    pub fn add_own(&mut self, site: Site) -> Option<u32> {
        self.add(site).ok()
    }
}
