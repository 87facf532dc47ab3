//! A report for people: each finding with its table, then one line that sums up.

use std::fmt::Write as _;
use std::time::Duration;

use owo_colors::OwoColorize as _;

use crate::model::{Block, Finding, Report, Transaction};
use crate::stats::thousands;
use crate::table::{shorten, table};

/// The whole report. `took` is how long it took to make.
pub fn report(report: &Report, took: Duration) -> String {
    let mut out = String::new();
    for finding in &report.findings {
        out += &self::finding(finding);
        out.push('\n');
    }
    for note in &report.notes {
        let _ = writeln!(out, "{} {note}", "note:".cyan().bold());
    }
    let _ = writeln!(out, "{}", summary(report, took));
    out
}

/// One finding in full.
pub fn finding(finding: &Finding) -> String {
    let mut out = String::new();
    let severity = if finding.severity == "violation" {
        finding.severity.red().bold().to_string()
    } else {
        finding.severity.yellow().bold().to_string()
    };
    let _ = writeln!(out, "{severity}: {}", finding.title.bold());
    if let Some(blame) = &finding.blame {
        let _ = writeln!(out, "  block   {} at {}", blame.label, blame.site);
    }
    if !finding.cycle.is_empty() {
        let _ = writeln!(out, "  cycle   {}", cycle(&finding.cycle));
    }
    if !finding.not_refuted.is_empty() {
        let _ = writeln!(out, "  spared  {}", spared(&finding.not_refuted));
    }
    let times = if finding.count == 1 { "once" } else { &format!("{} times", finding.count) };
    let _ = writeln!(out, "  seen    {times}, id {}", finding.id);
    if let Some(remark) = &finding.remark {
        let _ = writeln!(out, "  note    {remark}");
    }
    out.push('\n');
    out + &table(finding)
}

/// The open blocks that the finding says nothing against.
fn spared(blocks: &[Block]) -> String {
    const MOST: usize = 3;
    let shown = blocks.iter().take(MOST);
    let names: Vec<String> =
        shown.map(|b| format!("{} (event {})", shorten(&b.label, 40), b.begin_event)).collect();
    match blocks.len().saturating_sub(MOST) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

/// The cycle in one line: who, by which conflict, to whom.
fn cycle(transactions: &[Transaction]) -> String {
    let mut out = String::new();
    for transaction in transactions {
        let _ = write!(out, "{} → ", who(transaction));
    }
    out + &transactions.first().map_or_else(String::new, who)
}

fn who(transaction: &Transaction) -> String {
    let what = match &transaction.label {
        Some(label) => shorten(label, 40),
        None => transaction.edge.from.operation(),
    };
    format!("{} {what}", transaction.thread)
}

/// What came out, and of what.
fn summary(report: &Report, took: Duration) -> String {
    let input = &report.input;
    let seconds = took.as_secs_f64().max(1e-6);
    let rate = input.events as f64 / seconds / 1e6;
    format!(
        "{}: {}; {} events, {} threads, {} variables, {} locks, {} transactions in {seconds:.2} s ({rate:.1} M events/s)",
        input.path,
        verdicts(report),
        thousands(input.events),
        thousands(input.threads),
        thousands(input.variables),
        thousands(input.locks),
        thousands(input.transactions),
    )
}

/// Every verdict in a few words.
fn verdicts(report: &Report) -> String {
    let v = &report.verdicts;
    let mut words = Vec::new();
    let mut say = |holds: bool, yes: &str, no: String| {
        words.push(if holds { yes.green().to_string() } else { no.red().bold().to_string() });
    };
    let at = |event: Option<u64>| event.map_or_else(String::new, |e| format!(" (event {e})"));
    if let Some(a) = &v.atomicity {
        say(a.holds, "atomic", format!("not atomic{}", at(a.first_event)));
    }
    if let Some(c) = &v.cooperability {
        let missing = c.yields.len();
        say(c.holds, "cooperable", format!("not cooperable: {missing} yields missing"));
    }
    if let Some(d) = &v.determinism {
        say(d.holds, "deterministic", "not deterministic".to_owned());
    }
    if let Some(r) = &v.race {
        say(r.holds, "race-free", format!("races on {} variables", r.variables.len()));
    }
    if let Some(r) = &v.reduction {
        let warnings = format!("{} warnings, {} confirmed", r.warnings, r.confirmed);
        say(r.holds, "reducible", warnings);
    }
    words.join(", ")
}
