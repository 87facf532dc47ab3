//! No two accesses race (FastTrack).

use paceline_analysis::Analysis;
use paceline_analysis::finding::RuleId;
use paceline_analysis::occurrence::Target;
use paceline_analysis::predict::Goal;
use paceline_analysis::race::RaceDetector;
use paceline_report::model::{self, Facts};
use paceline_report::{compose, rules, verdicts};
use paceline_trace::Symbols;

use super::found::{event, unordered};
use super::predicting::Prediction;
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
    rules: &[rules::RACE, rules::PREDICTED_RACE],
    needs_blocks: false,
    redundant: RedundantAccesses::Epoch,
};

impl Property for Race {
    fn info(&self) -> &'static PropertyInfo {
        &INFO
    }

    fn start(&self, options: &Options, _: &Passes<'_>) -> Result<Box<dyn Decision>, TraceError> {
        let prediction = Prediction::start(Goal::Races, options);
        Ok(Box::new(Deciding { detector: RaceDetector::default(), prediction }))
    }
}

struct Deciding {
    detector: RaceDetector,
    prediction: Option<Prediction>,
}

impl Decision for Deciding {
    fn analyses(&mut self) -> Vec<&mut dyn Analysis> {
        let sharing = self.prediction.iter_mut().map(Prediction::analysis);
        [&mut self.detector as &mut dyn Analysis].into_iter().chain(sharing).collect()
    }

    fn explain(&mut self, trace: &Passes<'_>) -> Result<(), TraceError> {
        if let Some(prediction) = &mut self.prediction {
            let races = self.detector.races().iter();
            prediction.run(trace, races.flat_map(|race| [race.first.event, race.second.event]))?;
        }
        Ok(())
    }

    fn conclude(&mut self, symbols: &Symbols, evidence: &mut Evidence) -> Conclusion {
        let races = self.detector.races();
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
        let prediction = self.prediction.as_ref();
        let predicted = prediction.map_or_else(Vec::new, |it| it.findings(symbols));
        let holds = races.is_empty() && prediction.is_none_or(Prediction::is_empty);
        let findings = findings.chain(predicted).collect();
        let facts = Facts::Race(model::Race {
            variables,
            predicted: prediction.map(|it| it.races(symbols)),
            prediction: prediction.map(|it| it.search(symbols)),
        });
        Conclusion::new(verdicts::verdict(facts, holds), findings)
    }
}
