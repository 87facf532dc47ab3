//! What was analysed, in words: every output says it, so that a green can be trusted.

use crate::code;
use crate::model::{Input, Report};
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
pub fn asked(report: &Report) -> Vec<String> {
    let scope = &report.scope;
    let incomplete = report.incomplete.then(|| "not everything was analysed".to_owned());
    if scope.properties.is_empty() {
        return incomplete.into_iter().collect();
    }
    let filters = match scope.filters.len() {
        0 => "no filter".to_owned(),
        1 => format!("filter: {}", scope.filters[0]),
        _ => format!("filters: {}", list(&scope.filters, ", ")),
    };
    let dropped = match scope.dropped {
        0 => "nothing dropped".to_owned(),
        n => count(n, "event") + " dropped",
    };
    let checked = format!("checked {}", scope.properties.join(", "));
    [checked, filters, dropped].into_iter().chain(incomplete).collect()
}

/// Things one after the other.
pub fn list<T: ToString>(things: &[T], between: &str) -> String {
    things.iter().map(T::to_string).collect::<Vec<_>>().join(between)
}

/// How large the trace or the code is, in pieces.
pub fn size_of(report: &Report) -> Vec<String> {
    report.code.as_ref().map_or_else(|| size(&report.input).to_vec(), code::size)
}

/// All of it on one line.
pub fn line(report: &Report) -> String {
    let size = size_of(report).join(", ");
    [size].into_iter().chain(asked(report)).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Filter, Scope};

    #[test]
    fn what_was_left_out_is_said() {
        let mut report = crate::samples::report_of(Vec::new());
        report.scope = Scope { properties: vec!["race".to_owned()], ..Scope::default() };
        assert_eq!(asked(&report), ["checked race", "no filter", "nothing dropped"]);
        report.scope.filters =
            vec![Filter::Except { pattern: "main".to_owned() }, Filter::FirstOnly];
        (report.scope.dropped, report.incomplete) = (1, true);
        let said = ["filters: --except main, --first", "1 event dropped"];
        assert_eq!(asked(&report)[1..3], said);
        assert_eq!(asked(&report)[3], "not everything was analysed");
        report.scope = Scope::default();
        assert_eq!(asked(&report).len(), 1);
    }
}
