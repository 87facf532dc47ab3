//! How long each output takes for a report of 10,000 findings with 60,000 events in all. None may
//! take a second; on a slow machine, either.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use paceline_report::html::{Page, Snippets, page};
use paceline_report::outcome::{self, Outcome};
use paceline_report::paths::Root;
use paceline_report::sarif::{self, Limits};
use paceline_report::suppress::{self, Suppressions};
use paceline_report::{baseline, dot, github, junit, perfetto, svg, text};

#[allow(dead_code, reason = "tests need the rest")]
#[path = "../tests/outputs/samples.rs"]
mod samples;

const FINDINGS: usize = 10_000;

fn outputs(c: &mut Criterion) {
    let outcomes = [samples::many(FINDINGS)];
    let Outcome::Report(report) = &outcomes[0] else { return };
    let root = Root::default();
    let json = serde_json::to_vec(&outcomes[0]).unwrap_or_default();
    let snippets = Snippets::new();
    let trace = samples::trace(samples::LINE);
    let mut group = c.benchmark_group("10,000 findings");
    group.sample_size(10).warm_up_time(Duration::from_millis(500));
    group.measurement_time(Duration::from_secs(3));
    group.bench_function("text", |b| b.iter(|| text::report(report, Duration::ZERO)));
    group.bench_function("json", |b| b.iter(|| serde_json::to_string(&outcomes[0])));
    group.bench_function("json, read", |b| b.iter(|| outcome::parse(&json)));
    group.bench_function("sarif", |b| {
        b.iter(|| sarif::document(&outcomes, &root, &Limits::GITHUB));
    });
    group.bench_function("github", |b| b.iter(|| github::annotations(&outcomes[0], &root)));
    group.bench_function("junit", |b| b.iter(|| junit::document(&outcomes, &root)));
    group.bench_function("html", |b| {
        let reports = std::slice::from_ref(report);
        b.iter(|| page(&Page { reports, failures: &[], snippets: &snippets }));
    });
    group.bench_function("dot and svg", |b| {
        b.iter(|| {
            report.findings.iter().map(|f| dot::dot(f).len() + svg::svg(f).len()).sum::<usize>()
        });
    });
    group.bench_function("perfetto", |b| {
        b.iter(|| {
            let mut picture = perfetto::Writer::new(Vec::new(), report)?;
            picture.events(&trace.batch(), &trace.symbols)?;
            picture.finish(&trace.symbols)
        });
    });
    group.bench_function("suppressions, written", |b| b.iter(|| suppress::write(&report.findings)));
    group.bench_function("suppressions, 100 entries", |b| {
        let entries: String = (0..100).map(|i| format!("violation:^Other{i}.*$\n")).collect();
        b.iter(|| {
            let mut suppressions = Suppressions::default();
            let _ = suppressions.add("known.txt", &entries);
            suppressions.apply(&mut black_box(report.clone()));
        });
    });
    group.bench_function("baseline", |b| {
        let mut known = baseline::Baseline::default();
        known.add(&outcomes);
        b.iter(|| known.apply([&mut black_box(report.clone())]).len());
    });
    group.finish();
}

criterion_group!(benches, outputs);
criterion_main!(benches);
