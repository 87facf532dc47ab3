//! Writing files: under a temporary name beside the target, and renamed when complete. Whatever
//! goes wrong, nothing half-written is left behind.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use tempfile::NamedTempFile;

/// A file being written; or standard output, for `-`.
pub struct Output {
    target: PathBuf,
    sink: Sink,
}

enum Sink {
    Stdout(BufWriter<io::Stdout>),
    Plain(BufWriter<NamedTempFile>),
    Gzip(flate2::write::GzEncoder<BufWriter<NamedTempFile>>),
    Zstd(zstd::Encoder<'static, BufWriter<NamedTempFile>>),
}

/// Large enough that system calls do not count.
const BUFFER: usize = 256 * 1024;

impl Output {
    /// Starts to write `path`, compressed if its name ends in `.gz` or `.zst`.
    pub fn create(path: &Path) -> anyhow::Result<Output> {
        if path == Path::new("-") {
            let stdout = BufWriter::with_capacity(BUFFER, io::stdout());
            return Ok(Output { target: path.to_owned(), sink: Sink::Stdout(stdout) });
        }
        let file = temporary(path).with_context(|| cannot_write(path))?;
        let file = BufWriter::with_capacity(BUFFER, file);
        let sink = match path.extension().and_then(|e| e.to_str()) {
            Some("gz") => Sink::Gzip(flate2::write::GzEncoder::new(file, Default::default())),
            Some("zst") => Sink::Zstd(zstd::Encoder::new(file, 0)?),
            _ => Sink::Plain(file),
        };
        Ok(Output { target: path.to_owned(), sink })
    }

    /// Completes the file and gives it its name.
    pub fn commit(self) -> anyhow::Result<()> {
        let Output { target, sink } = self;
        sink.complete(&target).with_context(|| cannot_write(&target))
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
    fn complete(self, target: &Path) -> io::Result<()> {
        let file = match self {
            Sink::Stdout(mut stdout) => return stdout.flush(),
            Sink::Plain(file) => file,
            Sink::Gzip(encoder) => encoder.finish()?,
            Sink::Zstd(encoder) => encoder.finish()?,
        };
        let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.as_file().sync_all()?;
        keep(file, target)
    }
}

/// Devices and pipes cannot be replaced by renaming; they are written to directly at the end.
fn keep(mut file: NamedTempFile, target: &Path) -> io::Result<()> {
    let special = std::fs::metadata(target).is_ok_and(|m| !m.is_file());
    if !special {
        file.persist(target)?;
        return Ok(());
    }
    let mut written = file.reopen()?;
    let mut out = std::fs::OpenOptions::new().write(true).open(target)?;
    io::copy(&mut written, &mut out)?;
    out.flush()?;
    file.flush()
}

fn temporary(path: &Path) -> io::Result<NamedTempFile> {
    if path.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a directory"));
    }
    let special = std::fs::metadata(path).is_ok_and(|m| !m.is_file());
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
    if special { builder.tempfile() } else { builder.tempfile_in(parent) }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.sink {
            Sink::Stdout(out) => out.write(bytes),
            Sink::Plain(out) => out.write(bytes),
            Sink::Gzip(out) => out.write(bytes),
            Sink::Zstd(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::Stdout(out) => out.flush(),
            Sink::Plain(out) => out.flush(),
            Sink::Gzip(out) => out.flush(),
            Sink::Zstd(out) => out.flush(),
        }
    }
}
