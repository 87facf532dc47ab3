//! The rules: what each one means and how to fix what it finds. Reports and docs read this table.

use serde::Serialize;

/// What kind of mistake a warning is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// A lock is taken twice while another one is held.
    LockedTwice,
    /// Two locks are taken one after the other while a third one is held.
    LockedInTurn,
    /// A value read under a lock is used under the same lock after a release.
    StaleRead,
    /// A concurrent map is asked and then changed.
    MapCheckThenAct,
    /// The result of `putIfAbsent` is dropped.
    IgnoredPutIfAbsent,
    /// A thread-safe collection is asked and then changed.
    CollectionCheckThenAct,
    /// A synchronized collection is iterated over without its lock.
    CollectionIteration,
    /// A synchronized collection uses another one without its lock.
    CollectionArgument,
    /// An atomic variable is read and then changed.
    AtomicCheckThenAct,
    /// A volatile field is read and then written.
    VolatileUpdate,
    /// A field is found unset and then set, without a lock.
    LazyInit,
}

/// The texts of a rule.
pub struct RuleText {
    /// The name used in reports and suppressions.
    pub id: &'static str,
    /// In camel case, for tools that want a name without signs.
    pub name: &'static str,
    /// One line for a list.
    pub title: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// How to fix it.
    pub fix: &'static str,
}

impl Rule {
    /// Every rule.
    pub const ALL: &[Rule] = &[
        Rule::LockedTwice,
        Rule::LockedInTurn,
        Rule::StaleRead,
        Rule::MapCheckThenAct,
        Rule::IgnoredPutIfAbsent,
        Rule::CollectionCheckThenAct,
        Rule::CollectionIteration,
        Rule::CollectionArgument,
        Rule::AtomicCheckThenAct,
        Rule::VolatileUpdate,
        Rule::LazyInit,
    ];

    /// The rule with this name.
    pub fn find(id: &str) -> Option<Rule> {
        Rule::ALL.iter().copied().find(|rule| rule.id() == id)
    }

    /// The name used in reports and suppressions.
    pub fn id(self) -> &'static str {
        self.text().id
    }

    /// One line for a list.
    pub fn title(self) -> &'static str {
        self.text().title
    }

    /// In camel case, for tools that want a name without signs.
    pub fn name(self) -> &'static str {
        self.text().name
    }

    /// What it means, and how to fix it.
    pub fn help(self) -> (&'static str, &'static str) {
        let RuleText { meaning, fix, .. } = self.text();
        (meaning, fix)
    }

    /// The texts of the rule.
    pub fn text(self) -> &'static RuleText {
        match self {
            Rule::LockedTwice => &LOCKED_TWICE,
            Rule::LockedInTurn => &LOCKED_IN_TURN,
            Rule::StaleRead => &STALE_READ,
            Rule::MapCheckThenAct => &MAP_CHECK_THEN_ACT,
            Rule::IgnoredPutIfAbsent => &IGNORED_PUT_IF_ABSENT,
            Rule::CollectionCheckThenAct => &COLLECTION_CHECK_THEN_ACT,
            Rule::CollectionIteration => &COLLECTION_ITERATION,
            Rule::CollectionArgument => &COLLECTION_ARGUMENT,
            Rule::AtomicCheckThenAct => &ATOMIC_CHECK_THEN_ACT,
            Rule::VolatileUpdate => &VOLATILE_UPDATE,
            Rule::LazyInit => &LAZY_INIT,
        }
    }

    /// What to do about one warning. `object` is used first, `second` later; `owner` is the class
    /// that keeps the lock to itself, when the code of the warning cannot take it.
    pub fn advice(self, object: &str, second: &str, owner: Option<&str>) -> String {
        match (self, owner) {
            (Rule::LockedTwice | Rule::StaleRead, Some(owner)) => {
                format!("add a method to {owner} that does both while it holds its lock")
            }
            (Rule::LockedTwice | Rule::CollectionCheckThenAct | Rule::StaleRead, _) => {
                format!("hold the lock on `{object}` for both uses")
            }
            (Rule::LockedInTurn, _) => {
                format!("take the locks on `{object}` and `{second}` before releasing either")
            }
            (Rule::MapCheckThenAct, _) => format!(
                "use one call on `{object}` that does both: putIfAbsent, computeIfAbsent, compute, merge, \
                 or replace and remove with the old value"
            ),
            (Rule::IgnoredPutIfAbsent, _) => {
                format!("go on with what `{object}` returns, if it is not null")
            }
            (Rule::CollectionIteration, _) => {
                format!("hold the lock on `{object}` for the whole loop, or iterate over a copy")
            }
            (Rule::CollectionArgument, _) => {
                format!("hold the lock on `{object}` too, or copy it first with one call")
            }
            (Rule::AtomicCheckThenAct, _) => format!(
                "use one call on `{object}` that does both: compareAndSet, updateAndGet or accumulateAndGet"
            ),
            (Rule::VolatileUpdate, _) => {
                format!("make `{object}` an atomic variable, or read and write it under one lock")
            }
            (Rule::LazyInit, _) => format!(
                "test `{object}` again under the lock that sets it, or use a holder class or an atomic reference"
            ),
        }
    }
}

const LOCKED_TWICE: RuleText = RuleText {
    id: "locked-twice",
    name: "LockedTwice",
    title: "Lock taken and released twice while another lock is held",
    meaning: "The outer lock says that the block is meant to be atomic. Between the two times that the \
              inner lock is held, another thread may change what it protects: the second half then works \
              with an answer that no longer holds.",
    fix: "Hold the inner lock for both uses, \
          `synchronized (point) { point.first(); point.second(); }`; Java's locks are re-entrant, so the \
          calls themselves need no change. If the outer lock is not meant to make the block atomic, \
          hold it for a shorter time, or mark the method or the lock's field with an annotation named \
          @NotAtomic or @BenignLock.",
};

const LOCKED_IN_TURN: RuleText = RuleText {
    id: "locked-in-turn",
    name: "LockedInTurn",
    title: "Two locks taken and released one after the other while a third is held",
    meaning: "The outer lock says that the block is meant to be atomic, but it takes two inner locks one \
              after the other: what the first one protects may change before the second one is taken.",
    fix: "Take both inner locks before releasing either, always in the same order.",
};

const STALE_READ: RuleText = RuleText {
    id: "stale-read",
    name: "StaleRead",
    title: "Value read under a lock is relied on after the lock was released",
    meaning: "A value is read under a lock, the lock is released, and the value then decides what is \
              written under the same lock, or goes into it. Another thread may have changed it in between.",
    fix: "Hold the lock from the read to the write, or test the value again after the lock was taken \
          for the second time.",
};

const MAP_CHECK_THEN_ACT: RuleText = RuleText {
    id: "map-check-then-act",
    name: "MapCheckThenAct",
    title: "Concurrent map asked and then changed in two steps",
    meaning: "Each call on a concurrent map is atomic, the two together are not: another thread may change \
              the entry between the question and the change.",
    fix: "Use one call that does both: putIfAbsent, computeIfAbsent, compute, merge, \
          replace(key, old, new) or remove(key, old).",
};

const IGNORED_PUT_IF_ABSENT: RuleText = RuleText {
    id: "ignored-put-if-absent",
    name: "IgnoredPutIfAbsent",
    title: "Result of putIfAbsent dropped, and the offered value used",
    meaning: "If another thread was first, putIfAbsent keeps that thread's value and returns it. Code that \
              goes on with its own value then uses an object that the map does not contain.",
    fix: "Go on with the result unless it is null, or use computeIfAbsent, which returns what is in the map.",
};

const COLLECTION_CHECK_THEN_ACT: RuleText = RuleText {
    id: "collection-check-then-act",
    name: "CollectionCheckThenAct",
    title: "Thread-safe collection asked and then changed in two steps",
    meaning: "Each call on a synchronized or concurrent collection is safe by itself, the two together are \
              not: what was found out may no longer hold.",
    fix: "Hold the lock of a synchronized collection for both calls, \
          `synchronized (list) { if (!list.contains(x)) list.add(x); }`; on a concurrent one use a call that \
          does both, such as poll, and test its result.",
};

const COLLECTION_ITERATION: RuleText = RuleText {
    id: "collection-iteration",
    name: "CollectionIteration",
    title: "Synchronized collection iterated over without its lock",
    meaning: "The documentation of synchronized collections demands that iteration holds the collection's \
              lock; without it the iterator may fail or miss elements.",
    fix: "Hold the lock for the whole loop, `synchronized (list) { for (var x : list) … }`, or iterate \
          over a copy.",
};

const COLLECTION_ARGUMENT: RuleText = RuleText {
    id: "collection-argument",
    name: "CollectionArgument",
    title: "Synchronized method of a collection uses another collection step by step",
    meaning: "The method is synchronized, so it is meant to be atomic, but it goes through a collection that \
              it was given without that collection's lock. Another thread may change it on the way.",
    fix: "Hold the lock of the other collection too, or copy it first with one call such as toArray.",
};

const ATOMIC_CHECK_THEN_ACT: RuleText = RuleText {
    id: "atomic-check-then-act",
    name: "AtomicCheckThenAct",
    title: "Atomic variable read and then changed in two steps",
    meaning: "Each call on an atomic variable is atomic, the two together are not: another thread may change \
              the value after it was read.",
    fix: "Use one call that does both: compareAndSet, updateAndGet, accumulateAndGet or getAndSet.",
};

const VOLATILE_UPDATE: RuleText = RuleText {
    id: "volatile-update",
    name: "VolatileUpdate",
    title: "Volatile field read and then written in two steps",
    meaning: "A volatile field can be read and written by several threads, but reading it and then writing \
              it, as `x++` does, is not one step: the write of another thread in between is lost.",
    fix: "Use an atomic variable, or hold one lock from the read to the write.",
};

const LAZY_INIT: RuleText = RuleText {
    id: "lazy-init",
    name: "LazyInit",
    title: "Field set when it was found unset, without a lock for both",
    meaning: "Two threads may both find the field unset and both set it: one of the two objects is lost, \
              with whatever was done to it.",
    fix: "Test the field again under the lock that sets it and make it volatile, or initialise it in a \
          holder class.",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_serialised_name_is_the_id_and_every_rule_says_how_to_fix_it() {
        for &rule in Rule::ALL {
            assert_eq!(serde_json::to_value(rule).unwrap(), rule.id());
            assert_eq!(Rule::find(rule.id()), Some(rule));
            let (full, fix) = rule.help();
            assert!(full.ends_with('.') && fix.ends_with('.'), "{}", rule.id());
            assert_eq!(rule.name().to_lowercase(), rule.id().replace('-', ""));
            assert!(rule.advice("point", "b", None).contains("`point`"));
        }
        let advice = Rule::LockedTwice.advice("point", "", None);
        assert_eq!(advice, "hold the lock on `point` for both uses");
    }

    #[test]
    fn no_advice_to_take_a_lock_that_cannot_be_reached() {
        let advice = Rule::LockedTwice.advice("pool.lock", "", Some("Pool"));
        assert_eq!(advice, "add a method to Pool that does both while it holds its lock");
    }
}
