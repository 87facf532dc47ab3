//! The interleaving behind a finding as a table: one column per thread, time downwards. The two
//! events of a conflict carry the same letter: `w(x) a>` and later `>a r(x)`.

use std::fmt::Write as _;

use owo_colors::OwoColorize as _;

use crate::model::{Event, Finding};

/// The columns of a terminal that everybody has.
pub const WIDTH: usize = 80;
/// Room for the event's number.
const NUMBER: usize = 12;
const NARROWEST: usize = 14;

/// The table of a finding.
pub fn table(finding: &Finding) -> String {
    let threads = threads(finding);
    let width = ((WIDTH - NUMBER) / threads.len().max(1)).max(NARROWEST);
    let mut out = format!("{:>1$}", "event", NUMBER - 2);
    for (i, thread) in threads.iter().enumerate() {
        let name = shorten(&thread_name(thread), width - 2);
        let padding = if i + 1 == threads.len() { 0 } else { width - 2 - name.chars().count() };
        let _ = write!(out, "  {}{:padding$}", name.bold(), "");
    }
    end_line(&mut out);
    for event in &finding.threads {
        row(&mut out, finding, event, &threads, width);
    }
    out
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

fn row(out: &mut String, finding: &Finding, event: &Event, threads: &[&str], width: usize) {
    let _ = write!(out, "{:>1$}", event.event, NUMBER - 2);
    let column = threads.iter().position(|t| *t == event.thread).unwrap_or(0);
    let _ = write!(out, "{:1$}", "", column * width);
    let (before, after) = marks(finding, event);
    let room = width - 2 - before.len() - after.len();
    let what = what(event, room);
    let _ = write!(out, "  {}{what}{}", before.yellow().bold(), after.yellow().bold());
    end_line(out);
}

/// The operation and, if there is room for it, the place.
fn what(event: &Event, room: usize) -> String {
    let operation = event.operation();
    let with_site = format!("{operation} {}", event.site);
    let has_site = event.site != "?";
    if has_site && with_site.chars().count() <= room {
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

/// A long name loses its middle: the beginning and the end tell most.
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
