//! Atomizer (Flanagan and Freund 2004): is each block atomic by Lipton's reduction? Its events
//! must read `(right|both)* [non-mover] (left|both)*`: then all of it can be moved together.
//!
//! | event | moves |
//! |---|---|
//! | acquires, `postwait`, `join`, `take`, barrier `exit` | right: waits for others |
//! | releases, `prewait`, `fork`, `post`, barrier `enter` | left: others wait for it |
//! | accesses that [`super::eraser`] finds protected | both ways |
//! | `yield`, `notify`, `begin`, `end` | both ways |
//! | other accesses, including atomic ones | neither way |
//!
//! The first left mover or non-mover commits the block; a right mover or non-mover after that
//! breaks the pattern. Only the first break of a run of a block counts.
//!
//! Nested blocks are checked each by itself. All that an inner block does, the outer one does too,
//! so the blocks that have committed are always the outermost ones, and so are those that have
//! been broken: two numbers for each thread are enough.
//!
//! Reduction knows locks only. A block that is made atomic by other means, such as the hand-over of
//! data through a volatile variable, is reported falsely: these are warnings, never violations.
//! They show where to look for real ones. A block without a warning is not proved atomic either,
//! because the lockset of a variable may yet become empty: accesses are judged by what was seen
//! before.

use std::ops::ControlFlow;

use hashbrown::{HashMap, HashSet};
use paceline_trace::{Batch, Event, EventNo, LockId, Op, Site, ThreadId};

use crate::Analysis;
use crate::occurrence::{Block, BlockName, Occurrence};
use crate::reduction::eraser::{Eraser, Protection};

/// A block that reduction cannot show to be atomic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AtomizerWarning {
    /// The block.
    pub block: Block,
    /// The event after which nothing but left movers may follow.
    pub commit: Occurrence,
    /// The event that broke the pattern.
    pub breaker: Occurrence,
    /// Its operation.
    pub op: Op,
    /// The locks that its thread held; not the one that it acquires.
    pub held: Vec<LockId>,
    /// How many runs of the block were broken at this location.
    pub count: u64,
    /// Whether the block was really violated: see [`Atomizer::confirm`].
    pub confirmed: bool,
}

/// The progress of a thread's blocks. The commits are those of the outermost blocks; the first
/// `broken` of these have been reported.
#[derive(Default)]
struct Progress {
    commits: Vec<Occurrence>,
    broken: usize,
}

/// Checks blocks by reduction; Eraser decides which accesses are protected.
#[derive(Default)]
pub struct Atomizer {
    eraser: Eraser,
    threads: Vec<Progress>,
    warnings: Vec<AtomizerWarning>,
    by_key: HashMap<(BlockName, Site), usize>,
}

impl Atomizer {
    /// One warning for each block and location.
    pub fn warnings(&self) -> &[AtomizerWarning] {
        &self.warnings
    }

    /// Eraser's result on the same trace.
    pub fn eraser(&self) -> &Eraser {
        &self.eraser
    }

    /// The same, to confirm its warnings.
    pub fn eraser_mut(&mut self) -> &mut Eraser {
        &mut self.eraser
    }

    /// Marks the warnings about blocks of which a run was really violated in the same trace.
    pub fn confirm(&mut self, violated: impl IntoIterator<Item = BlockName>) {
        let violated: HashSet<BlockName> = violated.into_iter().collect();
        for warning in &mut self.warnings {
            warning.confirmed |= violated.contains(&warning.block.name());
        }
    }

    #[inline]
    fn event(&mut self, number: EventNo, event: &Event) {
        match event.op {
            Op::Read(_) | Op::Write(_) => {
                if self.eraser.event(number, event) != Protection::Protected {
                    self.non_mover(number, event);
                }
            }
            Op::AtomicRead(_) | Op::AtomicWrite(_) | Op::AtomicUpdate(_) => {
                self.non_mover(number, event);
            }
            // A warning lists the locks held before the event, so Eraser takes it last.
            Op::Acquire(_)
            | Op::AcquireShared(_)
            | Op::PostWait(_)
            | Op::Join(_)
            | Op::Take(_)
            | Op::BarrierExit(_) => {
                self.right_mover(number, event);
                self.eraser.event(number, event);
            }
            Op::Release(_)
            | Op::ReleaseShared(_)
            | Op::PreWait(_)
            | Op::Fork(_)
            | Op::Post(_)
            | Op::BarrierEnter(_) => {
                self.commit(number, event);
                self.eraser.event(number, event);
            }
            Op::End(_) => {
                self.eraser.event(number, event);
                self.close(event.thread);
            }
            Op::Begin(_) | Op::Yield | Op::Notify(_) => {
                self.eraser.event(number, event);
            }
        }
    }

    fn non_mover(&mut self, number: EventNo, event: &Event) {
        self.right_mover(number, event);
        self.commit(number, event);
    }

    /// Commits the blocks that have not committed yet.
    fn commit(&mut self, number: EventNo, event: &Event) {
        let depth = self.eraser.open(event.thread).len();
        let commits = &mut self.threads[event.thread.index()].commits;
        if commits.len() < depth {
            commits.resize(depth, Occurrence::new(number, event));
        }
    }

    /// Breaks the blocks that have committed.
    #[inline]
    fn right_mover(&mut self, number: EventNo, event: &Event) {
        let progress = &mut self.threads[event.thread.index()];
        let committed = progress.commits.len();
        let unbroken = std::mem::replace(&mut progress.broken, committed)..committed;
        for depth in unbroken {
            self.warn(depth, number, event);
        }
    }

    /// The innermost block has ended.
    fn close(&mut self, thread: ThreadId) {
        let depth = self.eraser.open(thread).len();
        let progress = &mut self.threads[thread.index()];
        progress.commits.truncate(depth);
        progress.broken = progress.broken.min(depth);
    }

    #[cold]
    fn warn(&mut self, depth: usize, number: EventNo, event: &Event) {
        let block = self.eraser.open(event.thread)[depth];
        let next = self.warnings.len();
        let at = *self.by_key.entry((block.name(), event.site)).or_insert(next);
        if at == next {
            self.warnings.push(AtomizerWarning {
                block,
                commit: self.threads[event.thread.index()].commits[depth],
                breaker: Occurrence::new(number, event),
                op: event.op,
                held: self.eraser.held.list(event.thread),
                count: 0,
                confirmed: false,
            });
        }
        self.warnings[at].count += 1;
    }
}

impl Analysis for Atomizer {
    fn events(&mut self, batch: &Batch) -> ControlFlow<()> {
        self.eraser.reserve(&batch.counts);
        if self.threads.len() < batch.counts.threads {
            self.threads.resize_with(batch.counts.threads, Progress::default);
        }
        for (number, event) in (batch.first..).zip(&batch.events) {
            self.event(number, event);
        }
        ControlFlow::Continue(())
    }

    fn finish(&mut self) {}
}

#[cfg(test)]
mod tests;
