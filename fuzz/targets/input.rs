//! Opening an input of any kind, compressed or not, and reading it in the format it looks like.

#![no_main]

use std::io::{Read as _, Write as _};
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use paceline_fuzz::{bytes, drain};
use paceline_trace::format::{self, Format};
use paceline_trace::input::from_reader;

/// A few bytes can stand for gigabytes; that is not what is tried here.
const MOST: u64 = 1 << 20;

fuzz_target!(|data: &[u8]| {
    read(data);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), Default::default());
    gzip.write_all(data).expect("memory takes everything");
    survives(data, &gzip.finish().expect("memory takes everything"));
    survives(data, &zstd::encode_all(data, 1).expect("memory takes everything"));
});

fn read(data: &[u8]) {
    let Ok(mut input) = from_reader(bytes(data), None) else { return };
    input.bytes = Box::new(input.bytes.take(MOST));
    if let Some(format) = Format::of_input(None, &input.head, Path::new("-")) {
        let _ = drain(&mut format::read(input, format, true).source);
    }
}

/// The compressed form opens as what it holds, and a part of it is never taken for the whole.
fn survives(data: &[u8], packed: &[u8]) {
    let mut opened = from_reader(bytes(packed), None).expect("a sound file");
    let mut out = Vec::new();
    opened.bytes.read_to_end(&mut out).expect("a sound file");
    assert_eq!(out, data);
    assert!(data.starts_with(&opened.head));
    let cut = data.first().map_or(4, |&b| usize::from(b)) % packed.len();
    if cut >= 4 {
        let read = from_reader(bytes(&packed[..cut]), None)
            .and_then(|mut input| input.bytes.read_to_end(&mut Vec::new()));
        assert!(read.is_err(), "cut at {cut} of {}", packed.len());
    }
}
