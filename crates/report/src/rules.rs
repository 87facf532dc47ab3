//! What each rule means and what to do about a finding of it: the help that outputs carry along.

use paceline_analysis::finding::Rule;

use crate::model::Verdicts;

/// The help for a rule. Plain text that is Markdown as well.
#[expect(missing_docs, reason = "the names say it")]
pub struct Help {
    /// In camel case, without blanks.
    pub name: &'static str,
    /// What is wrong, in one sentence.
    pub short: &'static str,
    /// What was observed.
    pub full: &'static str,
    pub fix: &'static str,
}

/// The rule with this name.
pub fn named(name: &str) -> Option<Rule> {
    Rule::ALL.iter().copied().find(|rule| rule.name() == name)
}

/// Whether an analysis looked for findings of this rule. Not known for rules of later versions.
pub fn was_decided(rule: &str, verdicts: &Verdicts) -> bool {
    match named(rule) {
        Some(Rule::Atomicity) => verdicts.atomicity.is_some(),
        Some(Rule::Cooperability) => verdicts.cooperability.is_some(),
        Some(Rule::ConflictFreedom | Rule::ExternalSerializability) => {
            verdicts.determinism.is_some()
        }
        Some(Rule::Race) => verdicts.race.is_some(),
        Some(Rule::Lockset | Rule::Reduction) => verdicts.reduction.is_some(),
        None => false,
    }
}

/// The help for a rule.
pub fn help(rule: Rule) -> Help {
    match rule {
        Rule::Atomicity => Help {
            name: "Atomicity",
            short: "A block that was meant to be atomic is not.",
            full: "In the observed run another thread worked on the same data between two steps \
                   of the block, so that no order of whole blocks has the same effect. Each step \
                   may well be synchronized; all of them together are not.",
            fix: "Hold one lock from the first to the last of these steps, or use a single atomic \
                  operation (`putIfAbsent`, `compare_exchange`). If the block need not be atomic, \
                  say so with `--except`.",
        },
        Rule::Cooperability => Help {
            name: "Cooperability",
            short: "Another thread interferes where no yield says so.",
            full: "In the observed run the code between two yields does not behave as if it ran \
                   without interruption: there is an interference point that is not documented.",
            fix: "If the interference is intended, mark it with a yield before the operation \
                  named here. If not, hold a lock over the code between the yields.",
        },
        Rule::ConflictFreedom => Help {
            name: "ConflictFreedom",
            short: "Threads inside a deterministic block conflict.",
            full: "Two threads of a block that was meant to be deterministic access the same data \
                   without an order between them, so the result may depend on the scheduler.",
            fix: "Give each thread data of its own and combine it after the join, or order the \
                  two accesses by a join or a barrier. A lock is no cure: it does not fix the \
                  order.",
        },
        Rule::ExternalSerializability => Help {
            name: "ExternalSerializability",
            short: "Threads outside a deterministic block interfere with it.",
            full: "In the observed run other code worked on the data of a block that was meant to \
                   be deterministic while the block was running, so its result depends on more \
                   than its inputs.",
            fix: "Keep others away from the data until the block has ended: a lock around the \
                  whole block and around the code that interferes, or a copy for the block.",
        },
        Rule::Race => Help {
            name: "Race",
            short: "Two accesses to a variable race.",
            full: "Two threads access the same variable, at least one writes, and nothing orders \
                   the two accesses. What is read is not defined by the memory model.",
            fix: "Protect both accesses with the same lock, or make the variable atomic or \
                  volatile, or start or join the threads so that one access comes first.",
        },
        Rule::Lockset => Help {
            name: "Lockset",
            short: "No lock protects every access to a variable.",
            full: "The variable is shared between threads and written, and there is no lock that \
                   is held at all of its accesses. This is a hint, not a proof: other \
                   synchronization may order the accesses.",
            fix: "Decide which lock protects the variable and take it at every access. If fork \
                  and join or atomics order the accesses, suppress the warning.",
        },
        Rule::Reduction => Help {
            name: "Reduction",
            short: "A block may not be atomic: its locks do not follow the pattern.",
            full: "A block that acquires locks, works, and then releases them is atomic whatever \
                   the scheduler does. This one acquires after a release, or accesses unprotected \
                   data in between. This is a hint, not a proof.",
            fix: "Take all locks of the block before the first release, or protect the access \
                  named here. If the block is atomic for another reason, suppress the warning.",
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_its_own_help() {
        let all: Vec<Help> = Rule::ALL.iter().map(|&rule| help(rule)).collect();
        for (i, a) in all.iter().enumerate() {
            assert!(a.short.len() <= 80 && a.short.ends_with('.'), "{}", a.short);
            assert!(all[..i].iter().all(|b| a.name != b.name && a.fix != b.fix));
            assert!(a.name.chars().all(char::is_alphanumeric));
        }
        assert!(Rule::ALL.iter().all(|&rule| named(rule.name()) == Some(rule)));
        assert_eq!(named("no such rule"), None);
    }
}
