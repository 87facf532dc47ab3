//! Locks follow the patterns of Eraser and Atomizer. Warnings only; one that a violation or race of
//! the same trace confirms says so.

use paceline_analysis::Analysis;
use paceline_analysis::explain::{BlockRef, EventRef};
use paceline_analysis::finding::{Finding, RuleId};
use paceline_analysis::occurrence::{Block, Target};
use paceline_analysis::reduction::atomizer::Atomizer;
use paceline_report::model::{self, Facts, Remark};
use paceline_report::rules::{self, RuleInfo};
use paceline_report::{compose, verdicts};
use paceline_trace::{Event, LockId, Symbols};

use super::found::{event, finding};
use super::{Conclusion, Decision, Evidence, Property, PropertyInfo, RedundantAccesses};
use crate::TraceError;
use crate::check::Options;
use crate::passes::Passes;

/// Locks follow the patterns of Eraser and Atomizer.
#[derive(Clone, Copy, Debug)]
pub struct Reduction;

static INFO: PropertyInfo = PropertyInfo {
    name: "reduction",
    summary: "Locks follow the patterns of Eraser and Atomizer (warnings only)",
    rules: &[rules::REDUCTION, rules::LOCKSET],
    needs_blocks: true,
    // Warnings count redundant accesses, too.
    redundant: RedundantAccesses::Keep,
};

impl Property for Reduction {
    fn info(&self) -> &'static PropertyInfo {
        &INFO
    }

    fn start(&self, _: &Options, _: &Passes<'_>) -> Result<Box<dyn Decision>, TraceError> {
        Ok(Box::new(Deciding(Atomizer::default())))
    }
}

struct Deciding(Atomizer);

impl Decision for Deciding {
    fn analyses(&mut self) -> Vec<&mut dyn Analysis> {
        vec![&mut self.0]
    }

    fn conclude(&mut self, symbols: &Symbols, evidence: &mut Evidence) -> Conclusion {
        let name = |b: &BlockRef| {
            let BlockRef { thread, label, site, begin_event: begin } = *b;
            Block { begin, thread, label, site }.name()
        };
        self.0.confirm(evidence.refuted.iter().map(name));
        self.0.eraser_mut().confirm(|var| evidence.racy.contains(&var));
        let warnings = self.warnings();
        let facts = Facts::Reduction(model::Reduction {
            warnings: warnings.len() as u64,
            confirmed: warnings.iter().filter(|w| w.confirmed).count() as u64,
        });
        let findings = warnings.iter().map(|warning| model::Finding {
            remarks: vec![warning.remark(symbols)],
            ..compose::finding(&warning.finding, &warning.rule, symbols)
        });
        let verdict = verdicts::verdict(facts, warnings.is_empty());
        Conclusion::new(verdict, findings.collect())
    }
}

/// A warning of one of the two analyses.
struct Warning<'a> {
    rule: RuleInfo,
    finding: Finding,
    confirmed: bool,
    held: &'a [LockId],
}

impl Deciding {
    fn warnings(&self) -> Vec<Warning<'_>> {
        let patterns = self.0.warnings().iter().map(|w| {
            let breaker = Event { thread: w.breaker.thread, op: w.op, site: w.breaker.site };
            let at = EventRef { number: w.breaker.event, event: breaker };
            let finding = finding(RuleId::REDUCTION, Some(w.block), vec![at], w.count);
            let rule = rules::REDUCTION;
            Warning { rule, finding, confirmed: w.confirmed, held: &w.held }
        });
        let unprotected = self.0.eraser().warnings().iter().map(|w| {
            let at = event(w.access, Target::Var(w.var));
            let finding = finding(RuleId::LOCKSET, w.block, vec![at], w.count);
            let rule = rules::LOCKSET;
            Warning { rule, finding, confirmed: w.confirmed, held: &w.held }
        });
        patterns.chain(unprotected).collect()
    }
}

impl Warning<'_> {
    fn remark(&self, symbols: &Symbols) -> Remark {
        let held = self.held.iter().map(|l| compose::name(symbols.locks.name(l.0))).collect();
        Remark::Locks { held, confirmed: self.confirmed }
    }
}
