//! The reader of `pace`, from the beginning and from the middle. Random bytes hardly ever have the
//! right checksums, so they are put right first: what they protect is what is to be tried.

#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use paceline_fuzz::{bytes, drain, named};
use paceline_trace::Source as _;
use paceline_trace::format::pace::PaceReader;

fuzz_target!(|data: &[u8]| {
    read(data);
    read(&with_checksums(data));
});

fn read(file: &[u8]) {
    let mut reader = PaceReader::new(bytes(file));
    let (events, outcome) = drain(&mut reader);
    let whole = outcome.is_ok() && reader.skipped().cut_off.is_none();
    let count = events.len() as u64;
    for event in [0, 1, count / 2, count, count + 1, u64::MAX] {
        let Ok((mut middle, first)) = PaceReader::open_at(Cursor::new(file.to_vec()), event) else {
            assert!(!whole, "a sound file cannot be opened at event {event}");
            continue;
        };
        let (rest, _) = drain(&mut middle);
        if whole {
            let from = usize::try_from(first - 1).expect("an event of this file");
            assert!(first <= event.max(1) || from == events.len());
            let names = |e: &_| named(e, reader.symbols());
            let expected: Vec<_> = events[from..].iter().map(names).collect();
            let found: Vec<_> = rest.iter().map(|e| named(e, middle.symbols())).collect();
            assert_eq!(found, expected);
        }
    }
}

/// The same bytes with right checksums wherever a header, a block or an index seems to be.
fn with_checksums(data: &[u8]) -> Vec<u8> {
    let mut file = data.to_vec();
    seal(&mut file, 0, 16);
    let mut at = 16;
    while file.get(at..at + 4) == Some(b"PBLK") && file.len() >= at + 36 {
        let names = number(&file, at + 16) as usize;
        let events = number(&file, at + 20) as usize;
        let body = at + 36;
        let Some(end) = body.checked_add(names).and_then(|n| n.checked_add(events)) else { break };
        if end > file.len() {
            seal(&mut file, at, at + 36);
            break;
        }
        put_sum(&mut file, body, body + names, at + 24);
        put_sum(&mut file, body + names, end, at + 28);
        seal(&mut file, at, at + 36);
        at = end;
    }
    if file.get(at..at + 4) == Some(b"PIDX") && file.len() >= at + 8 {
        let entries = number(&file, at + 4) as usize;
        if let Some(end) = entries.checked_mul(24).and_then(|n| n.checked_add(at + 12)) {
            seal(&mut file, at, end);
            seal(&mut file, end, end.saturating_add(24));
        }
    }
    file
}

fn number(file: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([file[at], file[at + 1], file[at + 2], file[at + 3]])
}

fn put_sum(file: &mut [u8], from: usize, to: usize, at: usize) {
    let sum = crc32fast::hash(&file[from..to]);
    file[at..at + 4].copy_from_slice(&sum.to_le_bytes());
}

/// Puts the checksum of a part into its last four bytes.
fn seal(file: &mut [u8], from: usize, to: usize) {
    if to <= file.len() {
        put_sum(file, from, to - 4, to - 4);
    }
}
