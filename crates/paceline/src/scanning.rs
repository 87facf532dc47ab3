//! A scan of code as a report like any other, so that every output can show it.

use std::path::{Path, PathBuf};

use paceline_report::compose;
use paceline_report::model::{
    self, Blame, Code, Confirmed, Failure, Finding, InCode, Input, Problem, RuleHelp, Step,
};
use paceline_report::outcome::Outcome;
use paceline_scan::{Confidence, Report, Rule, ScanError, Site, Warning};

use crate::sources::Sources;
use crate::trace_input::show_path;

/// What came of a scan: its report, then what could not be read. `sources` says where the files
/// are, if they are there; `rules` are those that were looked for.
pub fn outcomes(
    report: &Report,
    paths: &[PathBuf],
    rules: &[Rule],
    sources: Option<&Sources>,
) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    if report.counts.classes > 0 {
        outcomes.push(Outcome::Report(composed(report, paths, rules, sources)));
    }
    outcomes.extend(report.errors.iter().map(failure));
    outcomes
}

fn composed(
    report: &Report,
    paths: &[PathBuf],
    rules: &[Rule],
    sources: Option<&Sources>,
) -> model::Report {
    let counts = &report.counts;
    let shown: Vec<String> = paths.iter().map(|p| show_path(p)).collect();
    let several = (shown.len() > 1).then(|| format!("scanned together: {}", shown.join(", ")));
    model::Report {
        schema: model::SCHEMA.to_owned(),
        input: Input { path: shown.first().cloned().unwrap_or_default(), ..Input::default() },
        scope: model::Scope::default(),
        verdicts: model::Verdicts::default(),
        findings: report.warnings.iter().map(|w| finding(w, sources)).collect(),
        incomplete: !report.errors.is_empty(),
        notes: several.into_iter().collect(),
        code: Some(Code {
            classes: counts.classes as u64,
            methods: counts.methods as u64,
            lines: counts.lines,
            unsure: counts.unsure as u64,
            suppressed: counts.suppressed as u64,
            rules: rules.iter().map(|&rule| help(rule)).collect(),
        }),
    }
}

fn help(rule: Rule) -> RuleHelp {
    let (full, fix) = rule.help();
    let [id, name, short] = [rule.id(), rule.name(), rule.title()].map(str::to_owned);
    RuleHelp { id, name, short: short + ".", full: full.to_owned(), fix: fix.to_owned() }
}

fn failure(error: &ScanError) -> Outcome {
    Outcome::Failure(Failure {
        schema: model::SCHEMA.to_owned(),
        input: model::FailedInput { path: text(&error.path) },
        error: Problem {
            line: None,
            event: None,
            rule: "unreadable".to_owned(),
            message: text(&error.message),
        },
    })
}

fn finding(warning: &Warning, sources: Option<&Sources>) -> Finding {
    let at = warning.site();
    Finding {
        id: warning.fingerprint(),
        rule: warning.rule.id().to_owned(),
        severity: "warning".to_owned(),
        title: text(&warning.message),
        blame: Some(Blame { label: text(&at.method), site: site(at, sources) }),
        cycle: Vec::new(),
        threads: Vec::new(),
        refuted: Vec::new(),
        not_refuted: Vec::new(),
        variables: Vec::new(),
        count: 1,
        remark: remark(warning),
        code: Some(InCode {
            confidence: confidence(warning.confidence).to_owned(),
            fix: text(&warning.fix()),
            steps: steps(warning, sources),
            confirmed: warning.confirmed.as_ref().map(|c| Confirmed {
                trace: text(&c.trace),
                lock: text(&c.lock),
                events: c.events,
            }),
        }),
    }
}

fn confidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Low => "low",
        Confidence::Medium => "medium",
        Confidence::High => "high",
    }
}

/// Why it is not surer, and what else the same two uses do.
fn remark(warning: &Warning) -> Option<String> {
    let mut said = warning.doubts.clone();
    let locks = warning.also_locks.iter().map(|l| format!("also the lock `{}`", l.expression));
    said.extend(locks.take(FURTHER));
    let held = warning.also_held.iter();
    let held = held.map(|o| format!("also while `{}` is held in {}", o.expression, o.site.method));
    said.extend(held.take(FURTHER));
    (!said.is_empty()).then(|| text(&said.join("; ")))
}

/// Of further locks and holders this many are named.
const FURTHER: usize = 4;

/// From the outer lock to the second use, and the places that were merged into this.
fn steps(warning: &Warning, sources: Option<&Sources>) -> Vec<Step> {
    let lock = &warning.lock.expression;
    let second = warning.second_lock.as_ref().map_or(lock, |l| &l.expression);
    let mut steps = Vec::new();
    let mut add = |what: String, at: &Site| {
        steps.push(Step { what: text(&what), label: text(&at.method), site: site(at, sources) });
    };
    if let Some(outer) = &warning.outer {
        add(format!("holds `{}`", outer.expression), &outer.site);
    }
    warning.path.iter().for_each(|at| add("which calls".to_owned(), at));
    for (chain, which, lock) in
        [(&warning.first, "first", lock), (&warning.second, "second", second)]
    {
        for (i, at) in chain.iter().enumerate() {
            let what = format!("{which} use of `{lock}`");
            add(if i == 0 { what } else { "by a call of".to_owned() }, at);
        }
    }
    warning.also.iter().for_each(|at| add("used again".to_owned(), at));
    steps
}

/// The place of a site: the path of its file if that is known.
fn site(site: &Site, sources: Option<&Sources>) -> String {
    let Some(file) = &site.file else { return text(&site.method) };
    let found = sources.and_then(|s| s.path(Path::new(file))).map(show_path);
    let file = found.unwrap_or_else(|| text(file));
    match site.line {
        Some(line) => format!("{file}:{line}"),
        None => file,
    }
}

/// Names come from class files, which may be hostile.
fn text(text: &str) -> String {
    compose::name(text.as_bytes())
}
