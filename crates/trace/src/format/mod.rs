//! Trace formats, one file each, and the registry that the command line reads.

pub mod pace;
#[cfg(feature = "files")]
pub mod std;

use ::std::io;
use ::std::path::Path;

#[cfg(feature = "files")]
use crate::input::Input;
use crate::source::Batch;
#[cfg(feature = "files")]
use crate::source::{Blocks, Source};
use crate::symbols::Symbols;

/// A trace format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// RAPID's STD with Paceline's operations.
    Std,
    /// Paceline's own binary format.
    Pace,
}

impl Format {
    /// Every format.
    pub const ALL: &[Format] = &[Format::Std, Format::Pace];

    /// The name on the command line, which is also the file name's ending.
    pub fn name(self) -> &'static str {
        match self {
            Format::Std => "std",
            Format::Pace => "pace",
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

    /// The format of an input that starts with these bytes.
    pub fn detect(head: &[u8]) -> Option<Format> {
        head.starts_with(&pace::MAGIC).then_some(Format::Pace)
    }
}

/// A source and what is known about it before the first event.
#[cfg(feature = "files")]
pub struct Opened {
    /// The events.
    pub source: Box<dyn Source>,
    /// What `begin` and `end` stand for.
    pub blocks: Blocks,
}

/// Starts reading `input` in the given format.
#[cfg(feature = "files")]
pub fn read(input: Input, format: Format, lenient: bool) -> Opened {
    match format {
        Format::Std => Opened {
            source: Box::new(std::StdReader::new(input.bytes, lenient)),
            blocks: Blocks::Declared,
        },
        Format::Pace => {
            let reader = pace::PaceReader::new(input.bytes);
            Opened { blocks: reader.blocks(), source: Box::new(reader) }
        }
    }
}

/// Writes events in some format.
pub trait Writer {
    /// Appends the events of a batch.
    fn write(&mut self, batch: &Batch, symbols: &Symbols) -> io::Result<()>;

    /// Completes the output; nothing may be written after it.
    fn finish(&mut self, symbols: &Symbols) -> io::Result<()>;
}
