//! Readers against random and damaged input: they never panic, every line is accounted for, and
//! an event that comes out is the one that stands on its line.

#![allow(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test may panic, and asks about some operations only"
)]

use std::collections::HashSet;
use std::io::Cursor;

use paceline_trace::format::std::show_op;
use paceline_trace::format::{self, Format};
use paceline_trace::input::{Input, Progress};
use paceline_trace::{Batch, Event, Op, Source, Symbols};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const STD: &str = "1|r(x)|1\n1|begin(A.f([I)V)|2\n22|acq(a-long-name,in-the-table)|3\n1|w(y)|4\n\
                   1|fork(3)|5\n1|yield|6\n1|begin|2147483648\n1|end|7\n3|arw(x)|8\n";
const CSV: &str =
    "T0,T1,T2\nstart(T1)\n,acq(l)\n,r(x),,\n,,sync(z)\n,w(x)\n,rel(l)\n,enter(m)\n,exit(m)\n";
const RR: &str = "hello world\n@  Enter(0,A.main([Ljava/lang/String;)V) from null\n@   Start(0,1)\n\
                  @   ARd(0,@02[0])  Final  A.java:9:7\n@  Wr(1,@03.p/A.x_I)[1 -> 2]  Final  A.java:3\n\
                  @   VRd(0,@03.p/A.y_Z)  Final\n@  Acquire(1,@04)\n@  Notify(1,@04,true)\n\
                  @  Wait(1,@04)\n@  Wait(1,@04)\n@  Release(1,@04)\n@  Barrier(1,@05,Enter)\n\
                  @  Barrier(1,@05,Exit)\n@  Sleep(1)\n@   Interrupt(0,1)\n@   Join(0,1)\n\
                  @  Exit(0,A.main([Ljava/lang/String;)V)\n";

fn cases(count: u32) -> ProptestConfig {
    ProptestConfig {
        cases: count,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(20_26),
        ..ProptestConfig::default()
    }
}

/// What a lenient reader makes of a text: each event with its line.
struct Outcome {
    events: Vec<(usize, Event)>,
    source: Box<dyn Source>,
}

fn read(text: &[u8], format: Format) -> Outcome {
    let bytes = Box::new(Cursor::new(text.to_vec()));
    // Not opened like a file: bytes that look compressed are not to be decompressed here.
    let input = Input { bytes, head: Vec::new(), size: None, progress: Progress::default() };
    let mut source = format::read(input, format, true).source;
    let mut batch = Batch::default();
    let mut events = Vec::new();
    loop {
        source.read(&mut batch).unwrap();
        if batch.events.is_empty() {
            return Outcome { events, source };
        }
        let line = |i| batch.line(i).unwrap() as usize - 1;
        events.extend(batch.events.iter().enumerate().map(|(i, &e)| (line(i), e)));
    }
}

/// Whether the event could have been written as this line.
fn stands_on(event: &Event, line: &str, format: Format, symbols: &Symbols) -> bool {
    let thread = String::from_utf8_lossy(symbols.threads.name(event.thread.0)).into_owned();
    let op = show_op(event, symbols);
    match format {
        Format::Pace | Format::Stream => unreachable!("not a text format"),
        Format::Std => {
            let location = line.strip_prefix(&format!("{thread}|{op}|"));
            location.is_some_and(|digits| digits.parse::<u128>().is_ok())
        }
        Format::Csv => {
            let operand = &op[op.find('(').unwrap()..];
            let (field, column) =
                (line.trim_matches(','), line.len() - line.trim_start_matches(',').len());
            let name = match event.op {
                Op::Fork(_) => "start",
                Op::Join(_) => "join",
                Op::Begin(_) => "enter",
                Op::End(_) => "exit",
                _ => op.split('(').next().unwrap(),
            };
            thread == format!("T{column}")
                && (field == format!("{name}{operand}") || field.starts_with("sync("))
        }
        Format::Rr => {
            let text = line.strip_prefix("@ ").unwrap_or_default().trim_start_matches(' ');
            let operand = &op[op.find('(').unwrap() + 1..op.len() - 1];
            rr_forms(event.op).iter().any(|name| {
                let tail = text.strip_prefix(&format!("{name}({thread},{operand}"));
                tail.is_some_and(|tail| rr_end(name, tail))
            })
        }
    }
}

fn rr_forms(op: Op) -> &'static [&'static str] {
    match op {
        Op::Read(_) => &["Rd", "ARd"],
        Op::Write(_) => &["Wr", "AWr"],
        Op::AtomicRead(_) => &["VRd"],
        Op::AtomicWrite(_) => &["VWr"],
        Op::Acquire(_) => &["Acquire"],
        Op::Release(_) => &["Release"],
        Op::Begin(_) => &["Enter"],
        Op::End(_) => &["Exit"],
        Op::Fork(_) => &["Start"],
        Op::Join(_) => &["Join"],
        Op::PreWait(_) | Op::PostWait(_) => &["Wait"],
        Op::Notify(_) => &["Notify"],
        Op::BarrierEnter(_) | Op::BarrierExit(_) => &["Barrier"],
        _ => &[],
    }
}

fn rr_end(name: &str, tail: &str) -> bool {
    let access = name.ends_with("Rd") || name.ends_with("Wr");
    match name {
        "Enter" => tail == ")" || tail.starts_with(") from "),
        "Notify" => matches!(tail, ",true)" | ",false)"),
        "Barrier" => matches!(tail, ",Enter)" | ",Exit)"),
        _ if access => tail == ")" || tail.starts_with(") ") || tail.starts_with(")["),
        _ => tail == ")",
    }
}

fn check(text: &[u8], format: Format) -> Result<(), TestCaseError> {
    let outcome = read(text, format);
    let text = String::from_utf8_lossy(text);
    // A carriage return is part of a line end, also of one that the text is cut off in.
    let lines: Vec<&str> = text.lines().map(|l| l.strip_suffix('\r').unwrap_or(l)).collect();
    for (line, event) in &outcome.events {
        let symbols = outcome.source.symbols();
        prop_assert!(
            stands_on(event, lines[*line], format, symbols),
            "{} from {:?}",
            show_op(event, symbols),
            lines[*line]
        );
    }
    let with_events = outcome.events.iter().map(|(line, _)| line).collect::<HashSet<_>>().len();
    let skipped = outcome.source.skipped();
    let passed_over =
        skipped.malformed + skipped.foreign_lines + skipped.unmodelled.values().sum::<u64>();
    let header = usize::from(format == Format::Csv && lines.first().is_some_and(|l| is_header(l)));
    prop_assert_eq!(with_events + passed_over as usize + header, lines.len());
    Ok(())
}

fn is_header(line: &str) -> bool {
    line.split(',').enumerate().all(|(i, name)| name == format!("T{i}"))
}

/// One change somewhere in a text.
#[derive(Clone, Debug)]
enum Damage {
    Replace(usize, u8),
    Insert(usize, u8),
    Remove(usize, usize),
    Copy(usize, usize, usize),
}

/// The characters that mean something to one format or the other.
fn significant() -> impl Strategy<Value = u8> {
    prop::sample::select(b"|(),@ \n\rT01-axV;[.:#".to_vec())
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = 0..100_000usize;
    prop_oneof![
        (at.clone(), significant()).prop_map(|(at, b)| Damage::Replace(at, b)),
        (at.clone(), significant()).prop_map(|(at, b)| Damage::Insert(at, b)),
        (at.clone(), 1..20usize).prop_map(|(at, n)| Damage::Remove(at, n)),
        (at.clone(), at, 1..40usize).prop_map(|(from, to, n)| Damage::Copy(from, to, n)),
    ]
}

fn apply(text: &mut Vec<u8>, damage: &Damage) {
    let within = |at: usize| at % (text.len() + 1);
    match *damage {
        Damage::Replace(at, byte) if !text.is_empty() => {
            let at = at % text.len();
            text[at] = byte;
        }
        Damage::Replace(..) => {}
        Damage::Insert(at, byte) => text.insert(within(at), byte),
        Damage::Remove(at, n) => {
            let at = within(at);
            text.drain(at..text.len().min(at + n));
        }
        Damage::Copy(from, to, n) => {
            let (from, to) = (within(from), within(to));
            let piece = text[from..text.len().min(from + n)].to_vec();
            text.splice(to..to, piece);
        }
    }
}

/// The readers that take any bytes; `pace` has its own tests.
const TEXT_FORMATS: [Format; 3] = [Format::Std, Format::Csv, Format::Rr];

proptest! {
    #![proptest_config(cases(600))]

    #[test]
    fn damaged_traces_give_no_event_that_is_not_there(changes in prop::collection::vec(damage(), 0..8)) {
        for (sample, format) in [(STD, Format::Std), (CSV, Format::Csv), (RR, Format::Rr)] {
            let mut text = sample.as_bytes().to_vec();
            changes.iter().for_each(|change| apply(&mut text, change));
            check(&text, format)?;
        }
    }

    #[test]
    fn random_bytes_do_no_harm(bytes in prop::collection::vec(prop_oneof![any::<u8>(), significant()], 0..300)) {
        for format in TEXT_FORMATS {
            read(&bytes, format);
        }
        Format::detect(&bytes);
    }
}

#[test]
fn the_samples_are_fine_as_they_are() {
    for (sample, format) in [(STD, Format::Std), (CSV, Format::Csv), (RR, Format::Rr)] {
        check(sample.as_bytes(), format).unwrap();
        assert_eq!(read(sample.as_bytes(), format).source.skipped().malformed, 0);
        assert_eq!(Format::detect(sample.as_bytes()), Some(format));
    }
}
