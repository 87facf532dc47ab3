//! What writer and reader both expect of the next event, and the codes they write it in.
//!
//! Programs repeat themselves: after the same source location comes the same next one, and the
//! same location touches the same variable or its neighbour. An event is written as its
//! difference from that expectation, which is most often nothing at all.
//!
//! Everything here is made for a reader without branches: one tag byte selects a [`FieldLayout`]
//! from a table, one eight-byte load brings operand and site, and a right guess takes the same path
//! as a wrong one, with a difference of zero. The tables are small, of fixed size and indexed by
//! low bits, so they stay in the cache and need no bounds checks.

use crate::event::{Kind, NameSpace, Op};
use crate::ids::Site;
use crate::ops;
use crate::symbols::Symbols;

/// The kinds in the order of their codes. The first seven have room in a tag; all others take a
/// byte of their own. The order is part of the format: new kinds go to the end.
pub(super) const KINDS: [Kind; Kind::ALL.len()] = [
    Kind::Read,
    Kind::Write,
    Kind::Begin,
    Kind::End,
    Kind::Acquire,
    Kind::Release,
    Kind::AtomicRead,
    Kind::AtomicWrite,
    Kind::AtomicUpdate,
    Kind::Yield,
    Kind::Fork,
    Kind::Join,
    Kind::PreWait,
    Kind::PostWait,
    Kind::Notify,
    Kind::AcquireShared,
    Kind::ReleaseShared,
    Kind::Post,
    Kind::Take,
    Kind::BarrierEnter,
    Kind::BarrierExit,
];

/// The kind field of a tag that says: the code is in the next byte.
pub(super) const OTHER_KIND: u8 = 7;
/// In that byte: the fields are variable-length numbers, because some do not fit a layout.
pub(super) const WIDE: u8 = 0x80;
/// The tag of such an event.
pub(super) const WIDE_TAG: u8 = tag(false, 0, 0, OTHER_KIND);
/// All tags with that kind field, and no others, are this or above.
pub(super) const OTHER_TAGS: u8 = tag(false, 0, 0, OTHER_KIND);
/// The bits of a tag that say that a thread follows, and that a site does.
pub(super) const HAS_THREAD: u8 = tag(true, 0, 0, 0);
pub(super) const HAS_SITE: u8 = tag(false, 0, 3, 0);
/// The longest event: tag, kind and three numbers of five bytes.
pub(super) const LONGEST_EVENT: usize = 17;
/// The most bytes that one look at an event takes: tag, kind, thread, and eight bytes after them.
pub(super) const LOOK: usize = 11;

const KIND_CODES: [u8; Kind::ALL.len()] = {
    let mut codes = [0; Kind::ALL.len()];
    let mut code = 0;
    while code < KINDS.len() {
        codes[KINDS[code] as usize] = code as u8;
        code += 1;
    }
    codes
};

/// The code of a kind.
#[inline(always)]
pub(super) fn kind_code(kind: Kind) -> u8 {
    KIND_CODES[kind as usize]
}

/// The operand as it is written. Labels are shifted by one, so that a bare block, which is what
/// many traces have only, is 0; a yield has no operand and is 0, too.
#[inline(always)]
pub(super) fn operand_code(op: Op) -> u32 {
    match op {
        ops!(Block(label)) => label.0.wrapping_add(1),
        ops!(Access | Lock | Thread | Semaphore | Barrier) | Op::Yield => op.id(),
    }
}

const LOW_31: u32 = 0x7fff_ffff;

/// A site as it is written, so that the three kinds of sites are neighbours: unknown is 0, the
/// number n is n + 1, entry i is -(i + 2).
#[inline(always)]
pub(super) fn site_code(site: Site) -> u32 {
    flip_negative(site.to_bits().wrapping_add(1))
}

#[inline(always)]
fn flip_negative(bits: u32) -> u32 {
    bits ^ (((bits as i32) >> 31) as u32 & LOW_31)
}

/// A difference as it is written: small in either direction is a small number.
#[inline(always)]
pub(super) fn zigzag(difference: u32) -> u32 {
    (difference << 1) ^ ((difference as i32) >> 31) as u32
}

/// The difference that was written as `zigzag`.
#[inline(always)]
pub(super) fn unzigzag(zigzag: u32) -> u32 {
    (zigzag >> 1) ^ (zigzag & 1).wrapping_neg()
}

/// What the symbols allow: nothing beyond it may leave the reader or enter the file.
pub(super) struct Limits {
    /// By code of kind, like the next two.
    kinds: [Kind; 32],
    /// What the code of an operand is ahead of its id.
    ahead: [u32; 32],
    /// Operand codes are below this; none is allowed for a code that no kind has.
    end: [u32; 32],
    threads: u32,
    /// The bits of a site of the table are below this.
    entries: u32,
}

impl Limits {
    /// What `symbols` allow.
    pub(super) fn new(symbols: &Symbols) -> Limits {
        let entries = Site::entry(0).to_bits() + symbols.sites().len() as u32;
        let mut limits = Limits {
            kinds: [Kind::Yield; 32],
            ahead: [0; 32],
            end: [0; 32],
            threads: symbols.threads.len() as u32,
            entries,
        };
        for (code, kind) in KINDS.into_iter().enumerate() {
            let (ahead, names) = names_of(kind, symbols);
            limits.kinds[code] = kind;
            limits.ahead[code] = ahead;
            limits.end[code] = names as u32 + ahead;
        }
        limits
    }

    /// The operation with this code and operand, and whether it may be.
    #[inline(always)]
    pub(super) fn operation(&self, kind_code: u8, operand: u32) -> (Op, bool) {
        let code = usize::from(kind_code & 31);
        let id = operand.wrapping_sub(self.ahead[code]);
        (Op::new(self.kinds[code], id), operand < self.end[code])
    }

    /// Whether there is such a thread.
    #[inline(always)]
    pub(super) fn thread(&self, thread: u32) -> bool {
        thread < self.threads
    }

    /// The site with this code, and whether it may be.
    #[inline(always)]
    pub(super) fn site(&self, code: u32) -> (Site, bool) {
        // One more than the bits of the site, so that unknown is 0 and needs no look of its own.
        let bits_and_one = flip_negative(code);
        (Site::from_bits(bits_and_one.wrapping_sub(1)), bits_and_one <= self.entries)
    }
}

/// What the code of an operand of this kind is ahead of its id, and how many ids there are.
fn names_of(kind: Kind, symbols: &Symbols) -> (u32, usize) {
    let space = kind.name_space();
    let ahead = u32::from(space == NameSpace::Label);
    (ahead, if space == NameSpace::Nothing { 1 } else { symbols.count(space) })
}

/// Where the operand and the site are in the eight bytes after tag, kind and thread.
#[derive(Clone, Copy)]
#[repr(align(16))]
pub(super) struct FieldLayout {
    pub operand_mask: u32,
    pub site_mask: u32,
    pub site_shift: u8,
}

/// The layout of every tag.
pub(super) const LAYOUTS: [FieldLayout; 256] = {
    let mut layouts = [layout(0); 256];
    let mut tag = 0;
    while tag < 256 {
        layouts[tag] = layout(tag as u8);
        tag += 1;
    }
    layouts
};

/// Bit 0: a thread follows; bits 1 and 2: bytes of the operand; bits 3 and 4: bytes of the site;
/// bits 5 to 7: kind.
pub(super) const fn tag(thread: bool, operand_len: u8, site_len: u8, kind: u8) -> u8 {
    thread as u8 | operand_len << 1 | site_len << 3 | kind << 5
}

const fn layout(tag: u8) -> FieldLayout {
    let operand_len = tag >> 1 & 3;
    let site_len = tag >> 3 & 3;
    FieldLayout {
        operand_mask: (1 << (operand_len * 8)) - 1,
        site_mask: (1 << (site_len * 8)) - 1,
        site_shift: operand_len * 8,
    }
}

/// How many bytes an event with this tag has, unless it is a wide one.
pub(super) const LENGTHS: [u8; 256] = {
    let mut lengths = [0; 256];
    let mut tag = 0;
    while tag < 256 {
        let other_kind = (tag >> 5 == OTHER_KIND as usize) as usize;
        lengths[tag] = (1 + other_kind + (tag & 1) + (tag >> 1 & 3) + (tag >> 3 & 3)) as u8;
        tag += 1;
    }
    lengths
};

// The sizes are part of the format (`docs/format.md`): sites and operands of a program's busiest
// loops have room, and all three tables together fit into a second-level cache.
const THREADS: usize = 1 << 8;
const NEXT_SITES: usize = 1 << 13;
const OPERANDS: usize = 1 << 13;

/// What has been learned since the start of the block.
pub(super) struct Memory {
    last_sites: [u32; THREADS],
    next_sites: [u32; NEXT_SITES],
    operands: [u32; OPERANDS],
}

impl Memory {
    /// Knows nothing.
    pub(super) fn new() -> Memory {
        Memory { last_sites: [0; THREADS], next_sites: [0; NEXT_SITES], operands: [0; OPERANDS] }
    }

    /// Forgets everything: each block can be read without the ones before it.
    pub(super) fn clear(&mut self) {
        self.last_sites.fill(0);
        self.next_sites.fill(0);
        self.operands.fill(0);
    }

    /// The last site of a thread.
    #[inline(always)]
    pub(super) fn last_site(&self, thread: u32) -> u32 {
        self.last_sites[thread as usize % THREADS]
    }

    /// The site that came after `last` the last time.
    /// Threads share it: they run the same program.
    #[inline(always)]
    pub(super) fn next_site(&self, last: u32, kind_code: u8) -> u32 {
        self.next_sites[next_site_at(last, kind_code)]
    }

    /// Learns the site of the next event of `thread`, after one at `last`.
    #[inline(always)]
    pub(super) fn learn_site(&mut self, thread: u32, last: u32, kind_code: u8, site: u32) {
        self.next_sites[next_site_at(last, kind_code)] = site;
        self.last_sites[thread as usize % THREADS] = site;
    }

    /// The operand of the last event at this site; reads and writes are kept apart.
    #[inline(always)]
    pub(super) fn operand(&mut self, site: u32, kind_code: u8) -> &mut u32 {
        let at = site << 1 | u32::from(kind_code & 1);
        &mut self.operands[at as usize % OPERANDS]
    }
}

/// What comes next depends on whether it is a read, a write, a begin or an end: that separates the
/// ways that a program takes from one location, which saves a tenth of a trace's size.
#[inline(always)]
fn next_site_at(last: u32, kind_code: u8) -> usize {
    (last << 2 | u32::from(kind_code & 3)) as usize % NEXT_SITES
}
