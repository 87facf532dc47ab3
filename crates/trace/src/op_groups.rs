//! Groups of operations as patterns, so that a `match` stays exhaustive without a tail of twenty
//! lines.

/// A pattern for all operations of some groups, with or without what they are about:
///
/// ```
/// use paceline_trace::{LockId, Op, ops};
///
/// fn lock_of(op: Op) -> Option<LockId> {
///     match op {
///         ops!(Lock(lock)) => Some(lock),
///         ops!(Access | Thread | Block | Semaphore | Barrier) | Op::Yield => None,
///     }
/// }
/// # assert_eq!(lock_of(Op::Release(LockId(3))), Some(LockId(3)));
/// # assert_eq!(lock_of(Op::Yield), None);
/// ```
///
/// | group | operations | about |
/// |---|---|---|
/// | `Plain` | `Read`, `Write` | a variable |
/// | `Atomic` | `AtomicRead`, `AtomicWrite`, `AtomicUpdate` | a variable |
/// | `Access` | both of these | a variable |
/// | `Lock` | acquires, releases, waits and `Notify` | a lock |
/// | `Thread` | `Fork`, `Join` | a thread |
/// | `Block` | `Begin`, `End` | a label |
/// | `Semaphore` | `Post`, `Take` | a semaphore |
/// | `Barrier` | `BarrierEnter`, `BarrierExit` | a barrier |
///
/// `Op::Yield` is in no group. An operation that is new in a group falls under every pattern of
/// that group: an analysis to which the operations of a group mean different things names them.
#[macro_export]
macro_rules! ops {
    ($group:ident $(($id:pat))?) => { $crate::ops!(@ $group $($id)?) };
    ($($group:ident $(($id:pat))?)|+) => { $($crate::ops!(@ $group $($id)?))|+ };
    (@ $group:ident) => { $crate::ops!(@ $group _) };
    (@ Plain $id:pat) => { $crate::Op::Read($id) | $crate::Op::Write($id) };
    (@ Atomic $id:pat) => {
        $crate::Op::AtomicRead($id) | $crate::Op::AtomicWrite($id) | $crate::Op::AtomicUpdate($id)
    };
    (@ Access $id:pat) => { $crate::ops!(@ Plain $id) | $crate::ops!(@ Atomic $id) };
    (@ Lock $id:pat) => {
        $crate::Op::Acquire($id)
            | $crate::Op::Release($id)
            | $crate::Op::AcquireShared($id)
            | $crate::Op::ReleaseShared($id)
            | $crate::Op::PreWait($id)
            | $crate::Op::PostWait($id)
            | $crate::Op::Notify($id)
    };
    (@ Thread $id:pat) => { $crate::Op::Fork($id) | $crate::Op::Join($id) };
    (@ Block $id:pat) => { $crate::Op::Begin($id) | $crate::Op::End($id) };
    (@ Semaphore $id:pat) => { $crate::Op::Post($id) | $crate::Op::Take($id) };
    (@ Barrier $id:pat) => { $crate::Op::BarrierEnter($id) | $crate::Op::BarrierExit($id) };
}

#[cfg(test)]
mod tests {
    use crate::{Kind, NameSpace, Op};

    #[test]
    fn groups_are_name_spaces() {
        for &kind in Kind::ALL {
            let (space, id) = match Op::new(kind, 7) {
                ops!(Access(x)) => (NameSpace::Variable, x.0),
                ops!(Lock(l)) => (NameSpace::Lock, l.0),
                ops!(Thread(t)) => (NameSpace::Thread, t.0),
                ops!(Block(m)) => (NameSpace::Label, m.0),
                ops!(Semaphore(s)) => (NameSpace::Semaphore, s.0),
                ops!(Barrier(b)) => (NameSpace::Barrier, b.0),
                Op::Yield => (NameSpace::Nothing, 7),
            };
            assert_eq!((space, id), (kind.name_space(), 7), "{kind:?}");
        }
    }

    #[test]
    fn accesses_are_plain_or_atomic() {
        let plain = |op: Op| matches!(op, ops!(Plain));
        let atomic = |op: Op| matches!(op, ops!(Atomic | Lock)) && matches!(op, ops!(Access));
        for &kind in Kind::ALL {
            let op = Op::new(kind, 0);
            let is_access = kind.name_space() == NameSpace::Variable;
            assert_eq!(plain(op) ^ atomic(op), is_access, "{kind:?}");
        }
    }
}
