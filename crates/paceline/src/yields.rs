//! Where yields are missing (SILVER), and how much of the code must be read with other threads in
//! mind (interference density).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use paceline_analysis::Analysis as _;
use paceline_analysis::cooperability::{
    Cooperability, Inferred, NamedSite, Options, Reason, Reasons, merge,
};
use paceline_analysis::density::{self, Density, Row};
use paceline_report::compose;
use paceline_report::model::Note;
use paceline_trace::{Event, Source as _, Symbols};
use serde::Serialize;

use crate::trace_input::{TraceInput, is_incomplete, notes};
use crate::{Status, TraceError};

/// Infers yields.
///
/// ```
/// use paceline::trace_input::{ReadOptions, TraceInput};
/// use paceline::yields::Yields;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("t.std");
/// std::fs::write(&path, "T1|r(x)|1\nT2|w(x)|9\nT1|w(x)|2\n")?;
/// let mut trace = TraceInput::new(&path, ReadOptions::default());
/// let yields = Yields::default().infer(&mut trace)?;
/// assert_eq!(yields.missing[0].site, "2");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default, Debug)]
pub struct Yields {
    /// A join yields to the joined thread only.
    pub join_yields_to_child: bool,
    /// The lines of code of the program, for its interference density.
    pub lines: Option<u64>,
    /// Where the sources are: lines of the files that the trace names are counted there.
    pub source: Option<PathBuf>,
}

/// What one trace shows.
#[derive(Serialize)]
pub struct TraceYields {
    /// The trace, as it was given.
    pub path: String,
    /// How many events it has.
    pub events: u64,
    /// Whether no yield is missing.
    pub holds: bool,
    /// The first event whose prefix is not cooperable.
    pub first_event: Option<u64>,
    /// The events before which a yield is missing.
    pub yields: Vec<u64>,
    /// The sites where a yield is missing.
    pub missing: Vec<MissingYield>,
    /// How much of the code must be read with other threads in mind.
    pub density: Points,
    /// What a reader should know about how the trace was read.
    #[serde(skip)]
    pub notes: Vec<Note>,
    /// How many source files the trace names, and how many of them were not found.
    #[serde(skip)]
    pub source_files: SourceFiles,
    /// How the analysis ended.
    #[serde(skip)]
    pub status: Status,
    #[serde(skip)]
    named: Vec<NamedSite>,
}

/// The source files that a trace names.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct SourceFiles {
    pub named: usize,
    pub not_found: usize,
}

/// A site where a yield is missing.
#[derive(Serialize)]
pub struct MissingYield {
    /// Where.
    pub site: String,
    /// How often.
    pub count: u64,
    /// The first event before which it is missing.
    pub event: u64,
    /// The thread of that event.
    pub thread: String,
    /// The operation of that event.
    pub before: String,
    /// Why.
    pub because: Option<Because>,
}

/// The conflict that makes a yield necessary.
#[derive(Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Because {
    pub event: u64,
    pub thread: String,
    pub operation: String,
    pub site: String,
}

/// Interference points, and how many there are a line: a row of Figure 7 of the paper.
#[derive(Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Points {
    pub lines: Option<u64>,
    pub preemptive: usize,
    pub atomic: usize,
    pub cooperative: usize,
    pub preemptive_density: Option<f64>,
    pub atomic_density: Option<f64>,
    pub cooperative_density: Option<f64>,
}

/// What a trace added to those before it: Figure 8 of the paper.
#[derive(Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct AddedBy {
    pub path: String,
    pub added: usize,
}

/// A site where a yield is missing in some traces.
#[derive(Serialize)]
pub struct MergedSite {
    /// Where.
    pub site: String,
    /// How often, in all traces.
    pub count: u64,
    /// In how many traces.
    pub traces: usize,
    /// The first of them.
    pub first_trace: String,
}

/// What several traces of one program show.
#[derive(Serialize)]
pub struct MergedYields {
    /// The version of the contract.
    pub schema: &'static str,
    /// Each trace.
    pub traces: Vec<TraceYields>,
    /// All sites.
    pub merged: Vec<MergedSite>,
    /// What each trace added.
    pub added: Vec<AddedBy>,
}

impl Yields {
    /// Infers the yields of one trace.
    pub fn infer(&self, trace: &mut TraceInput) -> Result<TraceYields, TraceError> {
        let join_yields_to_child = self.join_yields_to_child;
        let options = Options { first_only: false, join_yields_to_child };
        let mut open = trace.open_first()?;
        let mut cooperability = Cooperability::new(options);
        let mut density =
            Density::new(density::Options { join_yields_to_child, ..Default::default() });
        let (reading, outcome) = trace.read(&mut open, |batch| {
            let _ = density.events(batch);
            cooperability.events(batch)
        });
        outcome?;
        cooperability.finish();
        density.finish();
        let inferred = cooperability.inferred();
        let reasons = reasons(trace, options, inferred)?;
        let (counted, source_files) = match (self.lines, &self.source) {
            (None, Some(dir)) => count_sources(dir, open.symbols()),
            _ => (None, SourceFiles::default()),
        };
        let status = match () {
            () if is_incomplete(&open, &reading) => Status::Incomplete,
            () if !inferred.is_empty() => Status::Findings,
            () if reading.events == 0 => Status::Nothing,
            () => Status::Clean,
        };
        Ok(TraceYields {
            path: trace.name(),
            events: reading.events,
            holds: inferred.is_empty(),
            first_event: cooperability.first_event(),
            yields: inferred.positions().to_vec(),
            missing: missing(inferred, &reasons, open.symbols()),
            density: points(&density.row(inferred, self.lines.or(counted))),
            notes: notes(&open, &reading),
            source_files,
            status,
            named: inferred.named(open.symbols()),
        })
    }
}

impl MergedYields {
    /// Puts the yields of several traces of one program together.
    pub fn new(traces: Vec<TraceYields>) -> MergedYields {
        let named: Vec<_> = traces.iter().map(|t| t.named.clone()).collect();
        let merged = merge(&named);
        let path = |i: usize| traces[i].path.clone();
        let sites = merged.sites.iter().map(|site| MergedSite {
            site: site.location.clone(),
            count: site.count,
            traces: site.traces,
            first_trace: path(site.first_trace),
        });
        let added = merged.added.iter().enumerate();
        MergedYields {
            schema: "paceline-yields/1",
            merged: sites.collect(),
            added: added.map(|(i, &added)| AddedBy { path: path(i), added }).collect(),
            traces,
        }
    }
}

fn reasons(
    trace: &TraceInput,
    options: Options,
    inferred: &Inferred,
) -> Result<Vec<Reason>, TraceError> {
    if inferred.is_empty() {
        return Ok(Vec::new());
    }
    let mut reasons = Reasons::new(options, inferred);
    let mut open = trace.open()?;
    let (_, outcome) = trace.read(&mut open, |batch| reasons.events(batch));
    outcome?;
    reasons.finish();
    Ok(reasons.reasons().to_vec())
}

fn missing(inferred: &Inferred, reasons: &[Reason], symbols: &Symbols) -> Vec<MissingYield> {
    let each = inferred.sites().iter();
    each.map(|site| {
        let first = site.first;
        let event = Event { thread: first.thread, op: first.op, site: first.site };
        let reason = reasons.iter().find(|r| r.missing.event == first.event);
        let shown = compose::event(first.event, &event, symbols);
        MissingYield {
            site: shown.site.to_string(),
            count: site.count,
            event: first.event,
            thread: shown.thread.clone(),
            before: shown.operation(),
            because: reason.map(|r| because(r, symbols)),
        }
    })
    .collect()
}

fn because(reason: &Reason, symbols: &Symbols) -> Because {
    let event =
        Event { thread: reason.earlier_thread, op: reason.earlier_op, site: reason.earlier_site };
    let shown = compose::event(reason.earlier, &event, symbols);
    Because {
        event: shown.event,
        operation: shown.operation(),
        thread: shown.thread,
        site: shown.site.to_string(),
    }
}

fn points(row: &Row) -> Points {
    let Row { lines, preemptive, atomic, cooperative, .. } = *row;
    Points {
        lines,
        preemptive: preemptive.points,
        atomic: atomic.points,
        cooperative: cooperative.points,
        preemptive_density: preemptive.density,
        atomic_density: atomic.density,
        cooperative_density: cooperative.density,
    }
}

/// The lines of the source files that a trace names, as far as they are found.
fn count_sources(dir: &Path, symbols: &Symbols) -> (Option<u64>, SourceFiles) {
    let mut files: BTreeMap<String, Option<u64>> = BTreeMap::new();
    for info in symbols.sites() {
        let name = String::from_utf8_lossy(symbols.texts.name(info.file.0)).into_owned();
        files.entry(name).or_insert(None);
    }
    fill(dir, &mut files);
    let not_found = files.values().filter(|lines| lines.is_none()).count();
    let total: u64 = files.values().flatten().sum();
    ((total > 0).then_some(total), SourceFiles { named: files.len(), not_found })
}

/// Counts the lines of the wanted files below a folder; a file is known by the end of its path.
fn fill(dir: &Path, files: &mut BTreeMap<String, Option<u64>>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() && !path.is_symlink() {
            fill(&path, files);
            continue;
        }
        let wanted =
            files.iter_mut().filter(|(name, lines)| lines.is_none() && path.ends_with(name));
        for (_, lines) in wanted {
            *lines = std::fs::read(&path).ok().map(|text| count_lines(&text));
        }
    }
}

fn count_lines(text: &[u8]) -> u64 {
    text.split(|&b| b == b'\n').filter(|line| !line.trim_ascii().is_empty()).count() as u64
}
