//! Every output shows a property that it has never heard of.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::time::Duration;

use paceline::property::Atomicity;
use paceline::report::html::{Page, Snippets};
use paceline::report::outcome::{self, Outcome};
use paceline::report::paths::Root;
use paceline::report::sarif::Limits;
use paceline::report::{html, junit, sarif, text};
use paceline::{Check, Report};
use toy_property::Released;

fn report(trace: &str) -> Report {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.std");
    std::fs::write(&path, trace.replace(' ', "\n") + "\n").unwrap();
    Check::new().property(Released).property(Atomicity).file(path).run().unwrap()
}

const LEAK: &str = "T1|begin(m)|1 T1|acq(l)|2 T1|end(m)|3 T2|acq(k)|4 T2|rel(k)|5";
const CLEAN: &str = "T1|begin(m)|1 T1|acq(l)|2 T1|rel(l)|3 T1|end(m)|4";

#[test]
fn the_verdict_and_its_finding() {
    let report = report(LEAK);
    let verdict = report.verdicts.get("released").unwrap();
    assert_eq!((verdict.holds, verdict.summary.as_str()), (false, "1 lock is never released"));
    let [finding] = &report.findings[..] else { panic!("{:?}", report.findings) };
    assert_eq!(
        (finding.rule.as_str(), finding.title.as_str()),
        ("lock-leak", "l is never released")
    );
    assert_eq!(finding.threads[0].event, 2);
    assert!(self::report(CLEAN).verdicts.get("released").unwrap().holds);
}

#[test]
fn text_says_what_to_do() {
    let text = text::report(&report(LEAK), Duration::ZERO);
    for part in
        ["l is never released", "Release the lock on every path", "1 lock is never released"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn json_is_read_back() {
    let outcome = Outcome::Report(report(LEAK));
    let saved = serde_json::to_vec(&outcome).unwrap();
    assert_eq!(outcome::parse(&saved).unwrap(), [outcome]);
}

#[test]
fn build_servers_and_browsers_see_it() {
    let [bad, good] = [LEAK, CLEAN].map(|trace| Outcome::Report(report(trace)));
    let root = Root::default();
    let failed = junit::document(std::slice::from_ref(&bad), &root);
    assert!(
        failed.contains("failures=\"1\"") && failed.contains("classname=\"lock-leak\""),
        "{failed}"
    );
    let passed = junit::document(&[good], &root);
    assert!(passed.contains("testcase name=\"released\""), "{passed}");
    let sarif = sarif::document(std::slice::from_ref(&bad), &root, &Limits::GITHUB);
    assert!(sarif.contains("\"lock-leak\"") && sarif.contains("LockLeak"), "{sarif}");
    let Outcome::Report(bad) = bad else { panic!() };
    let page = Page { reports: &[bad], failures: &[], snippets: &Snippets::new() };
    let page = html::page(&page).unwrap();
    assert!(page.contains("held at the end") && page.contains("lock-leak"));
}
