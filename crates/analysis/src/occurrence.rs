//! Parts that findings are made of: an event with its place, and a block with its place.

use paceline_trace::{Event, EventNo, Kind, LabelId, LockId, SemaphoreId, Site, ThreadId, VarId};

/// An event of the trace, named in a finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Occurrence {
    /// Its number.
    pub event: EventNo,
    /// Who did it.
    pub thread: ThreadId,
    /// What was done; the finding says to what.
    pub kind: Kind,
    /// Where in the source.
    pub site: Site,
}

impl Occurrence {
    /// The event with this number.
    #[inline]
    pub fn new(number: EventNo, event: &Event) -> Occurrence {
        Occurrence { event: number, thread: event.thread, kind: event.op.kind(), site: event.site }
    }
}

/// What the events of a finding are about.
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
    /// Who runs it.
    pub thread: ThreadId,
    /// Its label; see [`Block::name`].
    pub label: LabelId,
    /// Where it begins.
    pub site: Site,
}

/// What all runs of a block have in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BlockName {
    /// The label that the trace gives.
    Label(LabelId),
    /// A block without a label is known by the place where it begins.
    At(Site),
}

impl Block {
    /// The name that this run shares with the other runs of the block.
    pub fn name(&self) -> BlockName {
        if self.label.is_named() { BlockName::Label(self.label) } else { BlockName::At(self.site) }
    }
}
