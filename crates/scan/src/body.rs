//! What is kept of a method: a control-flow graph whose blocks hold only what matters to locks.
//!
//! Bytecode is read once and dropped; the whole-program phases work on these bodies. The numbers
//! of names, fields and sites are those of the class until the class joins the program
//! ([`crate::program`]), and those of the program from then on.

use crate::expr::{FieldId, LockExpr, Name, Origin};

/// A call site: all equivalent calls share one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SiteId(pub u32);

/// How a method is called.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CallKind {
    /// By the class of the receiver.
    Virtual,
    /// By the class of the receiver, through an interface.
    Interface,
    /// This very method: a constructor, a private method, a call of `super`.
    Special,
    /// Without a receiver.
    Static,
}

/// What a call site says about its target.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SiteKey {
    /// How it is called.
    pub kind: CallKind,
    /// Whether the receiver is known to be of this very class and no subclass.
    pub exact: bool,
    /// The class named by the call, or a better one when the receiver is known.
    pub class: Name,
    /// The method's name.
    pub name: Name,
    /// Its descriptor.
    pub desc: Name,
}

/// A field as an instruction names it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FieldKey {
    /// The class named by the access; the field may be declared further up.
    pub class: Name,
    /// The field's name.
    pub name: Name,
}

/// What kind of lock is taken.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Style {
    /// The monitor of an object: `synchronized`.
    Monitor,
    /// `java.util.concurrent.locks`: released by a call, not by the end of a block.
    Explicit,
}

/// One thing that happens in a block. Places are given by their index in [`Body::places`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// A lock is taken.
    Enter {
        /// Which.
        lock: u32,
        /// What kind.
        style: Style,
    },
    /// A lock is given back.
    Exit {
        /// Which.
        lock: u32,
        /// What kind.
        style: Style,
    },
    /// A lock is taken if it is free.
    TryEnter {
        /// Which.
        lock: u32,
    },
    /// A lock is given up and taken again: `wait` and `await`.
    Wait,
    /// A method is called.
    Call {
        /// Which.
        site: SiteId,
        /// The first of its arguments, the receiver before all others.
        args: u32,
    },
    /// A root, given by its code, gets a new value: `x := y`.
    Define(u32),
    /// A field is read.
    GetField {
        /// Which.
        field: FieldId,
        /// The expression, and the value that is read.
        place: u32,
    },
    /// A field is assigned.
    SetField {
        /// Which.
        field: FieldId,
        /// The expression, and the value that is assigned; [`NOT_KEPT`] where neither matters.
        place: u32,
    },
    /// An array element is assigned.
    SetElement {
        /// The array, and the value that is assigned; [`NOT_KEPT`] where neither matters.
        place: u32,
    },
    /// A fresh object becomes reachable for others.
    Escape {
        /// The object.
        place: u32,
    },
}

/// The number of a place that is not kept.
pub const NOT_KEPT: u32 = u32::MAX;

/// Which runs through a method come to a block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reach {
    /// Only runs that end with an exception.
    Failing,
    /// Some.
    Sometimes,
    /// All that end normally.
    Always,
}

/// An operation and where it stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// The position in the bytecode.
    pub pc: u16,
    /// The source line; 0 when unknown.
    pub line: u16,
    /// Which runs through the method come here.
    pub reach: Reach,
    /// What happens.
    pub op: Op,
}

/// The start of a block's events, edges and exception edges; each ends where the next starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    /// Its first event.
    pub events: u32,
    /// Its first edge.
    pub edges: u32,
    /// Its first exception edge; these come after the other edges.
    pub handlers: u32,
}

/// A way to another block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edge {
    /// The block.
    pub to: u32,
    /// The end of the phis that get a new value on the way; they start where those of the edge
    /// before end.
    pub kills: u32,
}

/// A lambda or a method reference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lambda {
    /// Where it is made.
    pub pc: u16,
    /// How many values it captures.
    pub captured: u16,
    /// The method behind it.
    pub site: SiteId,
    /// The first of the captured values in [`Body::places`].
    pub args: u32,
    /// The interface it implements.
    pub interface: Name,
}

/// What is kept of a method's code.
#[derive(Clone, Default, Debug)]
pub struct Body {
    /// The blocks; the last one is a sentinel that ends the ranges of the one before.
    pub blocks: Box<[Block]>,
    /// The events of all blocks.
    pub events: Box<[Event]>,
    /// The edges of all blocks.
    pub edges: Box<[Edge]>,
    /// The phis killed on edges.
    pub kills: Box<[u32]>,
    /// Locks, arguments and fields that are read or assigned.
    pub places: Box<[LockExpr]>,
    /// The origin of the value at each place.
    pub origins: Box<[Origin]>,
    /// The class of the value at each place, as far as the code says it.
    pub types: Box<[Option<Name>]>,
    /// Which value is computed from which, sorted by the former. The results of calls are not
    /// here: their arguments are known.
    pub sources: Box<[(Origin, Origin)]>,
    /// The values that decide where control goes from a block, sorted by block.
    pub decisions: Box<[(u32, Origin)]>,
    /// The values that are returned, sorted.
    pub returned: Box<[Origin]>,
    /// The names of parameters and local variables, sorted by the value they hold.
    pub variables: Box<[(Origin, Name)]>,
    /// The lambdas made here.
    pub lambdas: Box<[Lambda]>,
}

impl Event {
    /// The site and the first argument of a call.
    pub fn call(&self) -> Option<(SiteId, u32)> {
        if let Op::Call { site, args } = self.op { Some((site, args)) } else { None }
    }
}

impl Body {
    /// How many blocks there are.
    pub fn block_count(&self) -> usize {
        self.blocks.len().saturating_sub(1)
    }

    /// The events of a block.
    pub fn events_of(&self, block: usize) -> &[Event] {
        &self.events[self.blocks[block].events as usize..self.blocks[block + 1].events as usize]
    }

    /// The normal edges of a block, by number.
    pub fn edges_of(&self, block: usize) -> std::ops::Range<usize> {
        self.blocks[block].edges as usize..self.blocks[block].handlers as usize
    }

    /// The exception edges of a block, by number.
    pub fn handlers_of(&self, block: usize) -> std::ops::Range<usize> {
        self.blocks[block].handlers as usize..self.blocks[block + 1].edges as usize
    }

    /// The phis that get a new value on an edge.
    pub fn kills_of(&self, edge: usize) -> &[u32] {
        let start = if edge == 0 { 0 } else { self.edges[edge - 1].kills };
        &self.kills[start as usize..self.edges[edge].kills as usize]
    }

    /// `count` places from the one with this number.
    pub fn places_from(&self, first: u32, count: usize) -> &[LockExpr] {
        &self.places[first as usize..first as usize + count]
    }

    /// The place with this number.
    pub fn place(&self, number: u32) -> LockExpr {
        self.places[number as usize]
    }

    /// The origins of `count` places from the one with this number.
    pub fn origins_from(&self, first: u32, count: usize) -> &[Origin] {
        &self.origins[first as usize..first as usize + count]
    }

    /// The call at this position.
    pub fn call_at(&self, pc: u32) -> Option<(SiteId, u32)> {
        let start = self.events.partition_point(|e| u32::from(e.pc) < pc);
        let here = self.events[start..].iter().take_while(|e| u32::from(e.pc) == pc);
        here.into_iter().find_map(Event::call)
    }

    /// The name of the variable that holds a value.
    pub fn variable(&self, value: Origin) -> Option<Name> {
        let at = self.variables.binary_search_by_key(&value, |v| v.0).ok()?;
        Some(self.variables[at].1)
    }

    /// The block that an event belongs to.
    pub fn block_of(&self, event: u32) -> u32 {
        self.blocks.partition_point(|b| b.events <= event) as u32 - 1
    }

    /// The lambda made at this position.
    pub fn lambda(&self, pc: u32) -> Option<&Lambda> {
        self.lambdas.iter().find(|l| u32::from(l.pc) == pc)
    }
}
