//! Stable names: of enums that the model has of its own, and of those of other crates.

use std::fmt;

use paceline_trace::{Kind, NoteKind, Rule};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Defines an enum whose variants have stable names, which stand in the JSON.
macro_rules! named {
    ($(#[$about:meta])* $enum:ident { $($(#[$doc:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[derive(serde::Serialize, serde::Deserialize)]
        pub enum $enum {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)*
        }

        impl $enum {
            /// Every variant.
            pub const ALL: &[$enum] = &[$($enum::$variant,)*];

            /// The stable name.
            pub fn name(self) -> &'static str {
                match self {
                    $($enum::$variant => $name,)*
                }
            }
        }

        impl std::fmt::Display for $enum {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

pub(super) use named;

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
