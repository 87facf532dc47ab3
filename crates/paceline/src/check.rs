//! From a trace to its report: one pass decides every property that is asked for; if there is
//! something to explain, further passes do that.

use std::path::PathBuf;
use std::sync::Arc;

use paceline_analysis::Analysis;
use paceline_analysis::atomicity::Engine;
use paceline_report::model::{self, Filter, Note};
use paceline_report::recording;
use paceline_report::rules::{self, RuleInfo};
use paceline_trace::format::Format;
use paceline_trace::pipeline::Reading;
use paceline_trace::select::Selection;
use paceline_trace::{Source as _, Symbols};

use crate::merging::merge_alike;
use crate::passes::{self, Passes};
use crate::progress::{Listener, Progress};
use crate::property::{
    self, Atomicity, Conclusion, Decision, Evidence, Property, PropertyInfo, RedundantAccesses,
};
use crate::trace_input::{OpenTrace, ReadOptions, TraceInput, dropped, is_incomplete, notes};
use crate::{Error, Status, TraceError, stacks};

/// How properties are decided. What only one property has is named so.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Stop at the first violation.
    pub first_only: bool,
    /// Report at most this many findings.
    pub max_findings: usize,
    /// Atomicity: which engine decides.
    pub engine: Engine,
    /// Atomicity: list every transaction on some cycle.
    pub all_transactions: bool,
    /// Atomicity: count the nodes of Velodrome's graph, with and without merging.
    pub node_counts: bool,
    /// Atomicity: leave out accesses of race-free variables, which takes one more pass.
    pub filter_race_free: bool,
    /// Cooperability: a join yields to the joined thread only.
    pub join_yields_to_child: bool,
    /// Atomicity, races and cooperability: also find what other orders of the same run show.
    pub predict: Option<PredictOptions>,
}

/// How other orders of a run are searched.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PredictOptions {
    /// How many events that several threads have to do with are reordered at a time.
    pub window: usize,
    /// How many seconds the search may take for a million events; unlimited if there is no number.
    pub budget: Option<f64>,
}

impl Default for PredictOptions {
    fn default() -> PredictOptions {
        let defaults = paceline_analysis::predict::Options::default();
        PredictOptions { window: defaults.window, budget: defaults.budget }
    }
}

/// More findings than a person reads at once.
const MAX_FINDINGS: usize = 100;

impl Default for Options {
    fn default() -> Options {
        Options {
            first_only: false,
            max_findings: MAX_FINDINGS,
            engine: Engine::Auto,
            all_transactions: false,
            node_counts: false,
            filter_race_free: false,
            join_yields_to_child: false,
            predict: None,
        }
    }
}

/// A check of traces: what to decide, how, and how to read them.
///
/// Without a [`property`](Check::property), atomicity is decided.
#[derive(Clone, Default)]
pub struct Check {
    properties: Vec<Arc<dyn Property>>,
    options: Options,
    read: ReadOptions,
    patterns: [Vec<Vec<u8>>; 2],
    file: Option<PathBuf>,
    listener: Option<Listener>,
}

impl Check {
    /// A check with every option at its default.
    pub fn new() -> Check {
        Check::default()
    }

    /// Also decides this property. One that is asked for already is not decided twice.
    #[must_use]
    pub fn property(mut self, property: impl Property + 'static) -> Check {
        let name = property.info().name;
        if self.properties.iter().all(|known| known.info().name != name) {
            self.properties.push(Arc::new(property));
        }
        self
    }

    /// Decides every property of the [registry](crate::property::ALL).
    #[must_use]
    pub fn all_properties(self) -> Check {
        property::ALL.iter().fold(self, |check, property| check.property(*property))
    }

    /// How the properties are decided.
    #[must_use]
    pub fn options(mut self, options: Options) -> Check {
        self.options = options;
        self
    }

    /// Which engine decides atomicity.
    #[must_use]
    pub fn engine(mut self, engine: Engine) -> Check {
        self.options.engine = engine;
        self
    }

    /// Whether to stop at the first violation.
    #[must_use]
    pub fn first_only(mut self, first_only: bool) -> Check {
        self.options.first_only = first_only;
        self
    }

    /// Whether accesses of race-free variables are left out of the atomicity check.
    #[must_use]
    pub fn filter_race_free(mut self, filter: bool) -> Check {
        self.options.filter_race_free = filter;
        self
    }

    /// Also finds what other orders of the same run show, with certainty.
    #[must_use]
    pub fn predict(mut self, options: PredictOptions) -> Check {
        self.options.predict = Some(options);
        self
    }

    /// How many findings are reported at most.
    #[must_use]
    pub fn max_findings(mut self, max_findings: usize) -> Check {
        self.options.max_findings = max_findings;
        self
    }

    /// Methods that match are atomic, and no others: `Set.add`, `Account.*`.
    #[must_use]
    pub fn atomic(mut self, pattern: impl Into<Vec<u8>>) -> Check {
        self.patterns[0].push(pattern.into());
        self
    }

    /// Methods that match are not atomic.
    #[must_use]
    pub fn except(mut self, pattern: impl Into<Vec<u8>>) -> Check {
        self.patterns[1].push(pattern.into());
        self
    }

    /// The format of the trace, when neither its content nor its name say it.
    #[must_use]
    pub fn format(mut self, format: Format) -> Check {
        self.read.from = Some(format);
        self
    }

    /// Whether malformed lines and events are skipped and counted, instead of being an error.
    #[must_use]
    pub fn lenient(mut self, lenient: bool) -> Check {
        self.read.lenient = lenient;
        self
    }

    /// The trace to read; `-` is standard input.
    #[must_use]
    pub fn file(mut self, path: impl Into<PathBuf>) -> Check {
        self.file = Some(path.into());
        self
    }

    /// Reports the progress of every pass.
    #[must_use]
    pub fn on_progress(mut self, listener: impl Fn(Progress<'_>) + Send + Sync + 'static) -> Check {
        self.listener = Some(Arc::new(listener));
        self
    }

    /// Reads the [`file`](Check::file) and decides.
    pub fn run(&self) -> Result<model::Report, Error> {
        let file = self.file.as_ref();
        let file = file.ok_or_else(|| Error::Usage("there is no trace to check".to_owned()))?;
        let mut trace = TraceInput::new(file, self.read_options());
        if let Some(listener) = &self.listener {
            trace = trace.on_progress(Arc::clone(listener));
        }
        Ok(self.decide(&mut trace)?.report)
    }

    /// How traces are read.
    pub(crate) fn read_options(&self) -> ReadOptions {
        let [atomic, except] = self.patterns.clone();
        ReadOptions { selection: Selection::new(atomic, except), ..self.read.clone() }
    }

    /// The patterns of methods that are atomic, and of those that are not.
    pub(crate) fn patterns(&self) -> [&[Vec<u8>]; 2] {
        self.patterns.each_ref().map(Vec::as_slice)
    }

    /// Which accesses make no difference for any of the properties.
    pub(crate) fn redundant_accesses(&self) -> RedundantAccesses {
        // In another order even a redundant read may see something else.
        if self.options.predict.is_some() {
            return RedundantAccesses::Keep;
        }
        let each = self.ordered().into_iter().map(|property| property.info().redundant);
        each.min().unwrap_or_default()
    }

    /// The properties in the order of the registry; those from elsewhere come last.
    fn ordered(&self) -> Vec<&dyn Property> {
        if self.properties.is_empty() {
            return vec![&Atomicity];
        }
        let mut ordered: Vec<&dyn Property> = self.properties.iter().map(Arc::as_ref).collect();
        let known =
            |p: &dyn Property| property::ALL.iter().position(|k| k.info().name == p.info().name);
        ordered.sort_by_key(|&p| known(p).unwrap_or(usize::MAX));
        ordered
    }

    /// Decides about a trace. Unlike [`run`](Check::run) this also gives the status, and the trace
    /// can be read again afterwards.
    pub fn decide(&self, trace: &mut TraceInput) -> Result<Checked, TraceError> {
        let properties = self.ordered();
        let start = |p: &&dyn Property| p.start(&self.options, &Passes::before(trace));
        let mut decisions: Vec<Box<dyn Decision>> =
            properties.iter().map(start).collect::<Result<_, _>>()?;
        let mut open = trace.open_first()?;
        let analyses = decisions.iter_mut().flat_map(|d| d.analyses()).collect();
        let (reading, outcome) = passes::first(trace, &mut open, analyses, self.options.first_only);
        outcome?;
        trace.end_first(&open)?;
        decisions.iter_mut().flat_map(|d| d.analyses()).for_each(Analysis::finish);
        let again = Passes::after(trace, reading.events);
        decisions.iter_mut().try_for_each(|decision| decision.explain(&again))?;
        let mut evidence = Evidence::default();
        let conclude = |d: &mut Box<dyn Decision>| d.conclude(open.symbols(), &mut evidence);
        let conclusions = decisions.iter_mut().map(conclude).collect();
        let decided = Decided { check: self, trace, open: &open, reading: &reading, properties };
        let mut checked = decided.report(conclusions);
        // Where events were left out their numbers are not those of the file.
        if reading.malformed == 0 && reading.transactions > 0 {
            stacks::attach(trace, &mut checked.report.findings)?;
        }
        Ok(checked)
    }
}

/// A trace's report, and how its analysis ended.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The report.
    pub report: model::Report,
    /// How the analysis ended.
    pub status: Status,
}

/// A trace about which everything is decided.
struct Decided<'a> {
    check: &'a Check,
    trace: &'a TraceInput,
    open: &'a OpenTrace,
    reading: &'a Reading,
    properties: Vec<&'a dyn Property>,
}

impl Decided<'_> {
    fn report(&self, conclusions: Vec<Conclusion>) -> Checked {
        let holds = conclusions.iter().all(|c| c.verdict.holds);
        let unexplained: usize = conclusions.iter().map(|c| c.unexplained).sum();
        let recording = self.open.skipped().recording.as_ref();
        let input = model::Input {
            recording: recording.map(recording::model),
            ..input(self.trace.name(), self.reading, self.open.symbols())
        };
        let (mut findings, mut said, mut decided) = (Vec::new(), Vec::new(), Vec::new());
        for (property, mut conclusion) in self.properties.iter().zip(conclusions) {
            let info = property.info();
            findings.extend(conclusion.findings);
            said.extend(conclusion.notes);
            let rules = self.rules(info);
            conclusion.verdict.settle(&rules, info.needs_blocks, &input);
            decided.push((info, conclusion.verdict, rules));
        }
        let (verdicts, rules) = in_order(decided);
        if let Some(recording) = recording {
            recording::soften(recording, &mut findings);
        }
        let mut findings = merge_alike(findings);
        let is_found = !findings.is_empty() || !holds;
        let max_findings = self.check.options.max_findings;
        let more = (findings.len() > max_findings || unexplained > 0).then_some(Note::MoreFindings);
        findings.truncate(max_findings);
        let nothing = self.is_nothing().then_some(Note::NothingAnalysed);
        let mut notes = notes(self.open, self.reading);
        notes.extend(more.into_iter().chain(said).chain(nothing));
        let incomplete = is_incomplete(self.open, self.reading);
        let status = match () {
            () if incomplete => Status::Incomplete,
            () if is_found => Status::Findings,
            () if self.is_nothing() => Status::Nothing,
            () => Status::Clean,
        };
        let report = model::Report {
            schema: model::SCHEMA.to_owned(),
            input,
            scope: self.scope(),
            verdicts,
            findings,
            incomplete: incomplete || self.reading.stopped,
            rules,
            notes,
            code: None,
        };
        Checked { report, status }
    }

    /// The rules that were looked for.
    fn rules(&self, info: &PropertyInfo) -> Vec<RuleInfo> {
        let predicts = self.check.options.predict.is_some();
        let rules = info.rules.iter();
        rules.filter(|rule| predicts || !rules::is_predicted(&rule.id)).cloned().collect()
    }

    /// Whether nothing was analysed: there is no event, or no block and nothing else to decide.
    fn is_nothing(&self) -> bool {
        let needs_blocks = self.properties.iter().all(|p| p.info().needs_blocks);
        self.reading.events == 0 || needs_blocks && self.reading.transactions == 0
    }

    /// What was asked, and what was not looked at.
    fn scope(&self) -> model::Scope {
        let options = &self.check.options;
        let options = [
            (options.first_only, Filter::FirstOnly),
            (options.filter_race_free, Filter::RaceFree),
            (options.join_yields_to_child, Filter::JoinYieldsToChild),
        ];
        let given = options.into_iter().filter(|(given, _)| *given).map(|(_, filter)| filter);
        let mut properties: Vec<String> =
            self.properties.iter().map(|p| p.info().name.to_owned()).collect();
        properties.sort_unstable();
        model::Scope {
            properties,
            filters: self.trace.selection(self.open.blocks()).into_iter().chain(given).collect(),
            dropped: dropped(self.open, self.reading),
        }
    }
}

/// The verdicts by the names of their properties, and the rules that were looked for.
fn in_order(
    mut decided: Vec<(&PropertyInfo, model::Verdict, Vec<RuleInfo>)>,
) -> (model::Verdicts, Vec<model::RuleHelp>) {
    decided.sort_by_key(|(info, ..)| info.name);
    let (mut verdicts, mut rules) = (model::Verdicts::default(), Vec::new());
    for (info, verdict, own) in decided {
        rules.extend(own.iter().map(model::RuleHelp::from));
        verdicts.insert(info.name, verdict);
    }
    (verdicts, rules)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::{Race, Reduction};

    #[test]
    fn the_most_demanding_property_decides_what_is_redundant() {
        let of = |check: Check| check.redundant_accesses();
        assert_eq!(of(Check::new()), RedundantAccesses::Block);
        assert_eq!(of(Check::new().property(Atomicity)), RedundantAccesses::Block);
        let both = Check::new().property(Atomicity).property(Race);
        assert_eq!(of(both), RedundantAccesses::Epoch);
        assert_eq!(of(Check::new().property(Race).property(Reduction)), RedundantAccesses::Keep);
        assert_eq!(of(Check::new().all_properties()), RedundantAccesses::Keep);
    }

    #[test]
    fn properties_are_decided_once_and_in_the_order_of_the_registry() {
        let check = Check::new().property(Reduction).property(Atomicity).property(Reduction);
        let names: Vec<&str> = check.ordered().iter().map(|p| p.info().name).collect();
        assert_eq!(names, ["atomicity", "reduction"]);
    }
}
