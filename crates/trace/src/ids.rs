//! Typed handles. Every id is a dense index into its own name space, so analyses keep their
//! state in plain vectors and never hash.

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub u32);

        impl $name {
            /// The id as an index into a vector of per-id state.
            #[inline(always)]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

ids! {
    /// A thread of the observed program.
    ThreadId;
    /// A variable: a field of an object, an array element, an address.
    VarId;
    /// A lock, exclusive or shared.
    LockId;
    /// A semaphore, channel or blocking queue.
    SemaphoreId;
    /// A barrier.
    BarrierId;
    /// The label of a block; [`LabelId::UNNAMED`] when the trace gives none.
    LabelId;
    /// A file or method name inside a [`crate::SiteInfo`].
    TextId;
}

impl LabelId {
    /// A bare `begin` or `end`: it matches any label, and is shown by its site.
    pub const UNNAMED: LabelId = LabelId(u32::MAX);

    /// Whether the trace gives this block a label of its own.
    pub fn is_named(self) -> bool {
        self != Self::UNNAMED
    }
}

/// Where in the source an event happened: a bare number, as in STD traces, or an entry of the
/// trace's site table. Numbers are kept inline, so a trace whose every line has another number
/// costs no memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Site(u32);

/// What a [`Site`] holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SiteKind {
    /// Nothing is known.
    Unknown,
    /// A number that means something to the program that wrote the trace.
    Number(u32),
    /// An index into the site table of the trace's symbols.
    Entry(usize),
}

impl Site {
    /// No location.
    pub const UNKNOWN: Site = Site(u32::MAX);
    /// The largest number that fits.
    pub const MAX_NUMBER: u32 = 0x7fff_ffff;
    const ENTRY: u32 = 0x8000_0000;

    /// A site given as a number.
    ///
    /// # Panics
    /// If `number` is above [`Site::MAX_NUMBER`].
    #[inline]
    pub fn number(number: u32) -> Site {
        assert!(number <= Self::MAX_NUMBER);
        Site(number)
    }

    /// Entry `index` of the site table.
    ///
    /// # Panics
    /// If the table is full: 2^31 - 1 entries.
    pub fn entry(index: usize) -> Site {
        assert!(index < Self::MAX_NUMBER as usize);
        Site(Self::ENTRY | index as u32)
    }

    /// What this site holds.
    #[inline]
    pub fn kind(self) -> SiteKind {
        match self {
            Self::UNKNOWN => SiteKind::Unknown,
            Site(n) if n < Self::ENTRY => SiteKind::Number(n),
            Site(n) => SiteKind::Entry((n & !Self::ENTRY) as usize),
        }
    }

    /// The raw bits, for encoders.
    #[inline]
    pub fn to_bits(self) -> u32 {
        self.0
    }

    /// The site with these raw bits.
    #[inline]
    pub fn from_bits(bits: u32) -> Site {
        Site(bits)
    }
}

/// How many ids of each name space are in use: analyses size their vectors by it once a batch.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct IdCounts {
    pub threads: usize,
    pub vars: usize,
    pub locks: usize,
    pub semaphores: usize,
    pub barriers: usize,
    pub labels: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_keep_numbers_and_entries_apart() {
        assert_eq!(Site::number(0).kind(), SiteKind::Number(0));
        assert_eq!(Site::number(Site::MAX_NUMBER).kind(), SiteKind::Number(Site::MAX_NUMBER));
        assert_eq!(Site::entry(0).kind(), SiteKind::Entry(0));
        assert_eq!(Site::entry(77).kind(), SiteKind::Entry(77));
        assert_eq!(Site::UNKNOWN.kind(), SiteKind::Unknown);
    }
}
