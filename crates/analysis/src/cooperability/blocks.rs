//! Yields and atomic blocks in one program: a block that is declared atomic should not yield. The
//! paper leaves the combination for later; here every yield that happens inside of a block is
//! listed, once for each block around it, because none of them is atomic.

use hashbrown::HashMap;
use paceline_trace::{Event, EventNo, LabelId, Site, ThreadId};

/// Why there is a yield.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum YieldKind {
    /// The program says so.
    Written,
    /// A wait gives up its lock.
    Wait,
    /// A join lets the other thread run.
    Join,
    /// It is missing: without it there would be a cycle.
    Inferred,
}

/// A yield inside of a block declared atomic. Those of one kind, at one place, in blocks of one
/// label are counted together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct YieldInBlock {
    /// The first such yield, or the event before which it belongs.
    pub event: EventNo,
    /// Where in the source.
    pub site: Site,
    /// Why there is a yield.
    pub kind: YieldKind,
    /// The label of the block.
    pub label: LabelId,
    /// Where the block begins in the source.
    pub block_site: Site,
    /// How many such yields there were.
    pub count: u64,
}

#[derive(Clone, Copy)]
struct Block {
    label: LabelId,
    site: Site,
}

/// Blocks of one label are one, wherever they begin; bare ones are told apart by their site.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    label: LabelId,
    bare: Site,
    site: Site,
    kind: YieldKind,
}

/// The blocks that each thread is in, and the yields inside of them.
#[derive(Default)]
pub struct OpenBlocks {
    open: Vec<Vec<Block>>,
    found: Vec<YieldInBlock>,
    by_key: HashMap<Key, usize>,
}

impl OpenBlocks {
    /// Makes room for that many threads.
    pub fn reserve(&mut self, threads: usize) {
        self.open.resize_with(threads, Vec::new);
    }

    /// The event enters a block.
    pub fn begin(&mut self, event: &Event, label: LabelId) {
        self.open[event.thread.index()].push(Block { label, site: event.site });
    }

    /// The thread leaves its innermost block.
    pub fn end(&mut self, thread: ThreadId) {
        self.open[thread.index()].pop();
    }

    /// There is a yield at the event, or just before it.
    #[inline]
    pub fn yields(&mut self, kind: YieldKind, number: EventNo, event: &Event) {
        for depth in 0..self.open[event.thread.index()].len() {
            let block = self.open[event.thread.index()][depth];
            self.note(kind, number, event, block);
        }
    }

    fn note(&mut self, kind: YieldKind, number: EventNo, event: &Event, block: Block) {
        let Block { label, site: block_site } = block;
        let bare = if label.is_named() { Site::UNKNOWN } else { block_site };
        let next = self.found.len();
        let key = Key { label, bare, site: event.site, kind };
        let index = *self.by_key.entry(key).or_insert(next);
        if index == next {
            let site = event.site;
            self.found.push(YieldInBlock {
                event: number,
                site,
                kind,
                label,
                block_site,
                count: 0,
            });
        }
        self.found[index].count += 1;
    }

    /// What was found, in the order of first events; outer blocks before inner ones.
    pub fn found(&self) -> &[YieldInBlock] {
        &self.found
    }
}
