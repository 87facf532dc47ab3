//! Which blocks of a trace are meant to be atomic.
//!
//! A log of method calls has a block for every method, atomic or not. Patterns say which of them
//! count; the `begin` and `end` of the others are taken out before the events are
//! numbered.
//!
//! - Without `atomic` patterns all methods count but those named `main` or `run`, as in the
//!   AeroDrome paper. A trace whose blocks are declared has no such exception: all blocks count.
//! - With `atomic` patterns the methods that match one of them count, whatever their names.
//! - What matches an `except` pattern does not count in any case.
//!
//! # Patterns
//! In a pattern `*` stands for any text, also for none; everything else stands for itself, except
//! that `/` and `.` are the same. (`[`, `$`, `?` and the like are parts of method signatures.)
//! - A pattern with a `(` must match the whole label: `p/Set.add(I)V`, `*.add(*`.
//! - A pattern without is about the label up to its first `(`, and must match all of it or all
//!   that stands behind one of its dots: `Set.add`, `add`, `p.Set.add` and `Set.*` all match
//!   `p/Set.add(I)V`. `et.add` does not.
//!
//! A file of patterns has one a line. Blanks around it, blank lines and lines that start with `#`
//! mean nothing.

use std::sync::Arc;

use crate::error::{Error, show_name};
use crate::event::{Event, Op};
use crate::ids::LabelId;
use crate::source::{Batch, Blocks, Skipped, Source};
use crate::symbols::Symbols;

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
        let behind_dots = name.iter().enumerate().filter(|&(_, &b)| b == b'.').map(|(i, _)| i + 1);
        [0].into_iter().chain(behind_dots).any(|start| glob(&self.dotted, &name[start..]))
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
/// are each found as early as possible, which leaves the most for those behind.
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

    /// Whether there are any patterns.
    pub fn is_given(&self) -> bool {
        !self.atomic.is_empty() || !self.except.is_empty()
    }

    /// Whether this label counts.
    pub fn selects(&self, label: &[u8], blocks: Blocks) -> bool {
        self.decide(label, blocks, &mut vec![false; self.atomic.len() + self.except.len()])
    }

    /// Decides about a label, and notes in `used` which patterns match it: those of `atomic`
    /// first.
    fn decide(&self, label: &[u8], blocks: Blocks, used: &mut [bool]) -> bool {
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

/// A source without the blocks that a selection leaves out.
pub struct Selected<S> {
    source: S,
    selection: Selection,
    blocks: Blocks,
    /// By label: whether it counts.
    counts: Vec<bool>,
    /// By pattern, those of `atomic` first: whether it has matched a label.
    used: Vec<bool>,
    /// By thread: for each open block, whether it counts. A bare `end` goes with its `begin`.
    open: Vec<Vec<bool>>,
}

impl<S: Source> Selected<S> {
    /// Takes the blocks that `selection` leaves out from `source`.
    pub fn new(source: S, selection: Selection, blocks: Blocks) -> Selected<S> {
        let used = vec![false; selection.atomic.len() + selection.except.len()];
        Selected { source, selection, blocks, counts: Vec::new(), used, open: Vec::new() }
    }

    /// The patterns that have matched no label so far: probably spelt wrong.
    pub fn unmatched(&self) -> Vec<String> {
        let patterns = self.selection.atomic.iter().chain(&self.selection.except);
        let unused = patterns.zip(&self.used).filter(|(_, used)| !**used);
        unused.map(|(pattern, _)| show_name(&pattern.text).into_owned()).collect()
    }

    /// How many labels count so far, and how many do not.
    pub fn labels(&self) -> (usize, usize) {
        let selected = self.counts.iter().filter(|&&counts| counts).count();
        (selected, self.counts.len() - selected)
    }

    /// Reads the next events without taking any out, and tells for each whether it counts.
    pub fn read_all(&mut self, batch: &mut Batch, counts: &mut Vec<bool>) -> Result<(), Error> {
        let outcome = self.source.read(batch);
        self.prepare(batch);
        let open = &mut self.open;
        let events = batch.events.iter();
        counts.clear();
        counts.extend(events.map(|e| keep(e, &self.counts, &mut open[e.thread.index()])));
        outcome
    }

    fn decide_new_labels(&mut self) {
        let labels = &self.source.symbols().labels;
        for id in self.counts.len()..labels.len() {
            let label = labels.name(id as u32);
            self.counts.push(self.selection.decide(label, self.blocks, &mut self.used));
        }
    }

    fn prepare(&mut self, batch: &Batch) {
        self.decide_new_labels();
        if self.open.len() < batch.counts.threads {
            self.open.resize(batch.counts.threads, Vec::new());
        }
    }

    fn filter(&mut self, batch: &mut Batch) {
        self.prepare(batch);
        let (counts, open) = (&self.counts, &mut self.open);
        batch.retain(|event| keep(event, counts, &mut open[event.thread.index()]));
    }
}

#[inline]
fn keep(event: &Event, counts: &[bool], open: &mut Vec<bool>) -> bool {
    let of_label = |label: LabelId| !label.is_named() || counts[label.index()];
    match event.op {
        Op::Begin(label) => {
            open.push(of_label(label));
            of_label(label)
        }
        Op::End(label) => {
            let begun = open.pop().unwrap_or(true);
            if label.is_named() { of_label(label) } else { begun }
        }
        Op::Read(_)
        | Op::Write(_)
        | Op::Acquire(_)
        | Op::Release(_)
        | Op::AcquireShared(_)
        | Op::ReleaseShared(_)
        | Op::Fork(_)
        | Op::Join(_)
        | Op::Yield
        | Op::PreWait(_)
        | Op::PostWait(_)
        | Op::Notify(_)
        | Op::AtomicRead(_)
        | Op::AtomicWrite(_)
        | Op::AtomicUpdate(_)
        | Op::Post(_)
        | Op::Take(_)
        | Op::BarrierEnter(_)
        | Op::BarrierExit(_) => true,
    }
}

impl<S: Source> Source for Selected<S> {
    fn read(&mut self, batch: &mut Batch) -> Result<(), Error> {
        loop {
            let outcome = self.source.read(batch);
            let at_end = batch.events.is_empty();
            self.filter(batch);
            // An empty batch would mean the end.
            if outcome.is_err() || at_end || !batch.events.is_empty() {
                return outcome;
            }
        }
    }

    fn symbols(&self) -> &Symbols {
        self.source.symbols()
    }

    fn skipped(&self) -> &Skipped {
        self.source.skipped()
    }

    fn share_symbols(&self) -> Option<Arc<Symbols>> {
        self.source.share_symbols()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::std::StdReader;
    use crate::notation::Trace;

    fn selection(atomic: &[&str], except: &[&str]) -> Selection {
        let bytes = |list: &[&str]| list.iter().map(|p| p.as_bytes().to_vec()).collect::<Vec<_>>();
        Selection::new(bytes(atomic), bytes(except))
    }

    fn selected(words: &str, selection: Selection, blocks: Blocks) -> Selected<StdReader> {
        let text: String = words.split_whitespace().map(|w| w.replace(':', "|") + "|1\n").collect();
        let input = Box::new(std::io::Cursor::new(text));
        Selected::new(StdReader::new(input, false), selection, blocks)
    }

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
    fn the_default_leaves_out_main_and_run_of_method_logs() {
        let words = "1:begin(p/A.main([I)V) 1:begin(A.f()V) 1:end(A.f()V) 1:begin(B.run()V) \
                     1:end(B.run()V) 1:begin(B.rerun()V)";
        let mut source = selected(words, Selection::default(), Blocks::Methods);
        let kept = Trace::collect(&mut source).unwrap().to_line();
        assert_eq!(kept, "1:begin(A.f()V) 1:end(A.f()V) 1:begin(B.rerun()V)");
        assert_eq!(source.labels(), (2, 2));
        let mut source = selected(words, Selection::default(), Blocks::Declared);
        assert_eq!(Trace::collect(&mut source).unwrap().events.len(), 6);
    }

    #[test]
    fn what_is_left_out_can_be_seen() {
        let mut source =
            selected("1:begin(A.run) 1:begin(A.f) 1:r(x)", Selection::default(), Blocks::Methods);
        let (mut batch, mut counts) = (Batch::default(), Vec::new());
        source.read_all(&mut batch, &mut counts).unwrap();
        assert_eq!((batch.events.len(), counts), (3, vec![false, true, true]));
    }

    #[test]
    fn patterns_replace_and_add_to_the_default() {
        let words = "1:begin(A.main) 1:begin(A.f) 1:begin(A.g) 1:begin(B.run)";
        let kept = |atomic: &[&str], except: &[&str]| {
            let mut source = selected(words, selection(atomic, except), Blocks::Methods);
            Trace::collect(&mut source).unwrap().to_line()
        };
        assert_eq!(kept(&[], &["g"]), "1:begin(A.f)");
        assert_eq!(kept(&["run", "A.*"], &["A.g"]), "1:begin(A.main) 1:begin(A.f) 1:begin(B.run)");
    }

    #[test]
    fn a_bare_end_goes_with_its_begin() {
        let words = "1:begin(a) 1:begin(b) 1:begin 1:r(x) 1:end 1:end 2:end 1:end(a)";
        let mut source = selected(words, selection(&[], &["b"]), Blocks::Declared);
        let kept = Trace::collect(&mut source).unwrap().to_line();
        assert_eq!(kept, "1:begin(a) 1:begin 1:r(x) 1:end 2:end 1:end(a)");
    }

    #[test]
    fn unmatched_patterns_are_named() {
        let patterns = selection(&["A.f", "A.x"], &["g", "y"]);
        let mut source = selected("1:begin(A.f) 1:begin(A.g)", patterns, Blocks::Methods);
        Trace::collect(&mut source).unwrap();
        assert_eq!(source.unmatched(), ["A.x", "y"]);
    }

    #[test]
    fn events_keep_their_lines() {
        // The first batches lose all of their events.
        let words = "1:begin(main) ".repeat(20_000) + "1:r(x) 1:r(x) 1:begin(main) 1:r(x)";
        let mut source = selected(&words, Selection::default(), Blocks::Methods);
        let mut batch = Batch::default();
        source.read(&mut batch).unwrap();
        let lines: Vec<_> = (0..batch.events.len()).map(|i| batch.line(i).unwrap()).collect();
        assert_eq!(lines, [20_001, 20_002, 20_004]);
        source.read(&mut batch).unwrap();
        assert!(batch.events.is_empty());
    }

    #[test]
    fn pattern_files_have_comments_and_any_line_ends() {
        let file = b"# not atomic\r\n\r\nA.f(I)V\r\n  B.* \n\n#C\nD.g";
        let patterns: [&[u8]; 3] = [b"A.f(I)V", b"B.*", b"D.g"];
        assert_eq!(patterns_in(file), patterns);
    }
}
