//! No two accesses race (FastTrack).

use paceline_analysis::Analysis;
use paceline_analysis::finding::Rule;
use paceline_analysis::occurrence::Target;
use paceline_analysis::race::RaceDetector;
use paceline_report::{compose, model};
use paceline_trace::Symbols;

use super::found::{event, finding};
use super::{Conclusion, Decision, Evidence, Property, PropertyInfo, RedundantAccesses, Verdict};
use crate::TraceError;
use crate::check::Options;
use crate::passes::Passes;

/// No two accesses race.
#[derive(Clone, Copy, Debug)]
pub struct Race;

static INFO: PropertyInfo = PropertyInfo {
    name: "race",
    summary: "No two accesses race (FastTrack)",
    rules: &[Rule::Race],
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
            let events = vec![event(race.first, target), event(race.second, target)];
            compose::finding(&finding(Rule::Race, None, events, 1), symbols)
        });
        let mut variables: Vec<String> =
            races.iter().map(|r| compose::name(&symbols.vars.name(r.var.0))).collect();
        variables.sort_unstable();
        let verdict = model::Race { holds: races.is_empty(), variables };
        Conclusion::new(Verdict::Race(verdict), findings.collect())
    }
}
