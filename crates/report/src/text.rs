//! A report for people: each finding with its table, then what came out. At most 80 columns, but
//! for names that are longer.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::time::Duration;

use owo_colors::OwoColorize as _;

use crate::code;
use crate::compose::{block_name, name};
use crate::model::{
    Blame, Block, Finding, Report, Shrunk, Transaction, Verdicts, Violating, YieldInBlock,
};
use crate::rules;
use crate::scope::{self, count};
use crate::stats::thousands;
use crate::table::{in_conflict, shorten, table, thread_name, wrap};

/// The facts of a finding stand behind their headings.
const INDENT: usize = 10;

/// The whole report. `took` is how long it took to make.
pub fn report(report: &Report, took: Duration) -> String {
    let mut out = String::new();
    let mut advised = HashSet::new();
    for finding in &report.findings {
        let is_new = advised.insert(finding.rule.as_str());
        out += &shown(finding, is_new);
        out.push('\n');
    }
    out += &inside_blocks(&report.verdicts);
    if let Some(atomicity) = &report.verdicts.atomicity {
        out += &violating(atomicity.violating.as_deref().unwrap_or_default());
        if let Some(n) = &atomicity.nodes {
            out += &nodes("with merging", n.allocated, n.max_alive);
            let (allocated, alive) = (n.allocated_without_merge, n.max_alive_without_merge);
            out += &nodes("without merging", allocated, alive);
        }
        out += &atomicity.shrunk.as_ref().map(shrunk).unwrap_or_default();
    }
    for note in &report.notes {
        let note = name(note.as_bytes());
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

/// The list of Velodrome's Table 2.
fn shrunk(shrunk: &Shrunk) -> String {
    let is_not = ("method is not atomic", "methods are not atomic");
    let may_not = ("method may not be atomic", "methods may not be atomic");
    let lists = [(&shrunk.not_atomic, is_not), (&shrunk.suspects, may_not)];
    let mut out = String::new();
    for (methods, (one, many)) in lists.into_iter().filter(|(methods, _)| !methods.is_empty()) {
        let what = if methods.len() == 1 { one } else { many };
        let _ = writeln!(out, "{} {what}:", methods.len());
        methods.iter().for_each(|method| {
            let _ = writeln!(out, "  {}", name(method.as_bytes()));
        });
    }
    if out.is_empty() { "no method was refuted\n".to_owned() } else { out }
}

/// One finding in full.
pub fn finding(finding: &Finding) -> String {
    shown(finding, true)
}

/// One finding, with the advice for its rule unless the reader has seen it.
fn shown(finding: &Finding, advise: bool) -> String {
    let mut out = String::new();
    let severity = if finding.severity == "violation" {
        finding.severity.red().bold().to_string()
    } else {
        finding.severity.yellow().bold().to_string()
    };
    let _ = writeln!(out, "{severity}: {}", finding.title.bold());
    for (heading, fact) in facts(finding) {
        let _ = writeln!(out, "  {heading:<8}{fact}");
    }
    if let Some(rule) = rules::named(&finding.rule).filter(|_| advise) {
        let _ = writeln!(
            out,
            "  {:<8}{}",
            "next",
            wrap(rules::help(rule).fix.split(' '), INDENT, INDENT)
        );
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
        let site = Some(&event.site).filter(|site| *site != "?").map(|site| format!("{site}:"));
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
pub fn plain(finding: &Finding) -> String {
    anstream::adapter::strip_str(&self::finding(finding)).to_string()
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
        facts.extend(finding.remark.iter().map(|r| ("note", wrap(r.split(' '), INDENT, INDENT))));
        return facts;
    }
    let times = if finding.count == 1 { "once" } else { &format!("{} times", finding.count) };
    facts.push(("seen", format!("{times}, id {}", finding.id)));
    if let Some(remark) = &finding.remark {
        facts.push(("note", wrap(remark.split(' '), INDENT, INDENT)));
    }
    facts
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

/// The blamed block and its place, unless the one is the other.
fn blamed(blame: &Blame) -> String {
    match block_name(&blame.label) {
        name if blame.site == "?" => name,
        name if blame.label != blame.site => format!("{name} at {}", blame.site),
        name if name == blame.label => name,
        _ => format!("begins at {}", blame.site),
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

/// The cycle: who comes before whom, and back to the first.
fn cycle(transactions: &[Transaction]) -> String {
    let mut steps: Vec<String> = transactions.iter().map(|t| who(t) + " →").collect();
    steps.extend(transactions.first().map(who));
    wrap(steps.iter().map(String::as_str), INDENT, INDENT)
}

fn who(transaction: &Transaction) -> String {
    let what = match &transaction.label {
        Some(label) => shorten(&block_name(label), 40),
        None => shorten(&transaction.edge.from.operation(), 40),
    };
    format!("{what} in {}", thread_name(&transaction.thread))
}

/// Every transaction on some cycle, those of one component together.
fn violating(transactions: &[Violating]) -> String {
    let mut begins = HashMap::new();
    for transaction in transactions {
        begins.entry(transaction.component).or_insert(transaction.first_event);
    }
    let mut transactions: Vec<&Violating> = transactions.iter().collect();
    transactions.sort_by_key(|t| begins[&t.component]);
    let mut out = String::new();
    let mut component = None;
    for transaction in transactions {
        if component != Some(transaction.component) {
            component = Some(transaction.component);
            let _ = writeln!(out, "{}", "these cannot be put into any serial order:".bold());
        }
        let what = transaction.label.as_deref().map_or_else(|| "one event".to_owned(), block_name);
        let thread = thread_name(&transaction.thread);
        let _ = writeln!(out, "{:>10}  {what} in {thread}", transaction.first_event);
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

/// Yields inside blocks that are declared atomic.
fn inside_blocks(verdicts: &Verdicts) -> String {
    const MOST: usize = 10;
    let yields = verdicts.cooperability.as_ref().map_or(&[][..], |c| &c.yields_in_blocks);
    if yields.is_empty() {
        return String::new();
    }
    let mut out = format!("{}\n", "yields inside blocks that are declared atomic:".bold());
    for y in yields.iter().take(MOST) {
        let at = if y.site == "?" { String::new() } else { format!(" at {}", y.site) };
        let times = if y.count < 2 { String::new() } else { format!(" ({} times)", y.count) };
        let block = block_name(&y.label);
        let _ = writeln!(out, "{:>10}  {}{at} in {block}{times}", y.event, yielding(y));
    }
    if yields.len() > MOST {
        let _ = writeln!(out, "{:>10}  and {} more places", "", yields.len() - MOST);
    }
    out.push('\n');
    out
}

/// What yields.
fn yielding(y: &YieldInBlock) -> &str {
    match y.kind.as_str() {
        "written" => "yield",
        "inferred" => "missing yield",
        implicit => implicit,
    }
}

/// What Velodrome's graph cost.
fn nodes(how: &str, allocated: u64, alive: u64) -> String {
    let (allocated, alive) = (thousands(allocated), thousands(alive));
    format!("nodes {how}: {allocated} allocated, at most {alive} alive\n")
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
    let v = &report.verdicts;
    let mut words = Vec::new();
    if report.code.is_some() {
        words.push(code::verdict(report));
    }
    let mut say = |holds: bool, yes: &str, no: String| {
        words.push(if holds { yes.green().to_string() } else { no.red().bold().to_string() });
    };
    let at = |event: Option<u64>| event.map_or_else(String::new, |e| format!(" (event {e})"));
    if let Some(a) = &v.atomicity {
        let seen = report.input.transactions > 0;
        let yes = if seen { "atomic" } else { "no block seen that could be atomic or not" };
        say(a.holds, yes, format!("not atomic{}", at(a.first_event)));
    }
    if let Some(c) = &v.cooperability {
        let missing = count(c.yields.len() as u64, "yield");
        say(c.holds, "cooperable", format!("not cooperable ({missing} missing)"));
    }
    if let Some(d) = &v.determinism {
        say(d.holds, "deterministic", "not deterministic".to_owned());
    }
    if let Some(r) = &v.race {
        let racy = count(r.variables.len() as u64, "variable");
        say(r.holds, "race-free", format!("races on {racy}"));
    }
    if let Some(r) = &v.reduction {
        let warnings = count(r.warnings, "warning");
        say(r.holds, "reducible", format!("{warnings} ({} confirmed)", r.confirmed));
    }
    words
}
