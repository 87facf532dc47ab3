//! The kinds of operations, and what kind of target each has. This list is the only one: the event
//! model of `paceline-trace` is generated from it as well.

/// Hands the list of operations to another macro, one `Variant(Space) = "name"` for each, with its
/// documentation. The space is a [`NameSpace`] but `Nothing`, which is left out.
///
/// Accesses come first, and those that only read before the others, so that one comparison
/// separates them.
#[macro_export]
#[doc(hidden)]
macro_rules! with_operations {
    ($callback:ident) => {
        $callback! {
            /// Plain read of a variable.
            Read(Variable) = "r",
            /// Volatile or atomic load.
            AtomicRead(Variable) = "ar",
            /// Plain write of a variable.
            Write(Variable) = "w",
            /// Volatile or atomic store.
            AtomicWrite(Variable) = "aw",
            /// Atomic read-modify-write.
            AtomicUpdate(Variable) = "arw",
            /// Outermost exclusive acquire of a lock.
            Acquire(Lock) = "acq",
            /// Outermost exclusive release of a lock.
            Release(Lock) = "rel",
            /// Shared (reader) acquire of a lock.
            AcquireShared(Lock) = "racq",
            /// Shared (reader) release of a lock.
            ReleaseShared(Lock) = "rrel",
            /// Start of another thread.
            Fork(Thread) = "fork",
            /// Wait for the end of another thread.
            Join(Thread) = "join",
            /// Entry of a block declared atomic or deterministic.
            Begin(Label) = "begin",
            /// Exit of such a block.
            End(Label) = "end",
            /// Documented interference point.
            Yield = "yield",
            /// First half of a wait: the lock is given up.
            PreWait(Lock) = "prewait",
            /// Second half of a wait: the lock is held again.
            PostWait(Lock) = "postwait",
            /// Wakes a waiting thread.
            Notify(Lock) = "notify",
            /// V of a semaphore, send on a channel.
            Post(Semaphore) = "post",
            /// P of a semaphore, receive from a channel.
            Take(Semaphore) = "take",
            /// Arrival at a barrier.
            BarrierEnter(Barrier) = "enter",
            /// Departure from a barrier.
            BarrierExit(Barrier) = "exit",
        }
    };
}

/// What an operation is about. Targets of one name space are numbered and named together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum NameSpace {
    /// A field of an object, an array element, an address.
    Variable,
    /// A lock, exclusive or shared.
    Lock,
    /// Another thread.
    Thread,
    /// The label of a block.
    Label,
    /// A semaphore, channel or blocking queue.
    Semaphore,
    /// A barrier.
    Barrier,
    /// The operation has no target.
    Nothing,
}

macro_rules! define_kind {
    ($($(#[$doc:meta])* $variant:ident $(($space:ident))? = $name:literal,)*) => {
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
            pub const fn name(self) -> &'static str {
                match self {
                    $(Kind::$variant => $name,)*
                }
            }

            /// What operations of this kind are about.
            #[inline(always)]
            pub const fn name_space(self) -> NameSpace {
                match self {
                    $(Kind::$variant => define_kind!(@space $($space)?),)*
                }
            }
        }
    };
    (@space $space:ident) => { NameSpace::$space };
    (@space) => { NameSpace::Nothing };
}

with_operations!(define_kind);

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
    fn kinds_are_numbered_in_order_and_found_by_name() {
        for (i, &kind) in Kind::ALL.iter().enumerate() {
            assert_eq!(kind as usize, i);
            assert_eq!(Kind::from_name(kind.name().as_bytes()), Some(kind));
        }
        assert_eq!(Kind::from_name(b"read"), None);
    }

    #[test]
    fn accesses_come_first_and_reads_before_writes() {
        let is_access = |kind: &&Kind| kind.name_space() == NameSpace::Variable;
        assert_eq!(Kind::ALL.iter().take_while(is_access).count(), 5);
        assert_eq!(Kind::ALL.iter().filter(is_access).count(), 5);
        assert!(Kind::Read < Kind::Write && Kind::AtomicRead < Kind::Write);
        assert!(Kind::Write < Kind::AtomicWrite && Kind::AtomicWrite < Kind::AtomicUpdate);
    }
}
