//! Yields and atomic blocks in one program: a block that is declared atomic should not yield. The
//! paper leaves the combination open; here every yield that happens inside of a block is listed,
//! once for each enclosing block, because none of them is atomic.

use hashbrown::HashMap;
use paceline_trace::{Event, EventNo, LabelId, Site, ThreadId};

/// Why there is a yield.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum YieldKind {
    /// The program contains it.
    Written,
    /// A wait gives up its lock.
    Wait,
    /// A join lets the other thread run.
    Join,
    /// It is missing: without it there would be a cycle.
    Inferred,
}

/// A yield inside of a block declared atomic. Yields of one kind, at one location, in blocks of one
/// label are counted together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct YieldInBlock {
    /// The first such yield, or the event before which it is missing.
    pub event: EventNo,
    /// Its source location.
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
struct OpenBlock {
    label: LabelId,
    site: Site,
}

/// Blocks of one label count as one, wherever they begin; those without a label go by their site.
#[derive(PartialEq, Eq, Hash)]
struct YieldKey {
    label: LabelId,
    unnamed: Site,
    site: Site,
    kind: YieldKind,
}

/// The open blocks of each thread, and the yields inside of them.
#[derive(Default)]
pub struct OpenBlocks {
    open: Vec<Vec<OpenBlock>>,
    found: Vec<YieldInBlock>,
    by_key: HashMap<YieldKey, usize>,
}

impl OpenBlocks {
    /// Makes room for this many threads.
    pub fn reserve(&mut self, threads: usize) {
        self.open.resize_with(threads, Vec::new);
    }

    /// The event enters a block.
    pub fn begin(&mut self, event: &Event, label: LabelId) {
        self.open[event.thread.index()].push(OpenBlock { label, site: event.site });
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
            self.add(kind, number, event, block);
        }
    }

    fn add(&mut self, kind: YieldKind, number: EventNo, event: &Event, block: OpenBlock) {
        let OpenBlock { label, site: block_site } = block;
        let unnamed = if label.is_named() { Site::UNKNOWN } else { block_site };
        let next = self.found.len();
        let key = YieldKey { label, unnamed, site: event.site, kind };
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

    /// The yields found, in the order of first events; outer blocks before inner ones.
    pub fn found(&self) -> &[YieldInBlock] {
        &self.found
    }
}
