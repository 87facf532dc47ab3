//! Where in the source something is, as far as the text of a site tells: outputs that lead to
//! files need a path and a line, not `Set.java:12`.

use crate::model::Finding;

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

/// A file and maybe a line in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Place<'a> {
    pub file: &'a str,
    pub line: Option<u64>,
}

impl<'a> Place<'a> {
    /// The place that a site names. `12` and `?` name none; neither does a bare method.
    pub fn of(site: &'a str, root: &Root) -> Option<Place<'a>> {
        let (file, line) = site.rsplit_once(':')?;
        let line = line.parse().ok().filter(|&line| line > 0)?;
        (!file.is_empty()).then(|| Place { file: root.relative(file), line: Some(line) })
    }
}

/// Where a finding is shown: at the block to blame; if that has no place, where the cycle leaves
/// it; and else at the last event, which is the one that made it a finding.
pub fn of_finding<'a>(finding: &'a Finding, root: &Root) -> Option<Place<'a>> {
    let blame = finding.blame.as_ref().map(|b| &b.site);
    let left = finding.cycle.first().map(|t| &t.edge.from.site);
    let last = finding.threads.last().map(|e| &e.site);
    [blame, left, last].into_iter().flatten().find_map(|site| Place::of(site, root))
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
    fn sites_with_a_file_and_a_line_are_places() {
        let root = Root::new("/home/me/project/");
        let of = |site| Place::of(site, &root);
        assert_eq!(of("Set.java:12"), Some(Place { file: "Set.java", line: Some(12) }));
        let inside = Some(Place { file: "src/a.c", line: Some(7) });
        assert_eq!(of("/home/me/project/src/a.c:7"), inside);
        assert_eq!(of("./src/a.c:7"), inside);
        let outside = Some(Place { file: "/usr/include/b.h", line: Some(3) });
        assert_eq!(of("/usr/include/b.h:3"), outside);
        assert_eq!(of("C:\\x.java:3"), Some(Place { file: "C:\\x.java", line: Some(3) }));
        for none in ["?", "12", "Set.add", "Set.java", ":3", "a:0", "a:-1", "a:b"] {
            assert_eq!(of(none), None, "{none}");
        }
    }

    #[test]
    fn a_finding_is_where_its_block_is_or_else_where_it_is_left() {
        let mut finding = crate::samples::cycle_of(2);
        let line = |f: &Finding| of_finding(f, &Root::default()).and_then(|place| place.line);
        assert_eq!(line(&finding), Some(7));
        finding.blame.as_mut().unwrap().site = "?".to_owned();
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
