//! The one-line notation: what is accepted is written back as it was.

#![no_main]

use libfuzzer_sys::fuzz_target;
use paceline_trace::Trace;

fuzz_target!(|line: &str| {
    if let Ok(trace) = Trace::parse(line) {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(trace.to_line(), words.join(" "));
    }
});
