//! What came out for each property: in the JSON an object with an entry for each property.
//!
//! What all verdicts have is what outputs show: whether the property holds, a summary, cells for a
//! table, the rules of its findings. A property's own fields stand beside these. Those of the
//! properties that come with Paceline are typed here; any other property brings a map of its own.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::names::named;
use super::{
    Block, Input, Label, PredictedBlock, PredictedRace, PredictedYield, PredictionSearch, RuleId,
    Severity, Site,
};
use crate::rules::RuleInfo;

/// The names of the properties that come with Paceline.
#[expect(missing_docs, reason = "the names say it")]
pub mod property {
    pub const ATOMICITY: &str = "atomicity";
    pub const COOPERABILITY: &str = "cooperability";
    pub const DETERMINISM: &str = "determinism";
    pub const RACE: &str = "race";
    pub const REDUCTION: &str = "reduction";
}

/// The verdicts, in the order of the names of the properties.
#[derive(Clone, PartialEq, Default, Debug, Serialize)]
#[serde(transparent)]
pub struct Verdicts(BTreeMap<String, Verdict>);

/// What came out for one property.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Verdict {
    /// Nothing was found that speaks against it.
    pub holds: bool,
    /// The property's own fields.
    #[serde(flatten)]
    pub facts: Facts,
    /// How it is to be shown.
    pub standing: Standing,
    /// In a few words.
    pub summary: String,
    /// The rules that its findings break.
    pub rules: Vec<RuleId>,
    /// What a table of all verdicts shows beside the summary.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<Cell>,
}

named! {
    /// How a property fared.
    Standing {
        /// It holds.
        Holds = "holds",
        /// It is violated, for certain.
        Violated = "violated",
        /// There are warnings.
        Warned = "warned",
        /// There was nothing that it could be decided about.
        Empty = "empty",
    }
}

/// A named value that a table shows.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Cell {
    pub name: String,
    pub value: CellValue,
}

/// What a [`Cell`] shows.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
#[expect(missing_docs, reason = "the names say it")]
pub enum CellValue {
    Truth(bool),
    Number(u64),
    Text(String),
}

/// The fields that only one property has.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(untagged)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Facts {
    Atomicity(Atomicity),
    Cooperability(Cooperability),
    Determinism(Determinism),
    Race(Race),
    Reduction(Reduction),
    /// Those of a property that does not come with Paceline.
    Other(Map<String, Value>),
}

impl Verdicts {
    /// Adds a verdict; one of the same name is replaced.
    pub fn insert(&mut self, property: impl Into<String>, verdict: Verdict) {
        self.0.insert(property.into(), verdict);
    }

    /// The verdict on a property, if it was decided.
    pub fn get(&self, property: &str) -> Option<&Verdict> {
        self.0.get(property)
    }

    /// Every verdict with the name of its property.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Verdict)> {
        self.0.iter().map(|(name, verdict)| (name.as_str(), verdict))
    }

    /// Whether nothing was decided.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What atomicity has of its own, if it was decided.
    pub fn atomicity(&self) -> Option<&Atomicity> {
        match &self.get(property::ATOMICITY)?.facts {
            Facts::Atomicity(atomicity) => Some(atomicity),
            Facts::Cooperability(_)
            | Facts::Determinism(_)
            | Facts::Race(_)
            | Facts::Reduction(_)
            | Facts::Other(_) => None,
        }
    }

    /// What atomicity has of its own, to be changed.
    pub fn atomicity_mut(&mut self) -> Option<&mut Atomicity> {
        match &mut self.0.get_mut(property::ATOMICITY)?.facts {
            Facts::Atomicity(atomicity) => Some(atomicity),
            Facts::Cooperability(_)
            | Facts::Determinism(_)
            | Facts::Race(_)
            | Facts::Reduction(_)
            | Facts::Other(_) => None,
        }
    }
}

impl<'de> Deserialize<'de> for Verdicts {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Verdicts, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Verdicts;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with a verdict for each property")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Verdicts, M::Error> {
                let mut verdicts = Verdicts::default();
                while let Some((name, fields)) = map.next_entry::<String, Map<String, Value>>()? {
                    let verdict = Verdict::read(&name, fields).map_err(M::Error::custom)?;
                    verdicts.insert(name, verdict);
                }
                Ok(verdicts)
            }
        }

        from.deserialize_map(Entries)
    }
}

impl Verdict {
    /// A verdict without fields of its own. Where the property holds, the summary is an adjective:
    /// `atomic`.
    pub fn new(holds: bool, summary: impl Into<String>) -> Verdict {
        Verdict {
            holds,
            facts: Facts::Other(Map::new()),
            standing: if holds { Standing::Holds } else { Standing::Violated },
            summary: summary.into(),
            rules: Vec::new(),
            cells: Vec::new(),
        }
    }

    /// Completes a verdict with what is known about its property and about the input: which rules
    /// its findings break, and whether a trace without blocks says nothing about it.
    pub fn settle(&mut self, rules: &[RuleInfo], needs_blocks: bool, input: &Input) {
        self.rules = rules.iter().map(|rule| rule.id.clone()).collect();
        let no_block = needs_blocks && input.transactions == 0;
        self.standing = match self.holds {
            true if input.events == 0 || no_block => Standing::Empty,
            true => Standing::Holds,
            false if rules.iter().all(|rule| rule.severity == Severity::Warning) => {
                Standing::Warned
            }
            false => Standing::Violated,
        };
        if self.holds && no_block {
            self.summary = format!("no block seen that could be {} or not", self.summary);
        }
    }

    fn read(property: &str, mut fields: Map<String, Value>) -> serde_json::Result<Verdict> {
        fn take<T: serde::de::DeserializeOwned>(
            fields: &mut Map<String, Value>,
            name: &'static str,
        ) -> serde_json::Result<T> {
            let value = fields.remove(name);
            serde_json::from_value(value.ok_or_else(|| serde_json::Error::missing_field(name))?)
        }
        let holds = take(&mut fields, "holds")?;
        let standing = take(&mut fields, "standing")?;
        let summary = take(&mut fields, "summary")?;
        let rules = take(&mut fields, "rules")?;
        let has_cells = fields.contains_key("cells");
        let cells = if has_cells { take(&mut fields, "cells")? } else { Vec::new() };
        let facts = Facts::read(property, fields)?;
        Ok(Verdict { holds, facts, standing, summary, rules, cells })
    }
}

impl Facts {
    /// The fields of a verdict on a property. Those of properties that do not come with Paceline
    /// are taken as they are.
    pub fn read(property: &str, fields: Map<String, Value>) -> serde_json::Result<Facts> {
        Ok(match property {
            property::ATOMICITY => Facts::Atomicity(Atomicity::deserialize(Value::Object(fields))?),
            property::COOPERABILITY => {
                Facts::Cooperability(Cooperability::deserialize(Value::Object(fields))?)
            }
            property::DETERMINISM => {
                Facts::Determinism(Determinism::deserialize(Value::Object(fields))?)
            }
            property::RACE => Facts::Race(Race::deserialize(Value::Object(fields))?),
            property::REDUCTION => Facts::Reduction(Reduction::deserialize(Value::Object(fields))?),
            _ => Facts::Other(fields),
        })
    }
}

/// Is every block atomic?
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Atomicity {
    /// The first event whose prefix is not serializable.
    pub first_event: Option<u64>,
    /// The engine that decided.
    pub engine: String,
    /// Every block instance that is refuted.
    pub refuted: Vec<Block>,
    /// Every block instance that another order of this run was found to refute, when asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted: Option<Vec<PredictedBlock>>,
    /// How that was searched for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prediction: Option<PredictionSearch>,
    /// Every transaction on some cycle, when asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub violating: Option<Vec<Violating>>,
    /// What the Velodrome engine counted, when asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Nodes>,
    /// What the runs before this one have refuted, when the program was run until nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shrunk: Option<Shrunk>,
}

/// The methods that turned out not to be atomic, one run after the other. The last run left them
/// out.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Shrunk {
    /// How often the program was run.
    pub runs: u64,
    /// Methods that are not atomic.
    pub not_atomic: Vec<String>,
    /// Methods that may be atomic after all: what was found is a warning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suspects: Vec<String>,
}

/// A transaction in a component of more than one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Violating {
    /// What its block is called.
    #[serde(flatten)]
    pub label: Label,
    /// Its thread.
    pub thread: String,
    /// Its first event.
    pub first_event: u64,
    /// Which component, from 0.
    pub component: u64,
}

/// Nodes of Velodrome's graph (Table 1 of the paper).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Nodes {
    pub allocated: u64,
    pub max_alive: u64,
    pub allocated_without_merge: u64,
    pub max_alive_without_merge: u64,
}

/// Is everything between yields free of interference?
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Cooperability {
    /// The first event whose prefix is not cooperable.
    pub first_event: Option<u64>,
    /// The events before which a yield is missing.
    pub yields: Vec<u64>,
    /// Where these are in the source, as text.
    pub yield_sites: Vec<String>,
    /// Yields inside blocks that are declared atomic.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub yields_in_blocks: Vec<YieldInBlock>,
    /// Yields that are missing in another order of this run, when asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted: Option<Vec<PredictedYield>>,
    /// How these were searched for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prediction: Option<PredictionSearch>,
}

/// A yield inside a block that is declared atomic.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct YieldInBlock {
    /// The first such yield, or the event before which it belongs.
    pub event: u64,
    /// Why there is a yield.
    pub kind: YieldKind,
    /// Where in the source.
    pub site: Site,
    /// What the block is called.
    #[serde(flatten)]
    pub label: Label,
    /// How many there were, of this kind, at this site, in such blocks.
    #[serde(default)]
    pub count: u64,
}

/// Why there is a yield.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum YieldKind {
    /// The program says so.
    Written,
    /// A wait gives up its lock.
    Wait,
    /// A join lets the other thread run.
    Join,
    /// It is missing: without it there would be a cycle.
    Inferred,
}

impl fmt::Display for YieldKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            YieldKind::Written => "yield",
            YieldKind::Wait => "wait",
            YieldKind::Join => "join",
            YieldKind::Inferred => "missing yield",
        })
    }
}

/// Is every deterministic block deterministic?
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Determinism {
    /// No two threads of a block conflict without order.
    pub conflict_free: bool,
    /// The blocks are serializable.
    pub externally_serializable: bool,
    /// The first two events in conflict.
    pub first_conflict: Option<(u64, u64)>,
    /// The first event whose prefix is not externally serializable.
    pub first_event: Option<u64>,
}

/// Is every access ordered?
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Race {
    /// The variables with races.
    pub variables: Vec<String>,
    /// Races of another order of this run, when asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted: Option<Vec<PredictedRace>>,
    /// How these were searched for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prediction: Option<PredictionSearch>,
}

/// Do the locks follow the patterns?
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Reduction {
    /// How many warnings there are.
    pub warnings: u64,
    /// How many of them a violation or race of the same run confirms.
    pub confirmed: u64,
}
