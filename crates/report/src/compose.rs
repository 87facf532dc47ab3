//! Puts names to what the analyses found.

use paceline_analysis::explain::{BlockRef, EventRef, Explanation, TransactionRef};
use paceline_analysis::finding::{Finding, Rule, Story};
use paceline_trace::format::std::operand;
use paceline_trace::{Error, ErrorKind, Event, LabelId, Site, Symbols, ThreadId, show_name};

use crate::model;

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

/// A block's label.
pub fn label(label: LabelId, site: Site, symbols: &Symbols) -> String {
    name(symbols.show_label(label, site).as_bytes())
}

/// A place in the source.
pub fn site(site: Site, symbols: &Symbols) -> String {
    name(symbols.show_site(site).as_bytes())
}

/// An event.
pub fn event(number: u64, event: &Event, symbols: &Symbols) -> model::Event {
    model::Event {
        event: number,
        thread: thread(event.thread, symbols),
        kind: event.op.kind().name().to_owned(),
        target: operand(event.op, symbols).map(|operand| name(&operand)),
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

/// A finding.
pub fn finding(finding: &Finding, symbols: &Symbols) -> model::Finding {
    let explanation = match &finding.story {
        Story::Cycle(explanation) => Some(explanation),
        Story::Events(_) => None,
    };
    let events = match &finding.story {
        Story::Cycle(explanation) => &explanation.interleaving,
        Story::Events(events) => events,
    };
    let threads: Vec<_> = events.iter().map(|at| event_ref(at, symbols)).collect();
    let blocks = |of: fn(&Explanation) -> &[BlockRef]| {
        explanation.map_or_else(Vec::new, |e| of(e).iter().map(|b| block(b, symbols)).collect())
    };
    let blame = finding.blame.map(|b| model::Blame {
        label: label(b.label, b.site, symbols),
        site: site(b.site, symbols),
    });
    model::Finding {
        id: finding.id(symbols),
        rule: finding.rule.name().to_owned(),
        severity: finding.severity().name().to_owned(),
        title: title(finding.rule, blame.as_ref(), &threads),
        blame,
        cycle: explanation.map_or_else(Vec::new, |e| cycle(e, symbols)),
        threads,
        refuted: blocks(|e| &e.refuted),
        not_refuted: blocks(|e| &e.not_refuted),
        variables: Vec::new(),
        count: finding.count,
        remark: None,
        code: None,
    }
}

fn cycle(explanation: &Explanation, symbols: &Symbols) -> Vec<model::Transaction> {
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

/// The label of a transaction; none for a single event.
pub fn transaction_label(transaction: &TransactionRef, symbols: &Symbols) -> Option<String> {
    transaction.label.map(|l| label(l, transaction.site, symbols))
}

/// How a block is called in a sentence. One without a name of its own is labelled with its place,
/// a number or `file:line`, which alone would be no name.
pub fn block_name(label: &str) -> String {
    let line = label.rsplit(':').next().unwrap_or(label);
    if label == "?" {
        "a block without a name".to_owned()
    } else if !line.is_empty() && line.bytes().all(|b| b.is_ascii_digit()) {
        format!("the block at {label}")
    } else {
        label.to_owned()
    }
}

fn title(rule: Rule, blame: Option<&model::Blame>, events: &[model::Event]) -> String {
    let block = blame.map_or_else(|| "a block".to_owned(), |b| block_name(&b.label));
    let last = events.last();
    let target = last.and_then(|e| e.target.as_deref()).unwrap_or("?");
    let operation = last.map_or_else(String::new, model::Event::operation);
    match (rule, blame) {
        (Rule::Atomicity, Some(_)) => format!("{block} is not atomic"),
        (Rule::Atomicity, None) => {
            "blocks interfere in a cycle; no single transaction is to blame".to_owned()
        }
        (Rule::Cooperability, _) => format!("a yield is missing before {operation}"),
        (Rule::ConflictFreedom, _) => {
            format!("{block} is not deterministic: its threads conflict on {target}")
        }
        (Rule::ExternalSerializability, Some(_)) => {
            format!("{block} is not deterministic: others interfere with it")
        }
        (Rule::ExternalSerializability, None) => {
            "deterministic blocks interfere in a cycle; no single one is to blame".to_owned()
        }
        (Rule::Race, _) => format!("race on {target}"),
        (Rule::Lockset, _) => format!("no lock protects {target} at every access"),
        (Rule::Reduction, _) => {
            format!("{block} may not be atomic: {operation} breaks the pattern of its locks")
        }
    }
}

/// What is wrong with an input.
pub fn failure(path: String, error: &Error) -> model::Failure {
    let (rule, message) = match &error.kind {
        ErrorKind::Malformed(rule, message) => (rule.name(), message.clone()),
        ErrorKind::Damaged(message) => ("damaged", message.clone()),
        ErrorKind::Io(error) => ("unreadable", error.to_string()),
    };
    model::Failure {
        schema: model::SCHEMA.to_owned(),
        input: model::FailedInput { path },
        error: model::Problem {
            line: error.at.line,
            event: error.at.event,
            rule: rule.to_owned(),
            message,
        },
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

    #[test]
    fn a_place_alone_is_no_name() {
        assert_eq!(block_name("Set.add"), "Set.add");
        assert_eq!(block_name("7"), "the block at 7");
        assert_eq!(block_name("Set.java:17"), "the block at Set.java:17");
        assert_eq!(block_name("std::mutex"), "std::mutex");
        assert_eq!(block_name("a:"), "a:");
        assert_eq!(block_name("?"), "a block without a name");
    }
}
