//! Vector clocks: one number per thread. Threads that a clock has not heard of count 0, so clocks
//! need not grow when threads appear.

use paceline_trace::ThreadId;

/// A vector clock.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct VectorClock(Vec<u32>);

impl VectorClock {
    /// The thread's component.
    #[inline]
    pub fn get(&self, thread: ThreadId) -> u32 {
        self.0.get(thread.index()).copied().unwrap_or(0)
    }

    /// Sets the thread's component.
    pub fn set(&mut self, thread: ThreadId, time: u32) {
        self.reserve(thread.index() + 1);
        self.0[thread.index()] = time;
    }

    /// Takes the larger of both in every component.
    pub fn join(&mut self, other: &VectorClock) {
        self.reserve(other.0.len());
        for (mine, &theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(theirs);
        }
    }

    /// Becomes the same as another clock, keeping its own memory.
    pub fn assign(&mut self, other: &VectorClock) {
        self.0.clone_from(&other.0);
    }

    /// Whether no component is above the other clock's.
    pub fn is_before(&self, other: &VectorClock) -> bool {
        let known = self.0.len().min(other.0.len());
        self.0[..known].iter().zip(&other.0).all(|(a, b)| a <= b)
            && self.0[known..].iter().all(|&a| a == 0)
    }

    fn reserve(&mut self, threads: usize) {
        if self.0.len() < threads {
            self.0.resize(threads, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(times: &[u32]) -> VectorClock {
        VectorClock(times.to_vec())
    }

    #[test]
    fn missing_components_count_zero() {
        assert!(clock(&[1, 0, 0]).is_before(&clock(&[1])));
        assert!(!clock(&[1, 0, 1]).is_before(&clock(&[1])));
        assert!(clock(&[1]).is_before(&clock(&[1, 5])));
        assert_eq!(clock(&[1]).get(ThreadId(7)), 0);
    }

    #[test]
    fn join_is_the_least_upper_bound() {
        let (a, b) = (clock(&[3, 1]), clock(&[1, 2, 4]));
        let mut joined = a.clone();
        joined.join(&b);
        assert_eq!(joined, clock(&[3, 2, 4]));
        assert!(a.is_before(&joined) && b.is_before(&joined) && !joined.is_before(&a));
    }
}
