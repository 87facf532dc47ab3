//! Every block is atomic (Velodrome, AeroDrome): the trace is conflict-serializable.
//!
//! The engine only detects cycles. A second pass finds a shortest cycle for each, and which blocks
//! are refuted; engines that report a cycle late are corrected there.

use std::ops::ControlFlow;

use paceline_analysis::atomicity::{self, Atomicity as Engine, Running, Velodrome};
use paceline_analysis::explain::blame::Blame;
use paceline_analysis::explain::components::Components;
use paceline_analysis::explain::{BlockRef, Explainer};
use paceline_analysis::finding::{Finding, RuleId};
use paceline_analysis::predict::Goal;
use paceline_analysis::race::{RaceDetector, RaceFilter, WithoutRaceFree};
use paceline_analysis::{Analysis, Cycle};
use paceline_report::model::{self, Facts, Note};
use paceline_report::{compose, rules, verdicts};
use paceline_trace::{Batch, Symbols};

use super::found::{explain, findings_of, worth_explaining};
use super::predicting::Prediction;
use super::{Conclusion, Decision, Evidence, Property, PropertyInfo, RedundantAccesses};
use crate::TraceError;
use crate::check::Options;
use crate::passes::Passes;

/// Every block is atomic.
#[derive(Clone, Copy, Debug)]
pub struct Atomicity;

static INFO: PropertyInfo = PropertyInfo {
    name: "atomicity",
    summary: "Every block is atomic (Velodrome, AeroDrome)",
    rules: &[rules::ATOMICITY, rules::PREDICTED],
    needs_blocks: true,
    redundant: RedundantAccesses::Block,
};

impl Property for Atomicity {
    fn info(&self) -> &'static PropertyInfo {
        &INFO
    }

    fn start(
        &self,
        options: &Options,
        trace: &Passes<'_>,
    ) -> Result<Box<dyn Decision>, TraceError> {
        let how = atomicity::Options { first_only: options.first_only };
        let engine = options.engine.start(how);
        let engine = match options.filter_race_free {
            true => Filtered::start(engine, race_filter(trace)?),
            false => engine,
        };
        let nodes =
            options.node_counts.then(|| [Velodrome::new(how), Velodrome::without_merge(how)]);
        let options = options.clone();
        let prediction = Prediction::start(Goal::Atomicity, &options);
        Ok(Box::new(Deciding {
            options,
            engine,
            nodes,
            explained: Explained::default(),
            prediction,
        }))
    }
}

struct Deciding {
    options: Options,
    engine: Box<dyn Engine>,
    nodes: Option<[Velodrome; 2]>,
    explained: Explained,
    prediction: Option<Prediction>,
}

/// What the passes after the first found out.
#[derive(Default)]
struct Explained {
    first_event: Option<u64>,
    findings: Vec<Finding>,
    unexplained: usize,
    refuted: Vec<BlockRef>,
    violating: Option<Components>,
}

impl Decision for Deciding {
    fn analyses(&mut self) -> Vec<&mut dyn Analysis> {
        let engine: &mut dyn Analysis = self.engine.as_mut();
        let nodes = self.nodes.iter_mut().flatten().map(|a| a as &mut dyn Analysis);
        let sharing = self.prediction.iter_mut().map(Prediction::analysis);
        [engine].into_iter().chain(nodes).chain(sharing).collect()
    }

    fn explain(&mut self, trace: &Passes<'_>) -> Result<(), TraceError> {
        self.explain_cycles(trace)?;
        if let Some(prediction) = &mut self.prediction {
            prediction.run(trace, self.explained.refuted.iter().map(|b| b.begin_event))?;
        }
        Ok(())
    }
    fn conclude(&mut self, symbols: &Symbols, evidence: &mut Evidence) -> Conclusion {
        let explained = &self.explained;
        let prediction = self.prediction.as_ref();
        let holds = explained.first_event.is_none() && prediction.is_none_or(Prediction::is_empty);
        let facts = Facts::Atomicity(model::Atomicity {
            first_event: explained.first_event,
            engine: self.options.engine.name().to_owned(),
            refuted: explained.refuted.iter().map(|b| compose::block(b, symbols)).collect(),
            predicted: prediction.map(|it| it.blocks(symbols)),
            prediction: prediction.map(|it| it.search(symbols)),
            violating: explained.violating.as_ref().map(|c| violating(c, symbols)),
            nodes: self.nodes.as_ref().map(nodes),
            shrunk: None,
        });
        evidence.refuted.extend(&explained.refuted);
        let composed = |f| compose::finding(f, &rules::ATOMICITY, symbols);
        let predicted = prediction.map_or_else(Vec::new, |it| it.findings(symbols));
        let findings = explained.findings.iter().map(composed).chain(predicted).collect();
        let filtered = self.options.filter_race_free.then_some(Note::WithoutRaceFree);
        Conclusion {
            unexplained: explained.unexplained,
            notes: filtered.into_iter().collect(),
            ..Conclusion::new(verdicts::verdict(facts, holds), findings)
        }
    }
}

impl Deciding {
    fn explain_cycles(&mut self, trace: &Passes<'_>) -> Result<(), TraceError> {
        let all = self.engine.cycles();
        let mut components = self.options.all_transactions.then(Components::default);
        if all.is_empty() {
            self.explained.violating = components;
            return Ok(());
        }
        let cycles = worth_explaining(all, self.options.max_findings);
        let mut explainer = Explainer::new(cycles);
        let mut blame = Blame::among(trace.contested());
        let mut exact = Running::new(atomicity::Options { first_only: true });
        let mut others: Vec<&mut dyn Analysis> = vec![&mut blame];
        if !self.options.engine.is_exact() {
            others.push(&mut exact);
        }
        others.extend(components.iter_mut().map(|c| c as &mut dyn Analysis));
        explain(trace, &mut explainer, others)?;
        let first = exact.cycles().first().or(all.first());
        let explanations = explainer.explanations();
        self.explained = Explained {
            first_event: first.map(|c| c.event),
            findings: findings_of(&RuleId::ATOMICITY, explanations, |i| self.engine.stands_for(i)),
            unexplained: all.len() - cycles.len(),
            refuted: blame.refuted().to_vec(),
            violating: components,
        };
        Ok(())
    }
}

fn violating(components: &Components, symbols: &Symbols) -> Vec<model::Violating> {
    let each = components.violating().iter();
    each.map(|v| model::Violating {
        label: compose::transaction_label(&v.transaction, symbols),
        thread: compose::thread(v.transaction.thread, symbols),
        first_event: v.transaction.first_event,
        component: v.component as u64,
    })
    .collect()
}

fn nodes([merging, plain]: &[Velodrome; 2]) -> model::Nodes {
    let (merging, plain) = (merging.stats(), plain.stats());
    model::Nodes {
        allocated: merging.allocated,
        max_alive: merging.max_alive,
        allocated_without_merge: plain.allocated,
        max_alive_without_merge: plain.max_alive,
    }
}

/// Finds out which variables have races, in a pass of its own.
fn race_filter(trace: &Passes<'_>) -> Result<RaceFilter, TraceError> {
    let mut detector = RaceDetector::default();
    trace.read(&mut [&mut detector])?;
    Ok(RaceFilter::new(&detector))
}

/// An engine that does not get the accesses of race-free variables. Its cycles carry the event
/// numbers of the trace.
struct Filtered {
    engine: WithoutRaceFree<Box<dyn Engine>>,
    cycles: Vec<Cycle>,
}

impl Filtered {
    fn start(engine: Box<dyn Engine>, filter: RaceFilter) -> Box<dyn Engine> {
        Box::new(Filtered { engine: WithoutRaceFree::new(engine, filter), cycles: Vec::new() })
    }
}

impl Analysis for Filtered {
    fn events(&mut self, batch: &Batch) -> ControlFlow<()> {
        self.engine.events(batch)
    }

    fn finish(&mut self) {
        self.engine.finish();
        let original = |number| self.engine.original(number);
        let cycles = self.engine.analysis().cycles().iter();
        self.cycles = cycles
            .map(|c| Cycle { event: original(c.event), begin: original(c.begin), ..*c })
            .collect();
    }
}

impl Engine for Filtered {
    fn cycles(&self) -> &[Cycle] {
        &self.cycles
    }

    fn stands_for(&self, index: usize) -> u64 {
        self.engine.analysis().stands_for(index)
    }
}
