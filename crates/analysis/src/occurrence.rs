//! The parts that findings are made of: an event and a block, each with its source location.

use paceline_trace::{Event, EventNo, Kind, LabelId, LockId, SemaphoreId, Site, ThreadId, VarId};

/// An event of the trace, named in a finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Occurrence {
    /// Its number.
    pub event: EventNo,
    /// Its thread.
    pub thread: ThreadId,
    /// The kind of its operation; the finding names the target.
    pub kind: Kind,
    /// Its source location.
    pub site: Site,
}

impl Occurrence {
    /// The event with this number.
    #[inline]
    pub fn new(number: EventNo, event: &Event) -> Occurrence {
        Occurrence { event: number, thread: event.thread, kind: event.op.kind(), site: event.site }
    }
}

/// The target that the events of a finding share.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Target {
    Var(VarId),
    Lock(LockId),
    Semaphore(SemaphoreId),
}

/// One run of a block declared atomic or deterministic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    /// Its `begin` event.
    pub begin: EventNo,
    /// The thread that runs it.
    pub thread: ThreadId,
    /// Its label; see [`Block::name`].
    pub label: LabelId,
    /// The source location of its `begin`.
    pub site: Site,
}

/// What all runs of a block have in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BlockName {
    /// The label that the trace gives.
    Label(LabelId),
    /// The location of the `begin`, for a block without a label.
    At(Site),
}

impl Block {
    /// The name that this run shares with the other runs of the block.
    pub fn name(&self) -> BlockName {
        if self.label.is_named() { BlockName::Label(self.label) } else { BlockName::At(self.site) }
    }
}
