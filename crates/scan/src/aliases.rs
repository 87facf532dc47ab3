//! Fields that are other names for something that can be reached more directly.
//!
//! The paper compares locks by their syntax, and two expressions for one object then look like
//! two locks: taking the second while the first is held seems to be an instance of the pattern,
//! although Java's locks are re-entrant. Three ways in which programs give an object two names are
//! recognised; each holds only if *all* stores to the field are of that kind.
//!
//! - `this.view = this.lock.readLock()`: `x.view` is `x.lock` (both views count as the lock);
//!   also any other field that is set to a field of the same object.
//! - `this.a = o; this.b = o` for a fresh `o`: `x.b` is `x.a`.
//! - `this.part = new Part(this, this.store)`: `x.part.owner` is `x`, `x.part.store` is `x.store`.

use hashbrown::HashMap;
use rayon::prelude::*;

use crate::body::Body;
use crate::expr::{FieldId, LockExpr, Root, Selector};
use crate::program::{Method, Program};

/// The shorter names, as places that start at the object: parameter 0.
#[derive(Default)]
pub struct Aliases {
    fields: HashMap<FieldId, LockExpr>,
    parts: HashMap<(FieldId, FieldId), LockExpr>,
}

/// How often each name was seen for each field.
type Seen<K> = HashMap<(K, LockExpr), u32>;

/// A fresh object, one of its fields, and what its constructor set that to.
pub type Kept = (LockExpr, FieldId, LockExpr);

/// What one method says: names of fields, and of fields of parts.
type Named = (Vec<(FieldId, LockExpr)>, Vec<((FieldId, FieldId), LockExpr)>);

impl Aliases {
    /// Of a program. `kept` says which fields of the fresh objects of a method their constructors
    /// set to what.
    pub fn new(program: &Program, kept: impl Fn(&Body) -> Vec<Kept> + Sync) -> Aliases {
        let named: Vec<Named> =
            program.methods.par_iter().filter_map(|m| names_in(m, &kept)).collect();
        let (mut fields, mut parts): (Seen<FieldId>, Seen<(FieldId, FieldId)>) = Default::default();
        for (own, of_parts) in named {
            own.into_iter().for_each(|name| *fields.entry(name).or_default() += 1);
            of_parts.into_iter().for_each(|name| *parts.entry(name).or_default() += 1);
        }
        let all = |field: FieldId, n: u32| program.field_stores[field.0 as usize] == n;
        let mut fields = certain(fields, |&field, n| all(field, n));
        fields.extend(own_mutexes(program, all));
        let parts = certain(parts, |part, n| all(part.0, n));
        Aliases { fields, parts }
    }

    /// The shortest name of a place.
    pub fn shortest(&self, place: LockExpr) -> LockExpr {
        if place.len() == 0 {
            return place;
        }
        // Each round makes the place shorter or moves it to an older field; cycles are cut off.
        (0..8)
            .try_fold(place, |place, _| self.shorter(place).ok_or(place))
            .unwrap_or_else(|done| done)
    }

    fn shorter(&self, place: LockExpr) -> Option<LockExpr> {
        let mut base = LockExpr::root_only(place.root());
        let steps: Vec<Selector> = place.steps().collect();
        for (i, &step) in steps.iter().enumerate() {
            let Selector::Field(field) = step else {
                base = base.then(step);
                continue;
            };
            let part = match steps.get(i + 1) {
                Some(Selector::Field(next)) => self.parts.get(&(field, *next)),
                _other => None,
            };
            let (name, used) = match (self.fields.get(&field), part) {
                (Some(name), _) => (name, 1),
                (None, Some(name)) => (name, 2),
                (None, None) => {
                    base = base.then(step);
                    continue;
                }
            };
            let renamed = name.steps().fold(base, LockExpr::then);
            let renamed = steps[i + used..].iter().fold(renamed, |p, &s| p.then(s));
            return Some(renamed).filter(|r| !r.is_unknown() && *r != place);
        }
        None
    }
}

/// The names that hold for all stores. Of several for one field the first is taken, whatever the
/// order in the table was: the result is the same in every run.
fn certain<K: Copy + Eq + Ord + std::hash::Hash>(
    seen: Seen<K>,
    all: impl Fn(&K, u32) -> bool,
) -> HashMap<K, LockExpr> {
    let certain = seen.into_iter().filter(|((key, _), n)| all(key, *n)).map(|(name, _)| name);
    let mut names: Vec<(K, LockExpr)> = certain.collect();
    names.sort_unstable();
    names.dedup_by_key(|name| name.0);
    names.into_iter().collect()
}

/// Fields like `mutex` of the synchronized collections: every constructor sets it to the object
/// itself, or to a lock that it is given. Such a field is taken for the object.
fn own_mutexes(
    program: &Program,
    all: impl Fn(FieldId, u32) -> bool,
) -> impl Iterator<Item = (FieldId, LockExpr)> {
    let mut seen: HashMap<FieldId, (u32, bool)> = HashMap::new();
    for &(field, place) in program.methods.iter().flat_map(|m| &m.captures) {
        if place.len() == 0 && matches!(place.root(), Root::Param(_)) {
            let entry = seen.entry(field).or_default();
            *entry = (entry.0 + 1, entry.1 || place.root() == Root::Param(0));
        }
    }
    let mut own: Vec<FieldId> =
        seen.into_iter().filter(|&(f, (n, this))| this && all(f, n)).map(|s| s.0).collect();
    own.sort_unstable();
    own.into_iter().map(|field| (field, LockExpr::param(0)))
}

fn names_in(method: &Method, kept: impl Fn(&Body) -> Vec<Kept>) -> Option<Named> {
    if method.fills.is_empty() && method.captures.is_empty() {
        return None;
    }
    let mut parts = Vec::new();
    if let Some(body) = method.body.as_deref().filter(|_| !method.fills.is_empty()) {
        let mut kept = kept(body);
        kept.retain(|k| starts_at_this(&k.2));
        kept.sort_by_key(|k| k.0);
        for &(part, fresh) in &method.fills {
            let from = kept.partition_point(|k| k.0 < fresh);
            let of_part = kept[from..].iter().take_while(|k| k.0 == fresh);
            parts.extend(of_part.map(|&(_, field, name)| ((part, field), name)));
        }
    }
    Some((own_names(method), parts))
}

fn starts_at_this(place: &LockExpr) -> bool {
    place.root() == Root::Param(0)
}

/// What a constructor sets fields of its object to: other fields of it.
fn own_names(method: &Method) -> Vec<(FieldId, LockExpr)> {
    let copies = method.captures.iter().copied().filter(|(_, p)| starts_at_this(p) && p.len() > 0);
    let shared = method.fills.iter().enumerate().filter_map(|(i, &(field, fresh))| {
        let first = method.fills[..i].iter().find(|f| f.1 == fresh && f.0 != field)?;
        Some((field, LockExpr::param(0).then(Selector::Field(first.0))))
    });
    copies.chain(shared).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const THIS: u32 = 0;

    fn path(fields: &[u32]) -> LockExpr {
        fields.iter().fold(LockExpr::param(THIS), |p, &f| p.then(Selector::Field(FieldId(f))))
    }

    #[test]
    fn names_are_followed_to_the_shortest() {
        let aliases = Aliases {
            fields: [(FieldId(1), path(&[2]))].into_iter().collect(),
            parts: [((FieldId(3), FieldId(4)), path(&[])), ((FieldId(5), FieldId(6)), path(&[4]))]
                .into_iter()
                .collect(),
        };
        assert_eq!(aliases.shortest(path(&[1])), path(&[2]));
        assert_eq!(aliases.shortest(path(&[7, 1])), path(&[7, 2]));
        assert_eq!(aliases.shortest(path(&[3, 4])), path(&[]));
        assert_eq!(aliases.shortest(path(&[3, 5, 6])), path(&[]));
        assert_eq!(aliases.shortest(path(&[4, 3])), path(&[4, 3]));
    }

    #[test]
    fn circles_end() {
        let aliases = Aliases {
            fields: [(FieldId(1), path(&[2])), (FieldId(2), path(&[1]))].into_iter().collect(),
            parts: HashMap::new(),
        };
        assert!([path(&[1]), path(&[2])].contains(&aliases.shortest(path(&[1]))));
    }
}
