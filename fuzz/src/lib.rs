//! What the fuzz targets share: reading bytes as a trace, and comparing traces by what their names
//! say instead of by their ids.

use std::io::{Cursor, Read};

use paceline_trace::format::Format;
use paceline_trace::format::std::operand;
use paceline_trace::{Batch, Error, Event, Kind, Site, SiteKind, Source, Symbols, Trace};

/// An event with its names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Named {
    pub thread: Vec<u8>,
    pub kind: Kind,
    pub operand: Option<Vec<u8>>,
    pub location: String,
}

/// The bytes as an input.
pub fn bytes(data: &[u8]) -> Box<dyn Read + Send> {
    Box::new(Cursor::new(data.to_vec()))
}

/// Reads to the end and checks what every reader promises: ids have names, the counts cover them,
/// line numbers grow. The events before an error are given as well.
pub fn drain(source: &mut impl Source) -> (Vec<Event>, Result<(), Error>) {
    let mut events = Vec::new();
    let mut batch = Batch::default();
    let mut last_line = 0;
    loop {
        let outcome = source.read(&mut batch);
        for (index, event) in batch.events.iter().enumerate() {
            let _ = named(event, source.symbols());
            assert!(event.thread.index() < batch.counts.threads);
            // One line of a log may stand for more than one event.
            let line = batch.line(index).unwrap_or(last_line);
            assert!(line >= last_line, "line {line} after {last_line}");
            last_line = line;
        }
        events.extend_from_slice(&batch.events);
        if outcome.is_err() || batch.events.is_empty() {
            return (events, outcome);
        }
    }
}

/// Reads strictly and leniently: a lenient reader never fails on text, and both agree where the
/// strict one accepts.
pub fn strict_and_lenient<S: Source>(open: impl Fn(bool) -> S) -> Option<Trace> {
    let (mut strict, mut lenient) = (open(false), open(true));
    let (events, outcome) = drain(&mut strict);
    let (all, forgiven) = drain(&mut lenient);
    assert!(forgiven.is_ok(), "lenient: {forgiven:?}");
    match outcome {
        Ok(()) => {
            assert_eq!(lenient.skipped().malformed, 0);
            assert_eq!(events, all);
            Some(Trace { events, symbols: strict.symbols().clone() })
        }
        Err(error) => {
            assert!(error.at.line.is_some() && !error.to_string().is_empty());
            assert!(lenient.skipped().malformed > 0, "{error}");
            assert!(all.starts_with(&events));
            None
        }
    }
}

/// An event with its names.
pub fn named(event: &Event, symbols: &Symbols) -> Named {
    Named {
        thread: symbols.threads.name(event.thread.0).to_vec(),
        kind: event.op.kind(),
        operand: operand(event.op, symbols).map(std::borrow::Cow::into_owned),
        location: location(event.site, symbols),
    }
}

fn location(site: Site, symbols: &Symbols) -> String {
    match site.kind() {
        SiteKind::Number(number) => number.to_string(),
        SiteKind::Unknown | SiteKind::Entry(_) => symbols.show_site(site),
    }
}

/// All events of a trace with their names.
pub fn names_of(trace: &Trace) -> Vec<Named> {
    trace.events.iter().map(|event| named(event, &trace.symbols)).collect()
}

/// The trace written in this format.
pub fn written(trace: &Trace, format: Format) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = format.writer(&mut out, Default::default()).expect("a format that is written");
    writer.write(&trace.batch(), &trace.symbols).expect("memory takes everything");
    writer.finish(&trace.symbols).expect("memory takes everything");
    drop(writer);
    out
}
