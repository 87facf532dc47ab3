//! Which locks are held at the end. No paper is needed: one cell for each lock is all.

use std::ops::ControlFlow;

use paceline::analysis::Analysis;
use paceline::analysis::occurrence::Occurrence;
use paceline::trace::{Batch, Event, EventNo, LockId, Op};

/// Finds the locks that are not released.
#[derive(Default)]
pub struct Held {
    /// For each lock, the event that acquired it last, if it is held.
    acquired: Vec<Option<Occurrence>>,
}

impl Held {
    /// The locks that are held, each with the event that acquired it.
    pub fn locks(&self) -> impl Iterator<Item = (LockId, Occurrence)> {
        let each = (0..).map(LockId).zip(&self.acquired);
        each.filter_map(|(lock, acquired)| Some((lock, (*acquired)?)))
    }

    fn event(&mut self, number: EventNo, event: &Event) {
        match event.op {
            Op::Acquire(lock) | Op::PostWait(lock) => {
                self.acquired[lock.index()] = Some(Occurrence::new(number, event));
            }
            Op::Release(lock) | Op::PreWait(lock) => self.acquired[lock.index()] = None,
            Op::Read(_)
            | Op::Write(_)
            | Op::AtomicRead(_)
            | Op::AtomicWrite(_)
            | Op::AtomicUpdate(_)
            | Op::AcquireShared(_)
            | Op::ReleaseShared(_)
            | Op::Notify(_)
            | Op::Fork(_)
            | Op::Join(_)
            | Op::Begin(_)
            | Op::End(_)
            | Op::Post(_)
            | Op::Take(_)
            | Op::BarrierEnter(_)
            | Op::BarrierExit(_)
            | Op::Yield => {}
        }
    }
}

impl Analysis for Held {
    fn events(&mut self, batch: &Batch) -> ControlFlow<()> {
        self.acquired.resize(self.acquired.len().max(batch.counts.locks), None);
        for (number, event) in (batch.first..).zip(&batch.events) {
            self.event(number, event);
        }
        ControlFlow::Continue(())
    }

    fn finish(&mut self) {}
}
