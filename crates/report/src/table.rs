//! The interleaving behind a finding as a table: one column per thread, time downwards. The two
//! events of a conflict carry the same letter: `w(x) a>` and later `>a r(x)`.

use std::fmt::Write as _;

use crate::model::{Event, Finding};
use crate::paint::Paint as _;
use crate::stats::thousands;

/// The columns that every terminal has.
pub const WIDTH: usize = 80;
/// Room for the event's number.
const NUMBER: usize = 12;
/// Room for a thread's name, where it has no column.
const THREAD: usize = 20;

/// More threads than that get no columns of their own: they would not fit.
const MOST_COLUMNS: usize = 4;
/// Events that are not shown between two that are; from here on their number is shown.
const LONG: u64 = 10;
/// Of a table with more rows, the middle is left out.
const MOST_ROWS: usize = 60;

/// The table of a finding.
pub fn table(finding: &Finding) -> String {
    let threads = threads(finding);
    let columns = Columns::new(&threads);
    let mut out = columns.header();
    let hidden = hidden_rows(finding);
    let mut before: Option<&Event> = None;
    for (i, event) in finding.threads.iter().enumerate() {
        if i == hidden.start && !hidden.is_empty() {
            let _ = writeln!(out, "{:>10}  {} rows are left out", "⋮", hidden.len());
        }
        if hidden.contains(&i) {
            continue;
        }
        let between = before.map_or(0, |b| event.event.saturating_sub(b.event).saturating_sub(1));
        if between >= LONG && i != hidden.end {
            let text = format!("{:>10}  {} events", "⋮", thousands(between));
            let _ = writeln!(out, "{}", text.dimmed());
        }
        before = Some(event);
        columns.row(&mut out, finding, event);
    }
    out
}

/// Which rows are left out.
fn hidden_rows(finding: &Finding) -> std::ops::Range<usize> {
    let rows = finding.threads.len();
    if rows <= MOST_ROWS { 0..0 } else { MOST_ROWS / 2..rows - MOST_ROWS / 2 }
}

/// Whether the finding is about this very event.
pub fn in_conflict(finding: &Finding, event: &Event) -> bool {
    let is = |other: &Event| other.event == event.event;
    finding.cycle.is_empty() || finding.cycle.iter().any(|t| is(&t.edge.from) || is(&t.edge.to))
}

/// Where the threads are: side by side, or if they are many, named in each row.
struct Columns<'a> {
    threads: &'a [&'a str],
    width: usize,
}

impl Columns<'_> {
    fn new<'a>(threads: &'a [&'a str]) -> Columns<'a> {
        let columns = if threads.len() > MOST_COLUMNS { 1 } else { threads.len().max(1) };
        Columns { threads, width: (WIDTH - NUMBER) / columns }
    }

    fn are_named(&self) -> bool {
        self.threads.len() > MOST_COLUMNS
    }

    fn header(&self) -> String {
        let mut out = format!("{:>1$}", "event", NUMBER - 2);
        if self.are_named() {
            return format!("{out}  {:THREAD$}  {}\n", "thread".bold(), "operation".bold());
        }
        for thread in self.threads {
            let name = shorten(&thread_name(thread), self.width - 2);
            let padding = self.width - 2 - name.chars().count();
            let _ = write!(out, "  {}{:padding$}", name.bold(), "");
        }
        end_line(&mut out);
        out
    }

    fn row(&self, out: &mut String, finding: &Finding, event: &Event) {
        let number = format!("{}{}", if is_moved(finding, event) { "↓" } else { "" }, event.event);
        let _ = write!(out, "{number:>0$}", NUMBER - 2);
        let mut room = self.width - 2;
        if self.are_named() {
            let _ = write!(out, "  {:THREAD$}", shorten(&thread_name(&event.thread), THREAD));
            room -= THREAD + 2;
        } else {
            let column = self.threads.iter().position(|t| *t == event.thread).unwrap_or(0);
            let _ = write!(out, "{:1$}", "", column * self.width);
        }
        let (before, after) = marks(finding, event);
        let room = room.saturating_sub(before.len() + after.len());
        let what = what(event, room);
        let _ = write!(out, "  {}{what}{}", before.yellow().bold(), after.yellow().bold());
        end_line(out);
    }
}

/// Whether an event comes later than it was observed: after one with a higher number.
pub fn is_moved(finding: &Finding, event: &Event) -> bool {
    let before = finding.threads.iter().take_while(|other| other.event != event.event);
    finding.reordering.is_some() && before.into_iter().any(|other| other.event > event.event)
}

/// How a thread is called. Some traces only number them.
pub fn thread_name(name: &str) -> String {
    let is_number = !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit());
    if is_number { format!("thread {name}") } else { name.to_owned() }
}

/// The threads, in the order of their first events.
fn threads(finding: &Finding) -> Vec<&str> {
    let mut threads: Vec<&str> = Vec::new();
    for event in &finding.threads {
        if !threads.contains(&event.thread.as_str()) {
            threads.push(&event.thread);
        }
    }
    threads
}

/// The operation and, if there is room for it, the site.
fn what(event: &Event, room: usize) -> String {
    let operation = event.operation();
    let with_site = format!("{operation} {}", event.site);
    if event.site.is_known() && with_site.chars().count() <= room {
        return format!("{operation} {}", event.site.dimmed());
    }
    shorten(&operation, room)
}

/// The letters of the conflicts that lead into an event, and out of it.
fn marks(finding: &Finding, event: &Event) -> (String, String) {
    let (mut before, mut after) = (String::new(), String::new());
    for (letter, transaction) in ('a'..='z').cycle().zip(&finding.cycle) {
        if transaction.edge.to.event == event.event {
            let _ = write!(before, ">{letter} ");
        }
        if transaction.edge.from.event == event.event {
            let _ = write!(after, " {letter}>");
        }
    }
    (before, after)
}

fn end_line(out: &mut String) {
    out.truncate(out.trim_end().len());
    out.push('\n');
}

/// A long name loses its middle: the beginning and the end say most.
pub fn shorten(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let keep = width.saturating_sub(1);
    let head: String = text.chars().take(keep / 2).collect();
    let tail: String = text.chars().skip(length - (keep - keep / 2)).collect();
    format!("{head}…{tail}")
}

/// Puts words into lines that fit, all but the first behind `indent` blanks. `used` columns of the
/// first line are taken. Words of any length stay whole.
pub fn wrap<'a>(words: impl IntoIterator<Item = &'a str>, used: usize, indent: usize) -> String {
    let mut out = String::new();
    let mut column = used;
    for (i, word) in words.into_iter().enumerate() {
        let length = word.chars().count();
        if i > 0 && column + 1 + length > WIDTH {
            let _ = write!(out, "\n{:indent$}", "");
            column = indent;
        } else if i > 0 {
            out.push(' ');
            column += 1;
        }
        out += word;
        column += length;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_wrapped_behind_their_heading() {
        assert_eq!(wrap(["one", "two"], 0, 2), "one two");
        assert_eq!(wrap(["one", "two"], 74, 2), "one\n  two");
        assert_eq!(wrap(["one", "two"], 73, 2), "one two");
        assert_eq!(wrap([&*"w".repeat(90)], 8, 8), "w".repeat(90));
    }

    #[test]
    fn long_names_lose_their_middle() {
        assert_eq!(shorten("short", 5), "short");
        assert_eq!(shorten("java/util/Vector.add", 11), "java/…r.add");
        assert_eq!(shorten("java/util/Vector.add", 2), "…d");
    }
}
