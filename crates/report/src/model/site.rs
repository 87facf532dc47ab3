//! Where in the source something is.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A place in the source, as far as it is known. As text: `Set.java:12`, the file or the method
/// where no more is known, the bare number, or `?`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, Serialize, Deserialize)]
#[serde(from = "Option<SiteFields>", into = "Option<SiteFields>")]
pub enum Site {
    /// Nothing is known.
    #[default]
    Unknown,
    /// A number that means something to the program that wrote the trace.
    Number(u64),
    /// A place in a program whose names are known.
    Source {
        /// The file, as the program knows it.
        file: Option<String>,
        /// The line in this file, from 1.
        line: Option<u64>,
        /// The method or function.
        method: Option<String>,
    },
}

/// What stands in the JSON: `null`, or the fields that are known.
#[derive(Default, Serialize, Deserialize)]
struct SiteFields {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    method: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    number: Option<u64>,
}

impl From<Option<SiteFields>> for Site {
    fn from(fields: Option<SiteFields>) -> Site {
        let SiteFields { file, line, method, number } = fields.unwrap_or_default();
        match number {
            _ if file.is_some() || method.is_some() => Site::Source { file, line, method },
            Some(number) => Site::Number(number),
            None => Site::Unknown,
        }
    }
}

impl From<Site> for Option<SiteFields> {
    fn from(site: Site) -> Option<SiteFields> {
        match site {
            Site::Unknown => None,
            Site::Number(n) => Some(SiteFields { number: Some(n), ..SiteFields::default() }),
            Site::Source { file, line, method } => {
                Some(SiteFields { file, line, method, number: None })
            }
        }
    }
}

impl Site {
    /// A line of a file.
    pub fn line(file: impl Into<String>, line: u64) -> Site {
        Site::Source { file: Some(file.into()), line: Some(line), method: None }
    }

    /// A method whose file is not known.
    pub fn method(name: impl Into<String>) -> Site {
        Site::Source { file: None, line: None, method: Some(name.into()) }
    }

    /// Whether anything is known.
    pub fn is_known(&self) -> bool {
        *self != Site::Unknown
    }

    /// The file and the line, if both are known: where an editor can jump to.
    pub fn file_line(&self) -> Option<(&str, u64)> {
        match self {
            Site::Source { file: Some(file), line: Some(line), .. }
                if !file.is_empty() && *line > 0 =>
            {
                Some((file, *line))
            }
            Site::Source { .. } | Site::Number(_) | Site::Unknown => None,
        }
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Site::Unknown | Site::Source { file: None, method: None, .. } => f.write_str("?"),
            Site::Number(number) => write!(f, "{number}"),
            Site::Source { file: Some(file), line: Some(line), .. } => write!(f, "{file}:{line}"),
            Site::Source { file: Some(name), .. } | Site::Source { method: Some(name), .. } => {
                f.write_str(name)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_site_as_text_and_as_data() {
        let file = Some("Set.java".to_owned());
        let method = Some("Set.add".to_owned());
        for (site, text, data) in [
            (Site::Unknown, "?", json!(null)),
            (Site::Number(12), "12", json!({"number": 12})),
            (Site::line("Set.java", 7), "Set.java:7", json!({"file": "Set.java", "line": 7})),
            (Site::method("Set.add"), "Set.add", json!({"method": "Set.add"})),
            (
                Site::Source { file, line: None, method },
                "Set.java",
                json!({"file": "Set.java", "method": "Set.add"}),
            ),
        ] {
            assert_eq!(site.to_string(), text);
            assert_eq!(serde_json::to_value(&site).unwrap(), data);
            assert_eq!(serde_json::from_value::<Site>(data).unwrap(), site);
        }
    }

    #[test]
    fn an_editor_needs_a_file_and_a_line() {
        assert_eq!(Site::line("a.c", 3).file_line(), Some(("a.c", 3)));
        for site in [Site::line("a.c", 0), Site::line("", 3), Site::Number(3), Site::method("m")] {
            assert_eq!(site.file_line(), None, "{site:?}");
        }
    }
}
