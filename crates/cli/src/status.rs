//! The exit status, decided in one place.

use std::io::Write as _;

use owo_colors::OwoColorize as _;

/// How a command ended. Several inputs: the worst of theirs, in the order given here.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Status {
    /// All is well.
    Clean,
    /// Nothing was analysed: never a silent green.
    Nothing,
    /// There are findings.
    Findings,
    /// Not everything was looked at.
    Incomplete,
    /// Usage or input error.
    Error,
}

impl Status {
    /// The worse of the two.
    pub fn and(self, other: Status) -> Status {
        self.max(other)
    }

    fn code(self) -> u8 {
        match self {
            Status::Clean => 0,
            Status::Findings => 1,
            Status::Error => 2,
            Status::Incomplete => 3,
            Status::Nothing => 4,
        }
    }
}

impl From<Status> for std::process::ExitCode {
    fn from(status: Status) -> Self {
        status.code().into()
    }
}

/// Tells what went wrong.
pub fn complain(error: &anyhow::Error) {
    tell(&format!("{} {error:#}", "error:".red().bold()));
}

/// Tells what the user should know about the result.
pub fn note(message: &str) {
    tell(&format!("{} {message}", "note:".cyan().bold()));
}

/// Tells what went not as the user wanted although the work goes on.
pub fn warn(message: &str) {
    tell(&format!("{} {message}", "warning:".yellow().bold()));
}

/// Where nobody can be told, the exit status has to do.
fn tell(line: &str) {
    let _ = writeln!(anstream::stderr(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_of_several_counts() {
        let order =
            [Status::Error, Status::Incomplete, Status::Findings, Status::Nothing, Status::Clean];
        for (i, &worse) in order.iter().enumerate() {
            assert!(order[i..].iter().all(|&other| worse.and(other) == worse));
        }
        assert_eq!(order.map(Status::code), [2, 3, 1, 4, 0]);
    }
}
