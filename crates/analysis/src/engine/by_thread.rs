//! One value for each of a few threads: what several threads did to one variable, lock, semaphore
//! or barrier round since it was last cleared. Most lists are empty or have one entry.

use paceline_trace::ThreadId;

/// The values, in no particular order.
#[derive(Clone, Debug)]
pub struct ByThread<T>(Vec<(ThreadId, T)>);

impl<T> Default for ByThread<T> {
    fn default() -> Self {
        ByThread(Vec::new())
    }
}

impl<T> ByThread<T> {
    /// Sets the thread's value.
    #[inline]
    pub fn set(&mut self, thread: ThreadId, value: T) {
        match self.get_mut(thread) {
            Some(old) => *old = value,
            None => self.0.push((thread, value)),
        }
    }

    /// The thread's value.
    #[inline]
    pub fn get_mut(&mut self, thread: ThreadId) -> Option<&mut T> {
        self.0.iter_mut().find(|(t, _)| *t == thread).map(|(_, value)| value)
    }

    /// Forgets the thread's value.
    pub fn remove(&mut self, thread: ThreadId) {
        self.0.retain(|(t, _)| *t != thread);
    }

    /// Forgets everything, keeping the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// All values with their threads.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = (ThreadId, &T)> {
        self.0.iter().map(|(thread, value)| (*thread, value))
    }

    /// All values, mutable.
    #[inline]
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut().map(|(_, value)| value)
    }
}
