//! Blocks are deterministic although parallel (SingleTrack): their threads do not conflict, and no
//! other thread interferes.

use paceline_analysis::Analysis;
use paceline_analysis::determinism::conflict_freedom::ConflictFreedom;
use paceline_analysis::determinism::external::{self, External};
use paceline_analysis::explain::{Boundaries, Explainer};
use paceline_analysis::finding::{Finding, RuleId};
use paceline_report::model::{self, Facts};
use paceline_report::{compose, rules, verdicts};
use paceline_trace::Symbols;

use super::found::{event, explain, findings_of, unordered, worth_explaining};
use super::{Conclusion, Decision, Evidence, Property, PropertyInfo, RedundantAccesses};
use crate::TraceError;
use crate::check::Options;
use crate::passes::Passes;

/// Blocks are deterministic although parallel.
#[derive(Clone, Copy, Debug)]
pub struct Determinism;

static INFO: PropertyInfo = PropertyInfo {
    name: "determinism",
    summary: "Blocks are deterministic although parallel (SingleTrack)",
    rules: &[rules::CONFLICT_FREEDOM, rules::EXTERNAL_SERIALIZABILITY],
    needs_blocks: true,
    redundant: RedundantAccesses::Epoch,
};

impl Property for Determinism {
    fn info(&self) -> &'static PropertyInfo {
        &INFO
    }

    fn start(&self, options: &Options, _: &Passes<'_>) -> Result<Box<dyn Decision>, TraceError> {
        let how = external::Options { first_only: options.first_only };
        Ok(Box::new(Deciding {
            max_findings: options.max_findings,
            conflicts: ConflictFreedom::default(),
            external: External::new(how),
            entered: Vec::new(),
            unexplained: 0,
        }))
    }
}

struct Deciding {
    max_findings: usize,
    conflicts: ConflictFreedom,
    external: External,
    /// Cycles of deterministic blocks.
    entered: Vec<Finding>,
    unexplained: usize,
}

impl Decision for Deciding {
    fn analyses(&mut self) -> Vec<&mut dyn Analysis> {
        vec![&mut self.conflicts, &mut self.external]
    }

    fn explain(&mut self, trace: &Passes<'_>) -> Result<(), TraceError> {
        let all = self.external.cycles();
        if all.is_empty() {
            return Ok(());
        }
        let cycles = worth_explaining(all, self.max_findings);
        let mut explainer = Explainer::within(Boundaries::BlocksWithThreads, cycles);
        explain(trace, &mut explainer, Vec::new())?;
        let (rule, explanations) = (RuleId::EXTERNAL_SERIALIZABILITY, explainer.explanations());
        self.entered = findings_of(&rule, explanations, |i| self.external.stands_for(i));
        self.unexplained = all.len() - cycles.len();
        Ok(())
    }

    fn conclude(&mut self, symbols: &Symbols, _: &mut Evidence) -> Conclusion {
        let conflicts = self.conflicts.conflicts();
        let first = conflicts.iter().min_by_key(|c| c.second.event);
        let cycles = self.external.cycles();
        let (conflict_free, serializable) = (conflicts.is_empty(), cycles.is_empty());
        let facts = Facts::Determinism(model::Determinism {
            conflict_free,
            externally_serializable: serializable,
            first_conflict: first.map(|c| (c.first.event, c.second.event)),
            first_event: cycles.first().map(|c| c.event),
        });
        let rule = &rules::EXTERNAL_SERIALIZABILITY;
        let entered = self.entered.iter().map(|cycle| compose::finding(cycle, rule, symbols));
        let findings = self.inside(symbols).into_iter().chain(entered).collect();
        Conclusion {
            unexplained: self.unexplained,
            ..Conclusion::new(verdicts::verdict(facts, conflict_free && serializable), findings)
        }
    }
}

impl Deciding {
    /// Conflicts between the threads of a block, a finding for each block.
    fn inside(&self, symbols: &Symbols) -> Vec<model::Finding> {
        let mut findings = Vec::new();
        for conflict in self.conflicts.conflicts() {
            let both = [conflict.first, conflict.second];
            let events = both.map(|at| event(at, conflict.target));
            for &block in &conflict.blocks {
                let found = unordered(RuleId::CONFLICT_FREEDOM, Some(block), events);
                findings.push(compose::finding(&found, &rules::CONFLICT_FREEDOM, symbols));
            }
        }
        findings
    }
}
