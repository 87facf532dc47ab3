//! The one event model. What an operation means is in `docs/semantics.md`; what each analysis
//! makes of it is decided by an exhaustive `match` there.

pub use paceline_wire::{Kind, NameSpace};

use crate::ids::{LockId, Site, ThreadId, VarId};
use crate::ops;

/// The ids by the names that the list of operations has for their name spaces.
mod target {
    pub(super) use crate::ids::{
        BarrierId as Barrier, LabelId as Label, LockId as Lock, SemaphoreId as Semaphore,
        ThreadId as Thread, VarId as Variable,
    };
}

macro_rules! define_op {
    ($($(#[$doc:meta])* $variant:ident $(($target:ident))? = $name:literal,)*) => {
        /// One operation of a thread.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Op {
            $($(#[$doc])* $variant $((target::$target))?,)*
        }

        impl Op {
            /// The operation of this kind on the target with this number, which must be of the
            /// right name space; ignored where there is no target. (Both enums are numbered in the
            /// same order, so this is a copy of two words, not a choice.)
            #[inline(always)]
            pub fn new(kind: Kind, id: u32) -> Op {
                match kind {
                    $(Kind::$variant => define_op!(@make $variant id $($target)?),)*
                }
            }

            /// The number of the target, of whatever name space; 0 where there is none.
            #[inline(always)]
            pub fn id(self) -> u32 {
                match self {
                    $(define_op!(@bind $variant id $($target)?) => define_op!(@id id $($target)?),)*
                }
            }

            /// The operation without its target.
            #[inline]
            pub fn kind(self) -> Kind {
                match self {
                    $(define_op!(@pattern $variant $($target)?) => Kind::$variant,)*
                }
            }
        }
    };
    (@make $variant:ident $id:ident $target:ident) => { Op::$variant(target::$target($id)) };
    (@make $variant:ident $id:ident) => { Op::$variant };
    (@bind $variant:ident $id:ident $target:ident) => { Op::$variant(target::$target($id)) };
    (@bind $variant:ident $id:ident) => { Op::$variant };
    (@id $id:ident $target:ident) => { $id };
    (@id $id:ident) => { 0 };
    (@pattern $variant:ident $target:ident) => { Op::$variant(_) };
    (@pattern $variant:ident) => { Op::$variant };
}

paceline_wire::with_operations!(define_op);

/// One step of the observed program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Event {
    /// The thread that did it.
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
            ops!(Lock(lock)) => Some(lock),
            ops!(Access | Thread | Block | Semaphore | Barrier) | Op::Yield => None,
        }
    }

    /// The variable that the operation accesses, if it accesses one.
    pub fn variable(self) -> Option<VarId> {
        match self {
            ops!(Access(variable)) => Some(variable),
            ops!(Lock | Thread | Block | Semaphore | Barrier) | Op::Yield => None,
        }
    }

    /// The access that the operation is, if it is one.
    #[inline(always)]
    pub fn access(self) -> Option<Access> {
        let writes = self.kind() >= Kind::Write;
        self.variable().map(|variable| Access { variable, writes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_is_its_kind_and_its_target() {
        for &kind in Kind::ALL {
            let op = Op::new(kind, 7);
            let id = if kind.name_space() == NameSpace::Nothing { 0 } else { 7 };
            assert_eq!((op.kind(), op.id()), (kind, id));
        }
        assert_eq!(Op::new(Kind::Fork, 7), Op::Fork(ThreadId(7)));
    }
}
