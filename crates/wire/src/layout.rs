//! Where each bit of a stream is: codes of frames, and the words of a record. Recorders that write
//! records themselves (code inserted into a program) use these constants.
//!
//! A *record* is two to three words of 64 bits (one, if the event needs no stamp), and lies in one
//! chunk as a whole:
//!
//! | word | bits | there if |
//! |---|---|---|
//! | site and object | site: low [`SITE_BITS`]; object: the rest | always |
//! | stamp | version: low [`VERSION_BITS`]; stripe: the rest | the site's kind [`is_stamped`] |
//! | index | all | the site has [`crate::SiteFlags::INDEXED`] |
//!
//! A stripe's versions start with 0 and have no gaps: each stamp that was taken is sent. For fork
//! and join the object is the id of the thread; for everything else 0 means that there is no
//! object, as for static fields.

use crate::kind::Kind;

/// The first bytes of a stream.
pub const MAGIC: [u8; 8] = *b"PACESTRM";
/// The version of this layout.
pub const VERSION: u32 = 1;
/// No payload is longer: a longer one is damage. Sixteen megabytes are far above any chunk that a
/// recorder sends, and low enough to be allocated on the word of a damaged length.
pub const MAX_PAYLOAD: usize = 1 << 24;
/// The length and the code of a frame.
pub const FRAME_HEADER_LEN: usize = 5;
/// How many bits of a record's first word are the site.
pub const SITE_BITS: u32 = 24;
/// The highest site.
pub const MAX_SITE: u32 = (1 << SITE_BITS) - 1;
/// The highest object id.
pub const MAX_OBJECT: u64 = (1 << (64 - SITE_BITS)) - 1;
/// How many bits of a stamp are the version; the rest is the stripe.
pub const VERSION_BITS: u32 = 44;
/// The highest version of a stripe.
pub const MAX_VERSION: u64 = (1 << VERSION_BITS) - 1;
/// How many stripes there can be.
pub const MAX_STRIPES: u32 = 1 << (64 - VERSION_BITS);
/// The kind byte of a site with records that are stamps only: they order, and are no events. A
/// thread has one at its start (after the fork, on the same stripe) and one at its end (before a
/// join).
pub const ORDER_ONLY: u8 = 0xff;

/// The code of a frame, which stands after its length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
#[expect(missing_docs, reason = "the frames of `Frame`")]
pub enum FrameCode {
    Hello = 1,
    Name = 2,
    Object = 3,
    Site = 4,
    Thread = 5,
    Chunk = 6,
    Note = 7,
    End = 8,
}

impl FrameCode {
    /// The frame with this code.
    pub fn from_byte(code: u8) -> Option<FrameCode> {
        let all = [
            FrameCode::Hello,
            FrameCode::Name,
            FrameCode::Object,
            FrameCode::Site,
            FrameCode::Thread,
            FrameCode::Chunk,
            FrameCode::Note,
            FrameCode::End,
        ];
        all.into_iter().find(|&known| known as u8 == code)
    }
}

/// The first word of a record.
#[inline(always)]
pub const fn pack(site: u32, object: u64) -> u64 {
    site as u64 | object << SITE_BITS
}

/// Site and object of a record's first word.
#[inline(always)]
pub const fn unpack(word: u64) -> (u32, u64) {
    (word as u32 & MAX_SITE, word >> SITE_BITS)
}

/// The second word of a stamped record.
#[inline(always)]
pub const fn stamp(stripe: u32, version: u64) -> u64 {
    (stripe as u64) << VERSION_BITS | version
}

/// Stripe and version of a stamp.
#[inline(always)]
pub const fn unstamp(word: u64) -> (u32, u64) {
    ((word >> VERSION_BITS) as u32, word & MAX_VERSION)
}

/// The kinds of events in the order of their codes. It is part of the format: new kinds go to the
/// end.
const KINDS: [Kind; Kind::ALL.len()] = [
    Kind::Read,
    Kind::Write,
    Kind::Acquire,
    Kind::Release,
    Kind::AcquireShared,
    Kind::ReleaseShared,
    Kind::Fork,
    Kind::Join,
    Kind::Begin,
    Kind::End,
    Kind::Yield,
    Kind::PreWait,
    Kind::PostWait,
    Kind::Notify,
    Kind::AtomicRead,
    Kind::AtomicWrite,
    Kind::AtomicUpdate,
    Kind::Post,
    Kind::Take,
    Kind::BarrierEnter,
    Kind::BarrierExit,
];

/// The code of a kind in a Site frame.
pub fn kind_code(kind: Kind) -> u8 {
    let code = KINDS.iter().position(|&other| other == kind);
    code.map_or(ORDER_ONLY, |code| code as u8)
}

/// The kind with this code.
pub fn kind_with_code(code: u8) -> Option<Kind> {
    KINDS.get(usize::from(code)).copied()
}

/// Whether records of this kind carry a stamp. Those that conflict with no other thread do not.
pub const fn is_stamped(kind: Kind) -> bool {
    match kind {
        Kind::Begin | Kind::End | Kind::Yield | Kind::Notify => false,
        Kind::Read
        | Kind::Write
        | Kind::Acquire
        | Kind::Release
        | Kind::AcquireShared
        | Kind::ReleaseShared
        | Kind::Fork
        | Kind::Join
        | Kind::PreWait
        | Kind::PostWait
        | Kind::AtomicRead
        | Kind::AtomicWrite
        | Kind::AtomicUpdate
        | Kind::Post
        | Kind::Take
        | Kind::BarrierEnter
        | Kind::BarrierExit => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_packed_without_loss() {
        assert_eq!(unpack(pack(MAX_SITE, MAX_OBJECT)), (MAX_SITE, MAX_OBJECT));
        assert_eq!(unpack(pack(5, 0)), (5, 0));
        let last = (MAX_STRIPES - 1, MAX_VERSION);
        assert_eq!(unstamp(stamp(last.0, last.1)), last);
        assert_eq!(unstamp(stamp(3, 4)), (3, 4));
    }

    #[test]
    fn every_kind_has_a_code_of_its_own() {
        for &kind in Kind::ALL {
            assert_eq!(kind_with_code(kind_code(kind)), Some(kind));
        }
        assert_eq!(kind_with_code(ORDER_ONLY), None);
    }

    #[test]
    fn codes_of_frames_have_no_gaps() {
        let known: Vec<u8> = (0..=u8::MAX).filter(|&b| FrameCode::from_byte(b).is_some()).collect();
        assert_eq!(known, (1..=8).collect::<Vec<u8>>());
    }
}
