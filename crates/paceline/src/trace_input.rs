//! A trace as it is given: a file, standard input, a pipe or a running program; opened, and read as
//! often as is needed.

use std::fs::File;
use std::io::{self, BufReader, Read, Write as _};
use std::net::Shutdown;
use std::ops::ControlFlow;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use paceline_analysis::explain::contested::Contested;
use paceline_report::model::{Filter, Note};
use paceline_report::{compose, recording};
use paceline_trace::format::pace::SpoolReader;
use paceline_trace::format::stream::StreamReader;
use paceline_trace::format::{self, Format};
use paceline_trace::input::{self, Input, Progress};
use paceline_trace::pipeline::{self, Checking, Reading};
use paceline_trace::select::{Marker, Selected, Selection};
use paceline_trace::{Batch, Blocks, Error, NoteKind, Skipped, Source, Symbols};
use tempfile::NamedTempFile;

use crate::observe::jvm::COMPILERS;
use crate::progress::{Listener, Pass};
use crate::spool::{Spooled, Spooler};

/// How traces are read.
#[derive(Clone, Default)]
pub struct ReadOptions {
    /// The format, when neither content nor name say it.
    pub from: Option<Format>,
    /// Skip malformed lines and events, and count them.
    pub lenient: bool,
    /// Which methods are atomic.
    pub selection: Selection,
}

/// A trace that can be read.
pub struct TraceInput {
    path: PathBuf,
    options: ReadOptions,
    listener: Option<Listener>,
    /// What was read from standard input, a pipe or a running program, for reading it again.
    spool: Option<NamedTempFile>,
    /// A running program, until it is read.
    live: Option<StreamReader>,
    /// The way to it, to be closed when enough has been read.
    connection: Option<UnixStream>,
    /// Writes what a running program sends.
    spooler: Option<Spooler>,
    /// What it has sent, when all of it is there.
    copied: Option<Copied>,
}

/// What stands beside the copy of a running program's events.
struct Copied {
    symbols: Arc<Symbols>,
    blocks: Blocks,
    contested: Arc<Contested>,
}

/// What a running program sends. An agent for JVMs must be of our own version.
pub(crate) fn observed(connection: UnixStream) -> StreamReader {
    StreamReader::new(Box::new(connection)).expecting("jvm", env!("CARGO_PKG_VERSION"))
}

/// A trace being read.
pub struct OpenTrace {
    source: Events,
    blocks: Blocks,
    size: Option<u64>,
    progress: Progress,
}

enum Events {
    All(Box<dyn Source>),
    Selected(Selected<Box<dyn Source>>),
}

impl TraceInput {
    /// The trace at `path`; `-` is standard input.
    pub fn new(path: impl Into<PathBuf>, options: ReadOptions) -> TraceInput {
        TraceInput {
            path: path.into(),
            options,
            listener: None,
            spool: None,
            live: None,
            connection: None,
            spooler: None,
            copied: None,
        }
    }

    /// Reports the progress of every pass to `listener`.
    #[must_use]
    pub fn on_progress(mut self, listener: Listener) -> TraceInput {
        self.listener = Some(listener);
        self
    }

    /// Which blocks count, as it was asked for; nothing for all of them.
    pub fn selection(&self, blocks: Blocks) -> Vec<Filter> {
        let [atomic, except] = self.options.selection.patterns();
        let default = blocks == Blocks::Methods && atomic.is_empty();
        let default = default.then_some(Filter::EntryMethods);
        let atomic = atomic.into_iter().map(|pattern| Filter::Atomic { pattern });
        let except = except.into_iter().map(|pattern| Filter::Except { pattern });
        atomic.chain(default).chain(except).collect()
    }

    /// What a running program sends. If it has selected the blocks itself, all of them count.
    pub(crate) fn live(connection: UnixStream, options: &ReadOptions) -> TraceInput {
        let same = connection.try_clone().ok();
        let program = observed(connection);
        let selection = match program.blocks() {
            Blocks::Methods => options.selection.clone(),
            Blocks::Declared => Selection::default(),
        };
        let path = without_agent(&program.recording().command);
        let options = ReadOptions { from: None, lenient: options.lenient, selection };
        let input = TraceInput::new(path, options);
        TraceInput { live: Some(program), connection: same, ..input }
    }

    /// The path as it was given.
    pub fn name(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }

    /// Starts reading.
    pub fn open(&self) -> Result<OpenTrace, Error> {
        self.open_with(Some(&self.options.selection))
    }

    /// Starts reading with every block, atomic or not.
    pub fn open_unselected(&self) -> Result<OpenTrace, Error> {
        self.open_with(None)
    }

    /// The same, with what decides which events would have been there otherwise.
    pub fn open_marked(&self) -> Result<(OpenTrace, Marker), Error> {
        let open = self.open_with(None)?;
        let marker = Marker::new(self.options.selection.clone(), open.blocks);
        Ok((open, marker))
    }

    fn open_with(&self, selection: Option<&Selection>) -> Result<OpenTrace, Error> {
        if let Some((copied, spool)) = self.copied.as_ref().zip(self.spool.as_ref()) {
            let file = BufReader::with_capacity(1 << 18, spool.reopen()?);
            let source = Box::new(SpoolReader::new(file, Arc::clone(&copied.symbols)));
            return Ok(open_copy(source, selection, copied.blocks));
        }
        let path = self.spool.as_ref().map_or(self.path.as_path(), |spool| spool.path());
        self.start(input::open(path)?, selection)
    }

    /// Starts reading what will be read more than once.
    pub fn open_first(&mut self) -> Result<OpenTrace, Error> {
        if let Some(program) = self.live.take() {
            return self.open_live(program);
        }
        let Some(from) = self.open_stream()? else { return self.open() };
        let spool = NamedTempFile::new()?;
        let tee = Tee { from, to: spool.reopen()? };
        let open =
            self.start(input::from_reader(Box::new(tee), None)?, Some(&self.options.selection))?;
        self.spool = Some(spool);
        Ok(open)
    }

    fn open_live(&mut self, program: StreamReader) -> Result<OpenTrace, Error> {
        let spool = NamedTempFile::new()?;
        let blocks = program.blocks();
        let spooler = Spooler::new(spool.reopen()?);
        let source = Box::new(Spooled::new(program, &spooler));
        self.spool = Some(spool);
        self.spooler = Some(spooler);
        Ok(open_copy(source, Some(&self.options.selection), blocks))
    }

    /// After the first reading: from now on everything comes from the copy, and a program that
    /// still runs need not wait for us.
    pub fn end_first(&mut self, open: &OpenTrace) -> Result<(), Error> {
        if let Some(connection) = self.connection.take() {
            // It has been closed already when the program has ended.
            let _ = connection.shutdown(Shutdown::Both);
        }
        let Some(spooler) = self.spooler.take() else { return Ok(()) };
        let blocks = open.blocks();
        let contested = Arc::new(spooler.finish()?);
        self.copied = open.share_symbols().map(|symbols| Copied { symbols, blocks, contested });
        Ok(())
    }

    /// The variables that can be in conflicts, where that is known after the first reading.
    pub fn contested(&self) -> Option<Arc<Contested>> {
        self.copied.as_ref().map(|copied| Arc::clone(&copied.contested))
    }

    /// Whether it can be read once more, and from its beginning.
    pub(crate) fn can_be_read_again(&self) -> bool {
        self.copied.is_some()
            || self.live.is_none() && self.path != Path::new("-") && {
                let special = |m: std::fs::Metadata| !m.is_file() && !m.is_dir();
                self.spool.is_some() || !std::fs::metadata(&self.path).is_ok_and(special)
            }
    }

    /// What can be read only once: standard input, a pipe, a shell's `<(command)`.
    fn open_stream(&self) -> io::Result<Option<Box<dyn Read + Send>>> {
        if self.path == Path::new("-") {
            return Ok(Some(Box::new(io::stdin())));
        }
        match std::fs::metadata(&self.path) {
            Ok(m) if !m.is_file() && !m.is_dir() => Ok(Some(Box::new(File::open(&self.path)?))),
            _ => Ok(None),
        }
    }

    fn format_of(&self, head: &[u8]) -> Result<Format, Error> {
        // An empty input has no events, whatever its format.
        let empty = head.is_empty().then_some(Format::Std);
        Format::of_input(self.options.from, head, &self.path).or(empty).ok_or_else(|| {
            let message = "this looks like no trace; if it is one, say its format with --from";
            Error::damaged(Default::default(), message)
        })
    }

    fn start(&self, input: Input, selection: Option<&Selection>) -> Result<OpenTrace, Error> {
        let format = self.format_of(&input.head)?;
        let (size, progress) = (input.size, input.progress.clone());
        let format::Opened { source, blocks } = format::read(input, format, self.options.lenient);
        let source = select(source, selection, blocks);
        Ok(OpenTrace { source, blocks, size, progress })
    }

    /// Reads to the end, checked and numbered, with a progress bar.
    pub fn read(
        &self,
        open: &mut OpenTrace,
        mut each: impl FnMut(&Batch) -> ControlFlow<()>,
    ) -> (Reading, Result<(), Error>) {
        let pass = Pass::start(self.listener.as_ref(), &show_path(&self.path), open.size);
        let progress = open.progress.clone();
        let mut events = 0;
        let each = |batch: &Batch| {
            events += batch.events.len() as u64;
            pass.advance(progress.bytes(), events);
            each(batch)
        };
        let (reading, outcome) = pipeline::read(&mut open.source, self.checking(), each);
        let outcome = if reading.stopped { outcome } else { outcome.and(open.check_whole()) };
        (reading, outcome)
    }

    fn checking(&self) -> Checking {
        match self.options.lenient {
            true => Checking::Lenient,
            // The copy is our own and was checked when it was made.
            false if self.copied.is_some() => Checking::Unchecked,
            false => Checking::Strict,
        }
    }
}

fn open_copy(source: Box<dyn Source>, selection: Option<&Selection>, blocks: Blocks) -> OpenTrace {
    let source = select(source, selection, blocks);
    OpenTrace { source, blocks, size: None, progress: Progress::default() }
}

/// A path as it is shown.
pub fn show_path(path: &Path) -> String {
    if path == Path::new("-") {
        return "standard input".to_owned();
    }
    path.display().to_string()
}

/// A command line as its user typed it.
fn without_agent(command: &str) -> String {
    let is_agent = |word: &str| word.starts_with("-agentpath:") && word.contains("paceline_jvm");
    let mut words: Vec<&str> = command.split(' ').collect();
    if let Some(agent) = words.iter().position(|word| is_agent(word)) {
        let is_ours = words[agent + 1..].starts_with(&COMPILERS);
        words.drain(agent..=agent + if is_ours { COMPILERS.len() } else { 0 });
    }
    words.join(" ")
}

/// Leaves out the blocks that do not count.
fn select(source: Box<dyn Source>, selection: Option<&Selection>, blocks: Blocks) -> Events {
    match selection {
        Some(selection) if selection.is_given() || blocks == Blocks::Methods => {
            Events::Selected(Selected::new(source, selection.clone(), blocks))
        }
        _ => Events::All(source),
    }
}

impl TraceInput {
    /// Reads to the end, checked and numbered, for a caller that needs the names of a batch along
    /// with it: on one core, since names are only complete up to where the reader is.
    pub fn read_named<E: From<Error>>(
        &self,
        doing: &str,
        open: &mut OpenTrace,
        mut each: impl FnMut(&Batch, &Symbols) -> Result<(), E>,
    ) -> Result<Reading, E> {
        let (size, progress) = open.progress();
        let pass = Pass::start(self.listener.as_ref(), doing, size);
        let (mut events, mut failed) = (0, None);
        let (reading, outcome) = pipeline::read_named(open, self.checking(), |batch, symbols| {
            events += batch.events.len() as u64;
            pass.advance(progress.bytes(), events);
            failed = each(batch, symbols).err();
            if failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if let Some(failed) = failed {
            return Err(failed);
        }
        outcome?;
        open.check_whole()?;
        Ok(reading)
    }
}

impl OpenTrace {
    /// What `begin` and `end` stand for.
    pub fn blocks(&self) -> Blocks {
        self.blocks
    }

    /// The size on disk and how much of it has been read.
    pub fn progress(&self) -> (Option<u64>, Progress) {
        (self.size, self.progress.clone())
    }

    /// After the end: whether that was the end of what was opened. Text that is cut off at a line
    /// end looks like a whole.
    pub fn check_whole(&self) -> Result<(), Error> {
        let read = self.progress.bytes();
        match self.size {
            Some(size) if read < size => {
                let message =
                    format!("the file has shrunk while it was read: {read} of {size} bytes");
                Err(Error::damaged(Default::default(), message))
            }
            _ => Ok(()),
        }
    }

    /// Patterns that no method matched: probably misspelt.
    pub fn unmatched_patterns(&self) -> Vec<String> {
        match &self.source {
            Events::All(_) => Vec::new(),
            Events::Selected(selected) => selected.marker().unmatched(),
        }
    }

    /// How many labels count and how many do not, where a choice was made.
    pub fn selected_labels(&self) -> Option<(usize, usize)> {
        match &self.source {
            Events::All(_) => None,
            Events::Selected(selected) => Some(selected.marker().labels()),
        }
    }
}

impl Events {
    fn inner(&self) -> &dyn Source {
        match self {
            Events::All(source) => source,
            Events::Selected(selected) => selected,
        }
    }
}

impl Source for Events {
    fn read(&mut self, batch: &mut Batch) -> Result<(), Error> {
        match self {
            Events::All(source) => source.read(batch),
            Events::Selected(selected) => selected.read(batch),
        }
    }

    fn symbols(&self) -> &Symbols {
        self.inner().symbols()
    }

    fn skipped(&self) -> &Skipped {
        self.inner().skipped()
    }

    fn is_quick(&self) -> bool {
        self.inner().is_quick()
    }

    fn share_symbols(&self) -> Option<Arc<Symbols>> {
        self.inner().share_symbols()
    }
}

impl Source for OpenTrace {
    fn read(&mut self, batch: &mut Batch) -> Result<(), Error> {
        self.source.read(batch)
    }

    fn symbols(&self) -> &Symbols {
        self.source.symbols()
    }

    fn skipped(&self) -> &Skipped {
        self.source.skipped()
    }

    fn is_quick(&self) -> bool {
        self.source.is_quick()
    }

    fn share_symbols(&self) -> Option<Arc<Symbols>> {
        self.source.share_symbols()
    }
}

/// Copies what is read.
struct Tee<R> {
    from: R,
    to: File,
}

impl<R: Read> Read for Tee<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.from.read(buffer)?;
        self.to.write_all(&buffer[..n]).map_err(|error| {
            let message = format!("cannot keep a copy for reading it again: {error}");
            io::Error::new(error.kind(), message)
        })?;
        Ok(n)
    }
}

/// What a reader of a report should know about how its trace was read.
pub fn notes(open: &OpenTrace, reading: &Reading) -> Vec<Note> {
    let skipped = open.skipped();
    let unmodelled = skipped.unmodelled.iter().map(|(name, &count)| {
        (count, Note::UnmodelledLines { operation: compose::name(name.as_bytes()), count })
    });
    let counted = |count, note: fn(u64) -> Note| (count, note(count));
    let counts = [
        counted(skipped.foreign_lines, |count| Note::ForeignLines { count }),
        counted(skipped.lost_events, |count| Note::LostEvents { count }),
    ];
    let malformed = [
        counted(skipped.malformed, |count| Note::MalformedLines { count }),
        counted(reading.malformed, |count| Note::MalformedEvents { count }),
    ];
    let counts = counts.into_iter().chain(unmodelled).chain(malformed);
    let mut notes: Vec<Note> =
        counts.filter(|(count, _)| *count > 0).map(|(_, note)| note).collect();
    let line = skipped.examples.first().map(ToString::to_string);
    notes.extend(line.map(|problem| Note::FirstMalformedLine { problem }));
    let event = reading.malformed_examples.first().map(|m| m.explain(open.symbols()).to_string());
    notes.extend(event.map(|problem| Note::FirstMalformedEvent { problem }));
    notes.extend(skipped.cut_off.clone().map(|problem| Note::CutOff { problem }));
    notes.extend(skipped.recording.as_ref().map(recording::notes).unwrap_or_default());
    if let Some((atomic, not_atomic)) = open.selected_labels() {
        let (atomic, not_atomic) = (atomic as u64, not_atomic as u64);
        notes.push(Note::SelectedByName { atomic, not_atomic });
    }
    let unmatched = open.unmatched_patterns().into_iter();
    notes.extend(unmatched.map(|pattern| Note::UnmatchedPattern { pattern }));
    notes
}

/// How many events and lines could not be used, as far as they can be counted.
pub fn dropped(open: &OpenTrace, reading: &Reading) -> u64 {
    let skipped = open.skipped();
    skipped.lost_events + skipped.malformed + reading.malformed
}

/// Whether something of the trace is missing.
pub fn is_incomplete(open: &OpenTrace, reading: &Reading) -> bool {
    dropped(open, reading) > 0
        || open.skipped().cut_off.is_some()
        || open.skipped().recording.as_ref().is_some_and(|r| r.has(NoteKind::Lost))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_shrinks_while_it_is_read_is_no_shorter_trace() {
        let file = NamedTempFile::new().unwrap();
        std::fs::write(&file, "1|r(x)|1\n".repeat(1000)).unwrap();
        let trace = TraceInput::new(file.path(), ReadOptions::default());
        let mut open = trace.open().unwrap();
        file.as_file().set_len(4500).unwrap();
        let (reading, outcome) = trace.read(&mut open, |_| ControlFlow::Continue(()));
        assert_eq!(reading.events, 500);
        assert!(outcome.unwrap_err().to_string().contains("4500 of 9000 bytes"));
    }
}
