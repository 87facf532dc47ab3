//! From a trace to its report: one pass decides every property that was asked for; if there is
//! something to explain, further passes tell the story.

use std::ops::ControlFlow;
use std::sync::mpsc::sync_channel;

use paceline_analysis::atomicity::{Atomicity, Engine, Options, Running, Velodrome};
use paceline_analysis::cooperability::{self, Cooperability, Reason, Reasons};
use paceline_analysis::determinism::conflict_freedom::ConflictFreedom;
use paceline_analysis::determinism::external::{self, External};
use paceline_analysis::explain::blame::Blame;
use paceline_analysis::explain::components::Components;
use paceline_analysis::explain::{Boundaries, Explainer, Explanation};
use paceline_analysis::finding::{Finding, Rule, group};
use paceline_analysis::race::{RaceDetector, RaceFilter, WithoutRaceFree};
use paceline_analysis::reduction::atomizer::Atomizer;
use paceline_analysis::{Analysis, Cycle};
use paceline_report::{compose, model, recording};
use paceline_trace::pipeline::Reading;
use paceline_trace::{Batch, Error, Source as _, Symbols};

use crate::merging::merge_alike;
use crate::stacks;
use crate::status::Status;
use crate::trace_input::{OpenTrace, TraceInput, dropped, is_incomplete, notes};
use crate::verdict;

/// What can be decided about a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Property {
    /// Every block is atomic (Velodrome, AeroDrome)
    Atomicity,
    /// Code between yields is free of interference (COPPER)
    Cooperability,
    /// Blocks are deterministic although parallel (SingleTrack)
    Determinism,
    /// No two accesses race (FastTrack)
    Race,
    /// Locks follow the patterns of Eraser and Atomizer (warnings only)
    Reduction,
    /// All of these
    All,
}

impl Property {
    /// Every single property.
    pub const EACH: [Property; 5] = [
        Property::Atomicity,
        Property::Cooperability,
        Property::Determinism,
        Property::Race,
        Property::Reduction,
    ];

    /// What it means, in a few words.
    pub fn summary(self) -> &'static str {
        match self {
            Property::Atomicity => "Every block is atomic (Velodrome, AeroDrome)",
            Property::Cooperability => "Code between yields is free of interference (COPPER)",
            Property::Determinism => "Blocks are deterministic although parallel (SingleTrack)",
            Property::Race => "No two accesses race (FastTrack)",
            Property::Reduction => {
                "Locks follow the patterns of Eraser and Atomizer (warnings only)"
            }
            Property::All => "All of these",
        }
    }

    /// The property with this name.
    pub fn from_name(name: &str) -> Option<Property> {
        Property::EACH.into_iter().chain([Property::All]).find(|p| p.name() == name)
    }

    /// The name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Property::Atomicity => "atomicity",
            Property::Cooperability => "cooperability",
            Property::Determinism => "determinism",
            Property::Race => "race",
            Property::Reduction => "reduction",
            Property::All => "all",
        }
    }
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Question {
    /// What to decide.
    pub properties: Vec<Property>,
    /// How to decide atomicity.
    pub engine: Engine,
    /// Stop at the first violation.
    pub first_only: bool,
    /// List every transaction on some cycle.
    pub all_transactions: bool,
    /// Count the nodes of Velodrome's graph.
    pub node_counts: bool,
    /// A join yields to the joined thread only.
    pub join_yields_to_child: bool,
    /// Leave accesses of race-free variables out of the atomicity check.
    pub filter_race_free: bool,
    /// Report at most this many findings.
    pub max_findings: usize,
}

impl Question {
    /// How cooperability is decided.
    pub fn yields(&self) -> cooperability::Options {
        cooperability::Options {
            first_only: self.first_only,
            join_yields_to_child: self.join_yields_to_child,
        }
    }

    fn asks(&self, property: Property) -> bool {
        self.properties.contains(&property) || self.properties.contains(&Property::All)
    }

    /// The properties, one by one.
    fn decided(&self) -> impl Iterator<Item = Property> {
        Property::EACH.into_iter().filter(|&p| self.asks(p))
    }

    /// Whether a trace without any block says nothing about what is asked.
    fn needs_blocks(&self) -> bool {
        !self.asks(Property::Cooperability) && !self.asks(Property::Race)
    }
}

/// The analyses of the first pass.
struct Deciders {
    atomicity: Option<Box<dyn Atomicity>>,
    nodes: Option<[Velodrome; 2]>,
    cooperability: Option<Cooperability>,
    conflicts: Option<ConflictFreedom>,
    external: Option<External>,
    races: Option<RaceDetector>,
    reduction: Option<Atomizer>,
}

impl Deciders {
    fn new(question: &Question, filter: Option<RaceFilter>) -> Deciders {
        let options = Options { first_only: question.first_only };
        let all = |property| question.asks(property);
        Deciders {
            atomicity: all(Property::Atomicity).then(|| match filter {
                Some(filter) => Filtered::start(question.engine.start(options), filter),
                None => question.engine.start(options),
            }),
            nodes: question
                .node_counts
                .then(|| [Velodrome::new(options), Velodrome::without_merge(options)]),
            cooperability: all(Property::Cooperability)
                .then(|| Cooperability::new(question.yields())),
            conflicts: all(Property::Determinism).then(ConflictFreedom::default),
            external: all(Property::Determinism)
                .then(|| External::new(external::Options { first_only: question.first_only })),
            races: all(Property::Race).then(RaceDetector::default),
            reduction: all(Property::Reduction).then(Atomizer::default),
        }
    }

    fn each(&mut self) -> Vec<&mut dyn Analysis> {
        let mut analyses: Vec<&mut dyn Analysis> = Vec::new();
        if let Some(a) = &mut self.atomicity {
            analyses.push(a.as_mut());
        }
        if let Some(both) = &mut self.nodes {
            analyses.extend(both.iter_mut().map(|a| a as &mut dyn Analysis));
        }
        if let Some(a) = &mut self.cooperability {
            analyses.push(a);
        }
        if let Some(a) = &mut self.conflicts {
            analyses.push(a);
        }
        if let Some(a) = &mut self.external {
            analyses.push(a);
        }
        if let Some(a) = &mut self.races {
            analyses.push(a);
        }
        if let Some(a) = &mut self.reduction {
            analyses.push(a);
        }
        analyses
    }
}

/// Gives a batch to every analysis that wants more; breaks when none does.
fn feed(
    analyses: &mut [&mut dyn Analysis],
    done: &mut Vec<bool>,
    batch: &Batch,
) -> ControlFlow<()> {
    done.resize(analyses.len(), false);
    for (analysis, done) in analyses.iter_mut().zip(done.iter_mut()) {
        *done = *done || analysis.events(batch).is_break();
    }
    if done.iter().all(|&d| d) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// The first pass. Half of many analyses get a thread of their own, unless one of them may stop the
/// reading: where it stops must not depend on who is faster.
fn decide(
    trace: &TraceInput,
    open: &mut OpenTrace,
    deciders: &mut Deciders,
    may_stop: bool,
) -> (Reading, Result<(), Error>) {
    let mut analyses = deciders.each();
    let mut done = Vec::new();
    if may_stop || analyses.len() < 4 {
        return trace.read(open, |batch| feed(&mut analyses, &mut done, batch));
    }
    let half = analyses.len() / 2;
    let (others, mine) = analyses.split_at_mut(half);
    std::thread::scope(|scope| {
        let (batches, theirs) = sync_channel::<Batch>(4);
        scope.spawn(move || {
            let mut done = Vec::new();
            for batch in theirs {
                let _ = feed(others, &mut done, &batch);
            }
        });
        trace.read(open, |batch| {
            // The other end goes on until this one is dropped.
            let _ = batches.send(batch.clone());
            let _ = feed(mine, &mut done, batch);
            ControlFlow::Continue(())
        })
    })
}

/// A trace's report, and how it ended.
pub struct Checked {
    /// The report.
    pub report: model::Report,
    /// How the analysis ended.
    pub status: Status,
}

/// Answers a question about a trace.
pub fn check(trace: &mut TraceInput, question: &Question) -> Result<Checked, Error> {
    let mut open = trace.open_first()?;
    let filter = question.filter_race_free.then(|| race_filter(trace)).transpose()?;
    let mut deciders = Deciders::new(question, filter);
    let (reading, outcome) = decide(trace, &mut open, &mut deciders, question.first_only);
    outcome?;
    trace.end_first(&open)?;
    deciders.each().into_iter().for_each(Analysis::finish);
    let mut story = match &deciders.atomicity {
        Some(engine) => Story::tell(trace, question, engine.as_ref(), reading.events)?,
        None => Story::default(),
    };
    story.tell_more(trace, question, &deciders, reading.events)?;
    let mut checked = answer(trace, question, &open, &reading, &mut deciders, &story);
    // Where events were left out their numbers are not those of the file.
    if reading.malformed == 0 && reading.transactions > 0 {
        stacks::attach(trace, &mut checked.report.findings)?;
    }
    Ok(checked)
}

/// Finds out which variables have races.
fn race_filter(trace: &TraceInput) -> Result<RaceFilter, Error> {
    let mut detector = RaceDetector::default();
    let mut open = trace.open()?;
    let (_, outcome) = trace.read(&mut open, |batch| detector.events(batch));
    outcome?;
    detector.finish();
    Ok(RaceFilter::new(&detector))
}

/// An engine that is not told of race-free variables. Its cycles carry the numbers of the trace.
struct Filtered {
    engine: WithoutRaceFree<Box<dyn Atomicity>>,
    cycles: Vec<Cycle>,
}

impl Filtered {
    fn start(engine: Box<dyn Atomicity>, filter: RaceFilter) -> Box<dyn Atomicity> {
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

impl Atomicity for Filtered {
    fn cycles(&self) -> &[Cycle] {
        &self.cycles
    }

    fn stands_for(&self, index: usize) -> u64 {
        self.engine.analysis().stands_for(index)
    }
}

/// What the passes after the first found out about atomicity.
#[derive(Default)]
struct Story {
    first_event: Option<u64>,
    findings: Vec<Finding>,
    unexplained: usize,
    refuted: Vec<paceline_analysis::explain::BlockRef>,
    violating: Option<Components>,
    /// Why yields are missing.
    reasons: Vec<Reason>,
    /// Cycles of deterministic blocks.
    entered: Vec<Finding>,
}

impl Story {
    /// The same for the other properties that need a second look.
    fn tell_more(
        &mut self,
        trace: &TraceInput,
        question: &Question,
        deciders: &Deciders,
        events: u64,
    ) -> Result<(), Error> {
        if let Some(c) = deciders.cooperability.as_ref().filter(|c| !c.inferred().is_empty()) {
            let mut reasons = Reasons::new(question.yields(), c.inferred());
            pass(trace, events, &mut [&mut reasons])?;
            self.reasons = reasons.reasons().to_vec();
        }
        if let Some(external) = deciders.external.as_ref().filter(|e| !e.cycles().is_empty()) {
            let cycles = explained(external.cycles(), question);
            let mut explainer = Explainer::within(Boundaries::BlocksWithThreads, cycles);
            explain(trace, events, &mut explainer, Vec::new())?;
            let told = explainer.explanations();
            let rule = Rule::ExternalSerializability;
            self.entered = findings_of(rule, told, |i| external.found().stands_for(i));
            self.unexplained += external.cycles().len() - cycles.len();
        }
        Ok(())
    }

    /// Nothing is read again when there is nothing to tell. `events` is how many were read.
    fn tell(
        trace: &TraceInput,
        question: &Question,
        engine: &dyn Atomicity,
        events: u64,
    ) -> Result<Story, Error> {
        let all = engine.cycles();
        if all.is_empty() {
            let violating = question.all_transactions.then(Components::default);
            return Ok(Story { violating, ..Story::default() });
        }
        let cycles = explained(all, question);
        let mut explainer = Explainer::new(cycles);
        let mut blame = Blame::among(trace.contested());
        let mut exact = Running::new(Options { first_only: true });
        let mut components = question.all_transactions.then(Components::default);
        let mut others: Vec<&mut dyn Analysis> = vec![&mut blame];
        if !question.engine.is_exact() {
            others.push(&mut exact);
        }
        if let Some(components) = &mut components {
            others.push(components);
        }
        explain(trace, events, &mut explainer, others)?;
        let told = explainer.explanations();
        let first = exact.cycles().first().or(all.first());
        Ok(Story {
            first_event: first.map(|c| c.event),
            findings: findings_of(Rule::Atomicity, told, |i| engine.stands_for(i)),
            unexplained: all.len() - cycles.len(),
            refuted: blame.refuted().to_vec(),
            violating: components,
            ..Story::default()
        })
    }
}

/// The note that some findings were left out.
pub const MORE_FINDINGS: &str = "there are more findings than shown; --max-findings N shows more";

/// Cycles that are alike make one finding, so more are explained than will be shown.
const CYCLES_A_FINDING: usize = 8;

/// The cycles that are worth explaining.
fn explained<'a>(all: &'a [Cycle], question: &Question) -> &'a [Cycle] {
    &all[..all.len().min(question.max_findings.saturating_mul(CYCLES_A_FINDING))]
}

/// Finds the stories, in as many passes as that takes; `others` see the first of them.
fn explain(
    trace: &TraceInput,
    events: u64,
    explainer: &mut Explainer,
    others: Vec<&mut dyn Analysis>,
) -> Result<(), Error> {
    let mut all: Vec<&mut dyn Analysis> = vec![explainer];
    all.extend(others.into_iter().map(|other| other as &mut dyn Analysis));
    pass(trace, events, &mut all)?;
    while explainer.again() {
        pass(trace, events, &mut [explainer])?;
    }
    Ok(())
}

fn findings_of(
    rule: Rule,
    told: Vec<Option<Explanation>>,
    stands_for: impl Fn(usize) -> u64,
) -> Vec<Finding> {
    let counted = told.into_iter().enumerate();
    group(rule, counted.filter_map(|(i, story)| Some((story?, stands_for(i)))))
}

/// Reads the first `events` events of a trace once more.
fn pass(trace: &TraceInput, events: u64, analyses: &mut [&mut dyn Analysis]) -> Result<(), Error> {
    let mut open = trace.open()?;
    let mut done = Vec::new();
    let (reading, outcome) = trace.read(&mut open, |batch| {
        let over = batch.first + batch.events.len() as u64 > events;
        let fed = feed(analyses, &mut done, batch);
        if over { ControlFlow::Break(()) } else { fed }
    });
    outcome?;
    if !reading.stopped && reading.events < events {
        let message =
            format!("the file has changed: it had {events} events when it was read first");
        return Err(Error::damaged(Default::default(), message));
    }
    analyses.iter_mut().for_each(|a| a.finish());
    Ok(())
}

fn answer(
    trace: &TraceInput,
    question: &Question,
    open: &OpenTrace,
    reading: &Reading,
    deciders: &mut Deciders,
    story: &Story,
) -> Checked {
    let symbols = open.symbols();
    let mut findings: Vec<model::Finding> =
        story.findings.iter().map(|f| compose::finding(f, symbols)).collect();
    let verdicts = verdicts(question, deciders, story, symbols, &mut findings);
    let recording = open.skipped().recording.as_ref();
    if let Some(recording) = recording {
        recording::soften(recording, &mut findings);
    }
    let mut findings = merge_alike(findings);
    let mut notes = notes(open, reading);
    let is_found = !findings.is_empty() || story.first_event.is_some();
    let hidden = findings.len().saturating_sub(question.max_findings);
    findings.truncate(question.max_findings);
    if hidden + story.unexplained > 0 {
        notes.push(MORE_FINDINGS.to_owned());
    }
    if question.filter_race_free {
        notes.push(
            "accesses of race-free variables were left out of the atomicity check: the verdict is \
             the same, but cycles are shown by locks, not by data"
                .to_owned(),
        );
    }
    let incomplete = is_incomplete(open, reading);
    let nothing = reading.events == 0 || question.needs_blocks() && reading.transactions == 0;
    if nothing {
        notes.push("nothing was analysed: there is no event, or no block in the trace".to_owned());
    }
    let status = match () {
        () if incomplete => Status::Incomplete,
        () if is_found => Status::Findings,
        () if nothing => Status::Nothing,
        () => Status::Clean,
    };
    let recording = recording.map(recording::model);
    let input = model::Input { recording, ..input(trace.name(), reading, symbols) };
    let schema = model::SCHEMA.to_owned();
    let incomplete = incomplete || reading.stopped;
    let scope = scope(trace, question, open, reading);
    let report =
        model::Report { schema, input, scope, verdicts, findings, incomplete, notes, code: None };
    Checked { report, status }
}

/// What was asked, and what was not looked at.
fn scope(
    trace: &TraceInput,
    question: &Question,
    open: &OpenTrace,
    reading: &Reading,
) -> model::Scope {
    let options = [
        (question.first_only, "--first"),
        (question.filter_race_free, "--filter-race-free"),
        (question.join_yields_to_child, "--join-yields-to-child"),
    ];
    let options = options.iter().filter(|(given, _)| *given).map(|(_, name)| (*name).to_owned());
    model::Scope {
        properties: question.decided().map(|p| p.name().to_owned()).collect(),
        filters: trace.selection(open.blocks()).into_iter().chain(options).collect(),
        dropped: dropped(open, reading),
    }
}

fn input(path: String, reading: &Reading, symbols: &Symbols) -> model::Input {
    model::Input {
        path,
        events: reading.events,
        threads: symbols.threads.len() as u64,
        variables: symbols.vars.len() as u64,
        locks: symbols.locks.len() as u64,
        transactions: reading.transactions,
        recording: None,
    }
}

fn verdicts(
    question: &Question,
    deciders: &mut Deciders,
    story: &Story,
    symbols: &Symbols,
    findings: &mut Vec<model::Finding>,
) -> model::Verdicts {
    let atomicity = deciders.atomicity.is_some().then(|| model::Atomicity {
        holds: story.first_event.is_none(),
        first_event: story.first_event,
        engine: question.engine.name().to_owned(),
        refuted: story.refuted.iter().map(|b| compose::block(b, symbols)).collect(),
        violating: story.violating.as_ref().map(|c| violating(c, symbols)),
        nodes: deciders.nodes.as_ref().map(nodes),
        shrunk: None,
    });
    let race = deciders.races.as_ref().map(|races| verdict::race(races, symbols, findings));
    let cooperability = deciders
        .cooperability
        .as_ref()
        .map(|c| verdict::cooperability(c, &story.reasons, symbols, findings));
    let both = deciders.conflicts.as_ref().zip(deciders.external.as_ref());
    let determinism = both.map(|(conflicts, external)| {
        verdict::determinism(conflicts, external, &story.entered, symbols, findings)
    });
    let reduction = deciders.reduction.as_mut().map(|reduction| {
        verdict::reduction(reduction, deciders.races.as_ref(), &story.refuted, symbols, findings)
    });
    model::Verdicts { atomicity, cooperability, determinism, race, reduction }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace_input::ReadOptions;

    #[test]
    fn a_file_that_is_shorter_in_the_second_pass_is_an_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, "1|begin|1\n1|r(x)|2\n").unwrap();
        let trace = TraceInput::new(file.path(), ReadOptions::default());
        let pass_over = |events| pass(&trace, events, &mut [&mut Blame::default()]);
        assert!(pass_over(2).is_ok());
        assert!(pass_over(3).unwrap_err().to_string().contains("it had 3 events"));
    }
}
