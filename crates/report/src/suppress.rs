//! Suppressions: findings that are known and not to be reported.
//!
//! A file of suppressions has one entry a line, `type:pattern`; blank lines and lines that start
//! with `#` mean nothing.
//! - The type is `violation` or `warning`, for every finding of that severity, or the name of a
//!   rule: `atomicity`, `race`, `lockset` and so on. Rules of properties that do not come with
//!   Paceline are known once they are [added](Suppressions::know).
//! - The pattern is written as for ThreadSanitizer: `*` stands for any text, and so it does,
//!   unwritten, before and after the pattern, unless `^` pins it to the beginning or `$` to the
//!   end. Elsewhere `^` and `$` stand for themselves: `Outer$Inner.add` is a method.
//! - It is compared with the names of a finding: the label and the site of the block to blame; if
//!   no block is, the labels of the blocks on the cycle, and the targets and sites of the events.
//!   For a race, these are the variable and the two sites.

use std::borrow::Cow;

use paceline_trace::select::glob;

use crate::compose;
use crate::model::{Finding, Note, Report, RuleId, Severity};

/// The entries of all files.
#[derive(Debug)]
pub struct Suppressions {
    entries: Vec<Entry>,
    rules: Vec<RuleId>,
}

impl Default for Suppressions {
    fn default() -> Suppressions {
        Suppressions { entries: Vec::new(), rules: RuleId::BUILT_IN.to_vec() }
    }
}

#[derive(Debug)]
struct Entry {
    /// The file and the line.
    origin: String,
    text: String,
    kind: EntryKind,
    pattern: String,
    used: bool,
}

/// What findings an entry is for.
#[derive(PartialEq, Eq, Debug)]
enum EntryKind {
    Severity(Severity),
    Rule(RuleId),
}

impl EntryKind {
    fn name(&self) -> &str {
        match self {
            EntryKind::Severity(severity) => severity.name(),
            EntryKind::Rule(rule) => rule.as_str(),
        }
    }

    fn matches(&self, finding: &Finding) -> bool {
        match self {
            EntryKind::Severity(severity) => *severity == finding.severity,
            EntryKind::Rule(rule) => *rule == finding.rule,
        }
    }
}

/// The types that an entry may have.
fn kinds(rules: &[RuleId]) -> impl Iterator<Item = EntryKind> {
    let severities = Severity::ALL.iter().copied().map(EntryKind::Severity);
    severities.chain(rules.iter().cloned().map(EntryKind::Rule))
}

impl Suppressions {
    /// Entries may be for this rule too.
    pub fn know(&mut self, rule: RuleId) {
        if !self.rules.contains(&rule) {
            self.rules.push(rule);
        }
    }

    /// Adds the entries of a file. An entry that can never match is an error.
    pub fn add(&mut self, file: &str, text: &str) -> Result<(), String> {
        for (line, number) in text.lines().map(str::trim).zip(1..) {
            if !line.is_empty() && !line.starts_with('#') {
                let origin = format!("{file}:{number}");
                let entry = Entry::parse(line, origin, &self.rules)?;
                self.entries.push(entry);
            }
        }
        Ok(())
    }

    /// Takes the findings that match an entry out of a report, which says how many they were.
    pub fn apply(&mut self, report: &mut Report) {
        let before = report.findings.len();
        report.findings.retain(|finding| !self.matches(finding));
        let count = (before - report.findings.len()) as u64;
        if count > 0 {
            report.notes.push(Note::Suppressed { count });
        }
    }

    /// Every entry that matches counts as used, not only the first.
    fn matches(&mut self, finding: &Finding) -> bool {
        let mut any = false;
        for entry in &mut self.entries {
            if entry.matches(finding) {
                entry.used = true;
                any = true;
            }
        }
        any
    }

    /// A note on each entry that has matched nothing so far.
    pub fn unused(&self) -> Vec<Note> {
        let unused = self.entries.iter().filter(|entry| !entry.used);
        let note = |entry: &Entry| Note::UnusedSuppression {
            origin: entry.origin.clone(),
            entry: entry.text.clone(),
        };
        unused.map(note).collect()
    }
}

impl Entry {
    fn parse(line: &str, origin: String, rules: &[RuleId]) -> Result<Entry, String> {
        let wrong = |what: &str| Err(format!("{origin}: `{line}`: {what}"));
        let Some((kind, pattern)) = line.split_once(':') else {
            return wrong("an entry is written `type:pattern`");
        };
        let Some(kind) = kinds(rules).find(|known| known.name() == kind) else {
            let known: Vec<EntryKind> = kinds(rules).collect();
            let known: Vec<&str> = known.iter().map(EntryKind::name).collect();
            return wrong(&format!("known types are {}", known.join(", ")));
        };
        if pattern.is_empty() {
            return wrong("the pattern is missing; `*` matches everything");
        }
        let pattern = as_glob(pattern);
        Ok(Entry { text: line.to_owned(), origin, kind, pattern, used: false })
    }

    fn matches(&self, finding: &Finding) -> bool {
        self.kind.matches(finding)
            && names(finding).any(|name| glob(self.pattern.as_bytes(), name.as_bytes()))
    }
}

/// A pattern that must match all of a name.
fn as_glob(pattern: &str) -> String {
    let (before, pattern) = match pattern.strip_prefix('^') {
        Some(rest) => ("", rest),
        None => ("*", pattern),
    };
    let (pattern, after) = match pattern.strip_suffix('$') {
        Some(rest) => (rest, ""),
        None => (pattern, "*"),
    };
    format!("{before}{pattern}{after}")
}

/// What patterns are compared with; what characterizes the finding best comes first.
fn names(finding: &Finding) -> impl Iterator<Item = Cow<'_, str>> {
    let blame = finding.blame.iter().flat_map(|b| {
        let label = b.label.text().map(Cow::Borrowed);
        label.into_iter().chain([Cow::Owned(b.site.to_string())])
    });
    let labels = finding.cycle.iter().filter_map(|t| t.label.text());
    let last_first = || finding.threads.iter().rev();
    let targets = last_first().filter_map(|e| e.target.as_ref()).map(|target| &*target.name);
    let sites = last_first().map(|e| Cow::Owned(e.site.to_string()));
    let others = labels.chain(targets).map(Cow::Borrowed).chain(sites);
    blame.chain(others.filter(|_| finding.blame.is_none()))
}

/// A file of suppressions for all of these findings.
pub fn write<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> String {
    let mut file = "# Known findings. An entry is written `type:pattern`.\n".to_owned();
    let mut written = std::collections::HashSet::new();
    for finding in findings {
        let Some(entry) = entry(finding) else { continue };
        if written.insert(entry.clone()) {
            let comment = format!("{} [{}]", finding.title, finding.id);
            let comment = compose::name(comment.as_bytes()).replace(is_line_end, " ");
            file += &format!("\n# {comment}\n{entry}\n");
        }
    }
    file
}

/// The entry for a finding; none if there is nothing to know it by.
fn entry(finding: &Finding) -> Option<String> {
    let is_known = RuleId::BUILT_IN.contains(&finding.rule);
    let kind = if is_known { finding.rule.as_str() } else { finding.severity.name() };
    // Nothing in a name may end the line.
    let literal = |c: char| if compose::is_unsafe(c) || is_line_end(c) { '*' } else { c };
    let pattern: String = names(finding).next()?.chars().map(literal).collect();
    Some(format!("{kind}:^{pattern}$"))
}

fn is_line_end(c: char) -> bool {
    matches!(c, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    fn left(entries: &str) -> Vec<String> {
        let mut suppressions = Suppressions::default();
        suppressions.add("s.txt", entries).unwrap();
        let mut report = samples::report(&samples::trace(samples::LINE));
        suppressions.apply(&mut report);
        report.findings.into_iter().map(|f| f.rule.to_string()).collect()
    }

    #[test]
    fn entries_match_by_type_and_pattern() {
        let both = ["atomicity", "race"];
        for (entry, expected) in [
            ("violation:Set.add", &both[1..]),
            ("violation:et.ad", &both[1..]),
            ("violation:^et.ad", &both),
            ("violation:Set.a$", &both),
            ("violation:^S*d$", &both[1..]),
            ("atomicity:Set.java:10", &both[1..]),
            ("race:Set.add", &both),
            ("race:^last$", &both[..1]),
            ("race:Set.java:21", &both[..1]),
            ("warning:*", &both),
            ("violation:*", &[]),
            ("# violation:*", &both),
        ] {
            assert_eq!(left(entry), expected, "{entry}");
        }
    }

    #[test]
    fn anchors_inside_a_pattern_stand_for_themselves() {
        assert_eq!(as_glob("^Outer$Inner.add$"), "Outer$Inner.add");
        assert_eq!(as_glob("a^b"), "*a^b*");
    }

    #[test]
    fn what_is_suppressed_is_counted_and_what_suppresses_nothing_is_reported() {
        let mut suppressions = Suppressions::default();
        suppressions.add("a.txt", "violation:^Set.add\n\nrace:nothing").unwrap();
        suppressions.add("b.txt", "atomicity:add").unwrap();
        let mut report = samples::report(&samples::trace(samples::LINE));
        suppressions.apply(&mut report);
        assert_eq!(report.notes.last().unwrap().to_string(), "1 finding is suppressed");
        let [unused] = &suppressions.unused()[..] else { panic!("one is not used") };
        assert_eq!(unused.to_string(), "a.txt:3: `race:nothing` suppresses nothing");
    }

    #[test]
    fn wrong_entries_are_refused() {
        let why = |line| Suppressions::default().add("s", line).unwrap_err();
        assert_eq!(why("Set.add"), "s:1: `Set.add`: an entry is written `type:pattern`");
        assert!(
            why("#\nmutex:x").starts_with("s:2: `mutex:x`: known types are violation, warning")
        );
        assert!(why("race:").contains("the pattern is missing"));
    }

    #[test]
    fn rules_from_elsewhere_can_be_suppressed_when_they_are_known() {
        let mut suppressions = Suppressions::default();
        assert!(suppressions.add("s", "toy:x").is_err());
        suppressions.know(RuleId::new("toy"));
        assert_eq!(suppressions.add("s", "toy:x"), Ok(()));
    }

    #[test]
    fn what_is_written_suppresses_all_that_it_was_written_for() {
        let outcome = samples::outcome();
        let text = write(outcome.findings().iter().chain(outcome.findings()));
        insta::assert_snapshot!(text);
        assert_eq!(left(&text), [""; 0]);
    }
}
