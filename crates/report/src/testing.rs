//! Findings for the tests of the outputs.

use crate::model::{Blame, Edge, Event, Finding, Input, Report, SCHEMA, Transaction, Verdicts};

pub(crate) fn event(number: u64, thread: &str, kind: &str, target: &str) -> Event {
    Event {
        event: number,
        thread: thread.to_owned(),
        kind: kind.to_owned(),
        target: Some(target.to_owned()),
        site: format!("Bank.java:{number}"),
    }
}

/// A cycle of `n` transactions, the first of which is blamed.
pub(crate) fn cycle_of(n: usize) -> Finding {
    let thread = |i: usize| format!("T{}", i % n);
    let number = |i: usize| 10 * i as u64;
    let transaction = |i: usize| Transaction {
        thread: thread(i),
        label: Some(format!("Bank.step{i}")),
        site: "Bank.java:7".to_owned(),
        first_event: number(i) + 1,
        last_event: if i == 0 { number(n) + 9 } else { number(i) + 9 },
        edge: Edge {
            from: event(number(i) + 5, &thread(i), "w", &format!("x{i}")),
            to: event(number(i + 1) + 2, &thread(i + 1), "r", &format!("x{i}")),
        },
    };
    let cycle: Vec<Transaction> = (0..n).map(transaction).collect();
    let threads = cycle.iter().flat_map(|t| [t.edge.from.clone(), t.edge.to.clone()]).collect();
    Finding {
        id: format!("{n:016x}"),
        rule: "atomicity".to_owned(),
        severity: "violation".to_owned(),
        title: "Bank.step0 is not atomic".to_owned(),
        blame: Some(Blame { label: "Bank.step0".to_owned(), site: "Bank.java:7".to_owned() }),
        cycle,
        threads,
        refuted: Vec::new(),
        not_refuted: Vec::new(),
        count: 1,
        remark: None,
    }
}

/// Two events without order.
pub(crate) fn race() -> Finding {
    let threads = vec![event(3, "T1", "r", "x"), event(4, "T2", "w", "x")];
    let (rule, title) = ("race".to_owned(), "race on x".to_owned());
    Finding { rule, title, blame: None, cycle: Vec::new(), threads, ..cycle_of(1) }
}

/// A report of these findings.
pub(crate) fn report_of(findings: Vec<Finding>) -> Report {
    Report {
        schema: SCHEMA.to_owned(),
        input: Input { path: "bank.std".to_owned(), events: 1234, ..Input::default() },
        verdicts: Verdicts::default(),
        findings,
        incomplete: false,
        notes: vec!["one note".to_owned()],
    }
}
