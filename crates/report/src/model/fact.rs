//! Facts that are data and read as a sentence. In the JSON each is an object with its `kind`, its own
//! fields, and `text`, the sentence, for readers that only show it. A kind that is not known,
//! because a later version wrote it, is kept as its sentence.

/// Implements `Serialize` and `Deserialize` for an enum that derives both with
/// `#[serde(remote = "Self", tag = "kind")]`, has a `Display`, and a variant `Other { text }`.
macro_rules! fact {
    ($name:ident) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                /// The fact without its sentence.
                struct Bare<'a>(&'a $name);

                impl serde::Serialize for Bare<'_> {
                    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                        $name::serialize(self.0, to)
                    }
                }

                #[derive(serde::Serialize)]
                struct WithText<'a> {
                    #[serde(flatten)]
                    fact: Bare<'a>,
                    text: String,
                }

                WithText { fact: Bare(self), text: self.to_string() }.serialize(serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<$name, D::Error> {
                let value = <serde_json::Value as serde::Deserialize>::deserialize(from)?;
                match $name::deserialize(&value) {
                    Ok($name::Other { .. }) | Err(_) => {
                        let text = value.get("text").and_then(serde_json::Value::as_str);
                        let text = text.ok_or_else(|| serde::de::Error::missing_field("text"))?;
                        Ok($name::Other { text: text.to_owned() })
                    }
                    Ok(fact) => Ok(fact),
                }
            }
        }
    };
}

pub(super) use fact;
