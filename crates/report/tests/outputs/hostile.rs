//! Names come from traces, and a trace may come from anywhere. Whatever they hold, no output may
//! break, and none may show or do something else than the name.

use std::time::Duration;

use paceline_report::html::{Page, Snippet, Snippets, page};
use paceline_report::model::{
    Blame, Block, Cooperability, Edge, Event, Explanation, Facts, Filter, Finding, Frame, Label,
    Note, Remark, Report, RuleId, Scope, Severity, Site, Target, TargetKind, Transaction, Verdict,
    YieldInBlock, YieldKind, property,
};
use paceline_report::outcome::{self, Outcome};
use paceline_report::paths::Root;
use paceline_report::suppress::{self, Suppressions};
use paceline_report::{compose, dot, github, junit, svg, text, verdicts};
use paceline_trace::{Kind, LabelId, Op, Trace};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use quick_xml::Reader;
use quick_xml::events::Event as Xml;

use crate::reading::{attribute, elements, page_of, picture_of, results, sarif_of};
use crate::{samples, schema};

/// Pieces that have broken out of something, somewhere.
const HOSTILE: &[&[u8]] = &[
    b"</script><script>alert(1)</script>",
    b"<!--",
    b"-->",
    b"]]>",
    b"<![CDATA[",
    b"\" onload=\"alert(1)",
    b"'><img src=x onerror=alert(1)>",
    b"&lt;script&gt;",
    b"&",
    b"\\",
    b"\\N\\G",
    b"\"]; a -> b [label=\"",
    b"\x1b[31m",
    b"\x1b]0;title\x07",
    b"\0",
    b"\x7f\xc2\x85",
    b"\r\n",
    b"\xff\xfe",
    b"\xef\xbf\xbf",
    b"\xe2\x80\xa8",
    b"\xe2\x80\xae",
    b"{{DATA}}",
    b"$1",
    b"%s",
    b"plain",
    b"</failure>",
    b"<?",
    b"::error::x",
    b"\n::error::x",
    b"%0A",
    b"%",
    b",line=1",
    b"##[error]",
    b"\xc2\x9b31m",
    b"[a](http://b)",
    b"{0}",
    b"/",
    b"../..",
    b":1",
    b"\t",
    b"*",
    b"^",
    b"$",
    b"#",
    b" ",
    b"\xf0\x9d\x84\x9e",
];

fn name_bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        3 => proptest::sample::select(HOSTILE).prop_map(<[u8]>::to_vec),
        1 => vec(any::<u8>(), 0..6),
    ];
    vec(piece, 0..4).prop_map(|pieces| pieces.concat())
}

/// Names as [`compose`] makes them, and as another program may have written them into a report.
fn name() -> impl Strategy<Value = String> {
    name_bytes().prop_flat_map(|bytes| {
        let raw = String::from_utf8_lossy(&bytes).into_owned();
        prop_oneof![Just(compose::name(&bytes)), Just(raw)]
    })
}

fn site() -> impl Strategy<Value = Site> {
    let part = || proptest::option::of(name());
    let source = (part(), proptest::option::of(any::<u64>()), name());
    let source = source.prop_map(|(file, line, method)| {
        let line = line.filter(|_| file.is_some());
        Site::Source { file, line, method: Some(method) }
    });
    prop_oneof![
        4 => source,
        1 => Just(Site::Unknown),
        1 => any::<u64>().prop_map(Site::Number),
    ]
}

fn label() -> impl Strategy<Value = Label> {
    let at_site = |text: &String| text != "?";
    prop_oneof![
        4 => name().prop_map(Label::Named),
        1 => name().prop_filter("an unknown site is no name", at_site).prop_map(Label::AtSite),
        1 => Just(Label::Nameless),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let target = proptest::option::of(name());
    let kind = proptest::sample::select(Kind::ALL);
    (any::<u64>(), name(), kind, target, site(), label()).prop_map(
        |(event, thread, kind, target, site, label)| {
            let stack = vec![Frame { label, site: site.clone() }; 2];
            let target = TargetKind::of(kind).zip(target);
            let target = target.map(|(kind, name)| Target { kind, name });
            Event { event, thread, kind, target, site, stack }
        },
    )
}

fn transaction() -> impl Strategy<Value = Transaction> {
    let label = prop_oneof![4 => label(), 1 => Just(Label::NoBlock)];
    (name(), label, site(), any::<u64>(), event(), event()).prop_map(
        |(thread, label, site, first_event, from, to)| {
            let edge = Edge { from, to };
            Transaction { thread, label, site, first_event, last_event: first_event, edge }
        },
    )
}

/// Mostly a rule that there is.
fn rule() -> impl Strategy<Value = RuleId> {
    prop_oneof![
        4 => proptest::sample::select(RuleId::BUILT_IN),
        1 => name().prop_map(RuleId::from),
    ]
}

fn finding() -> impl Strategy<Value = Finding> {
    let blame =
        proptest::option::of((label(), site()).prop_map(|(label, site)| Blame { label, site }));
    let severity = proptest::sample::select(Severity::ALL);
    let explanation = proptest::sample::select(Explanation::ALL);
    let shown = (explanation, vec(transaction(), 0..5), vec(event(), 0..6));
    (name(), rule(), severity, name(), blame, shown).prop_map(
        |(id, rule, severity, title, blame, (explanation, cycle, threads))| {
            let label = Label::Named(title.clone());
            let block = Block { label, thread: id.clone(), begin_event: 3 };
            Finding {
                variables: vec![title.clone(), id.clone()],
                remarks: vec![
                    Remark::Other { text: title.clone() },
                    Remark::Locks { held: vec![id.clone()], confirmed: false },
                ],
                reordering: None,
                code: None,
                refuted: vec![block.clone()],
                not_refuted: vec![block],
                count: 1,
                id,
                rule,
                severity,
                title,
                blame,
                explanation,
                cycle,
                threads,
            }
        },
    )
}

/// A report in which every name is hostile.
fn report() -> impl Strategy<Value = Report> {
    (vec(finding(), 0..4), name(), name()).prop_map(|(findings, path, word)| {
        let mut report = samples::report_of(findings);
        report.input.path = path;
        let text = format!("a\n{word}");
        report.notes = vec![Note::UnmatchedPattern { pattern: word.clone() }, Note::Other { text }];
        let pattern = word.clone();
        report.scope = Scope {
            properties: vec![word.clone()],
            filters: vec![Filter::Atomic { pattern }, Filter::Other { text: word.clone() }],
            dropped: 1,
        };
        let (site, label) = (Site::method(word.clone()), Label::Named(word.clone()));
        let inside = YieldInBlock { event: 1, kind: YieldKind::Written, site, label, count: 2 };
        let yields_in_blocks = vec![inside];
        let facts = Cooperability { yields_in_blocks, ..Cooperability::default() };
        let verdict = verdicts::verdict(Facts::Cooperability(facts), false);
        report.verdicts.insert(property::COOPERABILITY, verdict);
        let mut other = serde_json::Map::new();
        other.insert("why".to_owned(), word.clone().into());
        let facts = Facts::Other(other);
        let verdict = Verdict { facts, ..Verdict::new(true, word.clone()) };
        report.verdicts.insert(word, verdict);
        report
    })
}

/// The same events, with names that are any bytes.
#[expect(clippy::wildcard_enum_match_arm, reason = "all others keep their names")]
fn trace_of(name: &[u8]) -> Trace {
    let mut trace = samples::trace(samples::LINE);
    let label = LabelId(trace.symbols.labels.intern(name));
    let var = trace.symbols.var(name);
    let thread = trace.symbols.thread(&[name, b"2"].concat());
    for event in &mut trace.events {
        event.op = match event.op {
            Op::Begin(_) => Op::Begin(label),
            Op::End(_) => Op::End(label),
            Op::Write(_) => Op::Write(var),
            Op::Read(_) => Op::Read(var),
            other => other,
        };
        event.thread = if event.thread.0 == 1 { thread } else { event.thread };
    }
    trace
}

/// Reads strictly to the end: the elements and the texts.
fn parse(xml: &str) -> (Vec<String>, String) {
    let mut reader = Reader::from_str(xml);
    reader.config_mut().enable_all_checks(true);
    let (mut elements, mut open, mut text) = (Vec::new(), Vec::new(), String::new());
    loop {
        let event = reader.read_event().expect("well-formed");
        match &event {
            Xml::Start(e) | Xml::Empty(e) => {
                for attribute in e.attributes() {
                    let attribute = attribute.expect("well-formed attribute");
                    let key = attribute.key.as_ref().to_owned();
                    assert!(!key.starts_with("on"), "{key}");
                }
                let name = e.name().as_ref().to_owned();
                if matches!(event, Xml::Start(_)) {
                    open.push(name.clone());
                }
                elements.push(name);
            }
            Xml::End(e) => {
                let name = e.name().as_ref().to_owned();
                assert_eq!(open.pop(), Some(name));
            }
            Xml::Text(t) => text.push_str(t),
            Xml::GeneralRef(_) => {}
            Xml::Eof => break,
            Xml::CData(_) | Xml::Comment(_) | Xml::Decl(_) | Xml::PI(_) | Xml::DocType(_) => {
                panic!("not in our drawings: {event:?}")
            }
        }
    }
    assert!(open.is_empty());
    (elements, text)
}

/// What XML 1.0 allows, and what terminals do not obey.
fn is_allowed(c: char) -> bool {
    c == '\n' || !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}')
}

fn is_terminal_safe(text: &str) -> bool {
    text.chars().all(|c| c == '\n' || !c.is_control() && !matches!(c, '\u{202a}'..='\u{202e}'))
}

/// What is left of a text in dot's syntax when all quoted texts are taken out.
fn outside_quotes(dot: &str) -> String {
    let (mut out, mut quoted, mut escaped) = (String::new(), false, false);
    for c in dot.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            c if !quoted => out.push(c),
            _ => {}
        }
    }
    assert!(!quoted);
    out
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 256,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(5),
        ..ProptestConfig::default()
    })]

    #[test]
    fn drawings_stay_drawings(finding in finding()) {
        let drawn = svg::svg(&finding);
        let (elements, text) = parse(&drawn);
        let known = ["svg", "title", "desc", "style", "g", "rect", "path", "polygon", "text"];
        prop_assert!(elements.iter().all(|e| known.contains(&e.as_str())), "{elements:?}");
        prop_assert!(drawn.chars().all(is_allowed));
        prop_assert!(is_terminal_safe(&drawn));
        prop_assert!(!text.contains('<'));
    }

    #[test]
    fn dot_has_only_our_statements(finding in finding()) {
        let written = dot::dot(&finding);
        let bare = outside_quotes(&written);
        let letters = |c: char| c.is_ascii_graphic() || c == ' ' || c == '\n';
        prop_assert!(bare.chars().all(letters), "{bare}");
        let boxes = if finding.cycle.is_empty() { finding.threads.len() } else { finding.cycle.len() };
        prop_assert_eq!(bare.matches("[label=").count() - bare.matches(" -> ").count(), boxes);
        prop_assert!(is_terminal_safe(&written));
    }

    #[test]
    fn pages_hold_what_was_put_in(report in report(), line in name()) {
        let snippet = Snippet { first: 1, line: 1, lines: vec![line] };
        let snippets = Snippets::from([(report.input.path.clone(), snippet)]);
        let (shown, data) = page_of(&report, &snippets);
        let (_, rest) = shown.split_once("id=\"data\">").unwrap();
        let (raw, after) = rest.split_once("</script>").unwrap();
        prop_assert!(!raw.contains(['<', '>', '&']));
        prop_assert!(after.starts_with("\n<script type=\"module\">\n"));
        let back: Vec<Report> = serde_json::from_value(data["reports"].clone()).unwrap();
        prop_assert_eq!(&back[0], &report);
        let back: Snippets = serde_json::from_value(data["snippets"].clone()).unwrap();
        prop_assert_eq!(&back, &snippets);
        // Nothing but the data depends on the names.
        let empty = page(&Page { reports: &[], failures: &[], snippets: &Snippets::new() }).unwrap();
        let frame = |page: &str| {
            let (before, rest) = page.split_once("id=\"data\">").unwrap();
            let (_, after) = rest.split_once("</script>").unwrap();
            format!("{before}{after}")
        };
        prop_assert_eq!(frame(&shown), frame(&empty));
    }

    #[test]
    fn sarif_is_what_its_schema_says(report in report()) {
        let findings = report.findings.len();
        let sarif = sarif_of(&[Outcome::Report(report)]);
        prop_assert_eq!(schema::violation(&sarif), None);
        prop_assert_eq!(results(&sarif).len(), findings);
        for result in results(&sarif) {
            let message = result["message"]["text"].as_str().unwrap();
            prop_assert!(!message.replace("\\]", "").contains("]("), "a link: {message}");
        }
    }

    #[test]
    fn a_workflow_gets_only_our_commands(report in report()) {
        let (findings, notes) = (report.findings.len(), report.notes.len());
        let github = github::annotations(&Outcome::Report(report), &Root::default());
        prop_assert_eq!(github.lines().count(), findings + notes + 1);
        prop_assert!(is_terminal_safe(&github), "{github:?}");
        for (i, line) in github.lines().enumerate() {
            let is_finding = line.starts_with("::error ") || line.starts_with("::warning ");
            let expected = is_finding || i >= findings && line.starts_with("::notice ");
            prop_assert!(expected, "{line}");
            let properties = line[2..].split_once("::").unwrap().0;
            let keys = properties.split(' ').nth(1).unwrap_or_default().split(',');
            prop_assert!(keys.clone().count() <= 3, "{line}");
        }
    }

    #[test]
    fn junit_has_only_our_elements(report in report()) {
        let findings = report.findings.len();
        let titles: Vec<String> = report.findings.iter().map(|f| f.title.clone()).collect();
        let junit = junit::document(&[Outcome::Report(report)], &Root::default());
        prop_assert!(junit.replace('\t', "").chars().all(is_allowed), "{junit:?}");
        prop_assert_eq!(elements(&junit, "testsuite").len(), 1);
        let failures = elements(&junit, "failure");
        prop_assert_eq!(failures.len(), findings);
        let is_kept = |c: char| c == '\n' || c == '\t' || is_allowed(c);
        for (title, (shown, _)) in titles.iter().zip(&failures) {
            let expected: String =
                title.chars().map(|c| if is_kept(c) { c } else { '\u{fffd}' }).collect();
            prop_assert_eq!(attribute(shown, "message"), expected);
        }
    }

    /// A terminal is shown what a trace or a saved report says only after it was made safe.
    #[test]
    fn a_terminal_obeys_no_name(report in report()) {
        let saved = serde_json::to_vec(&report).unwrap();
        let Outcome::Report(safe) = outcome::parse(&saved).unwrap().swap_remove(0) else {
            panic!("no report")
        };
        let text = text::report(&safe, Duration::ZERO);
        let plain = anstream::adapter::strip_str(&text).to_string();
        prop_assert!(is_terminal_safe(&plain), "{plain:?}");
    }

    #[test]
    fn suppressions_suppress_what_they_were_written_for(mut report in report()) {
        let file = suppress::write(&report.findings);
        prop_assert!(is_terminal_safe(&file), "{file:?}");
        for line in file.split(['\n', '\r', '\u{2028}', '\u{2029}', '\u{85}']) {
            let entry = line.split_once(":^").is_some_and(|(_, pattern)| pattern.ends_with('$'));
            prop_assert!(line.is_empty() || line.starts_with("# ") || entry, "{line:?}");
        }
        let mut suppressions = Suppressions::default();
        suppressions.add("known.txt", &file).unwrap();
        suppressions.apply(&mut report);
        prop_assert!(suppressions.unused().is_empty());
        let nameless = |f: &Finding| {
            f.blame.is_none()
                && f.threads.is_empty()
                && f.cycle.iter().all(|t| t.label.text().is_none())
        };
        prop_assert!(report.findings.iter().all(nameless), "{:?}", report.findings);
    }

    #[test]
    fn pictures_show_any_bytes(name in name_bytes()) {
        let trace = trace_of(&name);
        let mut report = samples::report(&trace);
        report.input.path = String::from_utf8_lossy(&name).into_owned();
        report.notes.push(Note::Other { text: report.input.path.clone() });
        let picture = picture_of(&trace, &report);
        let label = compose::name(&name);
        let events = picture["traceEvents"].as_array().unwrap();
        prop_assert!(events.iter().any(|e| e["ph"] == "B" && e["name"] == label.as_str()));
        prop_assert_eq!(&picture["otherData"]["trace"], &report.input.path);
        let text = text::report(&report, Duration::ZERO);
        let plain = anstream::adapter::strip_str(&text).to_string();
        prop_assert!(plain.chars().all(|c| c == '\n' || !c.is_control()), "{plain:?}");
    }
}
