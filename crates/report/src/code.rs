//! What only reports about code have, in the words that all outputs share: how much was read, and
//! the steps through the code that lead to a finding.

use std::fmt::Write as _;

use crate::model::{Code, CodeStep, Finding, InCode, Report, Site};
use crate::stats::thousands;
use crate::table::wrap;

/// How much was read and what is not shown, in pieces.
pub fn size(code: &Code) -> Vec<String> {
    let mut words = vec![
        count(code.classes, "class", "classes"),
        count(code.methods, "method", "methods"),
        count(code.lines, "line", "lines"),
    ];
    let hidden = [(code.unsure, "unsure"), (code.suppressed, "suppressed")];
    let hidden = hidden.iter().filter(|h| h.0 > 0);
    words.extend(hidden.map(|(n, why)| format!("{} not shown ({why})", thousands(*n))));
    words
}

/// How many warnings there are.
pub fn verdict(report: &Report) -> String {
    match report.findings.len() as u64 {
        0 => "no warning".to_owned(),
        n => count(n, "warning", "warnings"),
    }
}

fn count(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", thousands(number), if number == 1 { one } else { many })
}

/// What is known of a finding beside its steps, each under its heading.
pub fn facts(finding: &Finding, code: &InCode, indent: usize) -> Vec<(&'static str, String)> {
    let rule = format!("{}, {} confidence, id {}", finding.rule, code.confidence, finding.id);
    let mut facts = vec![("rule", rule), ("fix", wrap(code.fix.split(' '), indent, indent))];
    if let Some(c) = &code.confirmed {
        let [first, other, second] = c.events;
        let how = format!(
            "in {}: lock {} is released (event {first}), taken by another thread (event {other}) and \
             taken again (event {second})",
            c.trace, c.lock
        );
        facts.push(("seen", wrap(how.split(' '), indent, indent)));
    }
    facts
}

/// The steps through the code, one a line.
pub fn steps(code: &InCode) -> String {
    let mut out = String::new();
    for CodeStep { action, method, site } in &code.steps {
        let action = action.to_string();
        let _ = writeln!(out, "  {action:<22} {}", whereabouts(site, method));
    }
    out
}

/// Where a step is: the method alone if its source is not known.
fn whereabouts(site: &Site, method: &str) -> String {
    let site = site.to_string();
    if site == method { site } else { format!("{site} in {method}") }
}
