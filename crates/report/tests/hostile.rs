//! Names come from traces, and a trace may come from anybody. Whatever they hold, no output may
//! break, and none may show or do something else than the name.

use paceline_report::html::{Page, Snippet, Snippets, page};
use paceline_report::model::{
    Blame, Edge, Event, Finding, Input, Report, SCHEMA, Transaction, Verdicts,
};
use paceline_report::{compose, dot, svg};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use quick_xml::Reader;
use quick_xml::events::Event as Xml;

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

fn event() -> impl Strategy<Value = Event> {
    let target = proptest::option::of(name());
    (any::<u64>(), name(), name(), target, name())
        .prop_map(|(event, thread, kind, target, site)| Event { event, thread, kind, target, site })
}

fn transaction() -> impl Strategy<Value = Transaction> {
    let label = proptest::option::of(name());
    (name(), label, name(), any::<u64>(), event(), event()).prop_map(
        |(thread, label, site, first_event, from, to)| {
            let edge = Edge { from, to };
            Transaction { thread, label, site, first_event, last_event: first_event, edge }
        },
    )
}

fn finding() -> impl Strategy<Value = Finding> {
    let blame =
        proptest::option::of((name(), name()).prop_map(|(label, site)| Blame { label, site }));
    let story = (vec(transaction(), 0..5), vec(event(), 0..6));
    (name(), name(), name(), name(), blame, story).prop_map(
        |(id, rule, severity, title, blame, (cycle, threads))| Finding {
            id,
            rule,
            severity,
            title,
            blame,
            cycle,
            threads,
            refuted: Vec::new(),
            not_refuted: Vec::new(),
            count: 1,
            remark: None,
        },
    )
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
        let known = ["svg", "title", "style", "g", "rect", "path", "polygon", "text"];
        prop_assert!(elements.iter().all(|e| known.contains(&e.as_str())), "{elements:?}");
        prop_assert!(drawn.chars().all(is_allowed));
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
        prop_assert!(written.chars().all(|c| c == '\n' || !c.is_control()));
    }

    #[test]
    fn pages_hold_what_was_put_in(findings in vec(finding(), 0..4), path in name(), line in name()) {
        let input = Input { path: path.clone(), ..Input::default() };
        let (schema, verdicts) = (SCHEMA.to_owned(), Verdicts::default());
        let notes = vec![line.clone()];
        let report = Report { schema, input, verdicts, findings, incomplete: false, notes };
        let snippets = Snippets::from([(path, Snippet { first: 1, line: 1, lines: vec![line] })]);
        let reports = [report];
        let page = page(&Page { reports: &reports, failures: &[], snippets: &snippets }).unwrap();
        let (_, data) = page.split_once("id=\"data\">").unwrap();
        let (data, after) = data.split_once("</script>").unwrap();
        prop_assert!(!data.contains(['<', '>', '&']));
        prop_assert!(after.starts_with("\n<script type=\"module\">\n"));
        let data: serde_json::Value = serde_json::from_str(data).unwrap();
        let back: Vec<Report> = serde_json::from_value(data["reports"].clone()).unwrap();
        prop_assert_eq!(&back[..], &reports[..]);
        let back: Snippets = serde_json::from_value(data["snippets"].clone()).unwrap();
        prop_assert_eq!(back, snippets);
        // Nothing but the data depends on the names.
        let empty = paceline_report::html::page(&Page { reports: &[], failures: &[], snippets: &Snippets::new() }).unwrap();
        let frame = |page: &str| {
            let (before, rest) = page.split_once("id=\"data\">").unwrap();
            let (_, after) = rest.split_once("</script>").unwrap();
            format!("{before}{after}")
        };
        prop_assert_eq!(frame(&page), frame(&empty));
    }
}
