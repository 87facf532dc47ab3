//! What the strict STD reader accepts survives STD → `pace` → STD with the same events.

#![no_main]

use libfuzzer_sys::fuzz_target;
use paceline_fuzz::{bytes, drain, names_of, strict_and_lenient, written};
use paceline_trace::format::Format;
use paceline_trace::format::pace::PaceReader;
use paceline_trace::format::std::StdReader;
use paceline_trace::{Source as _, Trace};

fuzz_target!(|data: &[u8]| {
    let Some(read) = strict_and_lenient(|lenient| StdReader::new(bytes(data), lenient)) else {
        return;
    };
    let mut reader = PaceReader::new(bytes(&written(&read, Format::Pace)));
    let (events, outcome) = drain(&mut reader);
    assert!(outcome.is_ok() && reader.skipped().cut_off.is_none(), "{outcome:?}");
    let kept = Trace { events, symbols: reader.symbols().clone() };
    assert_eq!(names_of(&kept), names_of(&read));

    let text = written(&kept, Format::Std);
    assert_eq!(text, written(&read, Format::Std));
    // A name with `%` is escaped when it is written, for good reason; others come back as they
    // were.
    if !data.contains(&b'%') {
        let again = strict_and_lenient(|lenient| StdReader::new(bytes(&text), lenient));
        assert_eq!(again.as_ref().map(names_of), Some(names_of(&read)));
    }
});
