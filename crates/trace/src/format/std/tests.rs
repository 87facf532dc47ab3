//! What STD accepts and what it does not.

use std::io;

use super::write::write_name;
use super::*;
use crate::format::Writer;
use crate::ids::SiteKind;
use crate::notation::Trace;

fn read(text: &[u8]) -> Result<Trace, Error> {
    Trace::collect(&mut StdReader::new(Box::new(io::Cursor::new(text.to_vec())), false))
}

fn fails(text: &[u8]) -> (u64, String) {
    let error = read(text).expect_err("malformed");
    assert_eq!(error.rule(), Some(crate::Rule::ParseError));
    (error.at.line.unwrap(), error.to_string())
}

#[test]
fn every_operation_is_read() {
    let line = "1:r(x) 1:w(x) 1:acq(l) 1:rel(l) 1:racq(l) 1:rrel(l) 1:fork(2) 1:join(2) \
                1:begin(m) 1:end(m) 1:begin 1:end 1:yield 1:prewait(l) 1:postwait(l) \
                1:notify(l) 1:ar(x) 1:aw(x) 1:arw(x) 1:post(s) 1:take(s) 1:enter(b) 1:exit(b)";
    assert_eq!(Trace::parse(line).unwrap().to_line(), line);
}

#[test]
fn an_operand_runs_to_the_last_parenthesis() {
    let trace = read(b"0|begin(A.f([I)V)|3\n").unwrap();
    assert_eq!(trace.symbols.labels.name(0), b"A.f([I)V");
}

#[test]
fn line_ends_of_all_kinds() {
    for text in [&b"1|r(x)|1\n2|w(x)|2\n"[..], b"1|r(x)|1\r\n2|w(x)|2\r\n", b"1|r(x)|1\n2|w(x)|2"] {
        assert_eq!(read(text).unwrap().events.len(), 2);
    }
}

#[test]
fn what_is_no_event_is_an_error_with_its_line() {
    let long = [b"1|r(x)|1\n1|w(".to_vec(), vec![b'y'; LONGEST_LINE], b")|1\n".to_vec()].concat();
    for bad in [
        &b"1|r(x)|1\n\n1|w(x)|2\n"[..],
        b"1|r(x)|1\n1|w(x)\n1|r(y)|1\n",
        b"1|r(x)|1\n1|w(x)|2|3\n",
        b"1|r(x)|1\n1|q(x)|2\n",
        b"1|r(x)|1\n1|w()|2\n",
        b"1|r(x)|1\n1|w(a b)|2\n",
        b"1|r(x)|1\n1|w(x) |2\n",
        b"1|r(x)|1\n|w(x)|2\n",
        b"1|r(x)|1\n1|w(x)|q\n",
        b"1|r(x)|1\n1|w(x)|\n",
        b"1|r(x)|1\n1|yield(x)|2\n",
        b"1|r(x)|1\n1|beginning|2\n",
        b"1|r(x)|1\n1|acq|2\n",
        b"1|r(x)|1\ngarbage",
        b"1|r(x)|1\n\r\n",
        &long,
    ] {
        assert_eq!(fails(bad).0, 2, "{}", show_bytes(bad));
    }
}

#[test]
fn the_events_before_an_error_are_given() {
    let text = b"1|r(x)|1\n1|w(y)|2\nno\n".to_vec();
    let mut reader = StdReader::new(Box::new(io::Cursor::new(text)), false);
    let mut batch = Batch::default();
    assert!(reader.read(&mut batch).is_err());
    assert_eq!(batch.events.len(), 2);
}

#[test]
fn a_lenient_reader_skips_and_counts() {
    let text = b"no\n1|r(x)|1\n\n\n1|w(y)|2\n1|r(x)|\n".to_vec();
    let mut reader = StdReader::new(Box::new(io::Cursor::new(text)), true);
    let trace = Trace::collect(&mut reader).unwrap();
    assert_eq!(trace.to_line(), "1:r(x) 1:w(y)");
    assert_eq!(reader.skipped().malformed, 4);
    assert_eq!(reader.skipped().examples[1].at.line, Some(3));
}

#[test]
fn numbers_of_every_length() {
    for digits in 1..=10 {
        let number = &"1234567890"[..digits];
        let text = format!("1|r(x)|{number}\n1|r(x)|0{number}\n1|r(x)|{number}");
        let trace = read(text.as_bytes()).unwrap();
        let sites: Vec<_> = trace.events.iter().map(|e| e.site.kind()).collect();
        let expected = SiteKind::Number(number.parse().unwrap());
        assert_eq!(sites, [expected; 3], "{number}");
    }
}

#[test]
fn large_locations_survive() {
    let text = b"1|r(x)|98765432109876543210\n1|r(x)|2147483648\n1|r(x)|2147483647\n";
    let trace = read(text).unwrap();
    let mut out = Vec::new();
    StdWriter::new(&mut out).write(&trace.batch(), &trace.symbols).unwrap();
    assert_eq!(out, text);
}

#[test]
fn names_that_std_cannot_hold_stay_distinct() {
    let written = |name: &[u8]| {
        let mut out = Vec::new();
        write_name(&mut out, name).unwrap();
        String::from_utf8(out).unwrap()
    };
    assert_eq!(written(b"a b|c"), "a%20b%7Cc");
    assert_eq!(written(b"a%20b"), "a%2520b");
    assert_eq!(written(b"100%"), "100%");
    assert_eq!(written(b""), "%");
    assert_eq!(written(b"%"), "%25");
}
