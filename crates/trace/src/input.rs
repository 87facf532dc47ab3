//! Opening an input: a file or standard input, compressed or not. What it is follows from its
//! first bytes, never from its name.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// An open input.
pub struct Input {
    /// The bytes, decompressed.
    pub bytes: Box<dyn Read + Send>,
    /// The first bytes of `bytes`, to detect its format.
    pub head: Vec<u8>,
    /// The size on disk, when it is a plain file.
    pub size: Option<u64>,
    /// How much of it has been read.
    pub progress: Progress,
}

/// A shared count of the bytes read from disk.
#[derive(Clone, Default)]
pub struct Progress(Arc<AtomicU64>);

impl Progress {
    /// How many bytes have been read.
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

struct Counted<R> {
    inner: R,
    count: Progress,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.count.0.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

/// Opens a file, or standard input for `-`.
pub fn open(path: &Path) -> io::Result<Input> {
    if path == Path::new("-") {
        return from_reader(Box::new(io::stdin()), None);
    }
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a directory, not a trace"));
    }
    let size = metadata.is_file().then_some(metadata.len());
    from_reader(Box::new(file), size)
}

/// Makes an input of any stream of bytes.
pub fn from_reader(raw: Box<dyn Read + Send>, size: Option<u64>) -> io::Result<Input> {
    let progress = Progress::default();
    let mut counted = Counted { inner: raw, count: progress.clone() };
    let head = read_head(&mut counted)?;
    let whole = io::Cursor::new(head.clone()).chain(counted);
    let mut bytes: Box<dyn Read + Send> = if head.starts_with(GZIP) {
        Box::new(Compressed("gzip", flate2::read::MultiGzDecoder::new(io::BufReader::new(whole))))
    } else if head.starts_with(ZSTD) {
        Box::new(Compressed("zstd", zstd::Decoder::new(whole)?))
    } else {
        return Ok(Input { bytes: Box::new(whole), head, size, progress });
    };
    let head = read_head(&mut bytes)?;
    let bytes = Box::new(io::Cursor::new(head.clone()).chain(bytes));
    Ok(Input { bytes, head, size, progress })
}

/// Enough for every magic number and for the first lines of a text.
fn read_head(input: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    input.take(4096).read_to_end(&mut head)?;
    Ok(head)
}

/// Says in an error which compression is damaged.
struct Compressed<R>(&'static str, R);

impl<R: Read> Read for Compressed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.1.read(buffer).map_err(|error| {
            let cut_off = error.kind() == io::ErrorKind::UnexpectedEof;
            let what = if cut_off { "ends in the middle" } else { "is damaged" };
            io::Error::new(error.kind(), format!("the {} stream {what} ({error})", self.0))
        })
    }
}
