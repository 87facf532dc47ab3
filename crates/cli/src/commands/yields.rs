//! `paceline yields`: where yields are missing (SILVER), and how much of the code must be read
//! with other threads in mind.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{ValueEnum, ValueHint};
use paceline::trace_input::{OpenTrace, TraceInput, is_incomplete, notes};
use paceline_analysis::Analysis as _;
use paceline_analysis::cooperability::{
    Cooperability, Inferred, Merged, Options, Reason, Reasons, merge,
};
use paceline_analysis::density::{self, Density, Row};
use paceline_report::compose;
use paceline_trace::{Event, Source as _, Symbols};
use serde::Serialize;

use crate::args::{ReadArgs, show};
use crate::output::print;
use crate::status::{Status, warn};

/// Infer where yields are missing, and measure interference density
///
/// With several traces of one program, their yields are put together, and what each trace added is
/// shown.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  paceline yields trace.std
  paceline yields run1.pace run2.pace run3.pace --format json
  paceline yields trace.pace --format patch --source src")]
pub struct Args {
    /// The traces; `-` reads standard input
    #[arg(value_name = "TRACE", required = true, value_hint = ValueHint::FilePath)]
    traces: Vec<PathBuf>,
    /// How to show the result
    #[arg(long, value_enum, default_value_t = Shown::Text)]
    format: Shown,
    /// A join yields to the joined thread only
    #[arg(long)]
    join_yields_to_child: bool,
    /// The lines of code of the program, for its interference density
    #[arg(long, value_name = "N", conflicts_with = "source")]
    loc: Option<u64>,
    /// Where the sources are: lines of the files that the trace names are counted there
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    source: Option<PathBuf>,
    #[command(flatten)]
    read: ReadArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Shown {
    Text,
    Json,
    /// `file:line: yield needed before …`, one a line
    Patch,
}

/// What one trace shows.
#[derive(Serialize)]
struct OneTrace {
    path: String,
    events: u64,
    holds: bool,
    first_event: Option<u64>,
    yields: Vec<u64>,
    missing: Vec<Missing>,
    density: Points,
    #[serde(skip)]
    named: Vec<paceline_analysis::cooperability::NamedSite>,
    #[serde(skip)]
    status: Status,
}

/// A place where a yield is missing.
#[derive(Serialize)]
struct Missing {
    site: String,
    count: u64,
    event: u64,
    thread: String,
    before: String,
    because: Option<Because>,
}

/// The conflict that makes a yield necessary.
#[derive(Serialize)]
struct Because {
    event: u64,
    thread: String,
    operation: String,
    site: String,
}

/// A row of Figure 7.
#[derive(Serialize)]
struct Points {
    lines: Option<u64>,
    preemptive: usize,
    atomic: usize,
    cooperative: usize,
    preemptive_density: Option<f64>,
    atomic_density: Option<f64>,
    cooperative_density: Option<f64>,
}

#[derive(Serialize)]
struct AddedBy {
    path: String,
    added: usize,
}

#[derive(Serialize)]
struct MergedPlace {
    site: String,
    count: u64,
    traces: usize,
    first_trace: String,
}

#[derive(Serialize)]
struct Together {
    schema: &'static str,
    traces: Vec<OneTrace>,
    merged: Vec<MergedPlace>,
    added: Vec<AddedBy>,
}

pub fn run(args: &Args, quiet: bool) -> anyhow::Result<Status> {
    let mut traces = Vec::new();
    for path in &args.traces {
        traces.push(one(path, args, quiet).with_context(|| show(path))?);
    }
    let status = traces.iter().fold(Status::Clean, |status, t| status.and(t.status));
    let named: Vec<_> = traces.iter().map(|t| t.named.clone()).collect();
    let together = together(traces, &merge(&named));
    let text = match args.format {
        Shown::Text => text(&together),
        Shown::Json => serde_json::to_string(&together)? + "\n",
        Shown::Patch => patch(&together),
    };
    print(&text)?;
    Ok(status)
}

fn one(path: &Path, args: &Args, quiet: bool) -> anyhow::Result<OneTrace> {
    let options = Options { first_only: false, join_yields_to_child: args.join_yields_to_child };
    let mut trace = args.read.trace(path, quiet)?;
    let mut open = trace.open_first()?;
    let mut cooperability = Cooperability::new(options);
    let mut density = Density::new(density::Options {
        join_yields_to_child: args.join_yields_to_child,
        ..Default::default()
    });
    let (reading, outcome) = trace.read(&mut open, |batch| {
        let _ = density.events(batch);
        cooperability.events(batch)
    });
    outcome?;
    cooperability.finish();
    density.finish();
    let inferred = cooperability.inferred();
    let reasons = reasons(&trace, options, inferred)?;
    let lines =
        args.loc.or(args.source.as_deref().and_then(|dir| lines(dir, open.symbols(), quiet)));
    let status = match () {
        () if is_incomplete(&open, &reading) => Status::Incomplete,
        () if !inferred.is_empty() => Status::Findings,
        () if reading.events == 0 => Status::Nothing,
        () => Status::Clean,
    };
    if !quiet {
        notes(&open, &reading).iter().for_each(|note| warn(note));
    }
    Ok(OneTrace {
        path: trace.name(),
        events: reading.events,
        holds: inferred.is_empty(),
        first_event: cooperability.first_event(),
        yields: inferred.positions().to_vec(),
        missing: missing(inferred, &reasons, &open),
        density: points(&density.row(inferred, lines)),
        named: inferred.named(open.symbols()),
        status,
    })
}

fn reasons(
    trace: &TraceInput,
    options: Options,
    inferred: &Inferred,
) -> anyhow::Result<Vec<Reason>> {
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

fn missing(inferred: &Inferred, reasons: &[Reason], open: &OpenTrace) -> Vec<Missing> {
    let symbols = open.symbols();
    let each = inferred.sites().iter();
    each.map(|site| {
        let first = site.first;
        let event = Event { thread: first.thread, op: first.op, site: first.site };
        let reason = reasons.iter().find(|r| r.missing.event == first.event);
        let shown = compose::event(first.event, &event, symbols);
        Missing {
            site: shown.site.clone(),
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
        site: shown.site,
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
fn lines(dir: &Path, symbols: &Symbols, quiet: bool) -> Option<u64> {
    let mut files: BTreeMap<String, Option<u64>> = BTreeMap::new();
    for info in symbols.sites() {
        let name = String::from_utf8_lossy(symbols.texts.name(info.file.0)).into_owned();
        files.entry(name).or_insert(None);
    }
    fill(dir, &mut files);
    let missing = files.values().filter(|lines| lines.is_none()).count();
    if missing > 0 && !quiet {
        warn(&format!("{missing} of {} source files are not below {}", files.len(), show(dir)));
    }
    let total: u64 = files.values().flatten().sum();
    (total > 0).then_some(total)
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

fn together(traces: Vec<OneTrace>, merged: &Merged) -> Together {
    let path = |i: usize| traces[i].path.clone();
    let merged_places = merged.sites.iter().map(|site| MergedPlace {
        site: site.location.clone(),
        count: site.count,
        traces: site.traces,
        first_trace: path(site.first_trace),
    });
    let added = merged.added.iter().enumerate();
    Together {
        schema: "paceline-yields/1",
        merged: merged_places.collect(),
        added: added.map(|(i, &added)| AddedBy { path: path(i), added }).collect(),
        traces,
    }
}

fn text(together: &Together) -> String {
    let mut out = String::new();
    for trace in &together.traces {
        let _ = writeln!(
            out,
            "{}: {} yields missing at {} places, {} events",
            trace.path,
            trace.yields.len(),
            trace.missing.len(),
            trace.events
        );
        for missing in &trace.missing {
            let _ = writeln!(out, "  {}", line(missing));
        }
        density_table(&mut out, &trace.density);
    }
    if together.traces.len() > 1 {
        let _ = writeln!(out, "together: {} places", together.merged.len());
        for AddedBy { path, added } in &together.added {
            let _ = writeln!(out, "  {path} added {added}");
        }
    }
    out
}

fn line(missing: &Missing) -> String {
    let Missing { site, count, event, thread, before, because } = missing;
    let times = if *count == 1 { String::new() } else { format!(" ({count} times)") };
    let why = because.as_ref().map_or_else(String::new, |b| {
        format!(", because of {} by {} at {} (event {})", b.operation, b.thread, b.site, b.event)
    });
    format!("{site}: yield needed before {before} by {thread} (event {event}){why}{times}")
}

fn density_table(out: &mut String, points: &Points) {
    let row = |name: &str, points: usize, density: Option<f64>| {
        let density = density.map_or_else(String::new, |d| format!("{d:.4} a line"));
        format!("  {name:<12}{points:>8}  {density}").trim_end().to_owned()
    };
    let _ = writeln!(out, "  interference points");
    let _ = writeln!(out, "{}", row("preemptive", points.preemptive, points.preemptive_density));
    let _ = writeln!(out, "{}", row("atomic", points.atomic, points.atomic_density));
    let _ = writeln!(out, "{}", row("cooperative", points.cooperative, points.cooperative_density));
}

fn patch(together: &Together) -> String {
    let mut out = String::new();
    let mut seen = std::collections::HashSet::new();
    for missing in together.traces.iter().flat_map(|t| &t.missing) {
        if seen.insert(&missing.site) {
            let _ = writeln!(out, "{}: yield needed before {}", missing.site, missing.before);
        }
    }
    out
}
