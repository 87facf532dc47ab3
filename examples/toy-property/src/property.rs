//! Every lock that is acquired is released: what it is called, what its findings mean, and how it
//! is decided.

use paceline::TraceError;
use paceline::analysis::Analysis;
use paceline::analysis::explain::EventRef;
use paceline::analysis::finding::{Finding, Grounds, RuleId, Severity};
use paceline::check::Options;
use paceline::passes::Passes;
use paceline::property::{
    Conclusion, Decision, Evidence, Property, PropertyInfo, RedundantAccesses,
};
use paceline::report::compose;
use paceline::report::model::{self, Cell, CellValue, Verdict};
use paceline::report::rules::{RuleInfo, Title};
use paceline::trace::{Event, Op, Symbols};

use crate::Held;

/// Every lock that is acquired is released.
#[derive(Clone, Copy, Debug)]
pub struct Released;

const LEAK: RuleInfo = RuleInfo {
    id: RuleId::new("lock-leak"),
    severity: Severity::Warning,
    name: "LockLeak",
    short: "A lock is acquired and never released.",
    full: "The trace ends while a thread holds the lock. The program may have been stopped, or the \
           release was forgotten on some path.",
    fix: "Release the lock on every path, also when an exception is thrown.",
    title: Title::always("{target} is never released"),
};

static INFO: PropertyInfo = PropertyInfo {
    name: "released",
    summary: "Every lock that is acquired is released",
    rules: &[LEAK],
    needs_blocks: false,
    // Accesses do not matter.
    redundant: RedundantAccesses::Block,
};

impl Property for Released {
    fn info(&self) -> &'static PropertyInfo {
        &INFO
    }

    fn start(&self, _: &Options, _: &Passes<'_>) -> Result<Box<dyn Decision>, TraceError> {
        Ok(Box::new(Deciding(Held::default())))
    }
}

struct Deciding(Held);

impl Decision for Deciding {
    fn analyses(&mut self) -> Vec<&mut dyn Analysis> {
        vec![&mut self.0]
    }

    fn conclude(&mut self, symbols: &Symbols, _: &mut Evidence) -> Conclusion {
        let findings: Vec<model::Finding> = self
            .0
            .locks()
            .map(|(lock, at)| {
                let op = Op::new(at.kind, lock.0);
                let event = Event { thread: at.thread, op, site: at.site };
                let grounds = Grounds::Events(vec![EventRef { number: at.event, event }]);
                let finding = Finding { rule: LEAK.id, blame: None, grounds, count: 1 };
                compose::finding(&finding, &LEAK, symbols)
            })
            .collect();
        let summary = match findings.len() {
            0 => "released".to_owned(),
            1 => "1 lock is never released".to_owned(),
            n => format!("{n} locks are never released"),
        };
        let held = CellValue::Number(findings.len() as u64);
        let cells = vec![Cell { name: "held at the end".to_owned(), value: held }];
        let verdict = Verdict { cells, ..Verdict::new(findings.is_empty(), summary) };
        Conclusion::new(verdict, findings)
    }
}
