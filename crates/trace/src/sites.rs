//! Source locations. Inside a trace a location is a [`Site`], four bytes; what is known about it
//! stands once in the site table ([`SiteInfo`]); outputs get it with its names ([`SiteView`]).

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use crate::error::show_name;
use crate::ids::{Site, SiteKind, TextId};
use crate::interner::Interner;

/// An entry of the site table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SiteInfo {
    /// The source file.
    pub file: TextId,
    /// The method or function.
    pub method: TextId,
    /// The line, from 1; 0 when unknown.
    pub line: u32,
    /// The position within the line or the method, when the trace gives one; otherwise 0.
    pub column: u32,
}

/// Where in the source an event happened: all that the trace says about it, whatever its format.
/// Nothing is known where all fields are `None`.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct SiteView<'a> {
    /// The source file.
    pub file: Option<Cow<'a, str>>,
    /// The line of the file, from 1.
    pub line: Option<u32>,
    /// The position within the line or the method.
    pub column: Option<u32>,
    /// The method or function.
    pub method: Option<Cow<'a, str>>,
    /// A bare number, in formats that have nothing else: it means something to the program that
    /// wrote the trace. The other fields are `None` then.
    pub number: Option<Cow<'a, str>>,
}

impl fmt::Display for SiteView<'_> {
    /// As a person reads it: `Set.java:12`, the method where only that is known, the bare number,
    /// or `?`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line, &self.method, &self.number) {
            (Some(file), Some(line), ..) => write!(f, "{file}:{line}"),
            (Some(text), None, ..) | (None, _, Some(text), _) | (None, _, None, Some(text)) => {
                f.write_str(text)
            }
            (None, _, None, None) => f.write_str("?"),
        }
    }
}

/// The site table of a trace.
#[derive(Clone, Default, Debug)]
pub(crate) struct Sites {
    all: Vec<SiteInfo>,
    index: HashMap<SiteInfo, u32>,
}

impl Sites {
    pub(crate) fn all(&self) -> &[SiteInfo] {
        &self.all
    }

    /// The site with this content, new or not.
    pub(crate) fn intern(&mut self, info: SiteInfo) -> Site {
        let next = self.all.len();
        let index = *self.index.entry(info).or_insert(next as u32);
        if index as usize == next {
            self.all.push(info);
        }
        Site::entry(index as usize)
    }

    /// The table entry of a site, if it has one.
    pub(crate) fn info(&self, site: Site) -> Option<&SiteInfo> {
        match site.kind() {
            SiteKind::Entry(i) => self.all.get(i),
            SiteKind::Number(_) | SiteKind::Unknown => None,
        }
    }

    pub(crate) fn view<'a>(&self, site: Site, texts: &'a Interner) -> SiteView<'a> {
        if let SiteKind::Number(number) = site.kind() {
            let number = Some(Cow::Owned(number.to_string()));
            return SiteView { number, ..SiteView::default() };
        }
        self.info(site).map_or_else(SiteView::default, |info| info.view(texts))
    }
}

impl SiteInfo {
    fn view<'a>(&self, texts: &'a Interner) -> SiteView<'a> {
        if let Some(number) = self.large_number(texts) {
            return SiteView { number: Some(show_name(number)), ..SiteView::default() };
        }
        let text = |id: TextId| Some(show_name(texts.name(id.0))).filter(|text| !text.is_empty());
        let number = |n: u32| Some(n).filter(|&n| n > 0);
        SiteView {
            file: text(self.file),
            line: number(self.line),
            column: number(self.column),
            method: text(self.method),
            number: None,
        }
    }

    /// The digits of a number that is too large for [`Site::number`]: such a number is kept as the
    /// name of a file.
    pub(crate) fn large_number<'a>(&self, texts: &'a Interner) -> Option<&'a [u8]> {
        let file = texts.name(self.file.0);
        let is_number = self.line == 0 && !file.is_empty() && file.iter().all(u8::is_ascii_digit);
        is_number.then_some(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Symbols;

    fn view(file: &str, method: &str, line: u32) -> (String, [bool; 4]) {
        let mut symbols = Symbols::default();
        let (file, method) = (symbols.text(file.as_bytes()), symbols.text(method.as_bytes()));
        let site = symbols.site(SiteInfo { file, method, line, column: 0 });
        let view = symbols.site_view(site);
        let known = [
            view.file.is_some(),
            view.line.is_some(),
            view.method.is_some(),
            view.number.is_some(),
        ];
        (view.to_string(), known)
    }

    #[test]
    fn what_is_known_is_seen() {
        assert_eq!(view("A.java", "A.f", 3), ("A.java:3".to_owned(), [true, true, true, false]));
        assert_eq!(view("A.java", "", 0), ("A.java".to_owned(), [true, false, false, false]));
        assert_eq!(view("", "A.f", 0), ("A.f".to_owned(), [false, false, true, false]));
        assert_eq!(view("", "", 0), ("?".to_owned(), [false; 4]));
        let large = "18446744073709551615";
        assert_eq!(view(large, "", 0), (large.to_owned(), [false, false, false, true]));
    }

    #[test]
    fn numbers_and_unknown_sites_need_no_table() {
        let symbols = Symbols::default();
        let number = symbols.site_view(Site::number(17));
        assert_eq!((number.to_string(), number.file), ("17".to_owned(), None));
        assert_eq!(symbols.site_view(Site::UNKNOWN), SiteView::default());
        assert_eq!(symbols.site_view(Site::entry(5)), SiteView::default());
    }
}
