//! Baselines: an earlier report, against which only what is new counts.
//!
//! Findings are compared by their ids, which are the same in every run, and whatever trace they
//! come from: the same bug may show in another one. What has gone may also just not have happened
//! this time: it is reported as not seen, no more.

use std::collections::HashSet;

use crate::model::{Finding, Note, Report, RuleId};
use crate::outcome::Outcome;

/// The findings that were known before.
#[derive(Default, Debug)]
pub struct Baseline {
    findings: Vec<Finding>,
    ids: HashSet<String>,
}

impl Baseline {
    /// Adds the findings of earlier reports.
    pub fn add(&mut self, outcomes: &[Outcome]) {
        for finding in outcomes.iter().flat_map(Outcome::findings) {
            if self.ids.insert(finding.id.clone()) {
                self.findings.push(finding.clone());
            }
        }
    }

    /// Leaves only new findings in the reports, which say how many known ones they had. Returns
    /// those of the baseline that were looked for and not seen in any.
    pub fn apply<'r>(&self, reports: impl IntoIterator<Item = &'r mut Report>) -> Vec<&Finding> {
        let mut seen = HashSet::new();
        let mut looked_for: HashSet<RuleId> = HashSet::new();
        for report in reports {
            looked_for.extend(report.rules.iter().map(|rule| rule.id.clone()));
            let before = report.findings.len();
            report.findings.retain(|finding| {
                let known = self.ids.contains(&finding.id);
                if known {
                    seen.insert(finding.id.clone());
                }
                !known
            });
            let (new, known) = (report.findings.len(), before - report.findings.len());
            report.notes.push(Note::Baseline { new: new as u64, known: known as u64 });
        }
        let gone = |f: &&Finding| !seen.contains(&f.id) && looked_for.contains(&f.rule);
        self.findings.iter().filter(gone).collect()
    }
}

/// The note on a finding that has gone.
pub fn gone(finding: &Finding) -> Note {
    Note::NotSeen { title: finding.title.clone(), id: finding.id.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    fn applied<'b>(baseline: &'b Baseline, now: &mut [Outcome]) -> Vec<&'b Finding> {
        baseline.apply(now.iter_mut().filter_map(Outcome::report_mut))
    }

    fn with(findings: &[Finding]) -> Outcome {
        let mut outcome = samples::outcome();
        outcome.report_mut().unwrap().findings = findings.to_vec();
        outcome
    }

    #[test]
    fn only_what_is_new_is_left_and_what_has_gone_is_reported() {
        let all = samples::report(&samples::trace(samples::LINE)).findings;
        let other = Finding { id: "0".repeat(16), ..all[0].clone() };
        let mut baseline = Baseline::default();
        baseline.add(&[with(&all[..1]), samples::failure(), with(std::slice::from_ref(&other))]);
        let not_looked_for =
            Finding { id: "1".repeat(16), rule: RuleId::LOCKSET, ..all[0].clone() };
        baseline.add(&[with(&[other.clone(), not_looked_for])]);
        let mut now = [with(&all[1..]), with(&all)];
        assert_eq!(applied(&baseline, &mut now), [&other]);
        assert_eq!(now[0].findings(), &all[1..]);
        assert_eq!(now[1].findings(), &all[1..]);
        let notes = |o: &mut Outcome| o.report_mut().unwrap().notes.last().unwrap().to_string();
        assert_eq!(notes(&mut now[0]), "1 new finding; 0 are in the baseline");
        assert_eq!(notes(&mut now[1]), "1 new finding; 1 are in the baseline");
        assert_eq!(
            gone(&other).to_string(),
            "not seen any more: Set.add is not atomic [0000000000000000]"
        );
    }

    #[test]
    fn an_empty_baseline_leaves_everything() {
        let mut now = [samples::outcome()];
        assert!(applied(&Baseline::default(), &mut now).is_empty());
        assert_eq!(now[0].findings(), samples::outcome().findings());
    }
}
