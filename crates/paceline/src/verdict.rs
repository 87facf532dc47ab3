//! What each property's analysis found, as verdict and findings.

use std::collections::HashMap;

use paceline_analysis::cooperability::{Cooperability, Reason};
use paceline_analysis::determinism::conflict_freedom::ConflictFreedom;
use paceline_analysis::determinism::external::External;
use paceline_analysis::explain::{BlockRef, EventRef};
use paceline_analysis::finding::{Blame, Finding, Rule, Story};
use paceline_analysis::occurrence::{Block, Occurrence, Target};
use paceline_analysis::race::RaceDetector;
use paceline_analysis::reduction::atomizer::Atomizer;
use paceline_report::{compose, model};
use paceline_trace::{Event, EventNo, LockId, Op, Symbols};

/// An event that an analysis kept the essence of.
fn event(at: Occurrence, target: Target) -> EventRef {
    let id = match target {
        Target::Var(x) => x.0,
        Target::Lock(l) => l.0,
        Target::Semaphore(s) => s.0,
    };
    let op = Op::new(at.kind, id);
    EventRef { number: at.event, event: Event { thread: at.thread, op, site: at.site } }
}

fn finding(rule: Rule, block: Option<Block>, events: Vec<EventRef>, count: u64) -> Finding {
    let blame = block.map(|b| Blame { label: b.label, site: b.site });
    Finding { rule, blame, story: Story::Events(events), count }
}

/// Races.
pub fn race(
    detector: &RaceDetector,
    symbols: &Symbols,
    findings: &mut Vec<model::Finding>,
) -> model::Race {
    let races = detector.races();
    for race in races {
        let target = Target::Var(race.var);
        let events = vec![event(race.first, target), event(race.second, target)];
        findings.push(compose::finding(&finding(Rule::Race, None, events, 1), symbols));
    }
    let mut variables: Vec<String> =
        races.iter().map(|r| compose::name(&symbols.vars.name(r.var.0))).collect();
    variables.sort_unstable();
    model::Race { holds: races.is_empty(), variables }
}

/// Cooperability: missing yields, and yields inside atomic blocks.
pub fn cooperability(
    analysis: &Cooperability,
    reasons: &[Reason],
    symbols: &Symbols,
    findings: &mut Vec<model::Finding>,
) -> model::Cooperability {
    let inferred = analysis.inferred();
    let reasons: HashMap<EventNo, &Reason> = reasons.iter().map(|r| (r.missing.event, r)).collect();
    for site in inferred.sites() {
        let missing = site.first;
        let op = |thread, op, site| Event { thread, op, site };
        let earlier = reasons.get(&missing.event).map(|r| EventRef {
            number: r.earlier,
            event: op(r.earlier_thread, r.earlier_op, r.earlier_site),
        });
        let event = op(missing.thread, missing.op, missing.site);
        let late = EventRef { number: missing.event, event };
        let events = earlier.into_iter().chain([late]).collect();
        let found = finding(Rule::Cooperability, None, events, site.count);
        findings.push(compose::finding(&found, symbols));
    }
    let mut yield_sites: Vec<String> =
        inferred.sites().iter().map(|s| compose::site(s.first.site, symbols)).collect();
    yield_sites.sort_unstable();
    yield_sites.dedup();
    model::Cooperability {
        holds: inferred.is_empty(),
        first_event: analysis.first_event(),
        yields: inferred.positions().to_vec(),
        yield_sites,
        yields_in_blocks: analysis
            .yields_in_blocks()
            .iter()
            .map(|y| model::YieldInBlock {
                event: y.event,
                kind: format!("{:?}", y.kind).to_lowercase(),
                site: compose::site(y.site, symbols),
                label: compose::label(y.label, y.block_site, symbols),
                count: y.count,
            })
            .collect(),
    }
}

/// Determinism: conflicts inside blocks, and interference from outside.
pub fn determinism(
    analysis: &ConflictFreedom,
    external: &External,
    cycles: &[Finding],
    symbols: &Symbols,
    findings: &mut Vec<model::Finding>,
) -> model::Determinism {
    let conflicts = analysis.conflicts();
    for conflict in conflicts {
        let events =
            vec![event(conflict.first, conflict.target), event(conflict.second, conflict.target)];
        for &block in &conflict.blocks {
            let rule = Rule::ConflictFreedom;
            let found = finding(rule, Some(block), events.clone(), 1);
            findings.push(compose::finding(&found, symbols));
        }
    }
    findings.extend(cycles.iter().map(|cycle| compose::finding(cycle, symbols)));
    let first = conflicts.iter().min_by_key(|c| c.second.event);
    let (conflict_free, serializable) = (conflicts.is_empty(), external.cycles().is_empty());
    model::Determinism {
        holds: conflict_free && serializable,
        conflict_free,
        externally_serializable: serializable,
        first_conflict: first.map(|c| (c.first.event, c.second.event)),
        first_event: external.cycles().first().map(|c| c.event),
    }
}

/// Eraser and Atomizer: warnings, and which of them this run confirms.
pub fn reduction(
    atomizer: &mut Atomizer,
    races: Option<&RaceDetector>,
    refuted: &[BlockRef],
    symbols: &Symbols,
    findings: &mut Vec<model::Finding>,
) -> model::Reduction {
    let name = |b: &BlockRef| {
        let BlockRef { thread, label, site, begin_event: begin } = *b;
        Block { begin, thread, label, site }.name()
    };
    atomizer.confirm(refuted.iter().map(name));
    if let Some(races) = races {
        atomizer.eraser_mut().confirm(|var| races.is_racy(var));
    }
    let mut warnings = Vec::new();
    for w in atomizer.warnings() {
        let at = EventRef {
            number: w.breaker.event,
            event: Event { thread: w.breaker.thread, op: w.op, site: w.breaker.site },
        };
        let found = finding(Rule::Reduction, Some(w.block), vec![at], w.count);
        warnings.push((found, w.confirmed, w.held.clone()));
    }
    for w in atomizer.eraser().warnings() {
        let at = event(w.access, Target::Var(w.var));
        let found = finding(Rule::Lockset, w.block, vec![at], w.count);
        warnings.push((found, w.confirmed, w.held.clone()));
    }
    for (found, confirmed, held) in &warnings {
        let remark = remark(*confirmed, held, symbols);
        let warning = compose::finding(found, symbols);
        findings.push(model::Finding { remark: Some(remark), ..warning });
    }
    model::Reduction {
        holds: warnings.is_empty(),
        warnings: warnings.len() as u64,
        confirmed: warnings.iter().filter(|w| w.1).count() as u64,
    }
}

fn remark(confirmed: bool, held: &[LockId], symbols: &Symbols) -> String {
    let locks: Vec<String> = held.iter().map(|l| compose::name(symbols.locks.name(l.0))).collect();
    let held = if locks.is_empty() { "no lock".to_owned() } else { locks.join(", ") };
    let how = if confirmed {
        "confirmed by a violation or race in this run"
    } else {
        "may be a false alarm: it follows from a pattern, not from what was observed"
    };
    format!("{held} held; {how}")
}
