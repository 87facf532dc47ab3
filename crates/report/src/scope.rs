//! What was analysed, in words: every output says it, so that a green can be trusted.

use crate::model::{Input, Report, Scope};
use crate::stats::thousands;

/// `1 lock`, `2 locks`.
pub fn count(number: u64, what: &str) -> String {
    format!("{} {what}{}", thousands(number), if number == 1 { "" } else { "s" })
}

/// How large the trace is, in pieces.
pub fn size(input: &Input) -> [String; 5] {
    [
        count(input.events, "event"),
        count(input.threads, "thread"),
        count(input.variables, "variable"),
        count(input.locks, "lock"),
        count(input.transactions, "block"),
    ]
}

/// What was asked, what was left out on demand, and what could not be used. Reports of versions
/// that did not say so have nothing here.
pub fn asked(scope: &Scope) -> Vec<String> {
    if scope.properties.is_empty() {
        return Vec::new();
    }
    let filters = match scope.filters.len() {
        0 => "no filter".to_owned(),
        1 => format!("filter: {}", scope.filters[0]),
        _ => format!("filters: {}", scope.filters.join(", ")),
    };
    let dropped = match scope.dropped {
        0 => "nothing dropped".to_owned(),
        n => count(n, "event") + " dropped",
    };
    vec![format!("checked {}", scope.properties.join(", ")), filters, dropped]
}

/// All of it on one line.
pub fn line(report: &Report) -> String {
    let size = size(&report.input).join(", ");
    let incomplete = report.incomplete.then(|| "not everything was analysed".to_owned());
    [size].into_iter().chain(asked(&report.scope)).chain(incomplete).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_out_is_said() {
        let words = |list: &[&str]| list.iter().map(|&w| w.to_owned()).collect();
        let all = Scope { properties: words(&["race"]), ..Scope::default() };
        assert_eq!(asked(&all), ["checked race", "no filter", "nothing dropped"]);
        let filters = words(&["--except main", "--first"]);
        let some = Scope { filters, dropped: 1, ..all };
        assert_eq!(asked(&some)[1..], ["filters: --except main, --first", "1 event dropped"]);
        assert!(asked(&Scope::default()).is_empty());
    }
}
