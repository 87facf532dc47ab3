//! What is reported: one finding for one bug, however often it was seen.
//!
//! Two cycles are the same finding when the same block is left at the same place of the source
//! and entered again at the same place. The *fingerprint* of a finding is made of just these, as
//! text, and of no event number, id or thread: so the same bug has the same fingerprint in every
//! run, and a report can be compared with an earlier one.
//!
//! A finding is data. The text of a report is made of it later, where the names are known.

use std::borrow::Cow;
use std::fmt;

use hashbrown::HashMap;
use paceline_trace::format::std::show_op;
use paceline_trace::{LabelId, Site, Symbols};
use serde::{Deserialize, Serialize};

use crate::explain::{EventRef, Explanation};

macro_rules! rule_ids {
    ($($(#[$doc:meta])* $constant:ident = $name:literal;)*) => {
        impl RuleId {
            $($(#[$doc])* pub const $constant: RuleId = RuleId::new($name);)*

            /// The rules of the properties that come with Paceline.
            pub const BUILT_IN: &[RuleId] = &[$(RuleId::$constant,)*];
        }
    };
}

/// What is violated, by its stable name. Anyone may add rules: what is known about one (its
/// severity, what it means, what to do) is kept beside the property that looks for it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RuleId(Cow<'static, str>);

rule_ids! {
    /// A block meant to be atomic is not: transactions form a cycle.
    ATOMICITY = "atomicity";
    /// Code between yields is interfered with.
    COOPERABILITY = "cooperability";
    /// A block meant to be deterministic has conflicting threads inside.
    CONFLICT_FREEDOM = "conflict-freedom";
    /// A block meant to be deterministic is not serializable from the outside.
    EXTERNAL_SERIALIZABILITY = "external-serializability";
    /// Two accesses race.
    RACE = "race";
    /// No lock protects all accesses of a variable.
    LOCKSET = "lockset";
    /// A block is not reducible.
    REDUCTION = "reduction";
    /// A block that a correct reordering of the observed run refutes.
    PREDICTED = "predicted";
    /// A race that a correct reordering of the observed run has.
    PREDICTED_RACE = "predicted-race";
    /// A yield that is missing in a correct reordering of the observed run.
    PREDICTED_YIELD = "predicted-yield";
}

impl RuleId {
    /// The rule with this name: lower case, words joined by `-`.
    pub const fn new(name: &'static str) -> RuleId {
        RuleId(Cow::Borrowed(name))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for RuleId {
    fn from(name: String) -> RuleId {
        RuleId(Cow::Owned(name))
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How certain a finding is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// It happened in this very run.
    Violation,
    /// It may be false.
    Warning,
}

impl Severity {
    /// Every severity, the gravest first.
    pub const ALL: &[Severity] = &[Severity::Violation, Severity::Warning];

    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Violation => "violation",
            Severity::Warning => "warning",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a finding rests on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Grounds {
    /// A cycle between transactions.
    Cycle(Explanation),
    /// Two events in conflict that nothing orders, in time order: the accesses of a race. An order
    /// that was not observed would take it back.
    Unordered([EventRef; 2]),
    /// Single events, in time order: an unprotected access.
    Events(Vec<EventRef>),
}

impl Grounds {
    /// The events that show it, in time order.
    pub fn events(&self) -> &[EventRef] {
        match self {
            Grounds::Cycle(explanation) => &explanation.interleaving,
            Grounds::Unordered(events) => events,
            Grounds::Events(events) => events,
        }
    }
}

/// A block of the source, as a finding names it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Blame {
    /// Its label, maybe [`LabelId::UNNAMED`].
    pub label: LabelId,
    /// Where it begins.
    pub site: Site,
}

/// One bug.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// What is violated.
    pub rule: RuleId,
    /// The block to blame, if one can be named.
    pub blame: Option<Blame>,
    /// What happened, the first time that it was seen.
    pub grounds: Grounds,
    /// How often it was seen.
    pub count: u64,
}

impl Finding {
    /// A finding from a cycle.
    pub fn from_cycle(rule: RuleId, explanation: Explanation, count: u64) -> Finding {
        let blamed = explanation.blame.map(|i| explanation.transactions[i]);
        let blame = blamed.and_then(|t| t.label.map(|label| Blame { label, site: t.site }));
        Finding { rule, blame, grounds: Grounds::Cycle(explanation), count }
    }

    /// The fingerprint, as sixteen hexadecimal digits.
    pub fn id(&self, symbols: &Symbols) -> String {
        let mut hash = Fingerprint::default();
        hash.text(self.rule.as_str());
        match &self.grounds {
            Grounds::Cycle(explanation) => {
                CycleKey::new(explanation).fingerprint(&mut hash, symbols);
            }
            Grounds::Unordered(_) | Grounds::Events(_) => {
                if let Some(Blame { label, site }) = self.blame {
                    hash.text(&symbols.show_label(label, site));
                }
                let events = self.grounds.events();
                events.iter().for_each(|e| hash.text(&site_or_operation(e, symbols)));
            }
        }
        format!("{:016x}", hash.0)
    }
}

/// Where an event is; if that is not known, what it does has to distinguish it from others.
fn site_or_operation(at: &EventRef, symbols: &Symbols) -> String {
    if at.event.site == Site::UNKNOWN {
        return show_op(&at.event, symbols);
    }
    symbols.show_site(at.event.site)
}

/// What distinguishes the findings of cycles.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct CycleKey {
    label: Option<LabelId>,
    /// Of a block without a label.
    begin: Site,
    left_at: Site,
    entered_at: Site,
}

impl CycleKey {
    fn new(explanation: &Explanation) -> CycleKey {
        let first = explanation.transactions[0];
        let named = first.label.is_some_and(LabelId::is_named);
        let last_edge = explanation.edges.len() - 1;
        CycleKey {
            label: first.label,
            begin: if named { Site::UNKNOWN } else { first.site },
            left_at: explanation.edges[0].from.event.site,
            entered_at: explanation.edges[last_edge].to.event.site,
        }
    }

    fn fingerprint(&self, hash: &mut Fingerprint, symbols: &Symbols) {
        hash.text(&symbols.show_label(self.label.unwrap_or(LabelId::UNNAMED), self.begin));
        hash.text(&symbols.show_site(self.left_at));
        hash.text(&symbols.show_site(self.entered_at));
    }
}

/// Makes findings of explained cycles, each with the number of transactions that it stands for.
/// Findings come in the order of their first cycles.
pub fn group(rule: &RuleId, cycles: impl IntoIterator<Item = (Explanation, u64)>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    let mut by_key: HashMap<CycleKey, usize> = HashMap::new();
    for (explanation, count) in cycles {
        let next = findings.len();
        let index = *by_key.entry(CycleKey::new(&explanation)).or_insert(next);
        if index == next {
            findings.push(Finding::from_cycle(rule.clone(), explanation, count));
        } else {
            findings[index].count += count;
        }
    }
    findings
}

/// FNV-1a, sixty-four bits: simple, and the same everywhere for ever.
struct Fingerprint(u64);

impl Default for Fingerprint {
    fn default() -> Self {
        Fingerprint(0xcbf2_9ce4_8422_2325)
    }
}

impl Fingerprint {
    /// Adds a text. It is closed by a byte that occurs in no text, so that texts do not run
    /// together.
    fn text(&mut self, text: &str) {
        for byte in text.bytes().chain([0xff]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::atomicity::{Engine, Options};
    use crate::explain::explain;
    use paceline_trace::Trace;
    use paceline_trace::format::std::StdReader;

    fn trace(text: &'static str) -> Trace {
        let lines = text.replace(' ', "\n");
        Trace::collect(&mut StdReader::new(Box::new(std::io::Cursor::new(lines)), false)).unwrap()
    }

    fn findings(trace: &Trace) -> Vec<Finding> {
        let mut engine = Engine::Auto.start(Options::default());
        let _ = engine.events(&trace.batch());
        let explained = explain(&trace.batch(), engine.cycles());
        group(&RuleId::ATOMICITY, explained.into_iter().flatten().map(|e| (e, 1)))
    }

    const ONCE: &str = "1|begin(m)|1 1|r(x)|2 2|w(x)|9 1|w(x)|3 1|end(m)|4";

    #[test]
    fn the_same_places_are_one_finding() {
        let twice = "1|begin(m)|1 1|r(x)|2 2|w(x)|9 1|w(x)|3 1|end(m)|4 \
                     3|begin(m)|1 3|r(y)|2 2|w(y)|8 3|w(y)|3 3|end(m)|4";
        let found = findings(&trace(twice));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].count, 2);
        assert_eq!(found[0].blame, Some(Blame { label: LabelId(0), site: Site::number(1) }));
    }

    #[test]
    fn other_places_are_other_findings() {
        let two = "1|begin(m)|1 1|r(x)|2 2|w(x)|9 1|w(x)|3 1|end(m)|4 \
                   3|begin(m)|1 3|r(y)|5 2|w(y)|9 3|w(y)|3 3|end(m)|4";
        assert_eq!(findings(&trace(two)).len(), 2);
    }

    #[test]
    fn a_fingerprint_depends_on_places_and_labels_only() {
        let id = |text| {
            let trace = trace(text);
            findings(&trace)[0].id(&trace.symbols)
        };
        let other_run = "7|w(q)|1 8|begin(n)|7 8|end(n)|7 8|begin(m)|1 8|r(y)|2 7|w(y)|9 8|w(y)|3";
        assert_eq!(id(ONCE), id(other_run));
        let other_label = "1|begin(k)|1 1|r(x)|2 2|w(x)|9 1|w(x)|3 1|end(k)|4";
        let other_place = "1|begin(m)|1 1|r(x)|2 2|w(x)|9 1|w(x)|23 1|end(m)|4";
        assert_ne!(id(ONCE), id(other_label));
        assert_ne!(id(ONCE), id(other_place));
    }

    #[test]
    fn events_have_fingerprints_too() {
        let trace = trace(ONCE);
        let events = |at: &[usize]| {
            let events = at.iter().map(|&i| EventRef { number: 1, event: trace.events[i] });
            let grounds = Grounds::Events(events.collect());
            Finding { rule: RuleId::RACE, blame: None, grounds, count: 1 }.id(&trace.symbols)
        };
        assert_eq!(events(&[1, 2]), events(&[1, 2]));
        assert_ne!(events(&[1, 2]), events(&[1, 3]));
    }

    #[test]
    fn events_without_a_site_are_distinguished_by_what_they_do() {
        let trace = Trace::parse("1:w(x) 2:w(x) 1:w(y) 2:w(y)").unwrap();
        let race = |at: [usize; 2]| {
            let events = at.map(|i| EventRef { number: 1, event: trace.events[i] });
            let grounds = Grounds::Unordered(events);
            Finding { rule: RuleId::RACE, blame: None, grounds, count: 1 }.id(&trace.symbols)
        };
        assert_ne!(race([0, 1]), race([2, 3]));
    }

    /// Reports are compared with reports of earlier versions: the hash must never change.
    #[test]
    fn the_hash_is_fnv() {
        let mut hash = Fingerprint::default();
        hash.text("");
        assert_eq!(hash.0, 0xaf64_724c_8602_eb6e);
    }

    #[test]
    fn the_two_events_of_a_race_have_the_fingerprint_of_any_two_events() {
        let trace = trace(ONCE);
        let events = [1, 2].map(|i| EventRef { number: 1, event: trace.events[i] });
        let id = |grounds| {
            Finding { rule: RuleId::RACE, blame: None, grounds, count: 1 }.id(&trace.symbols)
        };
        assert_eq!(id(Grounds::Unordered(events)), id(Grounds::Events(events.to_vec())));
    }

    #[test]
    fn names_are_unique() {
        let names: hashbrown::HashSet<_> = RuleId::BUILT_IN.iter().map(RuleId::as_str).collect();
        assert_eq!(names.len(), RuleId::BUILT_IN.len());
    }
}
