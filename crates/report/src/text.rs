//! A report for people: each finding with its table, then what came out. At most 80 columns, but
//! for names that are longer.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::time::Duration;

use crate::code;
use crate::compose::name;
use crate::model::{
    Blame, Block, Finding, Label, Reordering, Report, RuleHelp, Severity, Transaction,
};
use crate::paint::{self, Paint as _};
use crate::scope;
use crate::stats::thousands;
use crate::table::{in_conflict, shorten, table, thread_name, wrap};
use crate::verdicts::{Row, Section, sections};

/// The facts of a finding stand behind their headings.
const INDENT: usize = 10;
/// Of the lists of a verdict, so many rows are shown.
const MOST_ROWS: usize = 10;

/// The whole report. `took` is how long it took to make.
pub fn report(report: &Report, took: Duration) -> String {
    let mut out = String::new();
    let mut advised = HashSet::new();
    for finding in &report.findings {
        let is_new = advised.insert(&finding.rule);
        out += &self::finding(finding, report.rule(&finding.rule).filter(|_| is_new));
        out.push('\n');
    }
    for (_, verdict) in report.verdicts.iter() {
        sections(verdict, MOST_ROWS).iter().for_each(|list| section(&mut out, list));
    }
    for note in &report.notes {
        let note = name(note.to_string().as_bytes());
        let _ = writeln!(out, "{} {}", "note:".cyan().bold(), wrap(note.split(' '), 6, 6));
    }
    let verdicts = verdicts(report);
    let before = if verdicts.len() > 1 { "\n  " } else { " " };
    let _ = write!(out, "{}:", name(report.input.path.as_bytes()).bold());
    for verdict in verdicts {
        let _ = write!(out, "{before}{verdict}");
    }
    let size = format!("{}; {}", scope::size_of(report).join(", "), speed(report, took));
    let _ = writeln!(out, "\n  {}", wrap(size.split(' '), 2, 2));
    let asked = name(scope::asked(report).join("; ").as_bytes());
    if !asked.is_empty() {
        let _ = writeln!(out, "  {}", wrap(asked.split(' '), 2, 2));
    }
    out
}

/// A list of a verdict. One with headings is set off from what follows.
fn section(out: &mut String, section: &Section) {
    for row in &section.rows {
        let _ = match row {
            Row::Heading(text) => writeln!(out, "{}", text.bold()),
            Row::At { event, text } => writeln!(out, "{event:>10}  {text}"),
            Row::More(text) => writeln!(out, "{:>10}  {text}", ""),
            Row::Line(text) => writeln!(out, "{}", name(text.as_bytes())),
        };
    }
    if section.rows.iter().any(|row| matches!(row, Row::Heading(_))) {
        out.push('\n');
    }
}

/// One finding in full, with the advice for its rule if that is given.
pub fn finding(finding: &Finding, advice: Option<&RuleHelp>) -> String {
    let mut out = String::new();
    let severity = match finding.severity {
        Severity::Violation => finding.severity.red().bold().to_string(),
        Severity::Warning => finding.severity.yellow().bold().to_string(),
    };
    let _ = writeln!(out, "{severity}: {}", finding.title.bold());
    for (heading, fact) in facts(finding) {
        let _ = writeln!(out, "  {heading:<8}{fact}");
    }
    // A finding in code has advice of its own.
    if let Some(rule) = advice.filter(|_| finding.code.is_none()) {
        let fix = wrap(rule.fix.split(' '), INDENT, INDENT);
        let _ = writeln!(out, "  {:<8}{fix}", "next");
    }
    out.push('\n');
    match &finding.code {
        Some(code) => out + &code::steps(code),
        None => out + &table(finding) + &stacks(finding),
    }
}

/// The calls around the events in conflict, if that is more than the block that the table shows.
fn stacks(finding: &Finding) -> String {
    let events: Vec<_> = finding.threads.iter().filter(|e| in_conflict(finding, e)).collect();
    if events.iter().all(|e| e.stack.len() < 2) {
        return String::new();
    }
    let mut out = format!("{:>10}  innermost call first\n", "stacks");
    for event in events.iter().filter(|e| !e.stack.is_empty()) {
        let (last, inner) = (event.stack.len() - 1, event.stack.iter().enumerate());
        let calls = inner.map(|(i, frame)| {
            let call = shorten(&block_name(&frame.label), 60);
            if i == last { call } else { call + " ←" }
        });
        let calls: Vec<String> = calls.collect();
        let site = Some(&event.site).filter(|site| site.is_known()).map(|site| format!("{site}:"));
        let words = site.iter().chain(&calls).map(String::as_str);
        let _ = writeln!(out, "{:>10}  {}", event.event, wrap(words, 12, 14));
    }
    out
}

/// A finding in a few lines without colour: the title and what the table is not needed for.
pub fn brief(finding: &Finding) -> String {
    let mut out = finding.title.clone();
    for (heading, fact) in facts(finding) {
        let pieces: Vec<&str> = fact.lines().map(str::trim_start).collect();
        let _ = write!(out, "\n{heading}: {}", pieces.join(" "));
    }
    out
}

/// One finding in full, without colour.
pub fn plain(finding: &Finding, advice: Option<&RuleHelp>) -> String {
    paint::plain(&self::finding(finding, advice))
}

/// What is known of a finding beside its events, each under its heading.
fn facts(finding: &Finding) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if let Some(blame) = &finding.blame {
        facts.push(("block", blamed(blame)));
    }
    if !finding.cycle.is_empty() {
        facts.push(("cycle", cycle(&finding.cycle)));
    }
    if !finding.not_refuted.is_empty() {
        facts.push(("spared", spared(&finding.not_refuted)));
    }
    if !finding.variables.is_empty() {
        facts.push(("on", variables(&finding.variables)));
    }
    if let Some(code) = &finding.code {
        facts.extend(code::facts(finding, code, INDENT));
        facts.extend(remarks(finding));
        return facts;
    }
    let times = if finding.count == 1 { "once" } else { &format!("{} times", finding.count) };
    let heading = if finding.reordering.is_some() { "found" } else { "seen" };
    facts.push((heading, format!("{times}, id {}", finding.id)));
    facts.extend(finding.reordering.as_ref().and_then(moved));
    facts.extend(remarks(finding));
    facts
}

/// What stands elsewhere than it was observed.
fn moved(reordering: &Reordering) -> Option<(&'static str, String)> {
    const MOST: usize = 4;
    let mut said: Vec<String> = Vec::new();
    for (earlier, later) in reordering.reversed.iter().take(MOST) {
        said.push(format!("the lock section from event {earlier} now follows that from {later}"));
    }
    let more = reordering.reversed.len().saturating_sub(MOST);
    if more > 0 {
        said.push(format!("{more} more sections changed places"));
    }
    for event in &reordering.diverging {
        said.push(format!("event {event} sees another value and is the last of its thread"));
    }
    let text = said.join("; ");
    (!text.is_empty()).then(|| ("moved", wrap(text.split(' '), INDENT, INDENT)))
}

fn remarks(finding: &Finding) -> Option<(&'static str, String)> {
    finding.remark().map(|text| ("note", wrap(text.split(' '), INDENT, INDENT)))
}

/// The variables that a finding was seen on.
fn variables(names: &[String]) -> String {
    const MOST: usize = 8;
    let mut shown: Vec<String> = names.iter().take(MOST).map(|n| shorten(n, 40)).collect();
    if names.len() > MOST {
        shown.push(format!("{} more", names.len() - MOST));
    }
    let last = shown.pop().unwrap_or_default();
    let list = format!("{} and {last}", shown.join(", "));
    wrap(list.split(' '), INDENT, INDENT)
}

/// What a block is called in a sentence.
fn block_name(label: &Label) -> String {
    label.in_sentence().map_or_else(|| "one event".to_owned(), |name| name.into_owned())
}

/// The blamed block and its site, unless the one is the other.
fn blamed(blame: &Blame) -> String {
    let site = blame.site.to_string();
    let label = &blame.label;
    if matches!(label, Label::AtSite(_)) {
        format!("begins at {site}")
    } else if !blame.site.is_known() || label.text() == Some(&site) {
        block_name(label)
    } else {
        format!("{} at {site}", block_name(label))
    }
}

/// The open blocks that the finding says nothing against.
fn spared(blocks: &[Block]) -> String {
    const MOST: usize = 3;
    let shown = blocks.iter().take(MOST);
    let name = |b: &Block| shorten(&block_name(&b.label), 40);
    let names: Vec<String> =
        shown.map(|b| format!("{} (event {})", name(b), b.begin_event)).collect();
    let names = match blocks.len().saturating_sub(MOST) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    };
    wrap(names.split(' '), INDENT, INDENT)
}

/// The cycle: each transaction before the next, and back to the first.
fn cycle(transactions: &[Transaction]) -> String {
    let mut steps: Vec<String> = transactions.iter().map(|t| in_thread(t) + " →").collect();
    steps.extend(transactions.first().map(in_thread));
    wrap(steps.iter().map(String::as_str), INDENT, INDENT)
}

fn in_thread(transaction: &Transaction) -> String {
    let what = match transaction.label.in_sentence() {
        Some(label) => shorten(&label, 40),
        None => shorten(&transaction.edge.from.operation(), 40),
    };
    format!("{what} in {}", thread_name(&transaction.thread))
}

/// How long it took.
fn speed(report: &Report, took: Duration) -> String {
    let seconds = took.as_secs_f64();
    if let Some(code) = report.code.as_ref().filter(|_| seconds >= 0.1) {
        let rate = thousands((code.lines as f64 / seconds) as u64);
        return format!("{seconds:.2} s ({rate} lines/s)");
    }
    match report.input.events as f64 / seconds.max(1e-6) / 1e6 {
        // What takes no time says nothing about the speed.
        _ if seconds < 0.1 => format!("{seconds:.2} s"),
        rate => format!("{seconds:.2} s ({rate:.1} M events/s)"),
    }
}

/// Every verdict in a few words.
fn verdicts(report: &Report) -> Vec<String> {
    let code = report.code.as_ref().map(|_| code::verdict(report));
    let each = report.verdicts.iter().map(|(_, verdict)| {
        let summary = name(verdict.summary.as_bytes());
        if verdict.holds { summary.green().to_string() } else { summary.red().bold().to_string() }
    });
    code.into_iter().chain(each).collect()
}
