//! What happens when the agent itself fails: the program goes on, recording ends, and the report
//! says why. A panic must neither unwind into the virtual machine nor stop the process.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook};

use super::agent::agent;

thread_local! {
    /// What the last panic of this thread said.
    static WHY: RefCell<String> = const { RefCell::new(String::new()) };
}

/// From here on panics are remembered, and not printed: standard error is the program's.
pub fn install() {
    set_hook(Box::new(|info| WHY.set(describe(info))));
}

fn describe(info: &PanicHookInfo) -> String {
    let text = info.payload_as_str().unwrap_or("a panic");
    match info.location() {
        Some(at) => format!("{text} ({}:{})", at.file(), at.line()),
        None => text.to_owned(),
    }
}

/// Does something; none if it panicked, and then recording has ended.
pub fn shielded<T>(work: impl FnOnce() -> T) -> Option<T> {
    let outcome = catch_unwind(AssertUnwindSafe(work));
    if outcome.is_err() {
        // What fails here has no one left to hear of it.
        let _ = catch_unwind(|| {
            let why = WHY.take();
            if let Some(agent) = agent() {
                agent.sender.abandon(&why);
            }
        });
    }
    outcome.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_ends_here() {
        assert_eq!(shielded(|| 7), Some(7));
        let failing: [u8; 0] = [];
        assert_eq!(shielded(|| failing[failing.len()]), None);
    }
}
