//! The names of annotations on classes and methods. They count by name only, so that a program
//! needs no library of ours.

use super::names::readable_type;
use crate::classfile::{Attribute, Failure, Outcome, Pool, Reader};

/// The dotted names of the annotations among these attributes, visible at run time or not.
pub fn names(attributes: &[Attribute], pool: &Pool) -> Outcome<Vec<Vec<u8>>> {
    let mut found = Vec::new();
    for attribute in attributes {
        if matches!(attribute.name, b"RuntimeVisibleAnnotations" | b"RuntimeInvisibleAnnotations") {
            let mut reader = Reader::new(attribute.body, 0);
            for _ in 0..reader.u2()? {
                found.push(readable_type(pool.text(annotation(&mut reader)?)?));
            }
        }
    }
    Ok(found)
}

/// Skips an annotation; the constant that is its type.
fn annotation(reader: &mut Reader) -> Outcome<u16> {
    let named = reader.u2()?;
    for _ in 0..reader.u2()? {
        reader.u2()?;
        value(reader)?;
    }
    Ok(named)
}

fn value(reader: &mut Reader) -> Outcome<()> {
    match reader.u1()? {
        b'e' => reader.bytes(4).map(drop),
        b'@' => annotation(reader).map(drop),
        b'[' => (0..reader.u2()?).try_for_each(|_| value(reader)),
        b'B' | b'C' | b'D' | b'F' | b'I' | b'J' | b'S' | b'Z' | b's' | b'c' => {
            reader.u2().map(drop)
        }
        _ => Err(Failure::Malformed("annotation")),
    }
}
