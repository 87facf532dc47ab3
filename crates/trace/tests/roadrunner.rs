//! A small RoadRunner log beside the STD trace that it must become: methods of all kinds, two
//! tellers, volatile accesses, and program output in between.

#![allow(clippy::unwrap_used, reason = "a test may panic, and asks about some operations only")]

use std::io::Cursor;
use std::path::Path;

use paceline_trace::format::{self, Format};
use paceline_trace::select::{Selected, Selection, patterns_in};
use paceline_trace::validate::Validator;
use paceline_trace::{Batch, Source, Trace, input};

const LOG: &str = include_str!("data/account.rr");
const STD: &str = include_str!("data/account.std");
const EXCEPT: &[u8] = include_bytes!("data/account.except");

fn open(text: &'static str) -> format::Opened {
    let input = input::from_reader(Box::new(Cursor::new(text)), None).unwrap();
    let format = Format::of_input(None, &input.head, Path::new("-")).unwrap();
    format::read(input, format, false)
}

fn selected(text: &'static str) -> Selected<Box<dyn Source>> {
    let opened = open(text);
    Selected::new(opened.source, Selection::new([], patterns_in(EXCEPT)), opened.blocks)
}

#[test]
fn a_log_becomes_the_trace_that_it_tells() {
    let mut log = selected(LOG);
    let found = Trace::collect(&mut log).unwrap();
    let expected = Trace::collect(&mut open(STD).source).unwrap();
    assert_eq!(found.to_line(), expected.to_line());
    Validator::default().check(&mut found.batch()).unwrap();
    assert_eq!(log.skipped().foreign_lines, 4);
    assert_eq!(log.skipped().lost_events, 0);
    assert!(log.marker().unmatched().is_empty());
    assert_eq!(log.marker().labels(), (3, 3));
}

#[test]
fn every_event_knows_its_line() {
    let lines: Vec<&str> = LOG.lines().collect();
    let mut log = selected(LOG);
    let mut batch = Batch::default();
    log.read(&mut batch).unwrap();
    for (i, event) in batch.events.iter().enumerate() {
        let operand = format::std::operand(event.op, log.symbols()).unwrap();
        let line = lines[batch.line(i).unwrap() as usize - 1];
        assert!(line.contains(std::str::from_utf8(&operand).unwrap()), "{line}");
    }
}
