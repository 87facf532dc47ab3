//! The CSV reader, and what is read survives being written and read again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use paceline_fuzz::{bytes, names_of, strict_and_lenient, written};
use paceline_trace::format::Format;
use paceline_trace::format::csv::CsvReader;

fuzz_target!(|data: &[u8]| {
    let Some(read) = strict_and_lenient(|lenient| CsvReader::new(bytes(data), lenient)) else {
        return;
    };
    let text = written(&read, Format::Csv);
    let again = strict_and_lenient(|lenient| CsvReader::new(bytes(&text), lenient));
    let without_places = |trace| {
        let events = names_of(trace).into_iter();
        events.map(|e| (e.thread, e.kind, e.operand)).collect::<Vec<_>>()
    };
    assert_eq!(again.as_ref().map(without_places), Some(without_places(&read)));
});
