//! What a block is called.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// What a block is called. In the JSON this is `label`, the text, and `named`, which is false where
/// the program gave the block no name and the text is its site.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(from = "LabelFields", into = "LabelFields")]
pub enum Label {
    /// By its own name.
    Named(String),
    /// By its site, as text.
    AtSite(String),
    /// Neither is known.
    Nameless,
    /// There is no block: it is a single event outside every block.
    NoBlock,
}

#[derive(Serialize, Deserialize)]
struct LabelFields {
    label: Option<String>,
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    named: bool,
}

fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_true(named: &bool) -> bool {
    *named
}

/// Stands where a name is not known.
const UNKNOWN: &str = "?";

impl From<LabelFields> for Label {
    fn from(LabelFields { label, named }: LabelFields) -> Label {
        match label {
            None => Label::NoBlock,
            Some(name) if named => Label::Named(name),
            Some(text) if text == UNKNOWN => Label::Nameless,
            Some(site) => Label::AtSite(site),
        }
    }
}

impl From<Label> for LabelFields {
    fn from(label: Label) -> LabelFields {
        let named = matches!(label, Label::Named(_) | Label::NoBlock);
        let label = match label {
            Label::Named(text) | Label::AtSite(text) => Some(text),
            Label::Nameless => Some(UNKNOWN.to_owned()),
            Label::NoBlock => None,
        };
        LabelFields { label, named }
    }
}

impl Label {
    /// The label of a block with this name.
    pub fn named(name: impl Into<String>) -> Label {
        Label::Named(name.into())
    }

    /// As it stands in lists; nothing for a single event.
    pub fn text(&self) -> Option<&str> {
        match self {
            Label::Named(text) | Label::AtSite(text) => Some(text),
            Label::Nameless => Some(UNKNOWN),
            Label::NoBlock => None,
        }
    }

    /// As it stands in a sentence; nothing for a single event. A site alone would be no name.
    pub fn in_sentence(&self) -> Option<Cow<'_, str>> {
        match self {
            Label::Named(name) => Some(Cow::Borrowed(name)),
            Label::AtSite(site) => Some(Cow::Owned(format!("the block at {site}"))),
            Label::Nameless => Some(Cow::Borrowed("a block without a name")),
            Label::NoBlock => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_label_in_a_sentence_and_as_data() {
        for (label, sentence, data) in [
            (Label::named("Set.add"), Some("Set.add"), json!({"label": "Set.add"})),
            (Label::named("7"), Some("7"), json!({"label": "7"})),
            (
                Label::AtSite("7".to_owned()),
                Some("the block at 7"),
                json!({"label": "7", "named": false}),
            ),
            (
                Label::Nameless,
                Some("a block without a name"),
                json!({"label": "?", "named": false}),
            ),
            (Label::NoBlock, None, json!({"label": null})),
        ] {
            assert_eq!(label.in_sentence().as_deref(), sentence);
            assert_eq!(serde_json::to_value(&label).unwrap(), data);
            assert_eq!(serde_json::from_value::<Label>(data).unwrap(), label);
        }
    }
}
