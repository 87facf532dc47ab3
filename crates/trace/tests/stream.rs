//! Recorded streams: whatever the threads did and however their chunks arrive, the order of the
//! trace keeps each thread's order and each stripe's; a cut stream gives a part of it that nothing
//! is missing from; a damaged one never panics.

#![allow(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test may panic, and asks about some operations only"
)]

use std::collections::HashMap;
use std::io::{Cursor, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use paceline_trace::format::stream::StreamReader;
use paceline_trace::format::stream::merge::{Merge, Stamped};
use paceline_wire::{
    self as wire, Frame, Hello, NoteFrame, Output, Recorder, SiteText, Target, ThreadRecorder,
};

use paceline_trace::validate::Validator;
use paceline_trace::{Batch, Blocks, Error, Event, Kind, NoteKind, Op, Source, Trace};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn cases(count: u32) -> ProptestConfig {
    ProptestConfig {
        cases: count,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(20_26),
        ..ProptestConfig::default()
    }
}

/// What one thread did, as a simulated run has it: a stamp, or none, and a number that
/// identifies the record.
#[derive(Clone, Copy, Debug)]
struct RunRecord {
    thread: u32,
    stamp: Option<(u32, u64)>,
    serial: u64,
}

const THREADS: u32 = 5;
const STRIPES: u32 = 6;

/// A run in its real order: which thread goes next, and on which stripe (the last is none).
fn run() -> impl Strategy<Value = Vec<RunRecord>> {
    prop::collection::vec((0..THREADS, 0..=STRIPES), 0..300).prop_map(|choices| {
        let mut versions = [0; STRIPES as usize];
        let step = |(serial, (thread, stripe)): (usize, (u32, u32))| {
            let stamp = versions.get_mut(stripe as usize).map(|version| {
                *version += 1;
                (stripe, *version - 1)
            });
            RunRecord { thread, stamp, serial: serial as u64 }
        };
        choices.into_iter().enumerate().map(step).collect()
    })
}

/// The run as each thread recorded it, cut into chunks, which arrive in some order that keeps the
/// order of each thread's own. `picks` decides.
fn chunks(run: &[RunRecord], picks: &[usize]) -> Vec<(u32, Vec<Stamped<u64>>)> {
    let mut picks = picks.iter().copied().cycle();
    let mut pick = || picks.next().unwrap_or(0);
    let mut queues: Vec<Vec<Vec<Stamped<u64>>>> = vec![Vec::new(); THREADS as usize];
    for step in run {
        let queue = &mut queues[step.thread as usize];
        if queue.is_empty() || pick() % 4 == 0 {
            queue.push(Vec::new());
        }
        let chunk = queue.last_mut().unwrap();
        chunk.push(match step.stamp {
            Some((stripe, version)) => Stamped::new(wire::stamp(stripe, version), step.serial),
            None => Stamped::without(step.serial),
        });
    }
    let mut arrived = Vec::new();
    while queues.iter().any(|queue| !queue.is_empty()) {
        let from = pick() % queues.len();
        let thread = (from..from + queues.len()).map(|t| t % queues.len());
        let thread = thread.into_iter().find(|&t| !queues[t].is_empty()).unwrap();
        arrived.push((thread as u32, queues[thread].remove(0)));
    }
    arrived
}

/// The threads and serials in their order, and how many are stuck.
fn merged(chunks: &[(u32, Vec<Stamped<u64>>)], at_once: usize) -> (Vec<(u32, u64)>, u64) {
    let mut merge = Merge::new(STRIPES);
    (0..THREADS).for_each(|_| merge.thread());
    let mut records = Vec::new();
    for (thread, chunk) in chunks {
        merge.push(*thread, chunk.clone()).unwrap();
        loop {
            let taken = merge.take(at_once, |thread, &serial| {
                records.push((thread, serial));
                Ok(())
            });
            if taken.unwrap() < at_once {
                break;
            }
        }
    }
    (records, merge.stuck())
}

/// Checks that a merged order is a part of the run that keeps its order, with nothing missing in
/// between.
fn check_order(run: &[RunRecord], records: &[(u32, u64)]) {
    let mut versions = [0; STRIPES as usize];
    let mut positions: HashMap<u32, Vec<u64>> = HashMap::new();
    for &(thread, serial) in records {
        let step = run[serial as usize];
        assert_eq!(step.thread, thread);
        if let Some((stripe, version)) = step.stamp {
            assert_eq!(versions[stripe as usize], version, "the order of stripe {stripe}");
            versions[stripe as usize] += 1;
        }
        positions.entry(thread).or_default().push(step.serial);
    }
    for (thread, seen) in positions {
        let own = run.iter().filter(|s| s.thread == thread).map(|s| s.serial);
        assert_eq!(seen, own.take(seen.len()).collect::<Vec<_>>(), "the order of thread {thread}");
    }
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn the_order_of_threads_and_stripes_is_kept(
        run in run(),
        picks in prop::collection::vec(0usize..97, 1..60),
        at_once in 1usize..50,
    ) {
        let (records, stuck) = merged(&chunks(&run, &picks), at_once);
        prop_assert_eq!((records.len(), stuck), (run.len(), 0));
        check_order(&run, &records);
    }

    #[test]
    fn a_cut_gives_a_part_that_nothing_is_missing_from(
        run in run(),
        picks in prop::collection::vec(0usize..97, 1..60),
        cut in 0.0..1.0f64,
    ) {
        let mut chunks = chunks(&run, &picks);
        chunks.truncate((chunks.len() as f64 * cut) as usize);
        let (records, stuck) = merged(&chunks, usize::MAX);
        let arrived: usize = chunks.iter().map(|(_, chunk)| chunk.len()).sum();
        prop_assert_eq!(records.len() + stuck as usize, arrived);
        check_order(&run, &records);
    }
}

/// A sink that several owners can look into.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Shared {
    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

fn reader(bytes: &[u8]) -> StreamReader {
    StreamReader::new(Box::new(Cursor::new(bytes.to_vec())))
}

fn drain(source: &mut impl Source) -> (Vec<Event>, Result<(), Error>) {
    let mut events = Vec::new();
    let mut batch = Batch::default();
    loop {
        let outcome = source.read(&mut batch);
        events.extend_from_slice(&batch.events);
        if outcome.is_err() || batch.events.is_empty() {
            return (events, outcome);
        }
    }
}

fn well_formed(bytes: &[u8]) -> Trace {
    let mut reader = reader(bytes);
    let trace = Trace::collect(&mut reader).unwrap();
    let mut batch =
        Batch { events: trace.events.clone(), counts: trace.symbols.counts(), ..Batch::default() };
    if let Err(malformed) = Validator::default().check(&mut batch) {
        panic!("{}", malformed.explain(&trace.symbols));
    }
    trace
}

/// Threads that count together with atomic updates and under a lock, and remember what they saw.
fn record_counting(threads: usize, rounds: u64) -> (Vec<u8>, Vec<Vec<u64>>) {
    let sink = Shared::default();
    let recorder = Recorder::new(sink.clone(), &Hello::default()).unwrap();
    let site = |kind, target| {
        recorder.site(&SiteText { target, file: b"count.rs", line: 1, ..SiteText::new(kind) })
    };
    let [update, read, write] = [Kind::AtomicUpdate, Kind::Read, Kind::Write]
        .map(|kind| site(kind, &b"Counter.n"[..]).unwrap());
    let [acquire, release, fork, join] =
        [Kind::Acquire, Kind::Release, Kind::Fork, Kind::Join].map(|kind| site(kind, b"").unwrap());
    let begin = site(Kind::Begin, b"count").unwrap();
    let end = site(Kind::End, b"count").unwrap();
    let atomic = recorder.object(b"Counter").unwrap();
    let plain = recorder.object(b"Counter").unwrap();
    let (counter, guarded) = (AtomicU64::new(0), Mutex::new(0u64));

    let work = |mut me: ThreadRecorder| {
        let mut seen = Vec::new();
        for _ in 0..rounds {
            let add = || counter.fetch_add(1, Ordering::Relaxed);
            seen.push(me.stamped(update, Target::object(atomic), add));
            me.mark(begin);
            let mut n = guarded.lock().unwrap();
            me.stamped(acquire, Target::object(plain), || ());
            let old = me.stamped(read, Target::object(plain), || *n);
            me.stamped(write, Target::object(plain), || *n = old + 1);
            me.stamped(release, Target::object(plain), || ());
            drop(n);
            me.mark(end);
        }
        seen
    };
    let mut main = recorder.thread(b"main").unwrap();
    let seen = std::thread::scope(|scope| {
        let spawn = |_| {
            let child = main.fork(fork, b"worker").unwrap();
            (child.id(), scope.spawn(|| work(child)))
        };
        let children: Vec<_> = (0..threads).map(spawn).collect();
        let wait = |(id, handle): (u32, std::thread::ScopedJoinHandle<'_, Vec<u64>>)| {
            let seen = handle.join().unwrap();
            main.join(join, id);
            seen
        };
        children.into_iter().map(wait).collect()
    });
    drop(main);
    recorder.finish().unwrap();
    (sink.bytes(), seen)
}

#[test]
fn real_threads_are_recorded_in_an_order_that_explains_what_they_saw() {
    let (threads, rounds) = (4, 3000);
    let (bytes, seen) = record_counting(threads, rounds);
    let trace = well_formed(&bytes);
    // The counter's value is the number of updates before: the order must agree with it.
    let mut value = 0;
    let mut next = vec![0; threads + 1];
    for event in &trace.events {
        if let Op::AtomicUpdate(_) = event.op {
            let (thread, count) = (event.thread.index(), &mut next[event.thread.index()]);
            assert_eq!(seen[thread - 1][*count], value);
            *count += 1;
            value += 1;
        }
    }
    assert_eq!(value, threads as u64 * rounds);
    assert_eq!(trace.events.len(), threads * (rounds as usize * 7 + 2));
    let names = (0..5).map(|t| trace.symbols.threads.name(t)).collect::<Vec<_>>();
    let workers = [&b"worker"[..], b"worker#2", b"worker#3", b"worker#4"];
    assert_eq!(names[0], b"main");
    assert_eq!(names[1..], workers);
    assert_eq!(&*trace.symbols.vars.name(0), b"Counter#1.n");
    assert_eq!(trace.symbols.locks.name(0), b"Counter#2");
}

#[test]
fn a_stream_reads_the_same_twice() {
    let (bytes, _) = record_counting(3, 2000);
    let (once, again) = (drain(&mut reader(&bytes)).0, drain(&mut reader(&bytes)).0);
    assert_eq!(once, again);
}

#[test]
fn a_stream_cut_anywhere_gives_a_well_formed_trace_and_says_so() {
    let (bytes, _) = record_counting(3, 700);
    for len in (12..bytes.len()).step_by(bytes.len() / 50 + 1) {
        well_formed(&bytes[..len]);
        let mut reader = reader(&bytes[..len]);
        drain(&mut reader).1.unwrap();
        assert!(reader.skipped().cut_off.is_some(), "cut to {len}");
    }
    let mut whole = reader(&bytes);
    drain(&mut whole).1.unwrap();
    assert!(whole.skipped().cut_off.is_none());
}

#[test]
fn the_recording_and_its_notes_are_kept() {
    let mut bytes = Vec::new();
    let hello = Hello {
        pid: 42,
        all_methods: true,
        front_end: b"jvm",
        version: b"17",
        command: b"java A",
        ..Hello::default()
    };
    let mut output = Output::new(&mut bytes, &hello);
    output.note(NoteKind::Observed, b"classes", 3);
    output.note(NoteKind::Unmodelled, b"Phaser", 1);
    output.note(NoteKind::FilteredOrder, b"volatile fields", 0);
    output.flush().unwrap();
    // Kinds that are not known here, and the words of a recorder that had fewer kinds.
    let old =
        b"accesses that repeat one of the same block, also of volatile variables (a check of \
        anything but these blocks may miss something)";
    for (key, text) in [(&b"novel"[..], &b"thing"[..]), (b"filter", old)] {
        Frame::Note(NoteFrame { key, text, number: 0 }).put(&mut bytes);
    }
    Frame::End.put(&mut bytes);
    let mut reader = reader(&bytes);
    assert_eq!(reader.blocks(), Blocks::Methods);
    drain(&mut reader).1.unwrap();
    let recording = reader.skipped().recording.as_ref().unwrap();
    assert_eq!((recording.pid, recording.command.as_str()), (42, "java A"));
    let notes: Vec<_> = recording.notes.iter().map(|n| (n.kind, n.to_string())).collect();
    let expected = [
        (NoteKind::Observed, "3 classes"),
        (NoteKind::Unmodelled, "1 Phaser"),
        (NoteKind::FilteredOrder, "volatile fields"),
        (NoteKind::Remark, "novel: thing"),
        (NoteKind::FilteredOrder, std::str::from_utf8(old).unwrap()),
    ];
    assert_eq!(notes, expected.map(|(kind, text)| (kind, text.to_owned())));
}

#[test]
fn many_records_without_an_event_are_not_the_end() {
    let mut bytes = Vec::new();
    let mut output = Output::new(&mut bytes, &Hello { stripes: 1, ..Hello::default() });
    let order = output.site(&SiteText::ORDER).unwrap();
    let pause = output.site(&SiteText::new(Kind::Yield)).unwrap();
    let thread = output.thread(b"main");
    let stamps = (0..30_000).flat_map(|v| [wire::pack(order, 0), wire::stamp(0, v)]);
    let words: Vec<u64> = stamps.chain([wire::pack(pause, 0)]).collect();
    output.chunk(thread, &words).unwrap();
    output.finish().unwrap();
    assert_eq!(drain(&mut reader(&bytes)).0.len(), 1);
}

#[test]
fn what_was_not_declared_is_an_error() {
    let refused = |write: &dyn Fn(&mut Output<&mut Vec<u8>>), what: &str| {
        let mut bytes = Vec::new();
        let mut output = Output::new(&mut bytes, &Hello { stripes: 2, ..Hello::default() });
        output.thread(b"main");
        output.site(&SiteText::new(Kind::Fork)).unwrap();
        write(&mut output);
        output.finish().unwrap();
        let error = drain(&mut reader(&bytes)).1.expect_err(what).to_string();
        assert!(error.contains(what), "{error}");
    };
    refused(&|o| o.chunk(1, &[1, 2]).unwrap(), "thread 1, which is not known");
    refused(&|o| o.chunk(0, &[wire::pack(1, 1), 0]).unwrap(), "thread 1 is not known");
    refused(&|o| o.chunk(0, &[wire::pack(1, 1 << 39), 0]).unwrap(), "is not known");
    refused(&|o| o.chunk(0, &[wire::pack(7, 0)]).unwrap(), "site 7, which is not known");
    refused(&|o| o.chunk(0, &[wire::pack(0, 0)]).unwrap(), "site 0, which is not known");
    refused(&|o| o.chunk(0, &[wire::pack(1, 0)]).unwrap(), "cut at the end of a chunk");
    let high = wire::stamp(2, 0);
    refused(&|o| o.chunk(0, &[wire::pack(1, 0), high]).unwrap(), "stripe 2: too high");
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn damaged_streams_never_panic(
        places in prop::collection::vec((0.0..1.0f64, any::<u8>()), 1..8),
        cut in 0.0..2.0f64,
    ) {
        let mut bytes = small_stream();
        let len = bytes.len();
        places.iter().for_each(|&(at, byte)| bytes[(at * len as f64) as usize] = byte);
        bytes.truncate((cut * len as f64) as usize);
        let mut reader = reader(&bytes);
        let (events, outcome) = drain(&mut reader);
        for event in &events {
            reader.symbols().threads.name(event.thread.0);
        }
        if let Err(error) = outcome {
            prop_assert!(!error.to_string().is_empty());
        }
    }
}

/// Some of every frame.
fn small_stream() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut output = Output::new(&mut bytes, &Hello { stripes: 8, ..Hello::default() });
    for &kind in Kind::ALL {
        output.site(&SiteText { target: b"A.x", ..SiteText::new(kind) }).unwrap();
    }
    let element = SiteText { flags: wire::SiteFlags::INDEXED, ..SiteText::new(Kind::Write) };
    let element = output.site(&element).unwrap();
    let threads = [output.thread(b"a"), output.thread(b"b")];
    output.object(5, b"A");
    output.note(NoteKind::Lost, b"something", 1);
    for version in 0..10 {
        let thread = threads[version as usize % 2];
        let words = [wire::pack(1, 5), wire::stamp(3, version * 2)];
        let more = [wire::pack(element, 5), wire::stamp(3, version * 2 + 1), version];
        let block = [wire::pack(9, 0), wire::pack(10, 0)];
        output.chunk(thread, &[&words[..], &more, &block].concat()).unwrap();
    }
    output.finish().unwrap();
    bytes
}
