//! The reader of recorded streams. Random bytes are hardly ever a frame, so a second try makes one
//! of them out of the same bytes: declarations that are right, and chunks of random words.

#![no_main]

use libfuzzer_sys::fuzz_target;
use paceline_fuzz::{bytes, drain};
use paceline_trace::format::stream::StreamReader;
use paceline_trace::{Kind, Source as _};
use paceline_wire::{Hello, Output, SiteFlags, SiteText};

fuzz_target!(|data: &[u8]| {
    read(data);
    read(&with_frames(data));
});

/// Whatever is read the first time is read the second time.
fn read(stream: &[u8]) {
    let mut reader = StreamReader::new(bytes(stream));
    let (events, outcome) = drain(&mut reader);
    let mut again = StreamReader::new(bytes(stream));
    let (same, outcome_again) = drain(&mut again);
    assert_eq!(events, same);
    assert_eq!(outcome.is_ok(), outcome_again.is_ok());
    assert_eq!(reader.skipped().recording, again.skipped().recording);
}

fn with_frames(data: &[u8]) -> Vec<u8> {
    let mut stream = Vec::new();
    let mut output = Output::new(&mut stream, &Hello { stripes: 4, ..Hello::default() });
    for (number, &kind) in Kind::ALL.iter().enumerate() {
        let flags = SiteFlags((number % 2) as u8);
        output.site(&SiteText { target: b"A.x", flags, ..SiteText::new(kind) });
    }
    output.site(&SiteText::ORDER);
    for _ in 0..3 {
        output.thread(b"t");
    }
    for (number, chunk) in data.chunks(64).enumerate() {
        let words: Vec<u64> = chunk.chunks(3).map(word).collect();
        output.chunk(number as u32 % 3, &words).expect("written to memory");
    }
    output.finish().expect("written to memory");
    stream
}

/// A word that may well be a record's: small numbers, at both of its ends.
fn word(bytes: &[u8]) -> u64 {
    let at = |i: usize| u64::from(*bytes.get(i).unwrap_or(&0));
    at(0) % 32 | (at(1) % 8) << 24 | (at(2) % 8) << 44
}
