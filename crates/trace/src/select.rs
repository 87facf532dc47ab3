//! A source without the blocks that are not meant to be atomic.
//!
//! A log of method calls has a block for every method, atomic or not. A [`Selection`] says which of
//! them count; the `begin` and `end` of the others are taken out before the events are numbered.

use std::sync::Arc;

pub use paceline_wire::select::{Selection, glob, patterns_in};

use crate::error::Error;
use crate::event::{Event, Op};
use crate::ids::LabelId;
use crate::ops;
use crate::source::{Batch, Blocks, Skipped, Source};
use crate::symbols::Symbols;

/// Decides which events count: all but the `begin` and `end` of blocks that a selection leaves out.
pub struct Marker {
    selection: Selection,
    blocks: Blocks,
    /// By label: whether it counts.
    counts: Vec<bool>,
    /// By pattern, those of `atomic` first: whether it has matched a label.
    used: Vec<bool>,
    /// By thread: for each open block, whether it counts. A bare `end` goes with its `begin`.
    open: Vec<Vec<bool>>,
}

impl Marker {
    /// For a trace whose `begin` and `end` stand for `blocks`.
    pub fn new(selection: Selection, blocks: Blocks) -> Marker {
        let used = vec![false; selection.len()];
        Marker { selection, blocks, counts: Vec::new(), used, open: Vec::new() }
    }

    /// The patterns that have matched no label so far: probably spelt wrong.
    pub fn unmatched(&self) -> Vec<String> {
        let patterns = self.selection.patterns().into_iter().flatten();
        let unused = patterns.zip(&self.used).filter(|(_, used)| !**used);
        unused.map(|(pattern, _)| pattern).collect()
    }

    /// How many labels count so far, and how many do not.
    pub fn labels(&self) -> (usize, usize) {
        let selected = self.counts.iter().filter(|&&counts| counts).count();
        (selected, self.counts.len() - selected)
    }

    /// Makes room for the threads and labels of the next batch.
    pub fn prepare(&mut self, batch: &Batch, symbols: &Symbols) {
        for id in self.counts.len()..symbols.labels.len() {
            let label = symbols.labels.name(id as u32);
            self.counts.push(self.selection.decide(label, self.blocks, &mut self.used));
        }
        if self.open.len() < batch.counts.threads {
            self.open.resize(batch.counts.threads, Vec::new());
        }
    }

    /// Whether the next event of a batch counts; [`Marker::prepare`] comes before.
    #[inline]
    pub fn counts(&mut self, event: &Event) -> bool {
        keep(event, &self.counts, &mut self.open[event.thread.index()])
    }
}

/// A source without the blocks that a selection leaves out.
pub struct Selected<S> {
    source: S,
    marker: Marker,
}

impl<S: Source> Selected<S> {
    /// Takes the blocks that `selection` leaves out from `source`.
    pub fn new(source: S, selection: Selection, blocks: Blocks) -> Selected<S> {
        Selected { source, marker: Marker::new(selection, blocks) }
    }

    /// What has been decided so far.
    pub fn marker(&self) -> &Marker {
        &self.marker
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
        ops!(Access | Lock | Thread | Semaphore | Barrier) | Op::Yield => true,
    }
}

impl<S: Source> Source for Selected<S> {
    fn read(&mut self, batch: &mut Batch) -> Result<(), Error> {
        loop {
            let outcome = self.source.read(batch);
            let at_end = batch.events.is_empty();
            self.marker.prepare(batch, self.source.symbols());
            batch.retain(|event| self.marker.counts(event));
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

    #[test]
    fn the_default_leaves_out_main_and_run_of_method_logs() {
        let words = "1:begin(p/A.main([I)V) 1:begin(A.f()V) 1:end(A.f()V) 1:begin(B.run()V) \
                     1:end(B.run()V) 1:begin(B.rerun()V)";
        let mut source = selected(words, Selection::default(), Blocks::Methods);
        let kept = Trace::collect(&mut source).unwrap().to_line();
        assert_eq!(kept, "1:begin(A.f()V) 1:end(A.f()V) 1:begin(B.rerun()V)");
        assert_eq!(source.marker().labels(), (2, 2));
        let mut source = selected(words, Selection::default(), Blocks::Declared);
        assert_eq!(Trace::collect(&mut source).unwrap().events.len(), 6);
    }

    #[test]
    fn what_is_left_out_can_be_seen() {
        let trace = Trace::parse("1:begin(A.run) 1:begin(A.f) 1:r(x)").unwrap();
        let mut marker = Marker::new(Selection::default(), Blocks::Methods);
        marker.prepare(&trace.batch(), &trace.symbols);
        let counts: Vec<bool> = trace.events.iter().map(|event| marker.counts(event)).collect();
        assert_eq!(counts, [false, true, true]);
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
        assert_eq!(source.marker().unmatched(), ["A.x", "y"]);
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
}
