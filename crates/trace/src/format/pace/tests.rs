//! Tests of the bytes themselves; `tests/pace.rs` tests what can be seen from outside.

use proptest::prelude::*;

use super::*;
use crate::format::Writer;
use crate::symbols::Symbols;
use crate::{Batch, Event, Kind, Op, Site, Source, ThreadId, VarId};

fn read_all(bytes: Vec<u8>) -> Result<Vec<Event>, crate::Error> {
    let mut reader = PaceReader::new(Box::new(std::io::Cursor::new(bytes)));
    let mut batch = Batch::default();
    let mut events = Vec::new();
    loop {
        let outcome = reader.read(&mut batch);
        events.extend_from_slice(&batch.events);
        outcome?;
        if batch.events.is_empty() {
            return Ok(events);
        }
    }
}

/// A file of one block with these parts, sealed like a good one, whatever is in them.
fn file_of(names: &[u8], events: &[u8], event_count: u32) -> Vec<u8> {
    let header = BlockHeader {
        events: event_count,
        first: 1,
        names_len: names.len() as u32,
        events_len: events.len() as u32,
        names_sum: checksum(names),
        events_sum: checksum(events),
    };
    let parts: [&[u8]; 4] = [&encode_header(Blocks::Declared), &header.encode(), names, events];
    parts.concat()
}

/// Two threads, three variables and nothing else.
const NAMES: &[u8] = &[2, 1, b'A', 1, b'B', 3, 1, b'x', 1, b'y', 1, b'z', 0, 0, 0, 0, 0, 0];

#[test]
fn every_kind_has_a_code_of_its_own() {
    let names: Vec<&str> = predict::KINDS.iter().map(|k| k.name()).collect();
    let in_the_format = "r w begin end acq rel ar aw arw yield fork join \
                         prewait postwait notify racq rrel post take enter exit";
    assert_eq!(names.join(" "), in_the_format);
    for (code, &kind) in predict::KINDS.iter().enumerate() {
        assert_eq!(usize::from(predict::kind_code(kind)), code);
    }
    assert_eq!(predict::KINDS.len(), Kind::ALL.len());
}

#[test]
fn sites_of_all_kinds_are_neighbours_of_zero() {
    let code = |site| predict::site_code(site) as i32;
    assert_eq!(code(Site::UNKNOWN), 0);
    assert_eq!(code(Site::number(0)), 1);
    assert_eq!(code(Site::number(41)), 42);
    assert_eq!(code(Site::entry(0)), -2);
    assert_eq!(code(Site::entry(40)), -42);
    assert_eq!(code(Site::number(Site::MAX_NUMBER)), -1);
}

#[test]
fn a_block_made_by_hand_is_read() {
    // Reads y at site 4; the other thread does the same, as predicted.
    let events = [0b0000_1010, 2, 10, 0b0000_0001, 1];
    let read =
        |thread, var, site| Event { thread: ThreadId(thread), op: Op::Read(VarId(var)), site };
    let expected = vec![read(0, 1, Site::number(4)), read(1, 1, Site::number(4))];
    assert_eq!(read_all(file_of(NAMES, &events, 2)).unwrap(), expected);
}

#[test]
fn what_no_writer_makes_is_refused_even_with_a_right_checksum() {
    let refused = |names: &[u8], events: &[u8], count| {
        read_all(file_of(names, events, count)).unwrap_err().to_string()
    };
    let no_event = "event 1: the checksum is right but this is no event of the format";
    // An id without a name: variable 3, thread 2, lock 0, entry 0 of the site table.
    assert_eq!(refused(NAMES, &[0b0000_0010, 6], 1), no_event);
    assert_eq!(refused(NAMES, &[0b0000_0001, 2], 1), no_event);
    assert_eq!(refused(NAMES, &[0b1000_0000], 1), no_event);
    assert_eq!(refused(NAMES, &[0b0000_1000, 3], 1), no_event);
    // Kinds that do not exist, short and wide; a wide event that is cut off.
    assert_eq!(refused(NAMES, &[0b1110_0000, 21], 1), no_event);
    assert_eq!(refused(NAMES, &[0b1110_0000, 0x40], 1), no_event);
    assert_eq!(refused(NAMES, &[0b1110_0000, 0x80 | 21, 0, 0, 0], 1), no_event);
    assert_eq!(refused(NAMES, &[0b1110_0000, 0x80, 0, 0], 1), no_event);
    // More bytes than events, and fewer.
    assert!(refused(NAMES, &[0, 0, 0], 2).ends_with(&no_event[9..]));
    assert!(refused(NAMES, &[0b0001_1110, 0, 0], 1).ends_with(&no_event[9..]));
    // A name twice; a count that the bytes do not hold; bytes left over.
    let no_names = "event 1: a block with a wrong list of names";
    assert_eq!(refused(&[2, 1, b'A', 1, b'A', 0, 0, 0, 0, 0, 0, 0], &[0], 1), no_names);
    let same = &[1, 1, b'T', 2, 1, b'A', 1, b'A', 0, 0, 0, 0, 0, 0];
    assert_eq!(refused(same, &[0], 1), "event 2: two variables of the trace have the same name");
    assert_eq!(refused(&[0xff, 0xff, 0xff, 0xff, 0x0f, 1, b'A'], &[0], 1), no_names);
    assert_eq!(refused(&[0, 0, 0, 0, 0, 0, 0, 0, 0], &[0], 1), no_names);
    // A site whose file is no text.
    assert_eq!(refused(&[0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 1], &[0], 1), no_names);
    // Lengths and counts that contradict each other.
    let no_header = "event 1: a damaged block header";
    assert_eq!(refused(NAMES, &[0, 0], 3), no_header);
    assert_eq!(refused(NAMES, &[0; 18], 1), no_header);
    assert_eq!(refused(&[], &[], 0), no_header);
}

#[test]
fn a_newer_version_is_named() {
    let header: [u8; HEADER_LEN] = sealed(&[&MAGIC, &[2, 0], &[1, 0]]);
    let message = read_all(header.to_vec()).unwrap_err().to_string();
    assert_eq!(message, "this pace file needs a newer Paceline: version 2, flags 0x1");
}

#[test]
fn a_length_that_is_claimed_takes_no_memory() {
    let mut file = file_of(NAMES, &[0], 1);
    let header = BlockHeader {
        events: 1,
        first: 1,
        names_len: u32::MAX,
        events_len: 1,
        names_sum: 0,
        events_sum: 0,
    };
    file[HEADER_LEN..HEADER_LEN + BLOCK_HEADER_LEN].copy_from_slice(&header.encode());
    let mut reader = PaceReader::new(Box::new(std::io::Cursor::new(file)));
    let mut batch = Batch::default();
    reader.read(&mut batch).unwrap();
    assert!(batch.events.is_empty());
    let note = reader.skipped().cut_off.clone().unwrap();
    assert!(note.contains("events 1 to 1, so at least 1 events are lost"), "{note}");
}

proptest! {
    #[test]
    fn hostile_blocks_never_panic(
        names in prop::collection::vec(0..4u8, 0..40),
        events in prop::collection::vec(any::<u8>(), 1..60),
        event_count in 0..40u32,
    ) {
        let _ = read_all(file_of(&names, &events, event_count));
        let _ = read_all(file_of(NAMES, &events, event_count));
    }
}

/// The bytes that `docs/format.md` shows, from lines like `0010 | 50 42 | what they are`.
fn documented_bytes() -> Vec<u8> {
    let text = include_str!("../../../../../docs/format.md");
    let (_, example) = text.split_once("```hex\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    let mut bytes = Vec::new();
    for line in example.lines() {
        let [offset, hex, _] = line.split('|').collect::<Vec<_>>()[..] else {
            panic!("not a line of the example: {line}");
        };
        assert_eq!(usize::from_str_radix(offset.trim(), 16).unwrap(), bytes.len(), "{line}");
        bytes.extend(hex.split_whitespace().map(|b| u8::from_str_radix(b, 16).unwrap()));
    }
    bytes
}

#[test]
fn the_documented_example_is_what_the_writer_writes() {
    let mut symbols = Symbols::default();
    let (a, b) = (symbols.thread(b"A"), symbols.thread(b"B"));
    let x = symbols.var(b"x");
    let label = crate::LabelId::UNNAMED;
    let events = vec![
        Event { thread: a, op: Op::Begin(label), site: Site::number(7) },
        Event { thread: a, op: Op::Write(x), site: Site::number(8) },
        Event { thread: b, op: Op::Read(x), site: Site::number(300) },
    ];
    let batch = Batch { events: events.clone(), ..Batch::default() };
    let mut file = Vec::new();
    let mut writer = PaceWriter::new(&mut file, Blocks::Declared).unwrap();
    writer.write(&batch, &symbols).unwrap();
    writer.finish(&symbols).unwrap();
    assert_eq!(documented_bytes(), file, "the writer makes {file:02x?}");
    assert_eq!(read_all(file).unwrap(), events);
}
