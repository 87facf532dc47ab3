//! How an analysis ended, from which the command makes its exit status.

/// How an analysis ended. Several inputs: the worst of theirs, in the order given here.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Status {
    /// Everything was analysed, and nothing was found.
    Clean,
    /// Nothing was analysed: never a silent green.
    Nothing,
    /// There are findings.
    Findings,
    /// Part of the input was not analysed.
    Incomplete,
    /// The input could not be read, or the usage was wrong.
    Error,
}

impl Status {
    /// The worse of the two.
    pub fn and(self, other: Status) -> Status {
        self.max(other)
    }
}
