//! The dataflow facts at a point of a method.
//!
//! The paper keeps a triple ⟨R, T, P⟩ for every scope. Here a stack of frames, one for each lock
//! that is held, keeps R; the frame at the bottom is the method itself. A lock that is released
//! for the second time while it is in R is a member of T and goes to the sink at once, with the
//! frame it happened in: in the frame of another lock that makes it a member of P, in the method's
//! own frame it stays a potential witness for the callers. T and P only ever grow, so nothing is
//! lost by not carrying them along. Locks that are held already are passed over when they are
//! taken again (Java's locks are re-entrant): the paper's `\ {e}` for every frame at once.

use crate::body::Style;
use crate::composite::Question;
use crate::expr::{FieldId, LockExpr, Root};
use crate::held::{At, Taking};
use crate::link::Link;

/// A lock that was taken and given back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Released {
    /// The lock.
    pub lock: LockExpr,
    /// How it was taken.
    pub taking: Taking,
}

/// A lock that is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Context {
    /// The lock; `*` when it is not known which.
    pub lock: LockExpr,
    /// What kind it is.
    pub style: Style,
    /// Where it was taken.
    pub at: At,
}

/// What happened since a lock was taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// The lock.
    pub context: Context,
    /// R: the locks taken and given back since, sorted by place.
    pub released: Vec<Released>,
}

/// A lock, or two in the pair variant, taken and given back twice: a member of T.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Twice {
    /// The first time.
    pub first: Released,
    /// The second time.
    pub second: Released,
    /// The lock held all the time; none in the method's own frame.
    pub context: Option<Context>,
    /// How the first time matters for the second.
    pub link: Link,
}

/// Open questions that are carried along. Straight code has few; in generated methods of thousands
/// of lines the oldest are dropped.
const QUESTIONS: usize = 32;

/// The facts at one point.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct State {
    /// The frames, the method's own first.
    pub frames: Vec<Frame>,
    /// The codes of fresh objects that others may have found by now, sorted.
    pub escaped: Vec<u32>,
    /// Open questions.
    pub questions: Vec<Question>,
    /// Other names of held locks, with the number of the frame: a variable that holds one of two
    /// locks, because they are taken in an order, names both of them.
    pub also_held: Vec<(usize, LockExpr)>,
}

impl State {
    /// At the start of a method.
    pub fn new() -> State {
        let own = Context { lock: LockExpr::UNKNOWN, style: Style::Monitor, at: At::default() };
        State {
            frames: vec![Frame { context: own, released: Vec::new() }],
            escaped: Vec::new(),
            questions: Vec::new(),
            also_held: Vec::new(),
        }
    }

    /// The locks that are held, outermost first.
    pub fn contexts(&self) -> impl DoubleEndedIterator<Item = Context> + '_ {
        self.frames[1..].iter().map(|f| f.context)
    }

    /// Whether a lock is held.
    pub fn holds(&self, lock: LockExpr) -> bool {
        self.contexts().any(|c| c.lock == lock) || self.also_held.iter().any(|a| a.1 == lock)
    }

    /// Takes a lock.
    pub fn enter(&mut self, context: Context) {
        self.frames.push(Frame { context, released: Vec::new() });
    }

    /// Gives a lock back: `SYNC e sb` of figure 6(a), where R_sb ∪ {e} joins the frame below.
    /// Monitors are given back in order; explicit locks by name.
    pub fn exit(
        &mut self,
        lock: LockExpr,
        style: Style,
        pairs: bool,
        sink: &mut impl FnMut(Twice),
    ) {
        let fits = |c: &Context| c.style == style && (style == Style::Monitor || c.lock == lock);
        let Some(index) = self.frames.iter().skip(1).rposition(|f| fits(&f.context)) else {
            return;
        };
        let frame = self.frames.remove(index + 1);
        self.also_held.retain(|a| a.0 < self.frames.len());
        self.questions.iter_mut().for_each(|q| q.held.forget(frame.context.at.pc));
        let own = Released { lock: frame.context.lock, taking: Taking::here(frame.context.at) };
        let mut released = frame.released;
        released.push(own);
        self.release(index, &released, pairs, sink);
    }

    /// The transfer function ⟨R ∪ L, T ∪ (R ∩ L), P⟩ of figure 6(b), or with R × L for pairs
    /// (figure 9), in the frame with this number.
    pub fn release(
        &mut self,
        frame: usize,
        locks: &[Released],
        pairs: bool,
        sink: &mut impl FnMut(Twice),
    ) {
        let (outer, rest) = self.frames.split_at_mut(frame);
        let also = &self.also_held;
        let held = |lock: LockExpr| {
            outer.iter().any(|f| f.context.lock == lock) || also.iter().any(|a| a.1 == lock)
        };
        let Some(frame) = rest.first_mut() else { return };
        let context = (!outer.is_empty()).then_some(frame.context);
        let escaped = &self.escaped;
        let counts = |lock: LockExpr| {
            is_lock(lock) && lock != frame.context.lock && !held(lock) && !is_private(lock, escaped)
        };
        let locks: Vec<Released> = locks.iter().copied().filter(|l| counts(l.lock)).collect();
        for &second in &locks {
            for &first in &frame.released {
                if first.lock == second.lock || (pairs && counts(first.lock)) {
                    sink(Twice { first, second, context, link: Link::None });
                }
            }
        }
        for lock in locks {
            insert(&mut frame.released, lock);
        }
    }

    /// `x := y`: removes the locks that depend on x from R.
    pub fn forget(&mut self, depends: impl Fn(&LockExpr) -> bool) {
        for frame in &mut self.frames {
            frame.released.retain(|r| !depends(&r.lock));
        }
        self.questions.retain(|q| !depends(&q.object) && !depends(&q.key));
        self.also_held.retain(|a| !depends(&a.1));
    }

    /// A question is asked.
    pub fn ask(&mut self, question: Question) {
        if !self.questions.contains(&question) {
            if self.questions.len() == QUESTIONS {
                self.questions.remove(0);
            }
            self.questions.push(question);
        }
    }

    /// A root gets a new value.
    pub fn define(&mut self, root: u32) {
        self.forget(|place| place.depends_on(root));
        self.escaped.retain(|&e| e != root);
    }

    /// A field is assigned.
    pub fn set_field(&mut self, field: FieldId) {
        self.forget(|place| place.goes_through(field));
    }

    /// A fresh object becomes known to others.
    pub fn escape(&mut self, object: LockExpr) {
        let known = self.escaped.binary_search(&object.root_code());
        if let (Root::New(_), Err(at)) = (object.root(), known) {
            self.escaped.insert(at, object.root_code());
        }
    }

    /// Whether a place belongs to a fresh object that no other thread can know.
    pub fn is_private(&self, place: LockExpr) -> bool {
        is_private(place, &self.escaped)
    }

    /// A wait gives the lock up: what was released before may have changed, and code that waits
    /// expects that.
    pub fn wait(&mut self) {
        self.frames[1..].iter_mut().for_each(|f| f.released.clear());
    }

    /// The join: unions, frame by frame. Where the frames differ, which only odd code does, those
    /// that both have are kept. Says whether anything changed.
    pub fn join(&mut self, other: &State) -> bool {
        let same =
            self.frames.iter().zip(&other.frames).take_while(|(a, b)| a.context == b.context);
        let common = same.count().max(1);
        let mut changed = self.frames.len() > common;
        self.frames.truncate(common);
        for (mine, theirs) in self.frames.iter_mut().zip(&other.frames) {
            for &released in &theirs.released {
                changed |= insert(&mut mine.released, released);
            }
        }
        for &root in &other.escaped {
            if let Err(at) = self.escaped.binary_search(&root) {
                self.escaped.insert(at, root);
                changed = true;
            }
        }
        for question in &other.questions {
            if !self.questions.contains(question) && self.questions.len() < QUESTIONS {
                self.questions.push(*question);
                changed = true;
            }
        }
        let also = self.also_held.len();
        self.also_held.retain(|a| a.0 < common && other.also_held.contains(a));
        changed | (also != self.also_held.len())
    }
}

/// A constant is no lock, and `*` is never a witness.
fn is_lock(place: LockExpr) -> bool {
    !place.is_unknown() && !matches!(place.root(), Root::Int(_) | Root::Lambda(_))
}

fn is_private(place: LockExpr, escaped: &[u32]) -> bool {
    matches!(place.root(), Root::New(_)) && escaped.binary_search(&place.root_code()).is_err()
}

/// Keeps one way to each lock: the likeliest, then the first in the code.
fn insert(released: &mut Vec<Released>, new: Released) -> bool {
    let rank = |t: &Taking| (std::cmp::Reverse((t.share, t.always)), t.at);
    match released.binary_search_by_key(&new.lock, |r| r.lock) {
        Err(at) => released.insert(at, new),
        Ok(at) if rank(&new.taking) < rank(&released[at].taking) => released[at] = new,
        Ok(_) => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn released(param: u32, pc: u16) -> Released {
        let at = At { pc, line: pc };
        Released { lock: LockExpr::param(param), taking: Taking::here(at) }
    }

    fn monitor(param: u32) -> Context {
        Context { lock: LockExpr::param(param), style: Style::Monitor, at: At::default() }
    }

    fn collect(
        state: &mut State,
        act: impl FnOnce(&mut State, &mut dyn FnMut(Twice)),
    ) -> Vec<Twice> {
        let mut found = Vec::new();
        act(state, &mut |t| found.push(t));
        found
    }

    #[test]
    fn the_second_release_in_a_frame_is_a_witness_with_its_context() {
        let mut state = State::new();
        state.enter(monitor(0));
        let first =
            collect(&mut state, |s, mut sink| s.release(1, &[released(1, 4)], false, &mut sink));
        assert!(first.is_empty());
        let second =
            collect(&mut state, |s, mut sink| s.release(1, &[released(1, 5)], false, &mut sink));
        assert_eq!(second[0].context, Some(monitor(0)));
        assert_eq!((second[0].first.taking.at.pc, second[0].second.taking.at.pc), (4, 5));
    }

    #[test]
    fn a_lock_that_is_held_is_not_taken_again() {
        let mut state = State::new();
        state.enter(monitor(1));
        let found = collect(&mut state, |s, mut sink| {
            s.release(1, &[released(1, 4)], false, &mut sink);
            s.release(1, &[released(1, 5)], false, &mut sink);
        });
        assert!(found.is_empty());
    }

    #[test]
    fn an_exit_releases_the_lock_and_what_was_released_under_it_in_the_frame_below() {
        let mut state = State::new();
        let found = collect(&mut state, |s, mut sink| {
            for pc in [3, 6] {
                s.enter(monitor(0));
                s.release(1, &[released(1, pc)], false, &mut sink);
                s.exit(LockExpr::param(0), Style::Monitor, false, &mut sink);
            }
        });
        let locks: Vec<_> = found.iter().map(|t| (t.second.lock, t.context)).collect();
        assert_eq!(locks, [(LockExpr::param(1), None), (LockExpr::param(0), None)]);
    }

    #[test]
    fn pairs_of_different_locks_count_only_in_the_variant() {
        for (pairs, count) in [(false, 0), (true, 1)] {
            let mut state = State::new();
            let found = collect(&mut state, |s, mut sink| {
                s.release(0, &[released(1, 1)], pairs, &mut sink);
                s.release(0, &[released(2, 2)], pairs, &mut sink);
            });
            assert_eq!(found.len(), count);
        }
    }

    #[test]
    fn an_assignment_removes_the_locks_that_depend_on_it() {
        let mut state = State::new();
        let found = collect(&mut state, |s, mut sink| {
            s.release(0, &[released(1, 1)], false, &mut sink);
            s.define(LockExpr::param(1).root_code());
            s.release(0, &[released(1, 2)], false, &mut sink);
        });
        assert!(found.is_empty());
    }

    #[test]
    fn private_objects_have_no_contended_lock() {
        let mut state = State::new();
        let fresh = LockExpr::root_only(Root::New(9));
        let lock = |pc| Released { lock: fresh, ..released(0, pc) };
        let found = collect(&mut state, |s, mut sink| {
            s.release(0, &[lock(1)], false, &mut sink);
            s.escape(fresh);
            s.release(0, &[lock(2)], false, &mut sink);
            s.release(0, &[lock(3)], false, &mut sink);
        });
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].first.taking.at.pc, 2);
    }

    #[test]
    fn explicit_locks_are_given_back_by_name() {
        let explicit = |n| Context { style: Style::Explicit, ..monitor(n) };
        let mut state = State::new();
        state.enter(explicit(1));
        state.enter(explicit(2));
        state.exit(LockExpr::param(1), Style::Explicit, false, &mut |_| {});
        assert!(state.holds(LockExpr::param(2)) && !state.holds(LockExpr::param(1)));
    }

    #[test]
    fn a_join_keeps_the_common_frames_and_unites_the_facts() {
        let (mut a, mut b) = (State::new(), State::new());
        a.release(0, &[released(1, 1)], false, &mut |_| {});
        b.release(0, &[released(2, 2)], false, &mut |_| {});
        assert!(a.join(&b));
        assert!(!a.join(&b));
        assert_eq!(a.frames[0].released.len(), 2);
        b.enter(monitor(3));
        assert!(!a.join(&b));
        assert!(b.join(&a));
        assert_eq!(b.frames.len(), 1);
    }
}
