//! Many vector clocks in one block of memory, all of the same width.

/// The position of a clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Row(u32);

impl Row {
    /// No clock: it knows nothing.
    pub const NONE: Row = Row(u32::MAX);
}

/// The clocks.
pub(super) struct Rows {
    times: Vec<u32>,
    /// At least 1.
    width: usize,
    free: Vec<Row>,
}

impl Rows {
    pub fn new() -> Rows {
        Rows { times: Vec::new(), width: 1, free: Vec::new() }
    }

    /// Makes every clock wide enough for `threads` threads.
    pub fn widen(&mut self, threads: usize) {
        if threads <= self.width {
            return;
        }
        // Threads may appear one by one, and each time all clocks are copied.
        let width = threads.next_power_of_two();
        let mut times = vec![0; self.times.len() / self.width * width];
        for (new, old) in times.chunks_mut(width).zip(self.times.chunks(self.width)) {
            new[..self.width].copy_from_slice(old);
        }
        (self.times, self.width) = (times, width);
    }

    /// A clock that knows nothing.
    pub fn allocate(&mut self) -> Row {
        if let Some(row) = self.free.pop() {
            self.get_mut(row).fill(0);
            return row;
        }
        let row = Row((self.times.len() / self.width) as u32);
        self.times.resize(self.times.len() + self.width, 0);
        row
    }

    /// Frees a clock.
    pub fn release(&mut self, row: Row) {
        self.free.push(row);
    }

    #[inline]
    pub fn get(&self, row: Row) -> &[u32] {
        let start = row.0 as usize * self.width;
        &self.times[start..start + self.width]
    }

    #[inline]
    pub fn get_mut(&mut self, row: Row) -> &mut [u32] {
        let start = row.0 as usize * self.width;
        &mut self.times[start..start + self.width]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_keep_their_times_when_threads_appear() {
        let mut rows = Rows::new();
        rows.widen(1);
        let (a, b) = (rows.allocate(), rows.allocate());
        rows.get_mut(a)[0] = 7;
        rows.get_mut(b)[0] = 8;
        rows.widen(3);
        rows.get_mut(a)[2] = 9;
        assert_eq!(rows.get(a)[..3], [7, 0, 9]);
        assert_eq!(rows.get(b)[..3], [8, 0, 0]);
        rows.release(a);
        assert_eq!(rows.allocate(), a);
        assert_eq!(rows.get(a)[..3], [0, 0, 0]);
    }
}
