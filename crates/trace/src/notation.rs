//! Traces in one line, for tests and for minimal examples:
//! `1:begin(m) 1:r(x) 2:w(x) 1:w(x) 1:end(m)`. The event's position serves as its location.

use std::fmt::Write as _;
use std::ops::ControlFlow;

use crate::error::{Error, show_name};
use crate::event::Event;
use crate::format::std::{StdReader, show_op};
use crate::pipeline::{Checking, read_named};
use crate::source::{Batch, Source};
use crate::symbols::Symbols;

/// A whole trace in memory.
#[derive(Clone, Default, Debug)]
pub struct Trace {
    /// The events, in order.
    pub events: Vec<Event>,
    /// Their names.
    pub symbols: Symbols,
}

impl Trace {
    /// Reads the one-line notation.
    pub fn parse(line: &str) -> Result<Trace, Error> {
        let mut text = String::new();
        for (i, word) in line.split_whitespace().enumerate() {
            let at = i + 1;
            let (thread, op) = word
                .split_once(':')
                .ok_or_else(|| Error::parse(at as u64, format!("no THREAD:OP: `{word}`")))?;
            let _ = writeln!(text, "{thread}|{op}|{at}");
        }
        Trace::collect(&mut StdReader::new(Box::new(std::io::Cursor::new(text)), false))
    }

    /// Reads a source to its end.
    pub fn collect(source: &mut impl Source) -> Result<Trace, Error> {
        let mut events = Vec::new();
        let (_, outcome) = read_named(source, Checking::Unchecked, |batch, _| {
            events.extend_from_slice(&batch.events);
            ControlFlow::Continue(())
        });
        outcome.map(|()| Trace { events, symbols: source.symbols().clone() })
    }

    /// The whole trace as one batch.
    pub fn batch(&self) -> Batch {
        Batch {
            first: 1,
            events: self.events.clone(),
            counts: self.symbols.counts(),
            lines: crate::source::Lines::None,
        }
    }

    /// The trace in the one-line notation.
    pub fn to_line(&self) -> String {
        let words: Vec<String> = self.events.iter().map(|e| self.word(e)).collect();
        words.join(" ")
    }

    fn word(&self, event: &Event) -> String {
        let thread = show_name(self.symbols.threads.name(event.thread.0));
        format!("{thread}:{}", show_op(event, &self.symbols))
    }
}
