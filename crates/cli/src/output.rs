//! Where results are written: a file, or standard output for `-`.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use paceline::new_file::NewFile;

/// A file being written; or standard output, for `-`.
pub struct Output {
    path: PathBuf,
    sink: Sink,
}

enum Sink {
    Stdout(BufWriter<io::Stdout>),
    File(Box<NewFile>),
}

/// Large enough that system calls do not count.
const BUFFER: usize = 256 * 1024;

impl Output {
    /// Starts to write `path`, compressed if its name ends in `.gz` or `.zst`.
    pub fn create(path: &Path) -> anyhow::Result<Output> {
        let sink = if path == Path::new("-") {
            Sink::Stdout(BufWriter::with_capacity(BUFFER, io::stdout()))
        } else {
            Sink::File(Box::new(NewFile::create(path).with_context(|| cannot_write(path))?))
        };
        Ok(Output { path: path.to_owned(), sink })
    }

    /// Completes the file, makes sure that it is on the disk, and gives it its name.
    pub fn commit(self) -> anyhow::Result<()> {
        self.complete(NewFile::commit)
    }

    /// Completes one of many small files, which are not worth waiting for the disk.
    pub fn commit_one_of_many(self) -> anyhow::Result<()> {
        self.complete(NewFile::commit_one_of_many)
    }

    fn complete(self, file: impl FnOnce(NewFile) -> io::Result<()>) -> anyhow::Result<()> {
        let completed = match self.sink {
            Sink::Stdout(mut stdout) => stdout.flush(),
            Sink::File(new) => file(*new),
        };
        completed.with_context(|| cannot_write(&self.path))
    }

    fn as_write(&mut self) -> &mut dyn Write {
        match &mut self.sink {
            Sink::Stdout(out) => out,
            Sink::File(out) => out.as_mut(),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.as_write().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.as_write().flush()
    }
}

/// What to say when writing `path` failed.
pub fn cannot_write(path: &Path) -> String {
    if path == Path::new("-") {
        return "cannot write to standard output".to_owned();
    }
    format!("cannot write {}", path.display())
}

/// Shows a result.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = anstream::stdout();
    let shown = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    shown.with_context(|| cannot_write(Path::new("-")))
}
