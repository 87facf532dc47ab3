//! The STD reader, which takes lines apart many bytes at once, against a parser that takes them
//! apart one by one and follows nothing but the definition of the format.

#![no_main]

use libfuzzer_sys::fuzz_target;
use paceline_fuzz::{Named, bytes, names_of, strict_and_lenient};
use paceline_trace::Kind;
use paceline_trace::format::Format;
use paceline_trace::format::std::StdReader;

fuzz_target!(|data: &[u8]| {
    let _ = Format::detect(data);
    let read = strict_and_lenient(|lenient| StdReader::new(bytes(data), lenient));
    assert_eq!(read.as_ref().map(names_of), plainly(data));
});

/// Every line; nothing if one of them is wrong.
fn plainly(data: &[u8]) -> Option<Vec<Named>> {
    let text = data.strip_suffix(b"\n").unwrap_or(data);
    if data.is_empty() {
        return Some(Vec::new());
    }
    text.split(|&b| b == b'\n').map(|line| event(line.strip_suffix(b"\r").unwrap_or(line))).collect()
}

fn event(line: &[u8]) -> Option<Named> {
    let fields: Vec<&[u8]> = line.split(|&b| b == b'|').collect();
    let [thread, op, place] = fields[..] else { return None };
    let digits = (1..=20).contains(&place.len()) && place.iter().all(u8::is_ascii_digit);
    let (kind, operand) = operation(op)?;
    let good = is_name(thread) && digits && operand.as_deref().is_none_or(is_name);
    good.then(|| Named { thread: thread.to_vec(), kind, operand, location: location(place) })
}

fn operation(op: &[u8]) -> Option<(Kind, Option<Vec<u8>>)> {
    let (name, operand) = match op.iter().position(|&b| b == b'(') {
        Some(open) => (&op[..open], Some(op[open + 1..].strip_suffix(b")")?.to_vec())),
        None => (op, None),
    };
    let kind = *Kind::ALL.iter().find(|kind| kind.name().as_bytes() == name)?;
    let bare = operand.is_none();
    let may_be_bare = matches!(kind, Kind::Begin | Kind::End | Kind::Yield);
    (if bare { may_be_bare } else { kind != Kind::Yield }).then_some((kind, operand))
}

fn is_name(name: &[u8]) -> bool {
    (1..=1 << 16).contains(&name.len())
        && !name.iter().any(|b| b" \t\r\n\x0b\x0c|".contains(b))
}

/// Zeros in front mean nothing, except that a number too large to be kept as one is kept as it is.
fn location(digits: &[u8]) -> String {
    let text = String::from_utf8_lossy(digits).into_owned();
    let number: u128 = text.parse().expect("digits");
    if number <= 0x7fff_ffff { number.to_string() } else { text }
}
