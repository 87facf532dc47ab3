//! Locks follow the patterns of Eraser and Atomizer. Warnings only; one that a violation or race of
//! the same trace confirms says so.

use paceline_analysis::Analysis;
use paceline_analysis::explain::{BlockRef, EventRef};
use paceline_analysis::finding::{Finding, Rule};
use paceline_analysis::occurrence::{Block, Target};
use paceline_analysis::reduction::atomizer::Atomizer;
use paceline_report::{compose, model};
use paceline_trace::{Event, LockId, Symbols};

use super::found::{event, finding};
use super::{Conclusion, Decision, Evidence, Property, PropertyInfo, RedundantAccesses, Verdict};
use crate::TraceError;
use crate::check::Options;
use crate::passes::Passes;

/// Locks follow the patterns of Eraser and Atomizer.
#[derive(Clone, Copy, Debug)]
pub struct Reduction;

static INFO: PropertyInfo = PropertyInfo {
    name: "reduction",
    summary: "Locks follow the patterns of Eraser and Atomizer (warnings only)",
    rules: &[Rule::Reduction, Rule::Lockset],
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
        let verdict = model::Reduction {
            holds: warnings.is_empty(),
            warnings: warnings.len() as u64,
            confirmed: warnings.iter().filter(|w| w.confirmed).count() as u64,
        };
        let findings = warnings.iter().map(|warning| model::Finding {
            remark: Some(warning.remark(symbols)),
            ..compose::finding(&warning.finding, symbols)
        });
        Conclusion::new(Verdict::Reduction(verdict), findings.collect())
    }
}

/// A warning of one of the two analyses.
struct Warning<'a> {
    finding: Finding,
    confirmed: bool,
    held: &'a [LockId],
}

impl Deciding {
    fn warnings(&self) -> Vec<Warning<'_>> {
        let patterns = self.0.warnings().iter().map(|w| {
            let breaker = Event { thread: w.breaker.thread, op: w.op, site: w.breaker.site };
            let at = EventRef { number: w.breaker.event, event: breaker };
            let finding = finding(Rule::Reduction, Some(w.block), vec![at], w.count);
            Warning { finding, confirmed: w.confirmed, held: &w.held }
        });
        let unprotected = self.0.eraser().warnings().iter().map(|w| {
            let at = event(w.access, Target::Var(w.var));
            let finding = finding(Rule::Lockset, w.block, vec![at], w.count);
            Warning { finding, confirmed: w.confirmed, held: &w.held }
        });
        patterns.chain(unprotected).collect()
    }
}

impl Warning<'_> {
    fn remark(&self, symbols: &Symbols) -> String {
        let locks = self.held.iter().map(|l| compose::name(symbols.locks.name(l.0)));
        let locks: Vec<String> = locks.collect();
        let held = if locks.is_empty() { "no lock".to_owned() } else { locks.join(", ") };
        let how = if self.confirmed {
            "confirmed by a violation or race in this run"
        } else {
            "may be a false alarm: it follows from a pattern, not from what was observed"
        };
        format!("{held} held; {how}")
    }
}
