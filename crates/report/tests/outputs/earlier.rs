//! Reports of the schema `paceline/1`, as the version before wrote them: of two traces, of one that
//! is malformed, and of code. They are read, and read the same.

use paceline_report::baseline::Baseline;
use paceline_report::model::{Explanation, Label, SCHEMA, Severity, Site, Standing, property};
use paceline_report::outcome::{self, Outcome};
use paceline_report::suppress::{self, Suppressions};
use paceline_report::text;

use crate::contract::assert_valid;

fn earlier() -> Vec<Outcome> {
    outcome::parse(include_bytes!("paceline-1.jsonl")).unwrap()
}

#[test]
fn all_of_them_are_reports_of_today() {
    let outcomes = earlier();
    assert_eq!(outcomes.len(), 4);
    outcomes.iter().for_each(assert_valid);
    let Outcome::Failure(failure) = &outcomes[2] else { panic!("the third is malformed") };
    assert_eq!((failure.schema.as_str(), failure.error.line), (SCHEMA, Some(2)));
    let written: Vec<String> = outcomes.iter().map(|o| serde_json::to_string(o).unwrap()).collect();
    assert_eq!(outcome::parse(written.join("\n").as_bytes()).unwrap(), outcomes);
}

/// What `explain` printed of them then, and prints now.
#[test]
fn their_findings_read_as_they_did() {
    let mut shown = String::new();
    for outcome in &earlier() {
        for finding in outcome.findings() {
            let rule = outcome.report().unwrap().rule(&finding.rule);
            shown += &format!("{}\n", text::plain(finding, rule));
        }
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn their_facts_are_typed() {
    let outcomes = earlier();
    let of = |i: usize| outcomes[i].report().unwrap();
    let standing = |i: usize, name| of(i).verdicts.get(name).unwrap().standing;
    assert_eq!(standing(0, property::ATOMICITY), Standing::Violated);
    assert_eq!(standing(1, property::REDUCTION), Standing::Warned);
    assert!(!of(1).verdicts.atomicity().unwrap().refuted.is_empty());
    let kinds: Vec<_> = of(1).findings.iter().map(|f| f.explanation).collect();
    for kind in [Explanation::Cycle, Explanation::Unordered, Explanation::Events] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
    let blames: Vec<_> = of(1).findings.iter().filter_map(|f| f.blame.as_ref()).collect();
    assert!(blames.iter().any(|b| b.label == Label::named("Set.add")));
    assert!(blames.iter().any(|b| b.label == Label::AtSite("14".to_owned())));
    assert_eq!(blames[0].site, Site::Number(10));
    let code = &of(3).findings[0];
    assert_eq!((code.explanation, code.severity), (Explanation::Code, Severity::Warning));
    let site = &code.blame.as_ref().unwrap().site;
    assert_eq!(site.file_line(), Some(("figure1/Figure1.java", 21)));
    assert!(of(3).rule(&code.rule).is_some());
}

/// As baselines, and as what suppressions are written for.
#[test]
fn their_findings_are_known() {
    let mut baseline = Baseline::default();
    baseline.add(&earlier());
    let mut now = earlier();
    let gone = baseline.apply(now.iter_mut().filter_map(Outcome::report_mut));
    assert!(gone.is_empty() && now.iter().all(|o| o.findings().is_empty()));
    let mut now = earlier();
    let file = suppress::write(now.iter().flat_map(Outcome::findings));
    let mut suppressions = Suppressions::default();
    suppressions.add("known.txt", &file).unwrap();
    now.iter_mut().filter_map(Outcome::report_mut).for_each(|r| suppressions.apply(r));
    assert!(now.iter().all(|o| o.findings().is_empty()));
}
