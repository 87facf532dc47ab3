//! The one event model. What an operation means is in `docs/semantics.md`; what each analysis
//! makes of it is decided by an exhaustive `match` there.

use crate::ids::{BarrierId, LabelId, LockId, SemaphoreId, Site, ThreadId, VarId};

macro_rules! operations {
    ($($(#[$doc:meta])* $variant:ident $(($target:ident))? = $name:literal,)*) => {
        /// One operation of a thread.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Op {
            $($(#[$doc])* $variant $(($target))?,)*
        }

        /// An operation without its target.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum Kind {
            $($(#[$doc])* $variant,)*
        }

        impl Kind {
            /// Every kind, in the order of declaration; `kind as usize` indexes it.
            pub const ALL: &[Kind] = &[$(Kind::$variant,)*];

            /// The name used in STD traces and in reports.
            pub fn name(self) -> &'static str {
                match self {
                    $(Kind::$variant => $name,)*
                }
            }
        }

        impl Op {
            /// The operation of this kind on the target with this number, which must be of the
            /// right name space; ignored where there is no target. (The two enums are numbered
            /// alike, so this is a copy of two words, not a choice.)
            #[inline(always)]
            pub fn new(kind: Kind, id: u32) -> Op {
                match kind {
                    $(Kind::$variant => operations!(@make $variant id $(($target))?),)*
                }
            }

            /// The operation without its target.
            #[inline]
            pub fn kind(self) -> Kind {
                match self {
                    $(operations!(@pattern $variant $(($target))?) => Kind::$variant,)*
                }
            }
        }
    };
    (@make $variant:ident $id:ident ($target:ident)) => { Op::$variant($target($id)) };
    (@make $variant:ident $id:ident) => { Op::$variant };
    (@pattern $variant:ident ($target:ident)) => { Op::$variant(_) };
    (@pattern $variant:ident) => { Op::$variant };
}

// Accesses come first, and those that only read before the others: so one comparison tells.
operations! {
    /// Plain read of a variable.
    Read(VarId) = "r",
    /// Volatile or atomic load.
    AtomicRead(VarId) = "ar",
    /// Plain write of a variable.
    Write(VarId) = "w",
    /// Volatile or atomic store.
    AtomicWrite(VarId) = "aw",
    /// Atomic read-modify-write.
    AtomicUpdate(VarId) = "arw",
    /// Outermost exclusive acquire of a lock.
    Acquire(LockId) = "acq",
    /// Outermost exclusive release of a lock.
    Release(LockId) = "rel",
    /// Shared (reader) acquire of a lock.
    AcquireShared(LockId) = "racq",
    /// Shared (reader) release of a lock.
    ReleaseShared(LockId) = "rrel",
    /// Start of another thread.
    Fork(ThreadId) = "fork",
    /// Wait for the end of another thread.
    Join(ThreadId) = "join",
    /// Entry of a block declared atomic or deterministic.
    Begin(LabelId) = "begin",
    /// Exit of such a block.
    End(LabelId) = "end",
    /// Documented interference point.
    Yield = "yield",
    /// First half of a wait: the lock is given up.
    PreWait(LockId) = "prewait",
    /// Second half of a wait: the lock is held again.
    PostWait(LockId) = "postwait",
    /// Wakes a waiting thread.
    Notify(LockId) = "notify",
    /// V of a semaphore, send on a channel.
    Post(SemaphoreId) = "post",
    /// P of a semaphore, receive from a channel.
    Take(SemaphoreId) = "take",
    /// Arrival at a barrier.
    BarrierEnter(BarrierId) = "enter",
    /// Departure from a barrier.
    BarrierExit(BarrierId) = "exit",
}

/// One step of the observed program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Event {
    /// Who did it.
    pub thread: ThreadId,
    /// What was done, and to what.
    pub op: Op,
    /// Where in the source.
    pub site: Site,
}

/// Four events to a cache line: batches of them are what the whole program moves around.
const _: () = assert!(size_of::<Event>() == 16);

/// An access to a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// What is accessed.
    pub variable: VarId,
    /// Whether it is changed.
    pub writes: bool,
}

/// The position of an event in its trace, from 1.
pub type EventNo = u64;

impl Op {
    /// The lock that the operation is about, if it is about one.
    pub fn lock(self) -> Option<LockId> {
        match self {
            Op::Acquire(l)
            | Op::Release(l)
            | Op::AcquireShared(l)
            | Op::ReleaseShared(l)
            | Op::PreWait(l)
            | Op::PostWait(l)
            | Op::Notify(l) => Some(l),
            Op::Read(_)
            | Op::Write(_)
            | Op::Fork(_)
            | Op::Join(_)
            | Op::Begin(_)
            | Op::End(_)
            | Op::Yield
            | Op::AtomicRead(_)
            | Op::AtomicWrite(_)
            | Op::AtomicUpdate(_)
            | Op::Post(_)
            | Op::Take(_)
            | Op::BarrierEnter(_)
            | Op::BarrierExit(_) => None,
        }
    }

    /// The variable that the operation accesses, if it accesses one.
    pub fn variable(self) -> Option<VarId> {
        match self {
            Op::Read(x)
            | Op::Write(x)
            | Op::AtomicRead(x)
            | Op::AtomicWrite(x)
            | Op::AtomicUpdate(x) => Some(x),
            Op::Acquire(_)
            | Op::Release(_)
            | Op::AcquireShared(_)
            | Op::ReleaseShared(_)
            | Op::Fork(_)
            | Op::Join(_)
            | Op::Begin(_)
            | Op::End(_)
            | Op::Yield
            | Op::PreWait(_)
            | Op::PostWait(_)
            | Op::Notify(_)
            | Op::Post(_)
            | Op::Take(_)
            | Op::BarrierEnter(_)
            | Op::BarrierExit(_) => None,
        }
    }
}

impl Op {
    /// The access that the operation is, if it is one.
    #[inline(always)]
    pub fn access(self) -> Option<Access> {
        let writes = self.kind() >= Kind::Write;
        self.variable().map(|variable| Access { variable, writes })
    }
}

impl Kind {
    /// The kind with this STD name.
    pub fn from_name(name: &[u8]) -> Option<Kind> {
        Kind::ALL.iter().copied().find(|k| k.name().as_bytes() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_is_its_kind_and_its_target() {
        for &kind in Kind::ALL {
            assert_eq!(Op::new(kind, 7).kind(), kind);
        }
        assert_eq!(Op::new(Kind::Fork, 7), Op::Fork(ThreadId(7)));
    }

    #[test]
    fn kinds_are_numbered_in_order_and_found_by_name() {
        for (i, &kind) in Kind::ALL.iter().enumerate() {
            assert_eq!(kind as usize, i);
            assert_eq!(Kind::from_name(kind.name().as_bytes()), Some(kind));
        }
        assert_eq!(Kind::from_name(b"read"), None);
    }
}
