//! The rules of the properties that come with Paceline: what each means, and what to do about a
//! finding of it. A property lists its rules; one from elsewhere makes a [`RuleInfo`] of its own.

use paceline_analysis::finding::{RuleId, Severity};

use crate::model::{Blame, Event, RuleHelp};

/// What is known about a rule. Plain text that is Markdown as well.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleInfo {
    /// The stable name.
    pub id: RuleId,
    /// How certain its findings are.
    pub severity: Severity,
    /// A name in camel case, without blanks.
    pub name: &'static str,
    /// What is wrong, in one sentence.
    pub short: &'static str,
    /// What was observed.
    pub full: &'static str,
    /// What to do about it.
    pub fix: &'static str,
    /// The title of a finding.
    pub title: Title,
}

/// How findings of a rule are called: sentences in which `{block}` stands for the block to blame,
/// `{operation}` for the last event, and `{target}` for what that was done to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Title {
    /// If a block is to blame.
    pub blamed: &'static str,
    /// If none is.
    pub unblamed: &'static str,
}

impl Title {
    /// The same whether a block is to blame or not.
    pub const fn always(title: &'static str) -> Title {
        Title { blamed: title, unblamed: title }
    }

    /// The title of the finding with this blame and these events.
    pub fn of(&self, blame: Option<&Blame>, events: &[Event]) -> String {
        let template = if blame.is_some() { self.blamed } else { self.unblamed };
        let last = events.last();
        let mut parts = template.split(['{', '}']);
        let mut title = parts.next().unwrap_or_default().to_owned();
        // A text outside of braces follows each name inside.
        while let Some(name) = parts.next() {
            match name {
                "block" => {
                    let block = blame.and_then(|b| b.label.in_sentence());
                    title += block.as_deref().unwrap_or("a block");
                }
                "operation" => title += &last.map_or_else(String::new, Event::operation),
                _ => {
                    let target = last.and_then(|e| e.target.as_ref());
                    title += target.map_or("?", |target| &target.name);
                }
            }
            title += parts.next().unwrap_or_default();
        }
        title
    }
}

impl From<&RuleInfo> for RuleHelp {
    fn from(info: &RuleInfo) -> RuleHelp {
        RuleHelp {
            id: info.id.clone(),
            severity: info.severity,
            name: info.name.to_owned(),
            short: info.short.to_owned(),
            full: info.full.to_owned(),
            fix: info.fix.to_owned(),
        }
    }
}

/// A block is not atomic.
pub const ATOMICITY: RuleInfo = RuleInfo {
    id: RuleId::ATOMICITY,
    severity: Severity::Violation,
    name: "Atomicity",
    short: "A block that was meant to be atomic is not.",
    full: "In the observed run another thread worked on the same data between two steps of the \
           block, so that no order of whole blocks has the same effect. Each step may well be \
           synchronized; all of them together are not.",
    fix: "Hold one lock from the first to the last of these steps, or use a single atomic \
          operation (`putIfAbsent`, `compare_exchange`). If the block need not be atomic, say so \
          with `--except`.",
    title: Title {
        blamed: "{block} is not atomic",
        unblamed: "blocks interfere in a cycle; no single transaction is to blame",
    },
};

/// A yield is missing.
pub const COOPERABILITY: RuleInfo = RuleInfo {
    id: RuleId::COOPERABILITY,
    severity: Severity::Violation,
    name: "Cooperability",
    short: "Another thread interferes where no yield says so.",
    full: "In the observed run the code between two yields does not behave as if it ran without \
           interruption: there is an interference point that is not documented.",
    fix: "If the interference is intended, mark it with a yield before the operation named here. \
          If not, hold a lock over the code between the yields.",
    title: Title::always("a yield is missing before {operation}"),
};

/// The threads of a deterministic block conflict.
pub const CONFLICT_FREEDOM: RuleInfo = RuleInfo {
    id: RuleId::CONFLICT_FREEDOM,
    severity: Severity::Violation,
    name: "ConflictFreedom",
    short: "Threads inside a deterministic block conflict.",
    full: "Two threads of a block that was meant to be deterministic access the same data without \
           an order between them, so the result may depend on the scheduler.",
    fix: "Give each thread data of its own and combine it after the join, or order the two \
          accesses by a join or a barrier. A lock is no cure: it does not fix the order.",
    title: Title::always("{block} is not deterministic: its threads conflict on {target}"),
};

/// Others interfere with a deterministic block.
pub const EXTERNAL_SERIALIZABILITY: RuleInfo = RuleInfo {
    id: RuleId::EXTERNAL_SERIALIZABILITY,
    severity: Severity::Violation,
    name: "ExternalSerializability",
    short: "Threads outside a deterministic block interfere with it.",
    full: "In the observed run other code worked on the data of a block that was meant to be \
           deterministic while the block was running, so its result depends on more than its \
           inputs.",
    fix: "Keep others away from the data until the block has ended: a lock around the whole block \
          and around the code that interferes, or a copy for the block.",
    title: Title {
        blamed: "{block} is not deterministic: others interfere with it",
        unblamed: "deterministic blocks interfere in a cycle; no single one is to blame",
    },
};

/// Two accesses race.
pub const RACE: RuleInfo = RuleInfo {
    id: RuleId::RACE,
    severity: Severity::Violation,
    name: "Race",
    short: "Two accesses to a variable race.",
    full: "Two threads access the same variable, at least one writes, and nothing orders the two \
           accesses. What is read is not defined by the memory model.",
    fix: "Protect both accesses with the same lock, or make the variable atomic or volatile, or \
          start or join the threads so that one access comes first.",
    title: Title::always("race on {target}"),
};

/// No lock protects a variable.
pub const LOCKSET: RuleInfo = RuleInfo {
    id: RuleId::LOCKSET,
    severity: Severity::Warning,
    name: "Lockset",
    short: "No lock protects every access to a variable.",
    full: "The variable is shared between threads and written, and there is no lock that is held \
           at all of its accesses. This is a hint, not a proof: other synchronization may order \
           the accesses.",
    fix: "Decide which lock protects the variable and take it at every access. If fork and join \
          or atomics order the accesses, suppress the warning.",
    title: Title::always("no lock protects {target} at every access"),
};

/// A block does not follow the pattern of locks.
pub const REDUCTION: RuleInfo = RuleInfo {
    id: RuleId::REDUCTION,
    severity: Severity::Warning,
    name: "Reduction",
    short: "A block may not be atomic: its locks do not follow the pattern.",
    full: "A block that acquires locks, works, and then releases them is atomic whatever the \
           scheduler does. This one acquires after a release, or accesses unprotected data in \
           between. This is a hint, not a proof.",
    fix: "Take all locks of the block before the first release, or protect the access named here. \
          If the block is atomic for another reason, suppress the warning.",
    title: Title::always("{block} may not be atomic: {operation} breaks the pattern of its locks"),
};

/// A block is not atomic in an order that was not observed.
pub const PREDICTED: RuleInfo = RuleInfo {
    id: RuleId::PREDICTED,
    severity: Severity::Violation,
    name: "Predicted",
    short: "A block that was meant to be atomic is not, in another order of this run.",
    full: "It did not happen in this run; this run could have gone so. The table shows the same \
           events in another order that the same program can produce: every thread does what it \
           did and reads what it read. In that order another thread works on the same data between \
           two steps of the block.",
    fix: "Hold one lock from the first to the last of these steps, or use a single atomic \
          operation. `--witness FILE` writes the new order as a trace that `check` refutes. If the \
          block need not be atomic, say so with `--except`.",
    title: Title {
        blamed: "{block} is not atomic in another order of this run",
        unblamed: "a block is not atomic in another order of this run",
    },
};

/// Two accesses race in an order that was not observed.
pub const PREDICTED_RACE: RuleInfo = RuleInfo {
    id: RuleId::PREDICTED_RACE,
    severity: Severity::Violation,
    name: "PredictedRace",
    short: "Two accesses race in another order of this run.",
    full: "It did not happen in this run; this run could have gone so. In another order that the \
           same program can produce, the two accesses stand side by side: no lock, volatile or \
           join orders them.",
    fix: "Protect both accesses with the same lock, or make the variable volatile or atomic. That \
          they were apart in this run was luck.",
    title: Title::always("race on {target} in another order of this run"),
};

/// A yield is missing in an order that was not observed.
pub const PREDICTED_YIELD: RuleInfo = RuleInfo {
    id: RuleId::PREDICTED_YIELD,
    severity: Severity::Violation,
    name: "PredictedYield",
    short: "Another thread can interfere where no yield says so.",
    full: "It did not happen in this run; this run could have gone so. In another order that the \
           same program can produce, the code between two yields does not behave as if it ran \
           without interruption.",
    fix: "If the interference is intended, mark it with a yield before the operation named here, as \
          for one that was observed. If not, hold a lock over the code between the yields.",
    title: Title::always("a yield is missing before {operation} in another order of this run"),
};

/// Every rule of the properties that come with Paceline.
pub const BUILT_IN: &[RuleInfo] = &[
    ATOMICITY,
    COOPERABILITY,
    CONFLICT_FREEDOM,
    EXTERNAL_SERIALIZABILITY,
    RACE,
    LOCKSET,
    REDUCTION,
    PREDICTED,
    PREDICTED_RACE,
    PREDICTED_YIELD,
];

/// Whether the rule is about orders that were not observed: it is looked for on demand only.
pub fn is_predicted(rule: &RuleId) -> bool {
    [RuleId::PREDICTED, RuleId::PREDICTED_RACE, RuleId::PREDICTED_YIELD].contains(rule)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::event;

    #[test]
    fn every_rule_has_its_own_help() {
        assert!(RuleId::BUILT_IN.iter().eq(BUILT_IN.iter().map(|rule| &rule.id)));
        for (i, a) in BUILT_IN.iter().enumerate() {
            assert!(a.short.len() <= 80 && a.short.ends_with('.'), "{}", a.short);
            assert!(BUILT_IN[..i].iter().all(|b| a.name != b.name && a.fix != b.fix));
            assert!(a.name.chars().all(char::is_alphanumeric));
        }
    }

    #[test]
    fn names_in_titles_stay_names() {
        let events = [event(1, "1", paceline_trace::Kind::Write, "{block}")];
        let title = REDUCTION.title.of(None, &events);
        assert_eq!(title, "a block may not be atomic: w({block}) breaks the pattern of its locks");
        assert_eq!(RACE.title.of(None, &events), "race on {block}");
        assert_eq!(RACE.title.of(None, &[]), "race on ?");
    }
}
