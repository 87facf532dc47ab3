//! JUnit XML, which every build server shows: one document for all traces.
//!
//! A trace is a test suite. A finding is a failed test of it; a property that holds is one that
//! passed; a trace that could not be analysed is an error. A property that does not hold although
//! none of its findings is left (they are suppressed, or in the baseline) counts as skipped: it is
//! neither green nor news. Rules that belong to no property, those for code, pass each by itself.

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};

use crate::model::{Code, Failure, Finding, Note, Report, RuleHelp, Verdict};
use crate::outcome::Outcome;
use crate::paths::{self, FileLine, Root};
use crate::{scope, text};

/// The document.
pub fn document(outcomes: &[Outcome], root: &Root) -> String {
    let mut xml = Xml(Writer::new_with_indent(Vec::new(), b' ', 1));
    xml.put(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)));
    let suites: Vec<Suite> = outcomes.iter().map(|o| suite(o, root)).collect();
    let total = |count: fn(&Suite) -> usize| suites.iter().map(count).sum::<usize>().to_string();
    let (tests, failures) = (total(|s| s.cases.len()), total(|s| s.count("failure")));
    let (errors, skipped) = (total(|s| s.count("error")), total(|s| s.count("skipped")));
    let totals = [
        ("name", "paceline"),
        ("tests", &tests),
        ("failures", &failures),
        ("errors", &errors),
        ("skipped", &skipped),
    ];
    xml.element("testsuites", &totals, |xml| suites.iter().for_each(|suite| suite.write(xml)));
    xml.finish()
}

struct Suite {
    name: String,
    properties: Vec<(&'static str, String)>,
    cases: Vec<Case>,
    notes: Vec<String>,
}

struct Case {
    name: String,
    class: String,
    /// A file and maybe a line.
    place: Option<(String, Option<u64>)>,
    outcome: Option<NotPassed>,
}

struct NotPassed {
    /// `failure`, `error` or `skipped`.
    element: &'static str,
    kind: String,
    message: String,
    text: String,
}

fn suite(outcome: &Outcome, root: &Root) -> Suite {
    match outcome {
        Outcome::Report(report) => analysed(report, root),
        Outcome::Failure(failure) => failed(failure, root),
    }
}

fn analysed(report: &Report, root: &Root) -> Suite {
    let input = &report.input;
    let mut cases: Vec<Case> = report.findings.iter().map(|f| failure(f, report, root)).collect();
    let verdicts = report.verdicts.iter();
    cases.extend(verdicts.filter_map(|(name, verdict)| property(name, verdict, report)));
    cases.extend(report.rules.iter().filter_map(|rule| rule_that_holds(rule, report)));
    let analysed = format!("analysed: {}", scope::line(report));
    Suite {
        name: input.path.clone(),
        properties: report.code.as_ref().map_or_else(|| trace_sizes(report), code_sizes),
        cases,
        notes: [analysed].into_iter().chain(report.notes.iter().map(Note::to_string)).collect(),
    }
}

fn trace_sizes(report: &Report) -> Vec<(&'static str, String)> {
    let Report { input, scope, .. } = report;
    vec![
        ("events", input.events.to_string()),
        ("threads", input.threads.to_string()),
        ("variables", input.variables.to_string()),
        ("locks", input.locks.to_string()),
        ("transactions", input.transactions.to_string()),
        ("properties", scope.properties.join(", ")),
        ("filters", scope::list(&scope.filters, ", ")),
        ("dropped", scope.dropped.to_string()),
    ]
}

fn code_sizes(code: &Code) -> Vec<(&'static str, String)> {
    vec![
        ("classes", code.classes.to_string()),
        ("methods", code.methods.to_string()),
        ("lines", code.lines.to_string()),
        ("unsure", code.unsure.to_string()),
        ("suppressed", code.suppressed.to_string()),
    ]
}

/// The test for a rule that belongs to no verdict and found nothing.
fn rule_that_holds(rule: &RuleHelp, report: &Report) -> Option<Case> {
    let of_verdict = report.verdicts.iter().any(|(_, verdict)| verdict.rules.contains(&rule.id));
    let found = report.findings.iter().any(|f| f.rule == rule.id);
    let name = rule.id.to_string();
    let holds = !of_verdict && !found;
    holds.then(|| Case { class: name.clone(), name, place: None, outcome: None })
}

fn failure(finding: &Finding, report: &Report, root: &Root) -> Case {
    Case {
        name: format!("{} [{}]", finding.title, finding.id),
        class: finding.rule.to_string(),
        place: paths::of_finding(finding, root).map(owned),
        outcome: Some(NotPassed {
            element: "failure",
            kind: finding.severity.to_string(),
            message: finding.title.clone(),
            text: text::plain(finding, report.rule(&finding.rule)),
        }),
    }
}

fn owned(place: FileLine) -> (String, Option<u64>) {
    (place.file.to_owned(), place.line)
}

/// The test for a property, if none of its findings stands for it.
fn property(name: &str, verdict: &Verdict, report: &Report) -> Option<Case> {
    if report.findings.iter().any(|f| verdict.rules.contains(&f.rule)) {
        return None;
    }
    let outcome = (!verdict.holds).then(|| NotPassed {
        element: "skipped",
        kind: name.to_owned(),
        message: "does not hold, but none of its findings is shown".to_owned(),
        text: String::new(),
    });
    Some(Case { name: name.to_owned(), class: name.to_owned(), place: None, outcome })
}

fn failed(failure: &Failure, root: &Root) -> Suite {
    let error = &failure.error;
    let line = error.line.map_or_else(String::new, |line| format!("line {line}: "));
    let outcome = NotPassed {
        element: "error",
        kind: error.rule.to_string(),
        message: format!("{line}{}", error.message),
        text: String::new(),
    };
    let case = Case {
        name: "the trace can be read".to_owned(),
        class: "input".to_owned(),
        place: Some((root.relative(&failure.input.path).to_owned(), error.line)),
        outcome: Some(outcome),
    };
    Suite { name: failure.input.path.clone(), properties: vec![], cases: vec![case], notes: vec![] }
}

impl Suite {
    fn count(&self, element: &str) -> usize {
        self.cases
            .iter()
            .filter_map(|c| c.outcome.as_ref())
            .filter(|o| o.element == element)
            .count()
    }

    fn write(&self, xml: &mut Xml) {
        let count = |element| self.count(element).to_string();
        let (failures, errors, skipped) = (count("failure"), count("error"), count("skipped"));
        let tests = self.cases.len().to_string();
        let attributes = [
            ("name", self.name.as_str()),
            ("tests", &tests),
            ("failures", &failures),
            ("errors", &errors),
            ("skipped", &skipped),
        ];
        xml.element("testsuite", &attributes, |xml| {
            if !self.properties.is_empty() {
                xml.element("properties", &[], |xml| self.write_properties(xml));
            }
            self.cases.iter().for_each(|case| case.write(xml));
            if !self.notes.is_empty() {
                xml.element("system-out", &[], |xml| xml.text(&self.notes.join("\n")));
            }
        });
    }

    fn write_properties(&self, xml: &mut Xml) {
        for (name, value) in &self.properties {
            xml.empty("property", &[("name", name), ("value", value)]);
        }
    }
}

impl Case {
    fn write(&self, xml: &mut Xml) {
        let mut attributes = vec![("name", self.name.as_str()), ("classname", &self.class)];
        let line = self.place.as_ref().and_then(|(_, line)| line.map(|line| line.to_string()));
        attributes.extend(self.place.as_ref().map(|(file, _)| ("file", file.as_str())));
        attributes.extend(line.as_ref().map(|line| ("line", line.as_str())));
        match &self.outcome {
            Some(not_passed) => xml.element("testcase", &attributes, |xml| not_passed.write(xml)),
            None => xml.empty("testcase", &attributes),
        }
    }
}

impl NotPassed {
    fn write(&self, xml: &mut Xml) {
        let attributes = [("message", self.message.as_str()), ("type", &self.kind)];
        if self.text.is_empty() {
            return xml.empty(self.element, &attributes);
        }
        xml.element(self.element, &attributes, |xml| xml.text(&self.text));
    }
}

/// Writes elements. Characters that XML 1.0 has no way to write are shown as U+FFFD.
struct Xml(Writer<Vec<u8>>);

impl Xml {
    fn element(&mut self, name: &str, attributes: &[(&str, &str)], inside: impl FnOnce(&mut Xml)) {
        self.put(Event::Start(start(name, attributes)));
        inside(self);
        self.put(Event::End(BytesEnd::new(name)));
    }

    fn empty(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.put(Event::Empty(start(name, attributes)));
    }

    fn text(&mut self, text: &str) {
        self.put(Event::Text(BytesText::new(&writable(text))));
    }

    fn put(&mut self, event: Event) {
        self.0.write_event(event).expect("writing to memory does not fail");
    }

    fn finish(self) -> String {
        String::from_utf8_lossy(&self.0.into_inner()).into_owned() + "\n"
    }
}

fn start<'a>(name: &'a str, attributes: &[(&str, &str)]) -> BytesStart<'a> {
    let mut start = BytesStart::new(name);
    for &(name, value) in attributes {
        start.push_attribute((name, writable(value).as_str()));
    }
    start
}

fn writable(text: &str) -> String {
    text.chars().map(|c| if is_writable(c) { c } else { '\u{fffd}' }).collect()
}

/// The `Char` of XML 1.0.
fn is_writable(c: char) -> bool {
    match c {
        '\t' | '\n' => true,
        '\u{fffe}' | '\u{ffff}' => false,
        _ => !c.is_control(),
    }
}
