//! What reading and writing `pace` costs beside reading the same events as STD text. Compare the
//! lines of one run with each other; across machines and days they mean nothing.

use std::hint::black_box;
use std::io::Cursor;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use paceline_trace::format::Writer;
use paceline_trace::format::pace::{PaceReader, PaceWriter};
use paceline_trace::format::std::{StdReader, StdWriter};
use paceline_trace::{Batch, Blocks, Event, Op, Site, Source, Symbols, ThreadId, Trace, VarId};

const EVENTS: usize = 1_000_000;

/// A generator of numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 16) % end) as u32
    }
}

/// Nothing can be predicted: the worst case.
fn random_trace() -> Trace {
    let mut symbols = Symbols::default();
    for i in 0..8 {
        symbols.thread(format!("T{i}").as_bytes());
    }
    for i in 0..10_000 {
        symbols.var(format!("x{i}").as_bytes());
    }
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    let events = (0..EVENTS).map(|_| random_event(&mut dice)).collect();
    Trace { events, symbols }
}

fn random_event(dice: &mut Dice) -> Event {
    let var = VarId(dice.below(10_000));
    Event {
        thread: ThreadId(dice.below(8)),
        op: if dice.below(4) == 0 { Op::Write(var) } else { Op::Read(var) },
        site: Site::number(dice.below(1000)),
    }
}

/// Eight threads that go through the same methods, each on variables of its own.
fn repeated_trace() -> Trace {
    let mut trace = random_trace();
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let (mut thread, mut method) = (0, 0);
    for (i, event) in trace.events.iter_mut().enumerate() {
        if i % 10 == 0 {
            thread = dice.below(8);
            method = dice.below(100);
        }
        let step = (i % 10) as u32;
        let var = VarId(thread * 1000 + method * 10 + step);
        let op = if step == 9 { Op::Write(var) } else { Op::Read(var) };
        *event = Event { thread: ThreadId(thread), op, site: Site::number(method * 10 + step) };
    }
    trace
}

fn write<W: Writer>(mut writer: W, batch: &Batch, symbols: &Symbols) {
    writer.write(batch, symbols).expect("memory takes everything");
    writer.finish(symbols).expect("memory takes everything");
}

fn read(mut source: impl Source) -> usize {
    let mut batch = Batch::default();
    let mut events = 0;
    loop {
        source.read(&mut batch).expect("the trace is good");
        if batch.events.is_empty() {
            return events;
        }
        events += black_box(&batch.events).len();
    }
}

fn bench(c: &mut Criterion) {
    for (name, trace) in [("random", random_trace()), ("repeated", repeated_trace())] {
        let batch = trace.batch();
        let (mut text, mut pace) = (Vec::new(), Vec::new());
        write(StdWriter::new(&mut text), &batch, &trace.symbols);
        write(pace_writer(&mut pace), &batch, &trace.symbols);
        let mut group = c.benchmark_group(name);
        group.sample_size(10).throughput(Throughput::Elements(EVENTS as u64));
        group.bench_function("read std", |b| {
            let input = || Box::new(Cursor::new(text.clone()));
            b.iter_batched(input, |i| read(StdReader::new(i, false)), BatchSize::LargeInput);
        });
        group.bench_function("read pace", |b| {
            let input = || Box::new(Cursor::new(pace.clone()));
            b.iter_batched(input, |i| read(PaceReader::new(i)), BatchSize::LargeInput);
        });
        group.bench_function("write pace", |b| {
            let output = || Vec::with_capacity(pace.len());
            let run = |mut out| {
                write(pace_writer(&mut out), &batch, &trace.symbols);
                out
            };
            b.iter_batched(output, run, BatchSize::LargeInput);
        });
        group.finish();
    }
}

fn pace_writer(output: &mut Vec<u8>) -> PaceWriter<&mut Vec<u8>> {
    PaceWriter::new(output, Blocks::Declared).expect("memory takes everything")
}

criterion_group!(benches, bench);
criterion_main!(benches);
