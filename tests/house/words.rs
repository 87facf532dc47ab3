//! The words of the field: `docs/glossary.md` has them, and says what each one means.

use crate::{assert_none, files, text};

/// What is not written, and what is written instead.
const INSTEAD: &[(&str, &str)] = &[
    ("at a glance", "fast path"),
    ("elder", "the oldest running transaction"),
    ("nobody", "no thread, no transaction, none"),
    ("somebody", "a thread, a transaction, a caller"),
    ("stamped behind", "stamped on return"),
    ("stories", "explanations"),
    ("story", "explanation"),
    ("told", "recorded, reported"),
    ("whoever", "the thread, the transaction, the event that"),
];

/// Files that must name these words to speak about them.
const EXEMPT: &[&str] = &["tests/house/words.rs", "docs/glossary.md"];

#[test]
fn the_words_are_those_of_the_field() {
    let mut complaints = Vec::new();
    let endings = [".rs", ".md", ".java", ".jasm", ".table", ".js", ".html", ".toml", ".py"];
    for path in files(&endings) {
        if EXEMPT.iter().any(|exempt| path.ends_with(exempt)) {
            continue;
        }
        for (number, line) in text(&path).lines().enumerate() {
            for (word, instead) in found_in(line) {
                let at = format!("{}:{}", path.display(), number + 1);
                complaints.push(format!("{at}: \"{word}\", better: {instead}"));
            }
        }
    }
    assert_none(&complaints);
}

/// The words in a line that should be others.
fn found_in(line: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let line = line.to_lowercase();
    let is_found = move |word: &str| {
        let is_part = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        line.match_indices(word).any(|(at, _)| {
            let (before, after) = (&line[..at], &line[at + word.len()..]);
            !is_part(before.chars().next_back()) && !is_part(after.chars().next())
        })
    };
    INSTEAD.iter().copied().filter(move |(word, _)| is_found(word))
}

#[test]
fn whole_words_are_found_whatever_their_case() {
    let words = |line| found_in(line).map(|(word, _)| word).collect::<Vec<_>>();
    assert_eq!(words("Nobody was told."), ["nobody", "told"]);
    assert_eq!(words("let told_twice = 1;"), ["told"]);
    assert_eq!(words("an untold number of elderberries, histories"), [""; 0]);
}
