//! Warnings that are about the same thing become one.

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use crate::expr::{LockExpr, Name};
use crate::finding::{Site, Warning};
use crate::program::MethodId;
use crate::rules::Rule;

/// The rule, the method, and the line or position of the second use.
pub type Location = (Rule, MethodId, u32);

/// Warnings with the same key are one. A lock that starts at `this` or at a static field is the
/// same in all methods of a class; others belong to their method.
#[derive(PartialEq, Eq, Hash)]
pub struct MergeKey {
    /// The rule.
    pub rule: Rule,
    /// The class.
    pub class: Name,
    /// The method, if the lock means something else in others.
    pub method: Option<MethodId>,
    /// The lock.
    pub lock: LockExpr,
    /// The second lock, or the key.
    pub second: LockExpr,
}

/// The warnings by the place of the second use.
#[derive(Default)]
pub struct Located(HashMap<Location, (Warning, MergeKey)>);

impl Located {
    /// Whether there is a warning at a place.
    pub fn contains(&self, location: &Location) -> bool {
        self.0.contains_key(location)
    }

    /// Adds a warning. Of several locks at one place, the surest and nearest stands for all.
    pub fn add(&mut self, location: Location, key: MergeKey, new: Warning) {
        match self.0.entry(location) {
            Entry::Vacant(free) => {
                free.insert((new, key));
            }
            Entry::Occupied(mut kept) => {
                let (old, old_key) = kept.get_mut();
                let (mut other, other_key) = (new, key);
                if is_better(&other, old) {
                    std::mem::swap(old, &mut other);
                    *old_key = other_key;
                }
                old.also_held.append(&mut other.also_held);
                old.also_held.extend(other.outer);
                old.also_locks.append(&mut other.also_locks);
                old.also_locks.push(other.lock);
            }
        }
    }

    /// All warnings, the surest first, then by file and line.
    pub fn finish(self) -> Vec<Warning> {
        let mut located: Vec<(Location, (Warning, MergeKey))> = self.0.into_iter().collect();
        located.sort_unstable_by_key(|l| l.0);
        // In the order of their places, so that equivalent ones stay in it.
        let mut warnings: Vec<Warning> = Vec::new();
        let mut merged: HashMap<MergeKey, usize> = HashMap::new();
        for (_, (warning, key)) in located {
            match merged.entry(key) {
                Entry::Occupied(kept) => merge(&mut warnings[*kept.get()], warning),
                Entry::Vacant(free) => {
                    free.insert(warnings.len());
                    warnings.push(warning);
                }
            }
        }
        let mut warnings = one_for_each_pair(warnings);
        warnings.iter_mut().for_each(tidy);
        warnings.sort_by_cached_key(|w| {
            let rank = std::cmp::Reverse((w.confidence, w.link));
            (rank, w.site().clone(), w.rule, w.lock.expression.clone())
        });
        warnings
    }
}

/// Two rules may find the same two places: the surer one is kept, or else the first rule's.
fn one_for_each_pair(warnings: Vec<Warning>) -> Vec<Warning> {
    let mut kept: HashMap<(Site, Site), usize> = HashMap::new();
    let mut result: Vec<Warning> = Vec::with_capacity(warnings.len());
    for warning in warnings {
        match kept.entry((warning.first[0].clone(), warning.second[0].clone())) {
            Entry::Vacant(free) => {
                free.insert(result.len());
                result.push(warning);
            }
            Entry::Occupied(at) => {
                let old = &mut result[*at.get()];
                if old.rule == warning.rule {
                    result.push(warning);
                } else if (warning.confidence, old.rule) > (old.confidence, warning.rule) {
                    *old = warning;
                }
            }
        }
    }
    result
}

/// Joins two warnings about one lock.
fn merge(kept: &mut Warning, mut other: Warning) {
    if is_better(&other, kept) {
        std::mem::swap(kept, &mut other);
    }
    kept.also.append(&mut other.also);
    kept.also_held.append(&mut other.also_held);
    kept.also_locks.append(&mut other.also_locks);
    kept.also.push(other.second.swap_remove(0));
    kept.also_held.extend(other.outer);
}

/// Sorts the lists of a warning and drops what stands in it already.
fn tidy(warning: &mut Warning) {
    let Warning { also, also_held, also_locks, second, lock, outer, .. } = warning;
    also.sort();
    also.dedup();
    also.retain(|site| *site != second[0]);
    also_held.sort();
    also_held.dedup();
    also_held.retain(|held| Some(held) != outer.as_ref());
    also_locks.sort();
    also_locks.dedup();
    also_locks.retain(|other| other.expression != lock.expression);
}

fn is_better(new: &Warning, old: &Warning) -> bool {
    let rank = |w: &Warning| {
        let hops = w.path.len() + w.first.len() + w.second.len();
        let sure = std::cmp::Reverse((w.confidence, w.link));
        (sure, hops, w.lock.expression.len(), w.second[0].clone(), w.first[0].clone())
    };
    rank(new) < rank(old)
}
