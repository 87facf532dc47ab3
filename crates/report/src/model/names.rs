//! Enums of other crates under the stable names that the JSON has for them.

use std::fmt;

use paceline_trace::{Kind, NoteKind, Rule};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The kind of an operation, by its name in traces.
pub(crate) mod kind_name {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(kind: &Kind, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(kind.name())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Kind, D::Error> {
        let name = String::deserialize(from)?;
        let unknown = || D::Error::custom(format!("`{name}` is no operation"));
        Kind::from_name(name.as_bytes()).ok_or_else(unknown)
    }
}

/// What a note of a recorder is about, by its key in recorded streams.
pub(crate) mod note_key {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(kind: &NoteKind, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&String::from_utf8_lossy(kind.key()))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<NoteKind, D::Error> {
        let key = String::deserialize(from)?;
        let unknown = || D::Error::custom(format!("`{key}` is no kind of note"));
        NoteKind::from_key(key.as_bytes()).ok_or_else(unknown)
    }
}

/// What is wrong with an input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProblemRule {
    /// It breaks a rule of well-formed traces.
    Malformed(Rule),
    /// It is not complete, or not what it says it is.
    Damaged,
    /// It cannot be read at all.
    Unreadable,
}

impl ProblemRule {
    /// Every one.
    pub fn all() -> impl Iterator<Item = ProblemRule> {
        let malformed = Rule::ALL.iter().copied().map(ProblemRule::Malformed);
        malformed.chain([ProblemRule::Damaged, ProblemRule::Unreadable])
    }

    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            ProblemRule::Malformed(rule) => rule.name(),
            ProblemRule::Damaged => "damaged",
            ProblemRule::Unreadable => "unreadable",
        }
    }
}

impl fmt::Display for ProblemRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for ProblemRule {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for ProblemRule {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<ProblemRule, D::Error> {
        let name = String::deserialize(from)?;
        let unknown = || D::Error::custom(format!("`{name}` is no rule for traces"));
        ProblemRule::all().find(|rule| rule.name() == name).ok_or_else(unknown)
    }
}
