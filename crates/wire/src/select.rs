//! Which blocks are meant to be atomic: the same patterns for a recorder, which need not record the
//! others, and for a reader, which leaves them out.
//!
//! A log of method calls has a block for every method, atomic or not. Patterns say which of them
//! count; the `begin` and `end` of the others are taken out before the events are
//! numbered.
//!
//! - Without `atomic` patterns all methods count but those named `main` or `run`, as in the
//!   AeroDrome paper. A trace of declared blocks has no such exception: all blocks count.
//! - With `atomic` patterns the methods that match one of them count, whatever their names.
//! - What matches an `except` pattern does not count in any case.
//!
//! # Patterns
//! In a pattern `*` stands for any text, also for none; everything else stands for itself, except
//! that `/` and `.` are the same. (`[`, `$`, `?` and the like are parts of method signatures.)
//! - A pattern with a `(` must match the whole label: `p/Set.add(I)V`, `*.add(*`.
//! - A pattern without is about the label up to its first `(`, and must match all of it or all
//!   that follows one of its dots: `Set.add`, `add`, `p.Set.add` and `Set.*` all match
//!   `p/Set.add(I)V`. `et.add` does not.
//!
//! A file of patterns has one a line. Blanks around it, blank lines and lines that start with `#`
//! mean nothing.

use crate::text::show_name;

/// What `begin` and `end` stand for in a trace.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Blocks {
    /// Blocks declared atomic: all of them count.
    #[default]
    Declared,
    /// Entry and exit of every method: a selection says which are meant to be atomic.
    Methods,
}

/// A pattern for labels.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Pattern {
    /// As it was given.
    text: Vec<u8>,
    /// With dots for slashes.
    dotted: Vec<u8>,
}

impl Pattern {
    fn new(text: Vec<u8>) -> Pattern {
        let dotted = dotted(&text);
        Pattern { text, dotted }
    }

    fn matches(&self, label: &[u8]) -> bool {
        let label = dotted(label);
        if self.dotted.contains(&b'(') {
            return glob(&self.dotted, &label);
        }
        let name = name_of(&label);
        let after_dots = name.iter().enumerate().filter(|&(_, &b)| b == b'.').map(|(i, _)| i + 1);
        [0].into_iter().chain(after_dots).any(|start| glob(&self.dotted, &name[start..]))
    }
}

fn dotted(text: &[u8]) -> Vec<u8> {
    text.iter().map(|&b| if b == b'/' { b'.' } else { b }).collect()
}

/// A label without its descriptor.
fn name_of(label: &[u8]) -> &[u8] {
    label.split(|&b| b == b'(').next().unwrap_or(label)
}

/// Whether `pattern`, where `*` is any text, matches all of `text`. The pieces between the stars
/// are each found as early as possible, which leaves the most for the later ones.
pub fn glob(pattern: &[u8], text: &[u8]) -> bool {
    let mut pieces = pattern.split(|&b| b == b'*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
    for piece in pieces {
        match find(rest, piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Where `piece` starts in `text`. Labels are short and looked at once.
fn find(text: &[u8], piece: &[u8]) -> Option<usize> {
    if piece.is_empty() {
        return Some(0);
    }
    text.windows(piece.len()).position(|window| window == piece)
}

/// The patterns in a file.
pub fn patterns_in(file: &[u8]) -> Vec<Vec<u8>> {
    file.split(|&b| b == b'\n')
        .map(<[u8]>::trim_ascii)
        .filter(|line| !line.is_empty() && !line.starts_with(b"#"))
        .map(<[u8]>::to_vec)
        .collect()
}

/// Which labels count.
#[derive(Clone, Default, Debug)]
pub struct Selection {
    atomic: Vec<Pattern>,
    except: Vec<Pattern>,
}

impl Selection {
    /// Counts what matches one of `atomic` (all but `main` and `run` when there are none) and none
    /// of `except`.
    pub fn new(
        atomic: impl IntoIterator<Item = Vec<u8>>,
        except: impl IntoIterator<Item = Vec<u8>>,
    ) -> Selection {
        Selection {
            atomic: atomic.into_iter().map(Pattern::new).collect(),
            except: except.into_iter().map(Pattern::new).collect(),
        }
    }

    /// The patterns as they were given: those of `atomic`, and those of `except`.
    pub fn patterns(&self) -> [Vec<String>; 2] {
        let shown = |p: &Pattern| show_name(&p.text).into_owned();
        [&self.atomic, &self.except].map(|patterns| patterns.iter().map(shown).collect())
    }

    /// How many patterns there are.
    pub fn len(&self) -> usize {
        self.atomic.len() + self.except.len()
    }

    /// Whether there are no patterns.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether there are any patterns.
    pub fn is_given(&self) -> bool {
        !self.is_empty()
    }

    /// Whether this label counts.
    pub fn selects(&self, label: &[u8], blocks: Blocks) -> bool {
        self.decide(label, blocks, &mut vec![false; self.len()])
    }

    /// Decides about a label, and notes in `used` which patterns match it: those of `atomic`
    /// first. There must be room for [`Selection::len`] of them.
    pub fn decide(&self, label: &[u8], blocks: Blocks, used: &mut [bool]) -> bool {
        let mut any = [false; 2];
        for (i, pattern) in self.atomic.iter().chain(&self.except).enumerate() {
            if pattern.matches(label) {
                used[i] = true;
                any[usize::from(i >= self.atomic.len())] = true;
            }
        }
        let [atomic, except] = any;
        let counts =
            if self.atomic.is_empty() { !is_default_exception(label, blocks) } else { atomic };
        counts && !except
    }
}

fn is_default_exception(label: &[u8], blocks: Blocks) -> bool {
    let method = name_of(label).rsplit(|&b| b == b'.').next().unwrap_or_default();
    blocks == Blocks::Methods && matches!(method, b"main" | b"run")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, label: &str) -> bool {
        Pattern::new(pattern.into()).matches(label.as_bytes())
    }

    #[test]
    fn patterns_match_as_documented() {
        let label = "p/q/Set$1.add([Ljava/lang/String;)V";
        for pattern in [
            label,
            "p.q.Set$1.add([Ljava.lang.String;)V",
            "p/q/Set$1.add(*",
            "*.add(*)V",
            "*add(*String*",
            "p/q/Set$1.add",
            "p.q.Set$1.add",
            "Set$1.add",
            "add",
            "Set$1.*",
            "q.Set*",
            "a*d",
            "*",
            "**",
        ] {
            assert!(matches(pattern, label), "{pattern}");
        }
        for pattern in [
            "Set.add",
            "et$1.add",
            "ad",
            "p.q",
            "Set$1.add([Ljava/lang/String;)V",
            "p/q/Set$1.add([Ljava/lang/String;)",
            "p/q/Set?1.add",
            "java/lang/String",
            "*add*String*",
            "String;",
            "add()V",
            "a*dd*d",
            "",
        ] {
            assert!(!matches(pattern, label), "{pattern}");
        }
        assert!(matches("Account.*", "bank/Account.deposit"));
        assert!(matches("m", "m"));
    }

    #[test]
    fn pattern_files_have_comments_and_any_line_ends() {
        let file = b"# not atomic\r\n\r\nA.f(I)V\r\n  B.* \n\n#C\nD.g";
        let patterns: [&[u8]; 3] = [b"A.f(I)V", b"B.*", b"D.g"];
        assert_eq!(patterns_in(file), patterns);
    }
}
