//! The `pace` format from outside: what is written is read, whole, cut off, damaged, or from the
//! middle.

#![expect(clippy::unwrap_used, reason = "a test may panic, and so may its helpers")]

use std::io::Cursor;

use paceline_trace::format::pace::{PaceReader, PaceWriter};
use paceline_trace::format::{Format, Writer};
use paceline_trace::{
    BarrierId, Batch, Blocks, Error, ErrorKind, Event, Interner, LabelId, LockId, Op, SemaphoreId,
    Site, SiteInfo, Source, Symbols, ThreadId, Trace, VarId,
};
use proptest::prelude::*;

/// How many names of each list the random traces have: more than a thread field of one byte holds.
const NAMES: u32 = 300;

/// Names of any bytes, some empty, some long; the same number in every list.
fn symbols(names: u32) -> Symbols {
    let mut symbols = Symbols::default();
    let name = |i: u32| [vec![0xff; i as usize % 40], i.to_string().into_bytes()].concat();
    let text = |i| if i == 0 { Vec::new() } else { name(i) };
    for i in 0..names {
        symbols.thread(&name(i));
        symbols.var(&text(i));
        symbols.lock(&name(i));
        symbols.semaphore(&name(i));
        symbols.barrier(&name(i));
        symbols.label(&name(i));
        let (file, method) = (symbols.text(&text(i)), symbols.text(&text(i / 2)));
        symbols.site(SiteInfo { file, method, line: i, column: u32::MAX - i });
    }
    symbols
}

fn operation() -> impl Strategy<Value = Op> {
    let label = prop_oneof![Just(LabelId::UNNAMED), (0..NAMES).prop_map(LabelId)];
    (0..21, 0..NAMES, label).prop_map(|(kind, id, label)| match kind {
        0 => Op::Read(VarId(id)),
        1 => Op::Write(VarId(id)),
        2 => Op::Acquire(LockId(id)),
        3 => Op::Release(LockId(id)),
        4 => Op::AcquireShared(LockId(id)),
        5 => Op::ReleaseShared(LockId(id)),
        6 => Op::Fork(ThreadId(id)),
        7 => Op::Join(ThreadId(id)),
        8 => Op::Begin(label),
        9 => Op::End(label),
        10 => Op::PreWait(LockId(id)),
        11 => Op::PostWait(LockId(id)),
        12 => Op::Notify(LockId(id)),
        13 => Op::AtomicRead(VarId(id)),
        14 => Op::AtomicWrite(VarId(id)),
        15 => Op::AtomicUpdate(VarId(id)),
        16 => Op::Post(SemaphoreId(id)),
        17 => Op::Take(SemaphoreId(id)),
        18 => Op::BarrierEnter(BarrierId(id)),
        19 => Op::BarrierExit(BarrierId(id)),
        _ => Op::Yield,
    })
}

fn site() -> impl Strategy<Value = Site> {
    prop_oneof![
        Just(Site::UNKNOWN),
        (0..NAMES).prop_map(Site::number),
        (0..=Site::MAX_NUMBER).prop_map(Site::number),
        (Site::MAX_NUMBER - 3..=Site::MAX_NUMBER).prop_map(Site::number),
        (0..NAMES as usize).prop_map(Site::entry),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let thread = prop_oneof![0..4u32, 0..NAMES].prop_map(ThreadId);
    (thread, operation(), site()).prop_map(|(thread, op, site)| Event { thread, op, site })
}

/// The file of these events, with a block for each part.
fn file_of(parts: &[&[Event]], symbols: &Symbols, blocks: Blocks) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = PaceWriter::new(&mut file, blocks).unwrap();
    for part in parts {
        let batch = Batch { events: part.to_vec(), ..Batch::default() };
        writer.write(&batch, symbols).unwrap();
        writer.end_block(symbols).unwrap();
    }
    writer.finish(symbols).unwrap();
    file
}

fn reader_of(file: &[u8]) -> PaceReader {
    PaceReader::new(Box::new(Cursor::new(file.to_vec())))
}

/// All events, and how reading ended.
fn read(reader: &mut PaceReader) -> (Vec<Event>, Result<(), Error>) {
    let mut batch = Batch::default();
    let mut events = Vec::new();
    loop {
        let outcome = reader.read(&mut batch);
        events.extend_from_slice(&batch.events);
        if outcome.is_err() || batch.events.is_empty() {
            return (events, outcome);
        }
    }
}

fn names(list: &Interner) -> Vec<&[u8]> {
    (0..list.len() as u32).map(|i| list.name(i)).collect()
}

fn assert_same_symbols(a: &Symbols, b: &Symbols) {
    assert_eq!(names(&a.threads), names(&b.threads));
    let vars = |s: &Symbols| {
        (0..s.vars.len() as u32).map(|x| s.vars.name(x).into_owned()).collect::<Vec<_>>()
    };
    assert_eq!(vars(a), vars(b));
    assert_eq!(names(&a.locks), names(&b.locks));
    assert_eq!(names(&a.semaphores), names(&b.semaphores));
    assert_eq!(names(&a.barriers), names(&b.barriers));
    assert_eq!(names(&a.labels), names(&b.labels));
    assert_eq!(names(&a.texts), names(&b.texts));
    assert_eq!(a.sites(), b.sites());
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        events in prop::collection::vec(event(), 0..200),
        split in 0..200usize,
        methods in any::<bool>(),
    ) {
        let symbols = symbols(NAMES);
        let blocks = if methods { Blocks::Methods } else { Blocks::Declared };
        let (front, back) = events.split_at(split.min(events.len()));
        let mut reader = reader_of(&file_of(&[front, back], &symbols, blocks));
        prop_assert_eq!(reader.blocks(), blocks);
        let (read, outcome) = read(&mut reader);
        prop_assert!(outcome.is_ok());
        prop_assert_eq!(read, events);
        prop_assert!(reader.skipped().cut_off.is_none());
        assert_same_symbols(reader.symbols(), &symbols);
    }

    #[test]
    fn garbage_never_panics(
        garbage in prop::collection::vec(any::<u8>(), 0..200),
        keep in 0..400usize,
    ) {
        let (mut file, _) = small_file();
        file.truncate(keep);
        file.extend_from_slice(&garbage);
        let _ = read(&mut reader_of(&file));
        if let Ok((mut reader, _)) = PaceReader::open_at(Cursor::new(file), 7) {
            let _ = read(&mut reader);
        }
    }
}

/// Three blocks, and their events.
fn small_file() -> (Vec<u8>, Vec<Event>) {
    let line = "1:begin(m) 1:r(x) 2:w(y) 1:acq(l) 2:fork(3) 3:ar(v) 3:yield 1:end(m)";
    let trace = Trace::parse(line).unwrap();
    let (a, rest) = trace.events.split_at(3);
    let (b, c) = rest.split_at(3);
    (file_of(&[a, b, c], &trace.symbols, Blocks::Declared), trace.events)
}

fn last_block(file: &[u8]) -> usize {
    file.windows(4).rposition(|w| w == b"PBLK").unwrap()
}

#[test]
fn a_file_is_known_by_its_first_bytes() {
    let (file, _) = small_file();
    assert_eq!(Format::detect(&file), Some(Format::Pace));
    assert_ne!(Format::detect(b"1|r(x)|1\n"), Some(Format::Pace));
}

#[test]
fn a_file_cut_off_anywhere_gives_a_prefix_and_a_note() {
    let (file, all) = small_file();
    let mut prefixes = Vec::new();
    for len in 0..file.len() {
        let mut reader = reader_of(&file[..len]);
        let (events, outcome) = read(&mut reader);
        assert!(all.starts_with(&events));
        assert_eq!(outcome.is_err(), len < 16, "cut to {len}");
        assert_eq!(reader.skipped().cut_off.is_some(), len >= 16, "cut to {len}");
        if prefixes.last() != Some(&events.len()) {
            prefixes.push(events.len());
        }
    }
    assert_eq!(prefixes, [0, 3, 6, 8]);
}

#[test]
fn no_changed_byte_goes_unnoticed() {
    let (file, all) = small_file();
    for at in 0..file.len() {
        for change in [0x01, 0x80, 0xff] {
            let mut changed = file.clone();
            changed[at] ^= change;
            let mut reader = reader_of(&changed);
            let (events, outcome) = read(&mut reader);
            assert!(all.starts_with(&events));
            // A changed count of the index may make it seem longer than the file.
            let noticed = outcome.is_err() || reader.skipped().cut_off.is_some();
            assert!(noticed, "byte {at} changed by {change:#x}");
        }
    }
}

#[test]
fn a_block_that_is_cut_off_tells_how_many_events_are_lost() {
    let (file, all) = small_file();
    let mut reader = reader_of(&file[..last_block(&file) + 37]);
    let (events, outcome) = read(&mut reader);
    assert!(outcome.is_ok());
    assert_eq!(events, all[..6]);
    assert_eq!(
        reader.skipped().cut_off.as_deref().unwrap(),
        "the file ends in the block of events 7 to 8, so at least 2 events are lost: it was cut \
         off, or is still being written; 6 events could be read"
    );
}

#[test]
fn a_damaged_block_is_named_by_its_first_event() {
    let (mut file, all) = small_file();
    let last = last_block(&file);
    file[last - 1] ^= 1;
    let (events, outcome) = read(&mut reader_of(&file));
    assert_eq!(events, all[..3]);
    let error = outcome.unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Damaged(_)));
    assert_eq!(error.to_string(), "event 4: a damaged block: its checksum does not match");
}

#[test]
fn what_follows_the_end_is_an_error() {
    let (mut file, all) = small_file();
    file.push(0);
    let (events, outcome) = read(&mut reader_of(&file));
    assert_eq!(events, all);
    assert!(outcome.unwrap_err().to_string().contains("something follows"));
}

/// Events that are easy to distinguish, over more blocks than one.
fn long_trace() -> (Vec<Event>, Symbols) {
    let event = |i: u32| {
        let var = VarId(i * 17 % 5000);
        let op = if i.is_multiple_of(3) { Op::Write(var) } else { Op::Read(var) };
        Event { thread: ThreadId(i / 7 % 11), op, site: Site::number(i) }
    };
    ((0..150_000).map(event).collect(), symbols(5000))
}

#[test]
fn reading_starts_at_any_event() {
    let (events, symbols) = long_trace();
    let whole = file_of(&[&events], &symbols, Blocks::Methods);
    // Without an index: the same, from block to block.
    let growing = whole[..whole.len() - 30].to_vec();
    for file in [whole, growing] {
        for (event, block) in [(1, 1), (65_536, 1), (65_537, 65_537), (150_000, 131_073)] {
            let opened = PaceReader::open_at(Cursor::new(file.clone()), event);
            let (mut reader, first) = opened.unwrap();
            assert_eq!((first, reader.blocks()), (block, Blocks::Methods));
            let (read, outcome) = read(&mut reader);
            assert!(outcome.is_ok());
            assert_eq!(read, events[first as usize - 1..]);
            assert_same_symbols(reader.symbols(), &symbols);
        }
        let (mut reader, first) = PaceReader::open_at(Cursor::new(file), 150_001).unwrap();
        assert_eq!(first, 150_001);
        assert_eq!(read(&mut reader).0, []);
    }
}

#[test]
fn starting_in_a_damaged_block_is_an_error() {
    let (mut file, _) = small_file();
    let last = last_block(&file);
    file[last - 1] ^= 1;
    let (mut reader, first) = PaceReader::open_at(Cursor::new(file.clone()), 5).unwrap();
    assert_eq!(first, 4);
    assert!(read(&mut reader).1.is_err());
    // Its events are not needed to start after it.
    let (mut reader, first) = PaceReader::open_at(Cursor::new(file), 7).unwrap();
    assert_eq!(first, 7);
    assert!(read(&mut reader).1.is_ok());
}

#[test]
fn megabytes_of_names_go_into_blocks_of_their_own() {
    let mut symbols = Symbols::default();
    symbols.thread(b"main");
    for i in 0..5u8 {
        symbols.var(&vec![i; 700_000]);
    }
    let event = Event { thread: ThreadId(0), op: Op::Read(VarId(4)), site: Site::UNKNOWN };
    let file = file_of(&[&[event]], &symbols, Blocks::Declared);
    assert_eq!(file.windows(4).filter(|w| w == b"PBLK").count(), 3);
    let mut reader = reader_of(&file);
    let (events, outcome) = read(&mut reader);
    assert!(outcome.is_ok());
    assert_eq!(events, [event]);
    assert_same_symbols(reader.symbols(), &symbols);
    let (mut reader, _) = PaceReader::open_at(Cursor::new(file), 1).unwrap();
    assert_eq!(read(&mut reader).0, [event]);
}

#[test]
fn events_without_names_are_not_written() {
    let mut writer = PaceWriter::new(Vec::new(), Blocks::Declared).unwrap();
    let mut trace = Trace::parse("1:r(x) 1:w(x)").unwrap();
    trace.events[1].op = Op::Write(VarId(1));
    let error = writer.write(&trace.batch(), &trace.symbols).unwrap_err();
    assert_eq!(error.to_string(), "event 2 has an id without a name");
}

#[test]
fn what_repeats_costs_one_byte_an_event() {
    let trace = Trace::parse("1:begin(m) 1:r(x) 1:w(x) 1:end(m)").unwrap();
    let events: Vec<Event> = trace.events.iter().copied().cycle().take(40_000).collect();
    let file = file_of(&[&events], &trace.symbols, Blocks::Declared);
    assert!(file.len() < 40_400, "{} bytes", file.len());
}

#[test]
fn how_it_was_recorded_is_kept() {
    let mut recording = paceline_trace::Recording { pid: 7, ..Default::default() };
    recording.front_end = "jvm".to_owned();
    recording.note(paceline_trace::NoteKind::Unmodelled, "Phaser", 2);
    let trace = Trace::parse("1:begin(m) 1:r(x) 1:end(m)").unwrap();
    let mut file = Vec::new();
    let mut writer = Format::Pace.writer(&mut file, Blocks::Declared).unwrap();
    writer.write(&trace.batch(), &trace.symbols).unwrap();
    writer.recording(&recording);
    writer.finish(&trace.symbols).unwrap();
    drop(writer);
    for len in 0..=file.len() {
        let mut reader = PaceReader::new(Box::new(Cursor::new(file[..len].to_vec())));
        let outcome = Trace::collect(&mut reader);
        let whole = outcome.is_ok() && reader.skipped().cut_off.is_none();
        assert_eq!(whole, len == file.len() || len == 0 && whole, "cut to {len}");
        let read = reader.skipped().recording.as_ref();
        assert!(read.is_none_or(|read| *read == recording));
        assert!(len < file.len() || read.is_some());
    }
    for at in 0..file.len() {
        let mut damaged = file.clone();
        damaged[at] ^= 0x10;
        let mut reader = PaceReader::new(Box::new(Cursor::new(damaged)));
        let noticed = Trace::collect(&mut reader).is_err() || reader.skipped().cut_off.is_some();
        assert!(noticed, "damage at {at}");
    }
}
