//! What several properties need to make findings of what their analyses kept.

use paceline_analysis::explain::{EventRef, Explainer, Explanation};
use paceline_analysis::finding::{Blame, Finding, Grounds, RuleId, group};
use paceline_analysis::occurrence::{Block, Occurrence, Target};
use paceline_analysis::{Analysis, Cycle};
use paceline_trace::{Event, Op};

use crate::TraceError;
use crate::passes::Passes;

/// An event that an analysis kept the essence of.
pub fn event(at: Occurrence, target: Target) -> EventRef {
    let id = match target {
        Target::Var(x) => x.0,
        Target::Lock(l) => l.0,
        Target::Semaphore(s) => s.0,
    };
    let op = Op::new(at.kind, id);
    EventRef { number: at.event, event: Event { thread: at.thread, op, site: at.site } }
}

/// A finding that is shown by single events.
pub fn finding(rule: RuleId, block: Option<Block>, events: Vec<EventRef>, count: u64) -> Finding {
    Finding { rule, blame: block.map(blame), grounds: Grounds::Events(events), count }
}

/// A finding that is shown by two events in conflict, because nothing orders them.
pub fn unordered(rule: RuleId, block: Option<Block>, events: [EventRef; 2]) -> Finding {
    Finding { rule, blame: block.map(blame), grounds: Grounds::Unordered(events), count: 1 }
}

fn blame(block: Block) -> Blame {
    Blame { label: block.label, site: block.site }
}

/// Interchangeable cycles make one finding, so more are explained than will be shown.
const CYCLES_PER_FINDING: usize = 8;

/// The cycles that are worth explaining if at most `max_findings` are shown.
pub fn worth_explaining(all: &[Cycle], max_findings: usize) -> &[Cycle] {
    &all[..all.len().min(max_findings.saturating_mul(CYCLES_PER_FINDING))]
}

/// Explains cycles, in as many passes as that takes; `others` see the first of them.
pub fn explain(
    trace: &Passes<'_>,
    explainer: &mut Explainer,
    others: Vec<&mut dyn Analysis>,
) -> Result<(), TraceError> {
    let mut all: Vec<&mut dyn Analysis> = vec![explainer];
    all.extend(others.into_iter().map(|other| other as &mut dyn Analysis));
    trace.read(&mut all)?;
    while explainer.again() {
        trace.read(&mut [explainer])?;
    }
    Ok(())
}

/// One finding for each group of interchangeable explanations.
pub fn findings_of(
    rule: &RuleId,
    explanations: Vec<Option<Explanation>>,
    stands_for: impl Fn(usize) -> u64,
) -> Vec<Finding> {
    let numbered = explanations.into_iter().enumerate();
    group(rule, numbered.filter_map(|(i, explanation)| Some((explanation?, stands_for(i)))))
}
