//! Which formats there are, and how one is recognised.

use std::io;
use std::path::Path;

use paceline_wire as wire;

use super::stream::StreamReader;
use super::{Writer, csv, pace, rr, std as standard};
use crate::input::Input;
use crate::source::{Blocks, Source};

/// A trace format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// RAPID's STD with Paceline's operations.
    Std,
    /// Logs of RoadRunner's print tools.
    Rr,
    /// RAPID's CSV.
    Csv,
    /// Paceline's own binary format.
    Pace,
    /// What a recorder inside an observed program sends.
    Stream,
}

impl Format {
    /// Every format.
    pub const ALL: &[Format] =
        &[Format::Std, Format::Rr, Format::Csv, Format::Pace, Format::Stream];

    /// The name on the command line, which is also the file name's ending.
    pub fn name(self) -> &'static str {
        match self {
            Format::Std => "std",
            Format::Rr => "rr",
            Format::Csv => "csv",
            Format::Pace => "pace",
            Format::Stream => "stream",
        }
    }

    /// The format with this name.
    pub fn from_name(name: &str) -> Option<Format> {
        Format::ALL.iter().copied().find(|f| f.name() == name)
    }

    /// The format that a file name asks for, whatever compression it asks for besides.
    pub fn from_path(path: &Path) -> Option<Format> {
        let mut path = path.to_path_buf();
        if path.extension().is_some_and(|e| e == "gz" || e == "zst") {
            path.set_extension("");
        }
        Format::from_name(path.extension()?.to_str()?)
    }

    /// The format of a trace that starts with these bytes. A RoadRunner log may start with any
    /// output of the program, so its events are looked for first.
    pub fn detect(head: &[u8]) -> Option<Format> {
        if head.starts_with(&pace::MAGIC) {
            return Some(Format::Pace);
        }
        if head.starts_with(&wire::MAGIC) {
            return Some(Format::Stream);
        }
        let has = |form: fn(&[u8]) -> bool| {
            head.split(|&b| b == b'\n').any(|line| form(line.strip_suffix(b"\r").unwrap_or(line)))
        };
        if has(rr::looks_like) {
            return Some(Format::Rr);
        }
        if has(standard::looks_like) {
            return Some(Format::Std);
        }
        has(csv::looks_like).then_some(Format::Csv)
    }

    /// The format of an input: what the user says, else what it looks like, else what its name
    /// says.
    pub fn of_input(asked: Option<Format>, head: &[u8], path: &Path) -> Option<Format> {
        asked.or_else(|| Format::detect(head)).or_else(|| Format::from_path(path))
    }

    /// A writer of this format, if it can be written.
    pub fn writer<'a>(
        self,
        output: impl io::Write + 'a,
        blocks: Blocks,
    ) -> io::Result<Box<dyn Writer + 'a>> {
        match self {
            Format::Std => Ok(Box::new(standard::StdWriter::new(output))),
            Format::Csv => Ok(Box::new(csv::CsvWriter::new(output))),
            Format::Pace => Ok(Box::new(pace::PaceWriter::new(output, blocks)?)),
            Format::Rr => Err(only_read("RoadRunner logs")),
            Format::Stream => Err(only_read("recorded streams")),
        }
    }
}

fn only_read(what: &str) -> io::Error {
    let message = format!("{what} are only read: write std, csv or pace instead");
    io::Error::new(io::ErrorKind::Unsupported, message)
}

/// A source and what is known about it before the first event.
pub struct Opened {
    /// The events.
    pub source: Box<dyn Source>,
    /// What `begin` and `end` stand for.
    pub blocks: Blocks,
}

/// Starts reading `input` in the given format.
pub fn read(input: Input, format: Format, lenient: bool) -> Opened {
    let declared = |source| Opened { source, blocks: Blocks::Declared };
    match format {
        Format::Std => declared(Box::new(standard::StdReader::new(input.bytes, lenient))),
        Format::Csv => declared(Box::new(csv::CsvReader::new(input.bytes, lenient))),
        Format::Rr => Opened {
            source: Box::new(rr::RrReader::new(input.bytes, lenient)),
            blocks: Blocks::Methods,
        },
        Format::Pace => {
            let reader = pace::PaceReader::new(input.bytes);
            Opened { blocks: reader.blocks(), source: Box::new(reader) }
        }
        Format::Stream => {
            let reader = StreamReader::new(input.bytes);
            Opened { blocks: reader.blocks(), source: Box::new(reader) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_detected_from_its_content() {
        for (head, format) in [
            (&b"1|r(x)|1\n"[..], Some(Format::Std)),
            (b"no event\n1|begin|1\r\n1|r(x", Some(Format::Std)),
            (b"1|acq(l)|18446744073709551615", Some(Format::Std)),
            (b"[main: Meep]\n1|r(x)|1\n@   Enter(0,A.main()V) from null\n", Some(Format::Rr)),
            (b"@  Acquire(0,@03)\r\n", Some(Format::Rr)),
            (b",,sync(z),,\n", Some(Format::Csv)),
            (b"T0,T1\n,r(x)\n", Some(Format::Csv)),
            (b"r(x)\n", Some(Format::Csv)),
            (&pace::MAGIC, Some(Format::Pace)),
            (&wire::MAGIC, Some(Format::Stream)),
            (b"", None),
            (b"hello\nworld", None),
            (b"1|read(x)|1\n@ Foo(1,2)\nr,w\n", None),
        ] {
            assert_eq!(Format::detect(head), format, "{}", crate::show_bytes(head));
        }
    }

    #[test]
    fn the_user_is_asked_first_and_the_name_last() {
        let (std, none) = (&b"1|r(x)|1\n"[..], &b"???"[..]);
        let path = Path::new("trace.csv.gz");
        assert_eq!(Format::of_input(Some(Format::Rr), std, path), Some(Format::Rr));
        assert_eq!(Format::of_input(None, std, path), Some(Format::Std));
        assert_eq!(Format::of_input(None, none, path), Some(Format::Csv));
        assert_eq!(Format::of_input(None, none, Path::new("-")), None);
    }

    #[test]
    fn logs_and_streams_are_not_written() {
        for &format in Format::ALL {
            let is_written = format.writer(Vec::new(), Blocks::Declared).is_ok();
            assert_eq!(is_written, ![Format::Rr, Format::Stream].contains(&format));
        }
    }
}
