//! Where in the source something is, for outputs that lead to files: as seen from the folder that a
//! reader is in.

use crate::model::{Finding, Site};

/// The folder that paths are shown relative to: with a `/` at its end, or empty for none.
#[derive(Clone, Default, Debug)]
pub struct Root(String);

impl Root {
    /// The folder with this path.
    pub fn new(path: &str) -> Root {
        Root(format!("{}/", path.trim_end_matches('/')))
    }

    /// A path as seen from here; one that leads elsewhere stays as it is.
    pub fn relative<'a>(&self, path: &'a str) -> &'a str {
        let path = path.strip_prefix(self.0.as_str()).filter(|p| !p.is_empty()).unwrap_or(path);
        path.strip_prefix("./").filter(|p| !p.is_empty()).unwrap_or(path)
    }
}

/// A file and maybe a line in it: where a reader is led to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct FileLine<'a> {
    pub file: &'a str,
    pub line: Option<u64>,
}

impl<'a> FileLine<'a> {
    /// The line of a site. A number, or a method alone, is none.
    pub fn of(site: &'a Site, root: &Root) -> Option<FileLine<'a>> {
        let (file, line) = site.file_line()?;
        Some(FileLine { file: root.relative(file), line: Some(line) })
    }
}

/// Where a finding is shown: at the block to blame; if that has no line, where the cycle leaves
/// it; and else at the last event, which is the one that made it a finding.
pub fn of_finding<'a>(finding: &'a Finding, root: &Root) -> Option<FileLine<'a>> {
    let blame = finding.blame.as_ref().map(|b| &b.site);
    let left = finding.cycle.first().map(|t| &t.edge.from.site);
    let last = finding.threads.last().map(|e| &e.site);
    [blame, left, last].into_iter().flatten().find_map(|site| FileLine::of(site, root))
}

/// A path as a reference to a URI: relative if the path is.
pub fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len() + 8);
    if path.starts_with('/') {
        uri += "file://";
    }
    for &byte in path.as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' | b'$' => {
                uri.push(char::from(byte));
            }
            _ => uri += &format!("%{byte:02X}"),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_shown_as_seen_from_the_root() {
        let root = Root::new("/home/me/project/");
        for (file, shown) in [
            ("Set.java", "Set.java"),
            ("/home/me/project/src/a.c", "src/a.c"),
            ("./src/a.c", "src/a.c"),
            ("/usr/include/b.h", "/usr/include/b.h"),
            ("C:\\x.java", "C:\\x.java"),
        ] {
            let site = Site::line(file, 7);
            let expected = Some(FileLine { file: shown, line: Some(7) });
            assert_eq!(FileLine::of(&site, &root), expected);
        }
        assert_eq!(FileLine::of(&Site::Number(12), &root), None);
    }

    #[test]
    fn a_finding_is_where_its_block_is_or_else_where_it_is_left() {
        let mut finding = crate::samples::cycle_of(2);
        let line = |f: &Finding| of_finding(f, &Root::default()).and_then(|found| found.line);
        assert_eq!(line(&finding), Some(7));
        finding.blame.as_mut().unwrap().site = Site::Unknown;
        assert_eq!(line(&finding), Some(5));
        finding.cycle.clear();
        assert_eq!(line(&finding), Some(22));
        finding.threads.clear();
        assert_eq!(line(&finding), None);
    }

    #[test]
    fn paths_become_references() {
        assert_eq!(uri("src/a b.c"), "src/a%20b.c");
        assert_eq!(uri("/x/y"), "file:///x/y");
        assert_eq!(uri("javascript:alert(1)"), "javascript%3Aalert%281%29");
        assert_eq!(uri("a\"<>\u{1b}é%"), "a%22%3C%3E%1B%C3%A9%25");
    }
}
