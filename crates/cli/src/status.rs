//! The exit status, decided in one place.

use std::io::Write as _;
use std::process::ExitCode;

use owo_colors::OwoColorize as _;

pub use paceline::Status;

/// The number that the shell sees.
fn code(status: Status) -> u8 {
    match status {
        Status::Clean => 0,
        Status::Findings => 1,
        Status::Error => 2,
        Status::Incomplete => 3,
        Status::Nothing => 4,
    }
}

/// The exit status of this process.
pub fn exit_code(status: Status) -> ExitCode {
    code(status).into()
}

/// Reports what went wrong.
pub fn complain(error: &anyhow::Error) {
    write_line(&format!("{} {error:#}", "error:".red().bold()));
}

/// Reports what the user should know about the result.
pub fn note(message: &str) {
    write_line(&format!("{} {message}", "note:".cyan().bold()));
}

/// Reports what did not go as the user wanted although the work goes on.
pub fn warn(message: &str) {
    write_line(&format!("{} {message}", "warning:".yellow().bold()));
}

/// Writes to standard error. Where that is closed, the exit status has to do.
fn write_line(line: &str) {
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
        assert_eq!(order.map(code), [2, 3, 1, 4, 0]);
    }
}
