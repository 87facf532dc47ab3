//! Emphasis in text, as the escape sequences of terminals (ECMA-48). Whether the text goes to a
//! terminal is for the caller to know; [`plain`] takes them away again. A library for terminals
//! would be too much for this, and would come along with everything that uses reports.

use std::fmt;

/// Text with an escape sequence before and after it.
pub(crate) struct Painted<T> {
    text: T,
    on: &'static str,
    off: &'static str,
}

impl<T: fmt::Display> fmt::Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.on)?;
        // Width and alignment are for the text alone.
        self.text.fmt(f)?;
        f.write_str(self.off)
    }
}

macro_rules! paints {
    ($($name:ident: $on:literal, $off:literal;)*) => {
        /// Emphasis for anything that is text.
        pub(crate) trait Paint: fmt::Display {
            $(
                #[doc = concat!("In ", stringify!($name), ".")]
                fn $name(&self) -> Painted<&Self> {
                    Painted { text: self, on: $on, off: $off }
                }
            )*
        }
    };
}

paints! {
    bold: "\x1b[1m", "\x1b[0m";
    dimmed: "\x1b[2m", "\x1b[0m";
    red: "\x1b[31m", "\x1b[39m";
    green: "\x1b[32m", "\x1b[39m";
    yellow: "\x1b[33m", "\x1b[39m";
    cyan: "\x1b[36m", "\x1b[39m";
}

impl<T: fmt::Display + ?Sized> Paint for T {}

/// The text without emphasis. Names have no escape sequences of their own
/// ([`compose::name`](crate::compose::name)), so that all of them are from here.
pub(crate) fn plain(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |out, part| out + part.split_once('m').map_or(part, |(_, rest)| rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn emphasis_comes_and_goes() {
        let text = format!("{}: [{:5}]", "note".cyan().bold(), "ab".dimmed());
        assert_eq!(text, "\x1b[1m\x1b[36mnote\x1b[39m\x1b[0m: [\x1b[2mab   \x1b[0m]");
        assert_eq!(plain(&text), "note: [ab   ]");
        assert_eq!(plain("nothing"), "nothing");
    }
}
