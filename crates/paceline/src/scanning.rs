//! A scan of code as a report like any other, so that every output can show it.

use std::path::{Path, PathBuf};

use paceline_report::compose;
use paceline_report::model::{
    self, Blame, Code, CodeAction, CodeStep, Confirmed, Explanation, Failure, Finding, InCode,
    Input, Label, Note, Problem, ProblemRule, Remark, RuleHelp, RuleId, Severity,
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
    let several = (shown.len() > 1).then(|| Note::ScannedTogether { paths: shown.clone() });
    model::Report {
        schema: model::SCHEMA.to_owned(),
        input: Input { path: shown.first().cloned().unwrap_or_default(), ..Input::default() },
        scope: model::Scope::default(),
        verdicts: model::Verdicts::default(),
        findings: report.warnings.iter().map(|w| finding(w, sources)).collect(),
        incomplete: !report.errors.is_empty(),
        rules: rules.iter().map(|&rule| help(rule)).collect(),
        notes: several.into_iter().collect(),
        code: Some(Code {
            classes: counts.classes as u64,
            methods: counts.methods as u64,
            lines: counts.lines,
            unsure: counts.unsure as u64,
            suppressed: counts.suppressed as u64,
        }),
    }
}

fn help(rule: Rule) -> RuleHelp {
    let (full, fix) = rule.help();
    RuleHelp {
        id: RuleId::new(rule.id()),
        severity: Severity::Warning,
        name: rule.name().to_owned(),
        short: format!("{}.", rule.title()),
        full: full.to_owned(),
        fix: fix.to_owned(),
    }
}

fn failure(error: &ScanError) -> Outcome {
    Outcome::Failure(Failure {
        schema: model::SCHEMA.to_owned(),
        input: model::FailedInput { path: text(&error.path) },
        error: Problem {
            line: None,
            event: None,
            rule: ProblemRule::Unreadable,
            message: text(&error.message),
        },
    })
}

fn finding(warning: &Warning, sources: Option<&Sources>) -> Finding {
    let at = warning.site();
    Finding {
        id: warning.fingerprint(),
        rule: RuleId::new(warning.rule.id()),
        severity: Severity::Warning,
        title: text(&warning.message),
        blame: Some(Blame { label: Label::Named(text(&at.method)), site: site(at, sources) }),
        explanation: Explanation::Code,
        cycle: Vec::new(),
        threads: Vec::new(),
        refuted: Vec::new(),
        not_refuted: Vec::new(),
        variables: Vec::new(),
        count: 1,
        remarks: remarks(warning),
        reordering: None,
        code: Some(InCode {
            confidence: confidence(warning.confidence),
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

fn confidence(confidence: Confidence) -> model::Confidence {
    match confidence {
        Confidence::Low => model::Confidence::Low,
        Confidence::Medium => model::Confidence::Medium,
        Confidence::High => model::Confidence::High,
    }
}

/// Why it is not surer, and what else the same two uses do.
fn remarks(warning: &Warning) -> Vec<Remark> {
    let doubts = warning.doubts.iter().map(|doubt| Remark::Doubt { reason: text(doubt) });
    let locks = warning.also_locks.iter();
    let locks = locks.map(|lock| Remark::AlsoLock { lock: text(&lock.expression) });
    let held = warning.also_held.iter().map(|outer| Remark::AlsoHeld {
        lock: text(&outer.expression),
        method: text(&outer.site.readable()),
    });
    doubts.chain(locks.take(FURTHER)).chain(held.take(FURTHER)).collect()
}

/// Of further locks and holders this many are named.
const FURTHER: usize = 4;

/// From the outer lock to the second use, and the uses that were merged into this.
fn steps(warning: &Warning, sources: Option<&Sources>) -> Vec<CodeStep> {
    let lock = &warning.lock.expression;
    let second = warning.second_lock.as_ref().map_or(lock, |l| &l.expression);
    let mut steps = Vec::new();
    let mut add = |action: CodeAction, at: &Site| {
        steps.push(CodeStep { action, method: text(&at.readable()), site: site(at, sources) });
    };
    if let Some(outer) = &warning.outer {
        add(CodeAction::Holds { lock: text(&outer.expression) }, &outer.site);
    }
    warning.path.iter().for_each(|at| add(CodeAction::Calls, at));
    let uses = [
        (&warning.first, CodeAction::FirstUse { lock: text(lock) }),
        (&warning.second, CodeAction::SecondUse { lock: text(second) }),
    ];
    for (chain, action) in uses {
        for (i, at) in chain.iter().enumerate() {
            add(if i == 0 { action.clone() } else { CodeAction::ByCall }, at);
        }
    }
    warning.also.iter().for_each(|at| add(CodeAction::UsedAgain, at));
    steps
}

/// A site with the path of its file if that is known.
fn site(site: &Site, sources: Option<&Sources>) -> model::Site {
    let file = site.file.as_ref().map(|file| {
        let found = sources.and_then(|s| s.path(Path::new(file))).map(show_path);
        found.unwrap_or_else(|| text(file))
    });
    let line = site.line.filter(|_| file.is_some()).map(u64::from);
    model::Site::Source { file, line, method: Some(text(&site.method)) }
}

/// Names come from class files, which may be hostile.
fn text(text: &str) -> String {
    compose::name(text.as_bytes())
}
