//! `paceline yields`: where yields are missing (SILVER), and how much of the code must be read
//! with other threads in mind.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::{ValueEnum, ValueHint};
use paceline::yields::{
    AddedBy, MergedYields, MissingYield, Points, SourceFiles, TraceYields, Yields,
};

use crate::args::{ReadArgs, show};
use crate::check_args::PredictArgs;
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
  paceline yields trace.pace --format patch --source src
  paceline yields trace.pace --predict")]
pub struct Args {
    /// The traces; `-` reads standard input
    #[arg(value_name = "TRACE", required = true, value_hint = ValueHint::FilePath)]
    traces: Vec<PathBuf>,
    /// How to show the result
    #[arg(long, value_enum, default_value_t = YieldsFormat::Text)]
    format: YieldsFormat,
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
    predict: PredictArgs,
    #[command(flatten)]
    read: ReadArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum YieldsFormat {
    Text,
    Json,
    /// `file:line: yield needed before …`, one a line
    Patch,
}

pub fn run(args: &Args, quiet: bool) -> anyhow::Result<Status> {
    let yields = Yields {
        join_yields_to_child: args.join_yields_to_child,
        lines: args.loc,
        source: args.source.clone(),
        predict: args.predict.options(),
    };
    let mut traces = Vec::new();
    for path in &args.traces {
        let mut trace = args.read.trace(path, quiet)?;
        let inferred = yields.infer(&mut trace).with_context(|| show(path))?;
        if !quiet {
            warn_of(&inferred, args);
        }
        traces.push(inferred);
    }
    let status = traces.iter().fold(Status::Clean, |status, t| status.and(t.status));
    let merged = MergedYields::new(traces);
    let text = match args.format {
        YieldsFormat::Text => text(&merged),
        YieldsFormat::Json => serde_json::to_string(&merged)? + "\n",
        YieldsFormat::Patch => patch(&merged),
    };
    print(&text)?;
    Ok(status)
}

/// What the user should know about a trace.
fn warn_of(inferred: &TraceYields, args: &Args) {
    let SourceFiles { named, not_found } = inferred.source_files;
    if let Some(dir) = args.source.as_ref().filter(|_| not_found > 0) {
        warn(&format!("{not_found} of {named} source files are not below {}", show(dir)));
    }
    inferred.notes.iter().for_each(|note| warn(&note.to_string()));
}

fn text(merged: &MergedYields) -> String {
    let mut out = String::new();
    for trace in &merged.traces {
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
        if let Some(predicted) = &trace.predicted {
            let _ = writeln!(out, "  in other orders of this run, {} more", predicted.len());
            for missing in predicted {
                let _ = writeln!(out, "  {}", line(missing));
            }
        }
        density_table(&mut out, &trace.density);
    }
    if merged.traces.len() > 1 {
        let _ = writeln!(out, "together: {} places", merged.merged.len());
        for AddedBy { path, added } in &merged.added {
            let _ = writeln!(out, "  {path} added {added}");
        }
    }
    out
}

fn line(missing: &MissingYield) -> String {
    let MissingYield { site, count, event, thread, before, because } = missing;
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

fn patch(merged: &MergedYields) -> String {
    let mut out = String::new();
    let mut seen = std::collections::HashSet::new();
    for missing in
        merged.traces.iter().flat_map(|t| t.missing.iter().chain(t.predicted.iter().flatten()))
    {
        if seen.insert(&missing.site) {
            let _ = writeln!(out, "{}: yield needed before {}", missing.site, missing.before);
        }
    }
    out
}
