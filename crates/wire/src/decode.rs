//! From the payload of a frame to the frame.

use crate::frame::{ALL_METHODS, Frame, HAS_RECORDER, Hello, NoteFrame, SiteFlags, SiteFrame};
use crate::layout::{FrameCode, MAX_STRIPES, ORDER_ONLY, kind_with_code};

/// Takes fields off the front of a payload.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    fn number(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn long(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let len = self.number()?;
        self.bytes(len as usize)
    }

    fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }
}

/// Decodes a payload; `None` if it is not what a writer makes.
pub(crate) fn decode(code: u8, payload: &[u8]) -> Option<Frame<'_>> {
    let mut fields = Fields(payload);
    let frame = match FrameCode::from_byte(code)? {
        FrameCode::Hello => Frame::Hello(take_hello(&mut fields)?),
        FrameCode::Name => Frame::Name { id: fields.number()?, name: fields.rest() },
        FrameCode::Object => Frame::Object { object: fields.long()?, class: fields.number()? },
        FrameCode::Site => Frame::Site(take_site(&mut fields)?),
        FrameCode::Thread => Frame::Thread { id: fields.number()?, name: fields.rest() },
        FrameCode::Chunk => {
            let thread = fields.number()?;
            let records = fields.rest();
            records.len().is_multiple_of(8).then_some(Frame::Chunk { thread, records })?
        }
        FrameCode::Note => {
            let (number, key) = (fields.long()?, fields.text()?);
            Frame::Note(NoteFrame { key, text: fields.rest(), number })
        }
        FrameCode::End => Frame::End,
    };
    fields.0.is_empty().then_some(frame)
}

fn take_hello<'a>(fields: &mut Fields<'a>) -> Option<Hello<'a>> {
    let (pid, stripes, flags) = (fields.number()?, fields.number()?, fields.number()?);
    let known = flags & !(ALL_METHODS | HAS_RECORDER) == 0 && stripes <= MAX_STRIPES;
    let has_recorder = flags & HAS_RECORDER != 0;
    known.then_some(Hello {
        pid,
        stripes,
        all_methods: flags & ALL_METHODS != 0,
        front_end: fields.text()?,
        version: fields.text()?,
        recorder: if has_recorder { fields.text()? } else { &[] },
        command: fields.rest(),
    })
}

fn take_site(fields: &mut Fields<'_>) -> Option<SiteFrame> {
    let id = fields.number()?;
    let [code, flags] = fields.array()?;
    let kind = match code {
        ORDER_ONLY => None,
        code => Some(kind_with_code(code)?),
    };
    let known = flags & !SiteFlags::KNOWN == 0;
    known.then_some(SiteFrame {
        id,
        kind,
        flags: SiteFlags(flags),
        file: fields.number()?,
        method: fields.number()?,
        target: fields.number()?,
        line: fields.number()?,
    })
}
