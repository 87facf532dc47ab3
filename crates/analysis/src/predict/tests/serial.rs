//! Programs that are serializable by construction: whatever their order, no block is ever refuted, so
//! nothing may be predicted.

use paceline_trace::{Event, LockId, Op, Site, ThreadId, Trace, VarId};

use super::{begins, observed, options, predict};
use crate::predict::Goal;

struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32 % bound
    }
}

/// How a block takes its locks.
#[derive(Clone, Copy, Debug)]
enum Discipline {
    /// All at the beginning, all back at the end.
    Strict,
    /// Each when it is needed, in one order; all back at the end.
    Growing,
    /// The next one before the one before it is given back.
    HandOverHand,
    /// Shared ones for reading, all at the beginning.
    SharedToRead,
}

const LOCKS: u32 = 4;

/// The operations of one block. Variable i is guarded by lock i.
fn block(discipline: Discipline, dice: &mut Dice) -> Vec<Op> {
    let first = dice.below(LOCKS);
    let locks: Vec<u32> = (first..LOCKS).filter(|&l| l == first || dice.below(2) == 0).collect();
    let reads_only = dice.below(2) == 0;
    let access = |l: u32, dice: &mut Dice| {
        if reads_only || dice.below(2) == 0 { Op::Read(VarId(l)) } else { Op::Write(VarId(l)) }
    };
    let is_shared = matches!(discipline, Discipline::SharedToRead) && reads_only;
    let acquire =
        |l: u32| if is_shared { Op::AcquireShared(LockId(l)) } else { Op::Acquire(LockId(l)) };
    let release =
        |l: u32| if is_shared { Op::ReleaseShared(LockId(l)) } else { Op::Release(LockId(l)) };
    let mut ops = vec![Op::Begin(paceline_trace::LabelId(0))];
    match discipline {
        Discipline::Strict | Discipline::SharedToRead => {
            ops.extend(locks.iter().map(|&l| acquire(l)));
            for _ in 0..2 {
                ops.extend(locks.iter().map(|&l| access(l, dice)));
            }
            ops.extend(locks.iter().map(|&l| release(l)));
        }
        Discipline::Growing => {
            for &l in &locks {
                ops.extend([acquire(l), access(l, dice), access(l, dice)]);
            }
            ops.extend(locks.iter().rev().map(|&l| release(l)));
        }
        Discipline::HandOverHand => {
            // Every lock from the first on: none can be overtaken.
            for l in first..LOCKS {
                ops.extend([acquire(l), access(l, dice), access(l, dice)]);
                if l > first {
                    ops.insert(ops.len() - 2, release(l - 1));
                }
            }
            ops.push(release(LOCKS - 1));
        }
    }
    ops.push(Op::End(paceline_trace::LabelId(0)));
    ops
}

/// Some threads with some blocks each, interleaved at random.
fn trace(seed: u64, discipline: Discipline) -> Trace {
    let mut dice = Dice(seed);
    let threads = 2 + dice.below(3);
    let mut programs: Vec<Vec<Op>> = Vec::new();
    for _ in 0..threads {
        let blocks = 1 + dice.below(3);
        let mut program: Vec<Op> = (0..blocks).flat_map(|_| block(discipline, &mut dice)).collect();
        program.reverse();
        programs.push(program);
    }
    let mut holders: Vec<(Option<u32>, u32)> = vec![(None, 0); LOCKS as usize];
    let mut trace = Trace::parse("").expect("an empty trace");
    for i in 0..LOCKS {
        trace.symbols.var(format!("x{i}").as_bytes());
        trace.symbols.lock(format!("l{i}").as_bytes());
        trace.symbols.thread(format!("T{i}").as_bytes());
    }
    trace.symbols.label(b"m");
    while programs.iter().any(|program| !program.is_empty()) {
        let thread = dice.below(threads);
        let Some(&op) = programs[thread as usize].last() else { continue };
        if let Op::Acquire(l) = op {
            if holders[l.index()] != (None, 0) {
                continue;
            }
            holders[l.index()].0 = Some(thread);
        } else if let Op::AcquireShared(l) = op {
            if holders[l.index()].0.is_some() {
                continue;
            }
            holders[l.index()].1 += 1;
        } else if let Op::Release(l) = op {
            holders[l.index()].0 = None;
        } else if let Op::ReleaseShared(l) = op {
            holders[l.index()].1 -= 1;
        }
        programs[thread as usize].pop();
        let site = Site::number(trace.events.len() as u32 + 1);
        trace.events.push(Event { thread: ThreadId(thread), op, site });
    }
    trace
}

#[test]
fn two_phase_locking_is_never_predicted_to_fail() {
    use Discipline::{Growing, HandOverHand, SharedToRead, Strict};
    for seed in 0..1000 {
        let discipline = [Strict, Growing, HandOverHand, SharedToRead][seed as usize % 4];
        let trace = trace(seed, discipline);
        let predictor = predict(&trace, options(Goal::Atomicity), observed(&trace));
        assert!(begins(&predictor).is_empty(), "{discipline:?}: {}", trace.to_line());
        assert!(observed(&trace).is_empty(), "{discipline:?}: {}", trace.to_line());
    }
}
