//! The page in a real browser: it can be clicked and typed through, it complains about nothing, it
//! loads nothing, names cannot break it, and size does not matter.

#[path = "html/webdriver.rs"]
mod webdriver;

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use paceline_report::html::{Page, Snippet, Snippets, page};
use paceline_report::model::{
    Atomicity, Blame, Cooperability, Edge, Event, Explanation, Facts, Filter, Finding, Frame,
    Input, Label, Race, Report, RuleHelp, RuleId, SCHEMA, Scope, Severity, Site, Target,
    TargetKind, Transaction, Verdicts, YieldInBlock, YieldKind, property,
};
use paceline_report::{rules, verdicts};
use paceline_trace::Kind;
use serde_json::json;
use webdriver::Browser;

/// A browser; where there is none the test says so, except where all must be tested.
fn browser() -> Option<Browser> {
    let browser = Browser::start();
    if browser.is_none() {
        assert!(
            std::env::var("CI").as_deref() != Ok("true"),
            "chromium and chromedriver are not installed"
        );
        // Not by `eprintln!`, which is only shown of tests that fail.
        let said = "SKIPPED: chromium and chromedriver are not installed; the page was NOT tested";
        let _ = writeln!(std::io::stderr(), "{said}");
    }
    browser
}

fn event(number: u64, thread: &str, kind: Kind, target: &str) -> Event {
    let site = Site::line("Bank.java", 10 + number % 7);
    let [thread, name] = [thread, target].map(str::to_owned);
    let target = TargetKind::of(kind).map(|kind| Target { kind, name });
    let frame = |label: &str| Frame { label: Label::named(label), site: Site::Unknown };
    let stack = vec![frame("Bank.step"), frame("Worker.run")];
    Event { event: number, thread, kind, target, site, stack }
}

/// `withdraw` of one thread with a deposit of another in its middle.
fn finding(i: u64, name: &str) -> Finding {
    let (one, two, balance) =
        (format!("teller-{i}"), "auditor".to_owned(), format!("{name}.balance"));
    let at = 100 * i + 1;
    let threads = vec![
        event(at, &one, Kind::Begin, name),
        event(at + 4, &one, Kind::Read, &balance),
        event(at + 9, &two, Kind::Begin, "Audit.fix"),
        event(at + 11, &two, Kind::Write, &balance),
        event(at + 12, &two, Kind::End, "Audit.fix"),
        event(at + 20, &one, Kind::Write, &balance),
        event(at + 21, &one, Kind::End, name),
    ];
    let transaction =
        |first: usize, last: usize, label: &str, from: usize, to: usize| Transaction {
            thread: threads[first].thread.clone(),
            label: Label::named(label),
            site: threads[first].site.clone(),
            first_event: threads[first].event,
            last_event: threads[last].event,
            edge: Edge { from: threads[from].clone(), to: threads[to].clone() },
        };
    let cycle = vec![transaction(0, 6, name, 1, 3), transaction(2, 4, "Audit.fix", 3, 5)];
    Finding {
        id: format!("{i:016x}"),
        rule: if i % 5 == 4 { RuleId::RACE } else { RuleId::ATOMICITY },
        severity: if i % 5 == 4 { Severity::Warning } else { Severity::Violation },
        title: format!("{name} is not atomic"),
        blame: Some(Blame { label: Label::named(name), site: Site::line("Bank.java", 11) }),
        explanation: Explanation::Cycle,
        cycle,
        threads,
        refuted: Vec::new(),
        not_refuted: Vec::new(),
        variables: Vec::new(),
        count: i + 1,
        remarks: Vec::new(),
        reordering: None,
        code: None,
    }
}

/// The verdicts on what there is in the input, atomicity with these facts.
fn verdicts_on(input: &Input, atomicity: Atomicity) -> Verdicts {
    let inside = YieldInBlock {
        event: 7,
        kind: YieldKind::Written,
        site: Site::Number(9),
        label: Label::named("Bank.step"),
        count: 2,
    };
    let cooperability = Cooperability { yields_in_blocks: vec![inside], ..Default::default() };
    let atomic = atomicity.first_event.is_none();
    let decided = [
        (property::ATOMICITY, Facts::Atomicity(atomicity), atomic),
        (property::COOPERABILITY, Facts::Cooperability(cooperability), true),
        (property::RACE, Facts::Race(Race::default()), true),
    ];
    let mut all = Verdicts::default();
    for (property, facts, holds) in decided {
        let (rules, needs_blocks) = (verdicts::rules_of(&facts), verdicts::needs_blocks(&facts));
        let mut verdict = verdicts::verdict(facts, holds);
        verdict.settle(&rules, needs_blocks, input);
        all.insert(property, verdict);
    }
    all
}

fn report(findings: Vec<Finding>) -> Report {
    let atomicity =
        Atomicity { first_event: Some(21), engine: "auto".to_owned(), ..Default::default() };
    let input = Input {
        path: "traces/bank.std".to_owned(),
        events: 1_250_000,
        threads: 12,
        variables: 5_321,
        locks: 40,
        transactions: 88_100,
        recording: None,
    };
    Report {
        schema: SCHEMA.to_owned(),
        verdicts: verdicts_on(&input, atomicity),
        input,
        scope: Scope {
            properties: vec!["atomicity".to_owned(), "race".to_owned()],
            filters: vec![Filter::Except { pattern: "main".to_owned() }],
            dropped: 3,
        },
        findings,
        incomplete: false,
        rules: [rules::ATOMICITY, rules::RACE].iter().map(RuleHelp::from).collect(),
        notes: Vec::new(),
        code: None,
    }
}

/// The page as a file, and its address.
fn written(report: Report, dir: &tempfile::TempDir) -> String {
    let lines = ["void withdraw(int n) {", "    int b = balance;", "    balance = b - n;", "}"];
    let snippet = Snippet { first: 13, line: 14, lines: lines.map(str::to_owned).to_vec() };
    let snippets = Snippets::from([("Bank.java:15".to_owned(), snippet)]);
    let page = page(&Page { reports: &[report], failures: &[], snippets: &snippets });
    let path = dir.path().join("report.html");
    fs::write(&path, page.expect("JSON")).expect("a file");
    format!("file://{}", path.display())
}

fn assert_quiet(browser: &Browser) {
    let said = browser.console();
    assert!(said.is_empty(), "{said:?}");
    let loaded = browser.run("return performance.getEntriesByType('resource').length");
    assert_eq!(loaded, 0, "something was loaded");
}

#[test]
fn a_reader_finds_the_way() {
    let Some(browser) = browser() else { return };
    let dir = tempfile::tempdir().unwrap();
    let names =
        ["Account.withdraw", "Account.transfer", "Ledger.close", "Account.open", "Vault.lock"];
    let findings = (0..).zip(names).map(|(i, name)| finding(i, name)).collect();
    browser.open(&written(report(findings), &dir));
    let title = || browser.run("return document.querySelector('#detail h2').textContent");
    let items = || browser.run("return document.querySelectorAll('.item').length");

    // The first finding is open, with its graph; what was analysed is said.
    assert_eq!(title(), "Account.withdraw is not atomic");
    assert_eq!(items(), 5);
    assert_eq!(browser.run("return document.querySelectorAll('svg .node').length"), 2);
    assert_eq!(browser.run("return document.querySelectorAll('svg .closing').length"), 1);
    let facts = browser.run("return document.querySelector('#facts').textContent");
    assert!(facts.as_str().unwrap().contains("1,250,000"), "{facts}");

    // By mouse: another finding; the timeline chooses an event and shows its source.
    browser.click("#item-2");
    assert_eq!(title(), "Ledger.close is not atomic");
    let chosen = || browser.run("return document.querySelector('.event h4').textContent");
    assert_eq!(chosen(), "r(Ledger.close.balance)");
    browser.click(".timeline");
    assert_ne!(chosen(), "r(Ledger.close.balance)");
    browser.click(".zoom button:last-child");

    // By keyboard: findings, events, search.
    browser.press("kk");
    assert_eq!(title(), "Account.withdraw is not atomic");
    assert_eq!(chosen(), "r(Account.withdraw.balance)");
    let source = browser.run("return document.querySelector('.source .here').textContent");
    assert_eq!(source, "14    int b = balance;");
    let stack = browser.run("return document.querySelector('.stack').textContent");
    assert_eq!(stack, "Stack, innermost call firstBank.stepWorker.run");
    let advice = browser.run("return document.querySelector('.advice').textContent");
    assert!(advice.as_str().unwrap().contains("What to do"), "{advice}");
    const RIGHT: &str = "\u{e014}";
    browser.press(RIGHT);
    assert_eq!(chosen(), "w(Account.withdraw.balance)");
    browser.press("/open");
    assert_eq!(items(), 1);
    const ENTER: &str = "\u{e007}";
    browser.press(ENTER);
    assert_eq!(title(), "Account.open is not atomic");
    const ESCAPE: &str = "\u{e00c}";
    browser.press(ESCAPE);
    assert_eq!(items(), 5);
    let by_rule = "const s = document.getElementById('rule'); s.value = 'race';
         s.dispatchEvent(new Event('change')); return document.getElementById('count').textContent";
    assert_eq!(browser.run(by_rule), "1 of 5 findings");

    // What was analysed, and the dark side.
    browser.click("#show-overview");
    let said = browser.run("return document.querySelector('#detail').textContent");
    let said = said.as_str().unwrap();
    for fact in [
        "not atomic (event 21)",
        "refuted blocks: 0",
        "atomicity, race",
        "--except main",
        "3 events",
    ] {
        assert!(said.contains(fact), "{fact}: {said}");
    }
    assert!(said.contains("yield at 9 in Bank.step (2 times), event 7"), "{said}");
    let theme = || browser.run("return document.documentElement.dataset.theme");
    let before = theme();
    browser.press("t");
    assert_ne!(theme(), before);
    assert!(browser.screenshot().starts_with("iVBORw0KGgo"), "a PNG file");
    assert_quiet(&browser);
}

#[test]
fn names_stay_names() {
    let Some(browser) = browser() else { return };
    let dir = tempfile::tempdir().unwrap();
    let hostile = [
        "</script><script>window.broken = true</script>",
        "<img src=x onerror='window.broken = true'>",
        "\" onmouseover=\"window.broken = true",
        "__proto__",
        "constructor",
        "\u{1b}[31m\u{202e}\0",
    ];
    let mut findings: Vec<Finding> = (0..).zip(hostile).map(|(i, name)| finding(i, name)).collect();
    for (finding, name) in findings.iter_mut().zip(hostile) {
        finding.threads.iter_mut().for_each(|e| e.site = Site::method(name));
        finding.id = name.to_owned();
    }
    browser.open(&written(report(findings), &dir));
    for name in hostile {
        let title = browser.run("return document.querySelector('#detail h2').textContent");
        assert_eq!(title, format!("{name} is not atomic"));
        let sites = browser.run("return document.querySelector('.event').textContent");
        assert!(sites.as_str().unwrap().contains(name), "{sites}");
        browser.press("j");
    }
    assert_eq!(browser.run("return window.broken === undefined"), true);
    assert_eq!(browser.run("return document.querySelectorAll('img').length"), 0);
    assert_quiet(&browser);
}

/// A prediction, from the command to the page: the switch shows both orders, and what was moved.
#[test]
fn a_prediction_can_be_switched_to_the_observed_order() {
    let Some(browser) = browser() else { return };
    let dir = tempfile::tempdir().unwrap();
    let (trace, html) = (dir.path().join("t.std"), dir.path().join("report.html"));
    let events = "B|acq(l)|1 B|w(x)|2 B|rel(l)|3 A|begin(m)|4 A|acq(l)|5 A|w(x)|6 A|rel(l)|7 \
                  A|acq(l)|8 A|w(x)|9 A|rel(l)|10 A|end(m)|11";
    fs::write(&trace, events.replace(' ', "\n")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
    command.args(["check", "--predict"]).arg(&trace).arg("--html").arg(&html);
    assert_eq!(command.output().unwrap().status.code(), Some(1));
    browser.open(&format!("file://{}", html.display()));

    let text =
        |css: &str| browser.run(&format!("return document.querySelector('{css}').textContent"));
    let pressed = || text(".order [aria-pressed=true]");
    let hint =
        || browser.run("return document.querySelector('.card .order').parentElement.textContent");
    let drawn = || browser.run("return document.querySelector('.timeline canvas').toDataURL()");
    // The gutter is drawn: what was moved is red there.
    let is_red = "const c = document.querySelector('.timeline canvas'), r = devicePixelRatio || 1;
        const d = c.getContext('2d').getImageData(0, 0, 80 * r, c.height).data;
        for (let i = 0; i < d.length; i += 4) if (d[i] - d[i + 1] > 60) return true;
        return false";
    assert_eq!(text(".remark"), "did not happen in this run; this run could have gone so");
    for width in [1200, 390] {
        browser.resize(width, 800);
        assert_eq!(pressed(), "As it can happen");
        assert!(hint().as_str().unwrap().contains("↓ later than observed"), "{}", hint());
        assert_eq!(browser.run(is_red), true, "{width}");
        let as_it_can_happen = drawn();

        browser.click(".order button:last-child");
        assert_eq!(pressed(), "As observed");
        assert!(!hint().as_str().unwrap().contains('↓'), "{}", hint());
        assert_eq!(browser.run(is_red), false, "{width}");
        assert_ne!(drawn(), as_it_can_happen, "{width}: the rows are in another order");
        let wide = "return document.documentElement.scrollWidth - window.innerWidth";
        assert!(browser.run(wide).as_i64().unwrap() <= 0, "{width}: the page is too wide");
        browser.click(".order button:first-child");
    }
    assert_quiet(&browser);
}

/// A verdict on nothing must not look like a good one.
#[test]
fn nothing_is_not_green() {
    let Some(browser) = browser() else { return };
    let dir = tempfile::tempdir().unwrap();
    let text = |css: &str| {
        let script = format!("return document.querySelector('{css}').textContent");
        browser.run(&script).as_str().unwrap().to_owned()
    };
    let mut clean = report(Vec::new());
    clean.verdicts = verdicts_on(&clean.input, Atomicity::default());
    browser.open(&written(clean.clone(), &dir));
    assert_eq!(text("#detail h2"), "No finding in what was analysed");
    assert_eq!(text("#verdicts"), "✓ atomicity✓ cooperability✓ race");

    clean.input.transactions = 0;
    clean.verdicts = verdicts_on(&clean.input, Atomicity::default());
    browser.open(&written(clean.clone(), &dir));
    assert_eq!(text("#detail h2"), "No finding, but not all was analysed");
    assert_eq!(text("#verdicts"), "∅ atomicity: nothing analysed✓ cooperability✓ race");

    clean.input.events = 0;
    clean.verdicts = verdicts_on(&clean.input, Atomicity::default());
    clean.incomplete = true;
    browser.open(&written(clean, &dir));
    assert_eq!(text("#detail h2"), "Nothing was analysed");
    assert!(text("#banner").starts_with("Incomplete"));
    assert_quiet(&browser);
}

/// A thousand findings, one of them with a hundred thousand events.
fn large() -> Report {
    let mut findings: Vec<Finding> =
        (0..1000).map(|i| finding(i, &format!("Bank.step{i}"))).collect();
    let long = &mut findings[0];
    let first = long.threads.remove(0);
    let rest = std::mem::take(&mut long.threads);
    let filler =
        (0..100_000).map(|i| event(1_000 + i, &format!("worker-{}", i % 16), Kind::Read, "table"));
    long.threads = std::iter::once(first).chain(filler).collect();
    // What closes the cycle comes at the end.
    for (i, event) in (200_000..).zip(rest) {
        for edge in long.cycle.iter_mut().map(|t| &mut t.edge) {
            for end in [&mut edge.from, &mut edge.to] {
                if end.event == event.event {
                    end.event = i;
                }
            }
        }
        long.threads.push(Event { event: i, ..event });
    }
    report(findings)
}

#[test]
fn size_does_not_matter() {
    let Some(browser) = browser() else { return };
    let dir = tempfile::tempdir().unwrap();
    browser.open(&written(large(), &dir));
    assert_eq!(
        browser.run("return document.getElementById('count').textContent"),
        "1,000 findings"
    );

    // Only what is in view is in the document.
    let elements = browser.run("return document.querySelectorAll('*').length");
    assert!(elements.as_u64().unwrap() < 1_000, "{elements}");

    // Work stays small: each of these is done many times in one go, and each may take half a
    // second, which is far more than it needs on a slow machine.
    const TIMES: u64 = 20;
    let filter =
        "search.value = i % 2 ? 'step9' : 'step'; search.dispatchEvent(new Event('input'));";
    let scroll = "timeline.scrollTop = i * 100000; timeline.dispatchEvent(new Event('scroll'));";
    let zoom = "document.querySelector('.zoom button:nth-child(3)').click();";
    for work in [filter, scroll, zoom] {
        let script = format!(
            "const search = document.getElementById('search'), timeline = document.querySelector('.timeline');
             const start = performance.now();
             for (let i = 0; i < {TIMES}; i++) {{ {work} }}
             return performance.now() - start"
        );
        let took = browser.run(&script).as_f64().unwrap();
        assert!(took < 500.0 * TIMES as f64, "{took} ms: {work}");
    }
    // Frames are still drawn while all hundred thousand events are in view.
    let frames = "document.querySelector('.zoom button:last-child').click();
         const view = document.querySelector('.timeline');
         return new Promise((done) => {
           let frames = 0;
           const next = () => { view.dispatchEvent(new Event('scroll')); ++frames < 10 ? requestAnimationFrame(next) : done(frames); };
           requestAnimationFrame(next);
         })";
    assert_eq!(browser.run(frames), 10);
    let tall = browser.run(
        "const v = document.querySelector('.timeline'); return v.scrollHeight - v.clientHeight",
    );
    assert!(tall.as_f64().unwrap() < 50.0, "all events are in view: {tall}");
    assert_eq!(
        browser.run("return [...document.querySelectorAll('.item')].length > 3"),
        json!(true)
    );
    assert_quiet(&browser);
}

/// `check` on the example and on a broken trace: all three kinds of files, with the source.
#[test]
fn check_writes_the_files() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/example");
    let dir = tempfile::tempdir().unwrap();
    let broken = dir.path().join("broken.std");
    fs::write(&broken, "1|w(x|7\n").unwrap();
    let (html, graphs) = (dir.path().join("report.html"), dir.path().join("graphs"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
    command
        .args(["check", "--property", "atomicity,race"])
        .arg(example.join("bank.rr"))
        .arg(&broken);
    command.arg("--html").arg(&html).arg("--dot").arg(&graphs).arg("--source").arg(&example);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");

    let page = fs::read_to_string(&html).unwrap();
    let (_, data) = page.split_once("id=\"data\">").unwrap();
    let (data, _) = data.split_once("</script>").unwrap();
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    assert_eq!(data["failures"][0]["error"]["rule"], "parse_error");
    assert_eq!(data["snippets"]["Bank.java:6"]["lines"][5], "        int now = balance;");
    let findings = data["reports"][0]["findings"].as_array().unwrap();
    assert!(findings.len() > 3, "{findings:?}");
    for finding in findings {
        let id = finding["id"].as_str().unwrap();
        assert!(
            fs::read_to_string(graphs.join(format!("{id}.dot"))).unwrap().starts_with("digraph")
        );
        assert!(fs::read_to_string(graphs.join(format!("{id}.svg"))).unwrap().starts_with("<svg"));
    }
}
