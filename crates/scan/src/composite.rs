//! Composite actions on collections that are only safe one call at a time.
//!
//! Not from the paper: two rules for what Java programs get wrong most. A `ConcurrentMap` is asked
//! about a key and then changed at that key; a collection made by `Collections.synchronizedX` is
//! asked and then changed, or iterated over, without its lock. The facts are carried by the same
//! dataflow as the locks, and forgotten under the same conditions (DEPENDS).

use crate::body::{Event, SiteId};
use crate::held::At;
use crate::place::Place;
use crate::program::Program;
use crate::state::{Check, State};

/// What a call on a collection is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    /// Nothing.
    Other,
    /// Asks a concurrent map about a key.
    MapAsk,
    /// Changes a concurrent map at a key.
    MapAct,
    /// Does both at once, as one should.
    MapAtomic,
    /// Asks a synchronized collection.
    Ask,
    /// Changes a synchronized collection.
    Act,
    /// Iterates over a synchronized collection.
    Iterate,
    /// Thread.sleep.
    Sleep,
}

/// The rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A concurrent map is asked and then changed.
    MapCheckThenAct,
    /// A synchronized collection is asked and then changed.
    CheckThenAct,
    /// A synchronized collection is iterated over.
    Iteration,
}

/// A composite action that others can come between.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Composite {
    /// The rule.
    pub kind: Kind,
    /// The collection.
    pub collection: Place,
    /// The key, for maps.
    pub key: Place,
    /// The first call; the same as the second for an iteration.
    pub first: (At, SiteId),
    /// The second call.
    pub second: (At, SiteId),
    /// Whether some other lock was held at the second call.
    pub guarded: bool,
}

/// The roles of all call sites.
pub struct Roles(Vec<Role>);

impl Roles {
    /// Of a program.
    pub fn new(program: &Program) -> Roles {
        let role = |site: &crate::body::SiteKey| {
            let text = |n: crate::place::Name| program.names.name(n.0);
            role(text(site.class), text(site.name), text(site.desc))
        };
        Roles(program.sites.iter().map(role).collect())
    }

    fn of(&self, site: SiteId) -> Role {
        self.0[site.0 as usize]
    }

    /// Whether the site has any role.
    pub fn any(&self, site: SiteId) -> bool {
        self.of(site) != Role::Other
    }

    /// Whether the thread sleeps there.
    pub fn sleeps(&self, site: SiteId) -> bool {
        self.of(site) == Role::Sleep
    }
}

fn role(class: &[u8], name: &[u8], desc: &[u8]) -> Role {
    if let Some(kind) = class.strip_prefix(b"java/util/Collections$Synchronized") {
        return if kind.ends_with(b"Map") { synchronized_map(name) } else { synchronized(name) };
    }
    match class.strip_prefix(b"java/util/concurrent/") {
        Some(
            b"ConcurrentMap"
            | b"ConcurrentHashMap"
            | b"ConcurrentSkipListMap"
            | b"ConcurrentNavigableMap",
        ) => concurrent_map(name, desc),
        _ if class == b"java/lang/Thread" && name == b"sleep" => Role::Sleep,
        _ => Role::Other,
    }
}

fn concurrent_map(name: &[u8], desc: &[u8]) -> Role {
    match name {
        b"get" | b"containsKey" | b"getOrDefault" => Role::MapAsk,
        b"put" => Role::MapAct,
        b"remove" if desc.starts_with(b"(Ljava/lang/Object;)") => Role::MapAct,
        b"putIfAbsent" | b"computeIfAbsent" | b"computeIfPresent" | b"compute" | b"merge"
        | b"replace" | b"remove" => Role::MapAtomic,
        _ => Role::Other,
    }
}

fn synchronized_map(name: &[u8]) -> Role {
    match name {
        b"get" | b"containsKey" | b"containsValue" | b"isEmpty" | b"size" => Role::Ask,
        b"put" | b"remove" | b"putAll" => Role::Act,
        _ => Role::Other,
    }
}

fn synchronized(name: &[u8]) -> Role {
    match name {
        b"contains" | b"isEmpty" | b"size" | b"indexOf" | b"get" => Role::Ask,
        b"add" | b"remove" | b"set" | b"addAll" | b"removeAll" => Role::Act,
        b"iterator" | b"listIterator" | b"stream" => Role::Iterate,
        _ => Role::Other,
    }
}

/// The effect of a call on the open questions.
pub fn call(
    roles: &Roles,
    site: SiteId,
    args: &[Place],
    event: &Event,
    state: &mut State,
    found: &mut Vec<Composite>,
) {
    let role = roles.of(site);
    let Some(&collection) = args.first() else { return };
    let key = args.get(1).copied().unwrap_or(Place::UNKNOWN);
    if matches!(role, Role::Other | Role::Sleep)
        || collection.is_unknown()
        || state.is_private(collection)
    {
        return;
    }
    let second = (At::from(event), site);
    match role {
        Role::MapAsk if key.is_unknown() => {}
        Role::MapAsk | Role::Ask => {
            let key = if role == Role::Ask { Place::UNKNOWN } else { key };
            ask(state, Check { collection, key, at: second.0, site });
        }
        Role::MapAct => act(state, Kind::MapCheckThenAct, collection, key, second, found),
        Role::Act => act(state, Kind::CheckThenAct, collection, Place::UNKNOWN, second, found),
        Role::MapAtomic => state.checks.retain(|c| c.collection != collection || c.key != key),
        Role::Iterate if !state.holds(collection) => {
            let guarded = state.frames.len() > 1;
            let kind = Kind::Iteration;
            note(
                found,
                Composite { kind, collection, key: Place::UNKNOWN, first: second, second, guarded },
            );
        }
        Role::Iterate | Role::Other | Role::Sleep => {}
    }
}

fn ask(state: &mut State, check: Check) {
    if !state.checks.contains(&check) {
        state.checks.push(check);
    }
}

/// A change under any lock is taken for protected: whoever locks has thought of it.
fn act(
    state: &mut State,
    kind: Kind,
    collection: Place,
    key: Place,
    second: (At, SiteId),
    found: &mut Vec<Composite>,
) {
    let same = |c: &Check| c.collection == collection && c.key == key;
    if state.frames.len() == 1 {
        for check in state.checks.iter().filter(|c| same(c)) {
            let first = (check.at, check.site);
            note(found, Composite { kind, collection, key, first, second, guarded: false });
        }
    }
    state.checks.retain(|c| !same(c));
}

fn note(found: &mut Vec<Composite>, new: Composite) {
    if !found.iter().any(|c| {
        (c.kind, c.second.0.pc, c.collection) == (new.kind, new.second.0.pc, new.collection)
    }) {
        found.push(new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_told_by_class_and_name() {
        let map = b"java/util/concurrent/ConcurrentHashMap";
        assert_eq!(role(map, b"get", b"(Ljava/lang/Object;)Ljava/lang/Object;"), Role::MapAsk);
        assert_eq!(role(map, b"remove", b"(Ljava/lang/Object;)Ljava/lang/Object;"), Role::MapAct);
        let two = b"(Ljava/lang/Object;Ljava/lang/Object;)Z";
        assert_eq!(role(map, b"remove", two), Role::MapAtomic);
        assert_eq!(role(b"java/util/HashMap", b"get", b"()V"), Role::Other);
        let list = b"java/util/Collections$SynchronizedList";
        assert_eq!(role(list, b"iterator", b"()Ljava/util/Iterator;"), Role::Iterate);
    }
}
