//! What a warning says, and how a trace confirms it.

#![allow(clippy::unwrap_used, reason = "what fails while a test is set up fails the test")]

mod java;

use std::io::Cursor;
use std::path::Path;

use paceline_scan::{Input, Options, Report, Rule, Suppressions, Warning, confirm, scan};
use paceline_trace::format::std::StdReader;
use paceline_trace::{Batch, Error, SiteInfo, Skipped, Source, Symbols};

fn program(name: &str, options: &Options) -> Option<Report> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/scan");
    let classes = java::compile(&[folder.join(name)])?;
    Some(scan(&[Input::Path(classes.path().to_owned())], &[], options, &mut |_| {}))
}

fn figure1() -> Option<Vec<Warning>> {
    program("Figure1.java", &Options::default()).map(|r| r.warnings)
}

#[test]
fn figure_1_is_reported_with_all_its_places() {
    let Some(warnings) = figure1() else { return };
    let warning = &warnings[0];
    assert_eq!(warning.rule, Rule::LockedTwice);
    assert_eq!(
        warning.message,
        "`arg1` is locked and released twice while `this` is held, and both results are used together"
    );
    let contains = "figure1/Line.contains(Lfigure1/Location;)Z";
    let distance = "figure1/Location.distanceTo(Lfigure1/Location;)D";
    let outer = warning.outer.as_ref().unwrap();
    assert_eq!((outer.expression.as_str(), outer.site.method.as_str()), ("this", contains));
    for (chain, line) in [(&warning.first, 20), (&warning.second, 21)] {
        let sites: Vec<_> = chain.iter().map(|s| (s.method.as_str(), s.line.unwrap())).collect();
        assert_eq!(sites, [(contains, line), (distance, 8)]);
        assert_eq!(chain[0].file.as_deref(), Some("figure1/Figure1.java"));
    }
    assert_eq!(warning.lock.taken_in, "figure1/Location");
}

#[test]
fn the_context_of_figure_4_is_found_up_the_call_graph() {
    let Some(report) = program("Figure4.java", &Options::default()) else { return };
    let warning = &report.warnings[0];
    assert_eq!(warning.message, "`this.b` is locked and released twice while `this.a` is held");
    assert_eq!(warning.path[0].method, "figure4/Graph.m1()V");
    let chain: Vec<_> = warning.second.iter().map(|s| s.method.as_str()).collect();
    assert_eq!(chain, ["figure4/Graph.m2()V", "figure4/Graph.m4()V", "figure4/Graph.m5()V"]);
}

#[test]
fn the_same_scan_gives_the_same_report() {
    let Some(first) = program("Flow.java", &Options::default()) else { return };
    let Some(second) = program("Flow.java", &Options::default()) else { return };
    assert_eq!(first, second);
    let prints: Vec<String> = first.warnings.iter().map(Warning::fingerprint).collect();
    let mut distinct = prints.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), prints.len());
}

#[test]
fn locks_and_methods_can_be_suppressed() {
    for (locks, methods) in [("figure1/Location", ""), ("arg1", ""), ("", "figure1/Line.contains*")]
    {
        let text = |s: &str| vec![s.to_owned()];
        let suppressions =
            Suppressions { locks: text(locks), methods: text(methods), ..Suppressions::default() };
        let options = Options { suppressions, ..Options::default() };
        let Some(report) = program("Figure1.java", &options) else { return };
        assert_eq!((report.warnings.len(), report.counts.suppressed), (0, 1), "{locks}{methods}");
    }
}

fn confirmed(trace: &str) -> Option<Option<[u64; 3]>> {
    let mut warnings = figure1()?;
    let contains = "begin(figure1/Line.contains(Lfigure1/Location;)Z)";
    let text: String = trace
        .split_whitespace()
        .enumerate()
        .map(|(i, word)| {
            let (thread, op) = word.split_once(':').unwrap();
            let op = if op == "contains" { contains } else { op };
            format!("{thread}|{op}|{i}\n")
        })
        .collect();
    let mut source = StdReader::new(Box::new(Cursor::new(text)), false);
    let count = confirm(&mut warnings, "t.std", &mut source).unwrap();
    let events = warnings[0].confirmed.as_ref().map(|c| c.events);
    assert_eq!(count, usize::from(events.is_some()));
    Some(events)
}

#[test]
fn a_trace_with_another_thread_in_between_confirms() {
    let point = "1:contains 1:acq(figure1.Location@7) 1:rel(figure1.Location@7)";
    let again = "1:acq(figure1.Location@7) 1:rel(figure1.Location@7)";
    let other = "2:acq(figure1.Location@7) 2:rel(figure1.Location@7)";
    let Some(found) = confirmed(&format!("{point} {other} {again}")) else { return };
    assert_eq!(found, Some([3, 4, 6]));
    assert_eq!(confirmed(&format!("{point} {again} {other}")), Some(None));
    let elsewhere = other.replace("@7", "@8");
    assert_eq!(confirmed(&format!("{point} {elsewhere} {again}")), Some(None));
}

/// A trace in memory whose acquires and releases stand in lines of `Figure1.java`.
struct InMemory(paceline_trace::Trace, bool, Skipped);

impl Source for InMemory {
    fn read(&mut self, batch: &mut Batch) -> Result<(), Error> {
        batch.events.clear();
        if !std::mem::replace(&mut self.1, true) {
            batch.events.extend(&self.0.events);
        }
        Ok(())
    }

    fn symbols(&self) -> &Symbols {
        &self.0.symbols
    }

    fn skipped(&self) -> &Skipped {
        &self.2
    }
}

fn at_lines(lines: [u32; 7]) -> Option<Option<[u64; 3]>> {
    let mut warnings = figure1()?;
    let line =
        "1:begin(figure1.Line.contains) 1:acq(m) 1:rel(m) 2:acq(m) 2:rel(m) 1:acq(m) 1:rel(m)";
    let mut trace = paceline_trace::Trace::parse(line).unwrap();
    let (file, method) = (trace.symbols.text(b"src/Figure1.java"), trace.symbols.text(b""));
    for (event, line) in trace.events.iter_mut().zip(lines) {
        event.site = trace.symbols.site(SiteInfo { file, method, line, column: 0 });
    }
    confirm(&mut warnings, "t", &mut InMemory(trace, false, Skipped::default())).unwrap();
    Some(warnings[0].confirmed.as_ref().map(|c| c.events))
}

#[test]
fn the_line_of_a_use_shows_which_lock_it_is() {
    let Some(found) = at_lines([19, 20, 20, 11, 13, 21, 21]) else { return };
    assert_eq!(found, Some([3, 4, 6]));
    assert_eq!(at_lines([19, 8, 8, 11, 13, 8, 8]), Some(Some([3, 4, 6])));
    assert_eq!(at_lines([19, 30, 30, 11, 13, 31, 31]), Some(None));
}

#[test]
fn a_lock_of_another_class_or_outside_the_method_confirms_nothing() {
    let in_method = "1:contains 1:acq(m) 1:rel(m) 2:acq(m) 2:rel(m) 1:acq(m)";
    let Some(found) = confirmed(in_method) else { return };
    assert_eq!(found, None);
    let lock = "figure1.Location@7";
    let after = format!(
        "1:contains 1:end 1:acq({lock}) 1:rel({lock}) 2:acq({lock}) 2:rel({lock}) 1:acq({lock})"
    );
    assert_eq!(confirmed(&after), Some(None));
}

#[test]
fn the_method_that_takes_the_lock_shows_which_one_it_is() {
    let distance = "begin(figure1/Location.distanceTo(Lfigure1/Location;)D)";
    let call = format!("1:{distance} 1:acq(m) 1:rel(m) 1:end");
    let trace = format!("1:contains {call} 2:acq(m) 2:rel(m) {call}");
    let Some(found) = confirmed(&trace) else { return };
    assert_eq!(found, Some([4, 6, 9]));
}
