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
    /// A concurrent map is asked and then changed.
    MapCheckThenAct,
    /// A synchronized collection is asked and then changed.
    CollectionCheckThenAct,
    /// A synchronized collection is iterated over without its lock.
    CollectionIteration,
}

impl Rule {
    /// Every rule.
    pub const ALL: &[Rule] = &[
        Rule::LockedTwice,
        Rule::LockedInTurn,
        Rule::MapCheckThenAct,
        Rule::CollectionCheckThenAct,
        Rule::CollectionIteration,
    ];

    /// The name used in reports and suppressions.
    pub fn id(self) -> &'static str {
        match self {
            Rule::LockedTwice => "locked-twice",
            Rule::LockedInTurn => "locked-in-turn",
            Rule::MapCheckThenAct => "map-check-then-act",
            Rule::CollectionCheckThenAct => "collection-check-then-act",
            Rule::CollectionIteration => "collection-iteration",
        }
    }

    /// One line for a list.
    pub fn title(self) -> &'static str {
        match self {
            Rule::LockedTwice => "Lock taken and released twice while another lock is held",
            Rule::LockedInTurn => {
                "Two locks taken and released one after the other while a third is held"
            }
            Rule::MapCheckThenAct => "Concurrent map asked and then changed in two steps",
            Rule::CollectionCheckThenAct => {
                "Synchronized collection asked and then changed in two steps"
            }
            Rule::CollectionIteration => "Synchronized collection iterated over without its lock",
        }
    }

    /// In camel case, for tools that want a name without signs.
    pub fn name(self) -> &'static str {
        match self {
            Rule::LockedTwice => "LockedTwice",
            Rule::LockedInTurn => "LockedInTurn",
            Rule::MapCheckThenAct => "MapCheckThenAct",
            Rule::CollectionCheckThenAct => "CollectionCheckThenAct",
            Rule::CollectionIteration => "CollectionIteration",
        }
    }

    /// What it means, and how to fix it.
    pub fn help(self) -> (&'static str, &'static str) {
        match self {
            Rule::LockedTwice => (
                "The outer lock says that the block is meant to be atomic. Between the two times that the \
                 inner lock is held, another thread may change what it protects: the second half then works \
                 with an answer that no longer holds.",
                "Hold the inner lock for both calls, \
                 `synchronized (point) { point.first(); point.second(); }`; Java's locks are re-entrant, so the \
                 calls themselves need no change. If the outer lock is not meant to make the block atomic, \
                 hold it for a shorter time, or mark the method or the lock's field with an annotation named \
                 @NotAtomic or @BenignLock.",
            ),
            Rule::LockedInTurn => (
                "The outer lock says that the block is meant to be atomic, but it takes two inner locks one \
                 after the other: what the first one protects may change before the second one is taken.",
                "Take both inner locks before releasing either, always in the same order.",
            ),
            Rule::MapCheckThenAct => (
                "Each call on a ConcurrentMap is atomic, the two together are not: another thread may change \
                 the entry between the question and the change.",
                "Use one call that does both: putIfAbsent, computeIfAbsent, compute, merge, \
                 replace(key, old, new) or remove(key, old).",
            ),
            Rule::CollectionCheckThenAct => (
                "Each call on a collection made by Collections.synchronizedX locks it for itself, the two \
                 together do not.",
                "Hold its lock for both calls, `synchronized (list) { if (!list.contains(x)) list.add(x); }`, \
                 or use a method that does both.",
            ),
            Rule::CollectionIteration => (
                "The documentation of Collections.synchronizedX demands that iteration holds the collection's \
                 lock; without it the iterator may fail or miss elements.",
                "Hold the lock for the whole loop, `synchronized (list) { for (var x : list) … }`, or iterate \
                 over a copy.",
            ),
        }
    }

    /// What to do about one warning: `lock` is used first, `second` later.
    pub fn fix(self, lock: &str, second: &str) -> String {
        match self {
            Rule::LockedTwice | Rule::CollectionCheckThenAct => {
                format!("hold the lock on `{lock}` for both calls")
            }
            Rule::LockedInTurn => {
                format!("take the locks on `{lock}` and `{second}` before releasing either")
            }
            Rule::MapCheckThenAct => format!(
                "use one call on `{lock}` that does both: putIfAbsent, computeIfAbsent, compute, merge, \
                 or replace and remove with the old value"
            ),
            Rule::CollectionIteration => {
                format!("hold the lock on `{lock}` for the whole loop, or iterate over a copy")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_serialised_name_is_the_id_and_every_rule_says_how_to_fix_it() {
        for &rule in Rule::ALL {
            assert_eq!(serde_json::to_value(rule).unwrap(), rule.id());
            let (full, fix) = rule.help();
            assert!(full.ends_with('.') && fix.ends_with('.'), "{}", rule.id());
            assert_eq!(rule.name().to_lowercase(), rule.id().replace('-', ""));
            assert!(rule.fix("point", "b").contains("`point`"));
        }
        assert_eq!(Rule::LockedTwice.fix("point", ""), "hold the lock on `point` for both calls");
    }
}
