//! The reader of RoadRunner logs.

#![no_main]

use libfuzzer_sys::fuzz_target;
use paceline_fuzz::{bytes, strict_and_lenient};
use paceline_trace::format::rr::RrReader;

fuzz_target!(|data: &[u8]| {
    let _ = strict_and_lenient(|lenient| RrReader::new(bytes(data), lenient));
});
