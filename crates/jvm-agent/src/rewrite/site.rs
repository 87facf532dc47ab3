//! A place in the program that makes records, before it has a number.

use std::sync::Arc;

use super::Detail;
use paceline_wire::Kind;

/// A name that many sites share.
pub type Name = Arc<[u8]>;

/// What a site's records are about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Target {
    /// The object of the record says it all.
    Object,
    /// A field, as the code names it; the class that declares it and whether it is volatile may not
    /// be known yet.
    Field {
        /// The class that is named.
        owner: Name,
        /// The field.
        name: Name,
    },
    /// An element of an array, or an entry of a map.
    Element,
    /// A text: the label of a block, or a part of an object.
    Text(Name),
}

/// A place in the program that makes records.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    /// The kind of event; none for records that only order.
    pub kind: Option<Kind>,
    /// What its records are about.
    pub target: Target,
    /// The source file.
    pub file: Name,
    /// The method.
    pub method: Name,
    /// The line, or 0.
    pub line: u16,
    /// What the agent makes of a call of the platform, if it is one: see `model`.
    pub model: u8,
}

/// Where sites get their numbers, and what is known about the program.
pub trait Program {
    /// Numbers a site. Consecutive calls give consecutive numbers.
    fn site(&mut self, site: Site) -> Result<u32, crate::classfile::Failure>;

    /// The access flags of a field, if its class has been seen: found in the named class or
    /// one that it extends.
    fn field_access(&self, owner: &[u8], name: &[u8]) -> Option<u16>;

    /// How much of a method is observed, at most.
    fn detail(&self) -> Detail;

    /// Whether a method is a block.
    fn is_block(&self, method: &MethodFacts) -> bool;

    /// Whether every method of this name is a block, with whatever parameters, in whichever class
    /// that overrides it, and for the reader that selects later.
    fn is_surely_block(&self, label: &[u8]) -> bool;

    /// Whether the entry of a method is a yield.
    fn is_yield(&self, method: &MethodFacts) -> bool;
}

/// What patterns and annotations decide by.
#[derive(Clone, Debug)]
pub struct MethodFacts<'a> {
    /// Class and name as people write them, with parameters if there are several of that name.
    pub label: &'a [u8],
    /// Made by the compiler: a lambda body, a bridge.
    pub synthetic: bool,
    /// The annotations of method and class, dotted.
    pub annotations: &'a [Vec<u8>],
}
