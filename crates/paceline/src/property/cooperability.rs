//! Code between yields is free of interference (COPPER), and where yields are missing (SILVER).

use std::collections::HashMap;

use paceline_analysis::Analysis;
use paceline_analysis::cooperability::{self, Reason, Reasons, YieldKind};
use paceline_analysis::explain::EventRef;
use paceline_analysis::finding::RuleId;
use paceline_analysis::predict::Goal;
use paceline_report::model::{self, Facts};
use paceline_report::{compose, rules, verdicts};
use paceline_trace::{Event, EventNo, Symbols};

use super::found::finding;
use super::predicting::Prediction;
use super::{Conclusion, Decision, Evidence, Property, PropertyInfo, RedundantAccesses};
use crate::TraceError;
use crate::check::Options;
use crate::passes::Passes;

/// Code between yields is free of interference.
#[derive(Clone, Copy, Debug)]
pub struct Cooperability;

static INFO: PropertyInfo = PropertyInfo {
    name: "cooperability",
    summary: "Code between yields is free of interference (COPPER)",
    rules: &[rules::COOPERABILITY, rules::PREDICTED_YIELD],
    needs_blocks: false,
    // The analysis itself decides where transactions begin.
    redundant: RedundantAccesses::Keep,
};

impl Property for Cooperability {
    fn info(&self) -> &'static PropertyInfo {
        &INFO
    }

    fn start(&self, options: &Options, _: &Passes<'_>) -> Result<Box<dyn Decision>, TraceError> {
        let prediction = Prediction::start(Goal::Cooperability, options);
        let options = cooperability::Options {
            first_only: options.first_only,
            join_yields_to_child: options.join_yields_to_child,
        };
        let analysis = cooperability::Cooperability::new(options);
        Ok(Box::new(Deciding { options, analysis, reasons: Vec::new(), prediction }))
    }
}

struct Deciding {
    options: cooperability::Options,
    analysis: cooperability::Cooperability,
    /// Why yields are missing.
    reasons: Vec<Reason>,
    prediction: Option<Prediction>,
}

impl Decision for Deciding {
    fn analyses(&mut self) -> Vec<&mut dyn Analysis> {
        let sharing = self.prediction.iter_mut().map(Prediction::analysis);
        [&mut self.analysis as &mut dyn Analysis].into_iter().chain(sharing).collect()
    }

    fn explain(&mut self, trace: &Passes<'_>) -> Result<(), TraceError> {
        let inferred = self.analysis.inferred();
        if !inferred.is_empty() {
            let mut reasons = Reasons::new(self.options, inferred);
            trace.read(&mut [&mut reasons])?;
            self.reasons = reasons.reasons().to_vec();
        }
        if let Some(prediction) = &mut self.prediction {
            prediction.run(trace, self.analysis.inferred().positions().iter().copied())?;
        }
        Ok(())
    }

    fn conclude(&mut self, symbols: &Symbols, _: &mut Evidence) -> Conclusion {
        let inferred = self.analysis.inferred();
        let sites = inferred.sites().iter().map(|s| compose::site(s.first.site, symbols));
        let mut yield_sites: Vec<String> = sites.map(|site| site.to_string()).collect();
        yield_sites.sort_unstable();
        yield_sites.dedup();
        let prediction = self.prediction.as_ref();
        let holds = inferred.is_empty() && prediction.is_none_or(Prediction::is_empty);
        let facts = Facts::Cooperability(model::Cooperability {
            first_event: self.analysis.first_event(),
            yields: inferred.positions().to_vec(),
            yield_sites,
            yields_in_blocks: self.yields_in_blocks(symbols),
            predicted: prediction.map(|it| it.yields(symbols)),
            prediction: prediction.map(|it| it.search(symbols)),
        });
        let mut findings = self.findings(symbols);
        findings.extend(prediction.iter().flat_map(|it| it.findings(symbols)));
        Conclusion::new(verdicts::verdict(facts, holds), findings)
    }
}

impl Deciding {
    /// A finding for each place where a yield is missing, with the event that makes it necessary.
    fn findings(&self, symbols: &Symbols) -> Vec<model::Finding> {
        let reasons: HashMap<EventNo, &Reason> =
            self.reasons.iter().map(|r| (r.missing.event, r)).collect();
        let each = self.analysis.inferred().sites().iter();
        each.map(|site| {
            let missing = site.first;
            let op = |thread, op, site| Event { thread, op, site };
            let earlier = reasons.get(&missing.event).map(|r| EventRef {
                number: r.earlier,
                event: op(r.earlier_thread, r.earlier_op, r.earlier_site),
            });
            let event = op(missing.thread, missing.op, missing.site);
            let late = EventRef { number: missing.event, event };
            let events = earlier.into_iter().chain([late]).collect();
            let found = finding(RuleId::COOPERABILITY, None, events, site.count);
            compose::finding(&found, &rules::COOPERABILITY, symbols)
        })
        .collect()
    }

    /// Yields inside of blocks that are declared atomic.
    fn yields_in_blocks(&self, symbols: &Symbols) -> Vec<model::YieldInBlock> {
        let each = self.analysis.yields_in_blocks().iter();
        each.map(|y| model::YieldInBlock {
            event: y.event,
            kind: match y.kind {
                YieldKind::Written => model::YieldKind::Written,
                YieldKind::Wait => model::YieldKind::Wait,
                YieldKind::Join => model::YieldKind::Join,
                YieldKind::Inferred => model::YieldKind::Inferred,
            },
            site: compose::site(y.site, symbols),
            label: compose::label(y.label, y.block_site, symbols),
            count: y.count,
        })
        .collect()
    }
}
