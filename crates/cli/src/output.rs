//! Writing files: under a temporary name beside the target, and renamed when complete. Whatever
//! goes wrong, nothing half-written is left behind.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use tempfile::{NamedTempFile, TempPath};

/// A file being written; or standard output, for `-`.
pub struct Output {
    path: PathBuf,
    /// Where it is until then: removed if it is never complete.
    part: Option<TempPath>,
    sink: Sink,
}

enum Sink {
    Stdout(BufWriter<io::Stdout>),
    Plain(BufWriter<File>),
    Gzip(flate2::write::GzEncoder<BufWriter<File>>),
    Zstd(zstd::Encoder<'static, BufWriter<File>>),
}

/// Large enough that system calls do not count.
const BUFFER: usize = 256 * 1024;

impl Output {
    /// Starts to write `path`, compressed if its name ends in `.gz` or `.zst`.
    pub fn create(path: &Path) -> anyhow::Result<Output> {
        if path == Path::new("-") {
            let stdout = BufWriter::with_capacity(BUFFER, io::stdout());
            return Ok(Output { path: path.to_owned(), part: None, sink: Sink::Stdout(stdout) });
        }
        let file = temporary(path).with_context(|| cannot_write(path))?;
        let (file, part) = file.into_parts();
        let file = BufWriter::with_capacity(BUFFER, file);
        let sink = match path.extension().and_then(|e| e.to_str()) {
            Some("gz") => Sink::Gzip(flate2::write::GzEncoder::new(file, Default::default())),
            Some("zst") => Sink::Zstd(zstd::Encoder::new(file, 0)?),
            _ => Sink::Plain(file),
        };
        Ok(Output { path: path.to_owned(), part: Some(part), sink })
    }

    /// Completes the file, makes sure that it is on the disk, and gives it its name.
    pub fn commit(self) -> anyhow::Result<()> {
        self.complete(File::sync_all)
    }

    /// Completes one of many small files, which are not worth waiting for the disk.
    pub fn commit_one_of_many(self) -> anyhow::Result<()> {
        self.complete(|_| Ok(()))
    }

    fn complete(self, sync: impl FnOnce(&File) -> io::Result<()>) -> anyhow::Result<()> {
        let Output { path, part, sink } = self;
        let written = sink.finish(sync);
        let kept = written.and_then(|()| part.map_or(Ok(()), |part| keep(part, &path)));
        kept.with_context(|| cannot_write(&path))
    }
}

/// What to say when writing `path` failed.
pub fn cannot_write(path: &Path) -> String {
    if path == Path::new("-") {
        return "cannot write to standard output".to_owned();
    }
    format!("cannot write {}", path.display())
}

impl Sink {
    /// Writes what is left.
    fn finish(self, sync: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
        let file = match self {
            Sink::Stdout(mut stdout) => return stdout.flush(),
            Sink::Plain(file) => file,
            Sink::Gzip(encoder) => encoder.finish()?,
            Sink::Zstd(encoder) => encoder.finish()?,
        };
        sync(&file.into_inner().map_err(io::IntoInnerError::into_error)?)
    }

    fn as_write(&mut self) -> &mut dyn Write {
        match self {
            Sink::Stdout(out) => out,
            Sink::Plain(out) => out,
            Sink::Gzip(out) => out,
            Sink::Zstd(out) => out,
        }
    }
}

/// Devices and pipes cannot be replaced by renaming; they are written to directly at the end.
fn keep(part: TempPath, path: &Path) -> io::Result<()> {
    if !is_special(path) {
        return part.persist(path).map_err(|e| e.error);
    }
    let mut out = std::fs::OpenOptions::new().write(true).open(path)?;
    io::copy(&mut File::open(&part)?, &mut out)?;
    out.flush()
}

fn is_special(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|m| !m.is_file())
}

fn temporary(path: &Path) -> io::Result<NamedTempFile> {
    if path.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a directory"));
    }
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !parent.is_dir() {
        let message = format!("there is no folder {}", parent.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, message));
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(".paceline-").suffix(".part");
    #[cfg(unix)]
    {
        // Like any file that a user creates: the umask takes away what it does not want.
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    if is_special(path) { builder.tempfile() } else { builder.tempfile_in(parent) }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.sink.as_write().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.as_write().flush()
    }
}

/// Shows a result.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = anstream::stdout();
    let shown = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    shown.with_context(|| cannot_write(Path::new("-")))
}
