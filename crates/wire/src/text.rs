//! Names and other bytes of an observed program as text. Programs name things as they like: nothing
//! is lost or confused, and nothing reaches a terminal unescaped.

use std::borrow::Cow;

/// How many bytes [`show_bytes`] shows: a line of a message holds no more.
const MOST_SHOWN: usize = 60;

/// The bytes as they may be shown in a message: cut when long, escaped when not printable.
pub fn show_bytes(bytes: &[u8]) -> String {
    let cut = &bytes[..bytes.len().min(MOST_SHOWN)];
    let shown: String = show_name(cut).chars().flat_map(escape_unprintable).collect();
    if bytes.len() > MOST_SHOWN {
        format!("`{shown}…` ({} bytes)", bytes.len())
    } else {
        format!("`{shown}`")
    }
}

/// A name as text: bytes that are not UTF-8 become `\xNN`, so that two names seldom look the same.
pub fn show_name(name: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(name) {
        return Cow::Borrowed(text);
    }
    let mut text = String::new();
    for chunk in name.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    Cow::Owned(text)
}

fn escape_unprintable(c: char) -> Vec<char> {
    if c.is_control() { c.escape_default().collect() } else { vec![c] }
}
