//! The StackMapTable: what the verifier knows about locals and stack at each jump target. Only
//! offsets change here; the types stay as they are.

use super::{Failure, Outcome, Reader, put2};

/// A type in a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    /// One without operand.
    Plain(u8),
    /// An object of a class.
    Object(u16),
    /// What the `new` at an offset made, before its constructor ran.
    Uninitialized(u16),
}

impl Type {
    /// `this` in a constructor, before the constructor of the super class ran.
    pub const UNINITIALIZED_THIS: Type = Type::Plain(6);

    fn read(reader: &mut Reader) -> Outcome<Type> {
        Ok(match reader.u1()? {
            7 => Type::Object(reader.u2()?),
            8 => Type::Uninitialized(reader.u2()?),
            plain @ 0..=6 => Type::Plain(plain),
            _ => return Err(Failure::Malformed("type in a frame")),
        })
    }

    fn read_some(reader: &mut Reader, count: u16) -> Outcome<Vec<Type>> {
        (0..count).map(|_| Type::read(reader)).collect()
    }
}

/// How a frame differs from the one before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// The same locals, nothing on the stack.
    Same,
    /// The same locals, one value on the stack.
    OneOnStack(Type),
    /// So many locals less.
    Chop(u8),
    /// These locals more.
    Append(Vec<Type>),
    /// All locals, all of the stack.
    Full(Vec<Type>, Vec<Type>),
}

/// A frame and the offset that it is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// The offset.
    pub at: usize,
    /// What holds there.
    pub change: Change,
}

/// Reads the body of a StackMapTable.
pub fn parse(body: &[u8]) -> Outcome<Vec<Frame>> {
    let mut reader = Reader::new(body, 0);
    let count = reader.u2()?;
    let mut next = 0;
    (0..count)
        .map(|_| {
            let (delta, change) = read_frame(&mut reader)?;
            let at = next + usize::from(delta);
            next = at + 1;
            Ok(Frame { at, change })
        })
        .collect()
}

fn read_frame(reader: &mut Reader) -> Outcome<(u16, Change)> {
    let tag = reader.u1()?;
    Ok(match tag {
        0..=63 => (tag.into(), Change::Same),
        64..=127 => (u16::from(tag) - 64, Change::OneOnStack(Type::read(reader)?)),
        247 => (reader.u2()?, Change::OneOnStack(Type::read(reader)?)),
        248..=250 => (reader.u2()?, Change::Chop(251 - tag)),
        251 => (reader.u2()?, Change::Same),
        252..=254 => (reader.u2()?, Change::Append(Type::read_some(reader, u16::from(tag) - 251)?)),
        255 => {
            let delta = reader.u2()?;
            let count = reader.u2()?;
            let locals = Type::read_some(reader, count)?;
            let count = reader.u2()?;
            (delta, Change::Full(locals, Type::read_some(reader, count)?))
        }
        _ => return Err(Failure::Malformed("frame")),
    })
}

/// Writes the body of a StackMapTable. `moved` says where an offset of a frame is now, `moved_new`
/// where a `new` instruction is.
pub fn write(
    frames: &[Frame],
    moved: impl Fn(usize) -> Outcome<usize>,
    moved_new: impl Fn(usize) -> Outcome<usize>,
) -> Outcome<Vec<u8>> {
    let mut out = Vec::new();
    put2(&mut out, frames.len() as u16);
    let mut next = 0;
    for frame in frames {
        let at = moved(frame.at)?;
        let delta = at.checked_sub(next).ok_or(Failure::Malformed("order of frames"))?;
        next = at + 1;
        write_frame(&mut out, delta as u16, &frame.change, &moved_new)?;
    }
    Ok(out)
}

fn write_frame(
    out: &mut Vec<u8>,
    delta: u16,
    change: &Change,
    moved_new: impl Fn(usize) -> Outcome<usize>,
) -> Outcome<()> {
    let types = |out: &mut Vec<u8>, types: &[Type]| {
        types.iter().try_for_each(|t| write_type(out, *t, &moved_new))
    };
    let tagged = |out: &mut Vec<u8>, tag: u8| {
        out.push(tag);
        put2(out, delta);
    };
    match change {
        Change::Same if delta < 64 => out.push(delta as u8),
        Change::Same => tagged(out, 251),
        Change::OneOnStack(one) => {
            if delta < 64 {
                out.push(64 + delta as u8);
            } else {
                tagged(out, 247);
            }
            types(out, &[*one])?;
        }
        Change::Chop(count) => tagged(out, 251 - count),
        Change::Append(more) => {
            tagged(out, 251 + more.len() as u8);
            types(out, more)?;
        }
        Change::Full(locals, stack) => {
            tagged(out, 255);
            for list in [locals, stack] {
                put2(out, list.len() as u16);
                types(out, list)?;
            }
        }
    }
    Ok(())
}

fn write_type(
    out: &mut Vec<u8>,
    written: Type,
    moved_new: impl Fn(usize) -> Outcome<usize>,
) -> Outcome<()> {
    match written {
        Type::Plain(tag) => out.push(tag),
        Type::Object(class) => {
            out.push(7);
            put2(out, class);
        }
        Type::Uninitialized(at) => {
            out.push(8);
            put2(out, moved_new(at.into())? as u16);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_and_written_alike() {
        let body = [
            0, 7, 5, 64, 1, 247, 0, 70, 7, 0, 3, 250, 0, 2, 251, 0, 80, 253, 0, 1, 1, 4, 255, 0, 9,
            0, 1, 8, 0, 1, 0, 1, 6,
        ];
        let frames = parse(&body).expect("frames");
        assert_eq!(frames[1].at, 6);
        assert_eq!(write(&frames, Ok, Ok).expect("bytes"), body);
        assert!(parse(&body[..9]).is_err());
    }

    #[test]
    fn a_frame_that_moves_far_gets_the_long_form() {
        let frames = parse(&[0, 2, 5, 64, 1]).expect("frames");
        let moved = write(&frames, |at| Ok(at * 50), Ok).expect("bytes");
        assert_eq!(moved, [0, 2, 251, 0, 250, 64 + 49, 1]);
    }
}
