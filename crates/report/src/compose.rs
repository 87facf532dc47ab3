//! Puts names to what the analyses found: from here on a report knows no ids.

use std::borrow::Cow;

use paceline_analysis::explain::{BlockRef, EventRef, Explanation, TransactionRef};
use paceline_analysis::finding::{Finding, Grounds};
use paceline_trace::format::std::operand;
use paceline_trace::{
    Error, ErrorKind, Event, LabelId, Site, SiteKind, SiteView, Symbols, ThreadId, show_name,
};

use crate::model::{self, Label, ProblemRule, Target, TargetKind};
use crate::rules::RuleInfo;

/// A name as it may be shown anywhere: readable, and without anything that a terminal obeys.
pub fn name(bytes: &[u8]) -> String {
    let text = show_name(bytes);
    if !text.chars().any(is_unsafe) {
        return text.into_owned();
    }
    text.chars().fold(String::new(), |mut safe, c| {
        if is_unsafe(c) {
            safe.extend(c.escape_default());
        } else {
            safe.push(c);
        }
        safe
    })
}

/// Control characters, and those that turn the direction of text around.
pub(crate) fn is_unsafe(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A thread's name.
pub fn thread(id: ThreadId, symbols: &Symbols) -> String {
    name(symbols.threads.name(id.0))
}

/// A block's label; one without a name is called by its site.
pub fn label(label: LabelId, at: Site, symbols: &Symbols) -> Label {
    if label.is_named() {
        return Label::Named(name(symbols.show_label(label, at).as_bytes()));
    }
    match site(at, symbols) {
        model::Site::Unknown => Label::Nameless,
        known @ (model::Site::Number(_) | model::Site::Source { .. }) => {
            Label::AtSite(known.to_string())
        }
    }
}

/// A place in the source.
pub fn site(site: Site, symbols: &Symbols) -> model::Site {
    match site.kind() {
        SiteKind::Unknown => model::Site::Unknown,
        SiteKind::Number(number) => model::Site::Number(number.into()),
        SiteKind::Entry(_) => {
            let SiteView { file, line, method, .. } = symbols.site_view(site);
            let safe = |text: Cow<'_, str>| name(text.as_bytes());
            let (file, method) = (file.map(safe), method.map(safe));
            if file.is_none() && method.is_none() {
                return model::Site::Unknown;
            }
            model::Site::Source { file, line: line.map(u64::from), method }
        }
    }
}

/// An event.
pub fn event(number: u64, event: &Event, symbols: &Symbols) -> model::Event {
    let kind = event.op.kind();
    let operand = operand(event.op, symbols).map(|operand| name(&operand));
    model::Event {
        event: number,
        thread: thread(event.thread, symbols),
        kind,
        target: TargetKind::of(kind).zip(operand).map(|(kind, name)| Target { kind, name }),
        site: site(event.site, symbols),
        stack: Vec::new(),
    }
}

/// A call or block around an event.
pub fn frame(label: LabelId, at: Site, symbols: &Symbols) -> model::Frame {
    model::Frame { label: self::label(label, at, symbols), site: site(at, symbols) }
}

fn event_ref(at: &EventRef, symbols: &Symbols) -> model::Event {
    event(at.number, &at.event, symbols)
}

/// A block instance.
pub fn block(block: &BlockRef, symbols: &Symbols) -> model::Block {
    model::Block {
        label: label(block.label, block.site, symbols),
        thread: thread(block.thread, symbols),
        begin_event: block.begin_event,
    }
}

/// A finding of this rule.
pub fn finding(finding: &Finding, rule: &RuleInfo, symbols: &Symbols) -> model::Finding {
    let (explanation, cycle) = match &finding.grounds {
        Grounds::Cycle(cycle) => (model::Explanation::Cycle, Some(cycle)),
        Grounds::Unordered(_) => (model::Explanation::Unordered, None),
        Grounds::Events(_) => (model::Explanation::Events, None),
    };
    let threads: Vec<_> =
        finding.grounds.events().iter().map(|at| event_ref(at, symbols)).collect();
    let blocks = |of: fn(&Explanation) -> &[BlockRef]| {
        cycle.map_or_else(Vec::new, |e| of(e).iter().map(|b| block(b, symbols)).collect())
    };
    let blame = finding.blame.map(|b| model::Blame {
        label: label(b.label, b.site, symbols),
        site: site(b.site, symbols),
    });
    model::Finding {
        id: finding.id(symbols),
        rule: finding.rule.clone(),
        severity: rule.severity,
        title: rule.title.of(blame.as_ref(), &threads),
        blame,
        explanation,
        cycle: cycle.map_or_else(Vec::new, |e| transactions(e, symbols)),
        threads,
        refuted: blocks(|e| &e.refuted),
        not_refuted: blocks(|e| &e.not_refuted),
        variables: Vec::new(),
        count: finding.count,
        remarks: Vec::new(),
        reordering: None,
        code: None,
    }
}

fn transactions(explanation: &Explanation, symbols: &Symbols) -> Vec<model::Transaction> {
    let steps = explanation.transactions.iter().zip(&explanation.edges);
    steps
        .map(|(transaction, edge)| model::Transaction {
            thread: thread(transaction.thread, symbols),
            label: transaction_label(transaction, symbols),
            site: site(transaction.site, symbols),
            first_event: transaction.first_event,
            last_event: transaction.last_event,
            edge: model::Edge {
                from: event_ref(&edge.from, symbols),
                to: event_ref(&edge.to, symbols),
            },
        })
        .collect()
}

/// The label of a transaction, which may be a single event.
pub fn transaction_label(transaction: &TransactionRef, symbols: &Symbols) -> Label {
    transaction.label.map_or(Label::NoBlock, |l| label(l, transaction.site, symbols))
}

/// What is wrong with an input.
pub fn failure(path: String, error: &Error) -> model::Failure {
    let (rule, message) = match &error.kind {
        ErrorKind::Malformed(rule, message) => (ProblemRule::Malformed(*rule), message.clone()),
        ErrorKind::Damaged(message) => (ProblemRule::Damaged, message.clone()),
        ErrorKind::Io(error) => (ProblemRule::Unreadable, error.to_string()),
    };
    model::Failure {
        schema: model::SCHEMA.to_owned(),
        input: model::FailedInput { path },
        error: model::Problem { line: error.at.line, event: error.at.event, rule, message },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_command_a_terminal() {
        assert_eq!(name(b"a\x1b[31mb"), "a\\u{1b}[31mb");
        assert_eq!(name("x\u{202e}y".as_bytes()), "x\\u{202e}y");
        assert_eq!(name("naïve".as_bytes()), "naïve");
        assert_eq!(name(b"a\xff"), "a\\xff");
    }
}
