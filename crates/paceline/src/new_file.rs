//! Writing files: without a name, or under a temporary one beside the target, and renamed when
//! complete. Whatever goes wrong, nothing half-written is left behind: a file without a name is
//! gone with the process, however that ends.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::TempPath;

/// A file being written. It gets its name when it is complete.
pub struct NewFile {
    path: PathBuf,
    part: Part,
    sink: Sink,
}

/// Where a file is until it is complete.
enum Part {
    /// In the folder of the target, without a name.
    Nameless(File),
    /// Removed if it is never complete.
    Named(TempPath),
}

/// How it is written.
enum Sink {
    Plain(BufWriter<File>),
    Gzip(flate2::write::GzEncoder<BufWriter<File>>),
    Zstd(zstd::Encoder<'static, BufWriter<File>>),
}

/// Large enough that system calls do not count.
const BUFFER: usize = 256 * 1024;

impl NewFile {
    /// Starts to write `path`, compressed if its name ends in `.gz` or `.zst`.
    pub fn create(path: &Path) -> io::Result<NewFile> {
        let (file, part) = temporary(path)?;
        let file = BufWriter::with_capacity(BUFFER, file);
        let sink = match path.extension().and_then(|e| e.to_str()) {
            Some("gz") => Sink::Gzip(flate2::write::GzEncoder::new(file, Default::default())),
            Some("zst") => Sink::Zstd(zstd::Encoder::new(file, 0)?),
            _ => Sink::Plain(file),
        };
        Ok(NewFile { path: path.to_owned(), part, sink })
    }

    /// Completes the file, makes sure that it is on the disk, and gives it its name.
    pub fn commit(self) -> io::Result<()> {
        self.complete(File::sync_all)
    }

    /// Completes one of many small files, which are not worth waiting for the disk.
    pub fn commit_one_of_many(self) -> io::Result<()> {
        self.complete(|_| Ok(()))
    }

    fn complete(self, sync: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
        let NewFile { path, part, sink } = self;
        sink.finish(sync)?;
        match part {
            Part::Nameless(file) => keep(name(&file, folder(&path))?, &path),
            Part::Named(part) => keep(part, &path),
        }
    }
}

impl Sink {
    /// Writes what is left.
    fn finish(self, sync: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
        let file = match self {
            Sink::Plain(file) => file,
            Sink::Gzip(encoder) => encoder.finish()?,
            Sink::Zstd(encoder) => encoder.finish()?,
        };
        sync(&file.into_inner().map_err(io::IntoInnerError::into_error)?)
    }

    fn as_write(&mut self) -> &mut dyn Write {
        match self {
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

fn temporary(path: &Path) -> io::Result<(File, Part)> {
    if path.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a directory"));
    }
    let parent = folder(path);
    if !parent.is_dir() {
        let message = format!("there is no folder {}", parent.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, message));
    }
    if is_special(path) {
        return Ok(named(tempfile::Builder::new().tempfile()?));
    }
    if let Some(file) = nameless(parent) {
        return Ok((file.try_clone()?, Part::Nameless(file)));
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(std::fs::Permissions::from_mode(MODE));
    }
    Ok(named(builder.tempfile_in(parent)?))
}

const PREFIX: &str = ".paceline-";
const SUFFIX: &str = ".part";

/// Like any file that a user creates: the umask takes away what it does not want.
#[cfg(unix)]
const MODE: u32 = 0o666;

fn folder(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn named(file: tempfile::NamedTempFile) -> (File, Part) {
    let (file, path) = file.into_parts();
    (file, Part::Named(path))
}

/// A file in a folder without a name, where the system has such files.
#[cfg(target_os = "linux")]
fn nameless(folder: &Path) -> Option<File> {
    use rustix::fs::{Mode, OFlags, open};
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = File::from(open(folder, flags, Mode::from_raw_mode(MODE)).ok()?);
    own_path(&file).exists().then_some(file)
}

#[cfg(target_os = "linux")]
fn own_path(file: &File) -> PathBuf {
    use std::os::fd::AsRawFd as _;
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Gives a file a temporary name. It is complete, and about to get its own.
#[cfg(target_os = "linux")]
fn name(file: &File, folder: &Path) -> io::Result<TempPath> {
    use rustix::fs::{AtFlags, CWD, linkat};
    let link = |path: &Path| {
        linkat(CWD, own_path(file), CWD, path, AtFlags::SYMLINK_FOLLOW).map_err(io::Error::from)
    };
    let mut builder = tempfile::Builder::new();
    Ok(builder.prefix(PREFIX).suffix(SUFFIX).make_in(folder, link)?.into_temp_path())
}

#[cfg(not(target_os = "linux"))]
fn nameless(_: &Path) -> Option<File> {
    None
}

#[cfg(not(target_os = "linux"))]
fn name(_: &File, _: &Path) -> io::Result<TempPath> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.sink.as_write().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.as_write().flush()
    }
}
