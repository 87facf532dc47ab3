//! Synchronizers that the application makes from `AbstractQueuedSynchronizer`: what acquires
//! happens after what released.
//!
//! Code names the application's own class, of which nothing may be known yet; so the calls are
//! found by their names, and whether the object is a synchronizer is seen when they run. The state
//! is part of it where the application looks at it outside of `tryAcquire` and its like: in these
//! it changes before it is known whether a thread waits.

use super::hooks::Snippet;
use super::names::{PLATFORM_HOOK, is_platform};
use crate::classfile::insn::op;
use crate::classfile::pool::Reference;
use crate::classfile::{Outcome, Pool};
use paceline_wire::Kind;

/// When the events of a call happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// A post before.
    Before,
    /// A take after.
    After,
    /// A take after, if it returns true.
    AfterSuccess,
    /// A take after, if it returns no negative number.
    AfterPermit,
    /// A post before, and a take after if it returns true.
    Around,
}

/// What a call means for a synchronizer; none if it means nothing, whatever the object is.
pub fn find(called: &Reference, method: &[u8]) -> Option<Moment> {
    let own = called.owner == b"java/util/concurrent/locks/AbstractQueuedSynchronizer";
    if is_platform(called.owner) && !own {
        return None;
    }
    let inside = [&b"try"[..], b"isHeld"].iter().any(|start| method.starts_with(start));
    Some(match (called.name, called.descriptor) {
        (b"acquire" | b"acquireShared", b"(I)V") => Moment::After,
        (b"acquireInterruptibly" | b"acquireSharedInterruptibly", b"(I)V") => Moment::After,
        (b"release" | b"releaseShared", b"(I)Z") => Moment::Before,
        (b"tryAcquire", b"(I)Z") => Moment::AfterSuccess,
        (b"tryAcquireShared", b"(I)I") => Moment::AfterPermit,
        (b"tryRelease" | b"tryReleaseShared", b"(I)Z") => Moment::Before,
        (b"getState", b"()I") if !inside => Moment::After,
        (b"setState", b"(I)V") if !inside => Moment::Before,
        (b"compareAndSetState", b"(II)Z") if !inside => Moment::Around,
        _ => return None,
    })
}

impl Moment {
    /// The kinds of its sites, in their order.
    pub fn kinds(self) -> &'static [Kind] {
        match self {
            Moment::Before => &[Kind::Post],
            Moment::After | Moment::AfterSuccess | Moment::AfterPermit => &[Kind::Take],
            Moment::Around => &[Kind::Post, Kind::Take],
        }
    }
}

/// What is inserted before a call and behind it; the first site is given.
pub fn around(
    moment: Moment,
    called: &Reference,
    site: u32,
    pool: &mut Pool,
) -> Outcome<(Vec<u8>, Vec<u8>)> {
    const RECORD: &[u8] = b"(Ljava/lang/Object;I)V";
    let given = called.descriptor.iter().skip(1).take_while(|&&b| b != b')').count();
    let before = Snippet::new(pool).ops(below(given, moment != Moment::Before));
    let before = match moment {
        Moment::Before | Moment::Around => {
            before.number(site)?.call_in(PLATFORM_HOOK, b"recordSync", RECORD)?
        }
        Moment::After | Moment::AfterSuccess | Moment::AfterPermit => before,
    };
    let before = before.code;
    let behind = Snippet::new(pool);
    let behind = match moment {
        Moment::Before => behind,
        Moment::After if called.descriptor.ends_with(b"V") => {
            behind.number(site)?.call_in(PLATFORM_HOOK, b"recordSync", RECORD)?
        }
        Moment::After => {
            behind.ops(&[op::SWAP]).number(site)?.call_in(PLATFORM_HOOK, b"recordSync", RECORD)?
        }
        Moment::AfterSuccess | Moment::AfterPermit | Moment::Around => {
            let name: &[u8] =
                if moment == Moment::AfterPermit { b"recordPermit" } else { b"recordSuccess" };
            let take = site + u32::from(moment == Moment::Around);
            let behind = behind.ops(&[op::DUP_X1]).number(take)?;
            behind.call_in(PLATFORM_HOOK, name, b"(Ljava/lang/Object;II)V")?
        }
    };
    Ok((before, behind.code))
}

/// Copies the object below so many small parameters: to the top, for an event before the call; or
/// (`keep`) under itself, for one behind it; both where there are two parameters.
fn below(given: usize, keep: bool) -> &'static [u8] {
    match (given, keep) {
        (0, _) => &[op::DUP],
        (1, false) => &[op::DUP2, op::POP],
        (1, true) => &[op::DUP2, op::POP, op::DUP_X2, op::POP],
        (_, _) => &[op::DUP2_X1, op::POP2, op::DUP_X2, op::DUP_X2],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(owner: &str, name: &str, descriptor: &str, method: &str) -> Option<Moment> {
        let [owner, name, descriptor] = [owner, name, descriptor].map(str::as_bytes);
        find(&Reference { owner, name, descriptor, interface: false }, method.as_bytes())
    }

    #[test]
    fn the_state_counts_outside_of_attempts() {
        assert_eq!(moment("App", "getState", "()I", "isOpen"), Some(Moment::After));
        assert_eq!(moment("App", "getState", "()I", "tryAcquire"), None);
        assert_eq!(moment("java/lang/Thread", "getState", "()I", "isOpen"), None);
    }
}
