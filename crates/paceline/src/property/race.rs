//! No two accesses race (FastTrack).

use paceline_analysis::Analysis;
use paceline_analysis::finding::RuleId;
use paceline_analysis::occurrence::Target;
use paceline_analysis::race::RaceDetector;
use paceline_report::model::{self, Facts};
use paceline_report::{compose, rules, verdicts};
use paceline_trace::Symbols;

use super::found::{event, unordered};
use super::{Conclusion, Decision, Evidence, Property, PropertyInfo, RedundantAccesses};
use crate::TraceError;
use crate::check::Options;
use crate::passes::Passes;

/// No two accesses race.
#[derive(Clone, Copy, Debug)]
pub struct Race;

static INFO: PropertyInfo = PropertyInfo {
    name: "race",
    summary: "No two accesses race (FastTrack)",
    rules: &[rules::RACE],
    needs_blocks: false,
    redundant: RedundantAccesses::Epoch,
};

impl Property for Race {
    fn info(&self) -> &'static PropertyInfo {
        &INFO
    }

    fn start(&self, _: &Options, _: &Passes<'_>) -> Result<Box<dyn Decision>, TraceError> {
        Ok(Box::new(Deciding(RaceDetector::default())))
    }
}

struct Deciding(RaceDetector);

impl Decision for Deciding {
    fn analyses(&mut self) -> Vec<&mut dyn Analysis> {
        vec![&mut self.0]
    }

    fn conclude(&mut self, symbols: &Symbols, evidence: &mut Evidence) -> Conclusion {
        let races = self.0.races();
        evidence.racy.extend(races.iter().map(|race| race.var));
        let findings = races.iter().map(|race| {
            let target = Target::Var(race.var);
            let events = [event(race.first, target), event(race.second, target)];
            let found = unordered(RuleId::RACE, None, events);
            compose::finding(&found, &rules::RACE, symbols)
        });
        let mut variables: Vec<String> =
            races.iter().map(|r| compose::name(&symbols.vars.name(r.var.0))).collect();
        variables.sort_unstable();
        let facts = Facts::Race(model::Race { variables });
        Conclusion::new(verdicts::verdict(facts, races.is_empty()), findings.collect())
    }
}
