//! All engines on the same well-formed trace: the same verdict, and the same event from those that
//! are exact. Three bytes of the input ask for an event each; what is not allowed at its place is
//! passed over.

#![no_main]

use libfuzzer_sys::fuzz_target;
use paceline_analysis::atomicity::{Engine, Options};
use paceline_trace::validate::Validator;
use paceline_trace::{Event, Kind, LabelId, Op, Site, Symbols, ThreadId, Trace};

const THREADS: u8 = 5;
const NAMES: u8 = 3;
/// The reference is quadratic.
const MOST_EVENTS: usize = 300;

fuzz_target!(|data: &[u8]| {
    let trace = make(data);
    let expected = first_cycle(Engine::Reference, &trace);
    for &engine in Engine::ALL {
        let found = first_cycle(engine, &trace);
        let good = match (expected, found) {
            (Some(e), Some(f)) if engine.is_exact() => e == f,
            (Some(e), Some(f)) => e <= f,
            (e, f) => e == f,
        };
        assert!(good, "{}: {found:?} for {expected:?}: {}", engine.name(), trace.to_line());
    }
});

fn first_cycle(engine: Engine, trace: &Trace) -> Option<u64> {
    let mut analysis = engine.start(Options { first_only: true });
    if analysis.events(&trace.batch()).is_continue() {
        analysis.finish();
    }
    analysis.cycles().first().map(|cycle| cycle.event)
}

fn make(data: &[u8]) -> Trace {
    let mut trace = Trace { events: Vec::new(), symbols: symbols() };
    let mut validator = Validator::default();
    validator.reserve(&trace.symbols.counts());
    let mut blocks = vec![0_u32; usize::from(THREADS)];
    for wish in data.chunks_exact(3).take(MOST_EVENTS) {
        let event = wanted(wish, &blocks);
        if validator.event(&event).is_ok() {
            let depth = &mut blocks[event.thread.index()];
            match event.op {
                Op::Begin(_) => *depth += 1,
                Op::End(_) => *depth -= 1,
                _ => {}
            }
            trace.events.push(event);
        }
    }
    trace
}

/// Blocks are labelled by their depth, so that an end always fits.
fn wanted(wish: &[u8], blocks: &[u32]) -> Event {
    let thread = ThreadId(u32::from(wish[0] % THREADS));
    let kind = Kind::ALL[usize::from(wish[1]) % Kind::ALL.len()];
    let depth = blocks[thread.index()];
    let op = match kind {
        Kind::Begin => Op::Begin(LabelId(depth % u32::from(NAMES))),
        Kind::End => Op::End(LabelId(depth.wrapping_sub(1) % u32::from(NAMES))),
        Kind::Fork | Kind::Join => Op::new(kind, u32::from(wish[2] % THREADS)),
        _ => Op::new(kind, u32::from(wish[2] % NAMES)),
    };
    Event { thread, op, site: Site::UNKNOWN }
}

fn symbols() -> Symbols {
    let mut symbols = Symbols::default();
    for i in 1..=THREADS {
        symbols.thread(i.to_string().as_bytes());
    }
    for name in [b"x", b"y", b"z"] {
        symbols.var(name);
        symbols.lock(name);
        symbols.semaphore(name);
        symbols.barrier(name);
        symbols.label(name);
    }
    symbols
}
