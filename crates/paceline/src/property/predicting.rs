//! What several properties need to predict: the search in passes of its own, and its result with
//! names.

use paceline_analysis::Analysis;
use paceline_analysis::explain::BlockRef;
use paceline_analysis::finding::{Finding, Grounds, RuleId, group};
use paceline_analysis::predict::{Goal, Options as How, Predicted, Predictor, Sharing, Shown};
use paceline_report::model::{
    self, PredictedBlock, PredictedRace, PredictedYield, PredictionSearch, PredictionTarget,
    Remark, Reordering, Witness,
};
use paceline_report::{compose, rules};
use paceline_trace::{EventNo, Symbols};

use crate::TraceError;
use crate::check::Options;
use crate::passes::Passes;

/// A prediction under way.
pub struct Prediction {
    options: How,
    sharing: Sharing,
    predictor: Option<Predictor>,
}

impl Prediction {
    /// Starts one, if it is asked for.
    pub fn start(goal: Goal, options: &Options) -> Option<Prediction> {
        let asked = options.predict.as_ref()?;
        let options = How { goal, window: asked.window, budget: asked.budget, ..How::default() };
        Some(Prediction { options, sharing: Sharing::default(), predictor: None })
    }

    /// What gets the events in the pass before the search.
    pub fn analysis(&mut self) -> &mut dyn Analysis {
        &mut self.sharing
    }

    /// Searches, in a pass of its own. `observed` is what need not be predicted.
    pub fn run(
        &mut self,
        trace: &Passes<'_>,
        observed: impl IntoIterator<Item = EventNo>,
    ) -> Result<(), TraceError> {
        let sharing = std::mem::take(&mut self.sharing);
        let mut predictor = Predictor::new(self.options, sharing, observed);
        trace.read(&mut [&mut predictor])?;
        self.predictor = Some(predictor);
        Ok(())
    }

    fn predicted(&self) -> &[Predicted] {
        self.predictor.as_ref().map_or(&[], Predictor::predicted)
    }

    /// Whether nothing was predicted.
    pub fn is_empty(&self) -> bool {
        self.predicted().is_empty()
    }

    /// How the search went.
    pub fn search(&self, symbols: &Symbols) -> PredictionSearch {
        let Some(predictor) = &self.predictor else { return PredictionSearch::default() };
        let counts = predictor.counts();
        let targets = predictor.targets();
        PredictionSearch {
            windows: counts.windows,
            tried: counts.tried,
            certified: counts.certified,
            impossible: counts.impossible,
            other_value: counts.other_value,
            undecided: counts.undecided,
            alike: counts.alike,
            not_tried: counts.not_tried,
            targets: targets
                .iter()
                .map(|target| PredictionTarget {
                    block: block(target.block, symbols),
                    goal: target.goal.clone(),
                })
                .collect(),
        }
    }

    /// The predicted blocks.
    pub fn blocks(&self, symbols: &Symbols) -> Vec<PredictedBlock> {
        let each = self.predicted().iter().filter_map(|it| match it.shown {
            Shown::Refuted(own) => {
                Some(PredictedBlock { block: block(own, symbols), order: witness(it) })
            }
            Shown::Race(..) | Shown::MissingYield(_) => None,
        });
        each.collect()
    }

    /// The predicted races.
    pub fn races(&self, symbols: &Symbols) -> Vec<PredictedRace> {
        let each = self.predicted().iter().filter_map(|it| match it.shown {
            Shown::Race(first, second) => {
                let variable = it.events.first().and_then(|at| at.event.op.variable())?;
                let variable = compose::name(&symbols.vars.name(variable.0));
                Some(PredictedRace { variable, events: (first, second), order: witness(it) })
            }
            Shown::Refuted(_) | Shown::MissingYield(_) => None,
        });
        each.collect()
    }

    /// The predicted yields.
    pub fn yields(&self, symbols: &Symbols) -> Vec<PredictedYield> {
        let each = self.predicted().iter().filter_map(|it| match it.shown {
            Shown::MissingYield(event) => {
                let at = it.shown_event?;
                let site = compose::site(at.event.site, symbols);
                Some(PredictedYield { event, site, order: witness(it) })
            }
            Shown::Refuted(_) | Shown::Race(..) => None,
        });
        each.collect()
    }

    /// A finding for each bug: what agrees in its sites is one.
    pub fn findings(&self, symbols: &Symbols) -> Vec<model::Finding> {
        self.predicted().iter().filter_map(|it| finding(it, symbols)).collect()
    }
}

fn block(block: paceline_analysis::predict::Block, symbols: &Symbols) -> model::Block {
    let paceline_analysis::predict::Block { begin_event, thread, label, site } = block;
    compose::block(&BlockRef { thread, label, site, begin_event }, symbols)
}

fn reordering(it: &Predicted) -> Reordering {
    Reordering {
        goal: it.goal.clone(),
        reversed: it.reversed.clone(),
        diverging: it.diverging.clone(),
    }
}

fn witness(it: &Predicted) -> Witness {
    Witness { after: it.after, witness: it.witness.clone(), how: reordering(it) }
}

fn finding(it: &Predicted, symbols: &Symbols) -> Option<model::Finding> {
    let (found, rule) = match it.shown {
        Shown::Refuted(_) => {
            let explanation = it.explanation.clone()?;
            let found = group(&RuleId::PREDICTED, [(explanation, 1)]).pop()?;
            (found, &rules::PREDICTED)
        }
        Shown::Race(..) => {
            let events = it.events.clone().try_into().ok()?;
            let grounds = Grounds::Unordered(events);
            let found = Finding { rule: RuleId::PREDICTED_RACE, blame: None, grounds, count: 1 };
            (found, &rules::PREDICTED_RACE)
        }
        Shown::MissingYield(_) => {
            let late = it.shown_event?;
            let earlier = it.events.iter().take_while(|at| at.number != late.number);
            let earlier = earlier.filter(|at| at.event.thread != late.event.thread).last().copied();
            let grounds = Grounds::Events(earlier.into_iter().chain([late]).collect());
            let found = Finding { rule: RuleId::PREDICTED_YIELD, blame: None, grounds, count: 1 };
            (found, &rules::PREDICTED_YIELD)
        }
    };
    let mut finding = compose::finding(&found, rule, symbols);
    finding.reordering = Some(reordering(it));
    finding.remarks.push(Remark::Predicted);
    Some(finding)
}
