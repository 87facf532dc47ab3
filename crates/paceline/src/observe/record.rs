//! Recording: what the processes of a command send, written to files.

use std::io;
use std::ops::ControlFlow;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use paceline_trace::Source as _;
use paceline_trace::format::Format;
use paceline_trace::pipeline::{Checking, read_named};
use paceline_trace::validate::Validator;

use crate::Error;
use crate::new_file::NewFile;
use crate::trace_input::observed;

/// The trace of one process, in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recorded {
    /// The file.
    pub path: PathBuf,
    /// How many events it has.
    pub events: u64,
    /// Whether its end is missing.
    pub is_incomplete: bool,
}

/// Where the traces of a command go.
pub(super) struct Files {
    given: PathBuf,
    format: Format,
    count: AtomicUsize,
}

impl Files {
    /// Files with names made of `given`, whose ending says the format.
    pub(super) fn new(given: &Path) -> Result<Files, Error> {
        let format = Format::from_path(given).unwrap_or(Format::Pace);
        if matches!(format, Format::Rr | Format::Stream) {
            let why = "a recording is written as pace, std or csv, not as";
            return Err(Error::Usage(format!("{why} {}", format.name())));
        }
        Ok(Files { given: given.to_owned(), format, count: AtomicUsize::new(0) })
    }

    /// Writes what one process sends.
    pub(super) fn keep(&self, stream: UnixStream) -> Result<Recorded, Error> {
        let mut program = observed(stream);
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let path = file_of(&self.given, program.recording().pid, number);
        let cannot_write = |source: io::Error| Error::Write { path: path.clone(), source };
        let in_file = |error| Error::TraceAt { path: path.clone(), source: error };
        let mut file = NewFile::create(&path).map_err(cannot_write)?;
        let writer = self.format.writer(&mut file, program.blocks());
        let mut writer = writer.map_err(cannot_write)?;
        let mut validator = Validator::default();
        let (mut malformed, mut failed) = (None, None);
        let (reading, outcome) = read_named(&mut program, Checking::Unchecked, |batch, symbols| {
            failed = writer.write(batch, symbols).err();
            if malformed.is_none() {
                malformed = validator.first_malformed(batch).map(|(_, malformed)| malformed);
            }
            if failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        outcome.map_err(in_file)?;
        failed.map_or(Ok(()), Err).map_err(cannot_write)?;
        program.skipped().recording.iter().for_each(|recording| writer.recording(recording));
        writer.finish(program.symbols()).map_err(cannot_write)?;
        drop(writer);
        file.commit().map_err(cannot_write)?;
        // A malformed trace is kept all the same, so that the reason can be looked for in it.
        if let Some(malformed) = malformed {
            return Err(in_file(malformed.explain(program.symbols())));
        }
        let is_incomplete = program.skipped().cut_off.is_some();
        Ok(Recorded { path: path.clone(), events: reading.events, is_incomplete })
    }
}

/// The file of a process: the first has the name that was given.
fn file_of(given: &Path, pid: u32, number: usize) -> PathBuf {
    let text = given.to_string_lossy();
    if text.contains("%p") {
        return PathBuf::from(text.replace("%p", &pid.to_string()));
    }
    match (number, text.rsplit_once('.')) {
        (0, _) => given.to_owned(),
        (n, Some((stem, ending))) => PathBuf::from(format!("{stem}-{}.{ending}", n + 1)),
        (n, None) => PathBuf::from(format!("{text}-{}", n + 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_process_has_a_file() {
        let name = |given, number| file_of(Path::new(given), 42, number).display().to_string();
        assert_eq!(name("t.pace", 0), "t.pace");
        assert_eq!(name("a.b/t.pace", 1), "a.b/t-2.pace");
        assert_eq!(name("t", 2), "t-3");
        assert_eq!(name("t-%p.pace", 5), "t-42.pace");
    }

    #[test]
    fn formats_that_are_only_read_are_refused() {
        assert!(Files::new(Path::new("t.rr")).is_err());
        assert!(Files::new(Path::new("t.std.gz")).is_ok());
    }
}
