//! Finds class files: in directories, jars (and jars in jars), jmods and the image of a JDK.
//!
//! Nothing that an input says about itself is believed: sizes are counted while unpacking, and an
//! entry, a nested archive or an archive as a whole that grows beyond its limit is an error that
//! names it. The rest of the input is read all the same.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use zip::ZipArchive;

use crate::image::{Image, ImageClass, is_image};

/// Something to scan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Input {
    /// A class file, an archive, an image, or a directory of such.
    Path(PathBuf),
    /// One module of a JDK's image, the file `lib/modules`.
    Module {
        /// The image.
        image: PathBuf,
        /// The module.
        name: String,
    },
}

/// How much an input may unpack to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes of one class file.
    pub class: u64,
    /// Bytes of one archive inside another.
    pub nested: u64,
    /// Bytes of everything in one file.
    pub total: u64,
    /// Archives in archives in archives.
    pub depth: usize,
}

impl Default for Limits {
    /// The largest class files of real programs have 2 MB, the largest nested jars 300 MB.
    fn default() -> Limits {
        Limits { class: 32 << 20, nested: 1 << 30, total: 16 << 30, depth: 4 }
    }
}

/// Something that could not be read.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct ScanError {
    /// The file, and the entry in it after `!/`.
    pub path: String,
    /// What is wrong with it.
    pub message: String,
}

type Bytes = Arc<[u8]>;
type Zip = ZipArchive<Cursor<Bytes>>;

/// Where the bytes of a class are.
pub struct ClassSource {
    /// The file, and the entry in it after `!/`.
    pub path: String,
    /// Whether it is only there to be called.
    pub library: bool,
    place: LockExpr,
}

enum LockExpr {
    File(PathBuf),
    Zip { archive: Arc<Archive>, entry: usize },
    Image { image: Arc<Image>, class: ImageClass, limits: Limits },
}

struct Archive {
    zip: Zip,
    unpacked: Arc<AtomicU64>,
    limits: Limits,
}

impl ClassSource {
    /// Reads the class file.
    pub fn read(&self) -> Result<Vec<u8>, ScanError> {
        self.bytes().map_err(|message| ScanError { path: self.path.clone(), message })
    }

    fn bytes(&self) -> Result<Vec<u8>, String> {
        match &self.place {
            LockExpr::File(path) => std::fs::read(path).map_err(|e| e.to_string()),
            LockExpr::Zip { archive, entry } => archive.unpack(*entry, archive.limits.class),
            LockExpr::Image { image, class, limits } => image.read(class, limits.class),
        }
    }
}

impl Archive {
    /// Unpacks an entry, but never more than the limits allow, whatever its header says.
    fn unpack(&self, entry: usize, limit: u64) -> Result<Vec<u8>, String> {
        // Clones share the directory, so that entries can be unpacked in parallel.
        let mut zip = self.zip.clone();
        let file = zip.by_index(entry).map_err(|e| e.to_string())?;
        let mut bytes = Vec::with_capacity(file.size().min(limit).min(1 << 20) as usize);
        let mut limited = file.take(limit + 1);
        limited.read_to_end(&mut bytes).map_err(|e| e.to_string())?;
        let size = bytes.len() as u64;
        if size > limit {
            return Err(format!("unpacks to more than {limit} bytes"));
        }
        if self.unpacked.fetch_add(size, Ordering::Relaxed) + size > self.limits.total {
            return Err(format!("its file unpacks to more than {} bytes", self.limits.total));
        }
        Ok(bytes)
    }
}

/// Collects the class files of inputs, in the order of the inputs and of names within each.
pub struct Finder<'f> {
    limits: Limits,
    library: bool,
    found: &'f mut dyn FnMut(ClassSource),
    errors: &'f mut Vec<ScanError>,
}

impl<'f> Finder<'f> {
    /// Calls `found` with every class file.
    pub fn new(
        limits: Limits,
        library: bool,
        found: &'f mut dyn FnMut(ClassSource),
        errors: &'f mut Vec<ScanError>,
    ) -> Finder<'f> {
        Finder { limits, library, found, errors }
    }

    /// Looks into an input.
    pub fn input(&mut self, input: &Input) {
        match input {
            Input::Path(path) => self.path(path, true),
            Input::Module { image, name } => self.image(image, Some(name)),
        }
    }

    fn error(&mut self, path: impl Into<String>, message: &dyn std::fmt::Display) {
        self.errors.push(ScanError { path: path.into(), message: message.to_string() });
    }

    /// `named` says whether the user named this very file: only then an unknown kind is an error.
    fn path(&mut self, path: &Path, named: bool) {
        let shown = path.display().to_string();
        if path.is_dir() {
            return self.directory(path);
        }
        if is_class(&shown) {
            let place = LockExpr::File(path.to_owned());
            return (self.found)(ClassSource { path: shown, library: self.library, place });
        }
        if !named && !is_archive(&shown) {
            return;
        }
        match magic(path) {
            Ok(magic) if is_image(magic) => self.image(path, None),
            Ok(_) => self.archive_file(path, shown),
            Err(error) => self.error(shown, &error),
        }
    }

    fn directory(&mut self, path: &Path) {
        let entries = match std::fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) => return self.error(path.display().to_string(), &error),
        };
        let mut inside: Vec<PathBuf> = entries.filter_map(|e| e.ok().map(|e| e.path())).collect();
        inside.sort();
        // A link to a directory may lead back up.
        inside.retain(|p| !(p.is_symlink() && p.is_dir()));
        inside.iter().for_each(|p| self.path(p, false));
    }

    fn archive_file(&mut self, path: &Path, shown: String) {
        match std::fs::read(path) {
            Ok(bytes) => self.archive(bytes, shown, Arc::default(), 0),
            Err(error) => self.error(shown, &error),
        }
    }

    fn archive(&mut self, bytes: Vec<u8>, shown: String, unpacked: Arc<AtomicU64>, depth: usize) {
        if depth > self.limits.depth {
            let message = format!("more than {depth} archives within each other");
            return self.error(shown, &message);
        }
        let zip = match ZipArchive::new(Cursor::new(Bytes::from(bytes))) {
            Ok(zip) => zip,
            Err(error) => return self.error(shown, &error),
        };
        let mut names: Vec<(String, usize)> = (0..zip.len())
            .filter_map(|i| Some((zip.name_for_index(i)?.ok()?.into_owned(), i)))
            .collect();
        names.sort();
        let archive = Arc::new(Archive { zip, unpacked, limits: self.limits });
        for (name, entry) in names {
            self.entry(&archive, &shown, &name, entry, depth);
        }
    }

    fn entry(
        &mut self,
        archive: &Arc<Archive>,
        shown: &str,
        name: &str,
        entry: usize,
        depth: usize,
    ) {
        let path = format!("{shown}!/{name}");
        if is_class(name) && !is_other_version(name) {
            let place = LockExpr::Zip { archive: Arc::clone(archive), entry };
            (self.found)(ClassSource { path, library: self.library, place });
        } else if is_archive(name) {
            match archive.unpack(entry, self.limits.nested) {
                Ok(bytes) => self.archive(bytes, path, Arc::clone(&archive.unpacked), depth + 1),
                Err(error) => self.error(path, &error),
            }
        }
    }

    fn image(&mut self, path: &Path, module: Option<&String>) {
        let shown = path.display().to_string();
        let image = match Image::open(path) {
            Ok(image) => Arc::new(image),
            Err(error) => return self.error(shown, &error),
        };
        let mut classes: Vec<ImageClass> =
            image.classes(module.map(String::as_str)).cloned().collect();
        classes.sort_by(|a, b| a.path.cmp(&b.path));
        if let (Some(module), true) = (module, classes.is_empty()) {
            return self.error(shown, &format_args!("has no module {module}"));
        }
        for class in classes {
            let path = format!("{shown}!{}", class.path);
            let place = LockExpr::Image { image: Arc::clone(&image), class, limits: self.limits };
            (self.found)(ClassSource { path, library: self.library, place });
        }
    }
}

/// How many class files there are in inputs, as far as their lists of contents say. Only for
/// showing how far the work is: what cannot be read counts as nothing here and is an error later.
pub fn count(inputs: &[Input]) -> usize {
    let in_input = |input: &Input| match input {
        Input::Path(path) => count_in(path, true),
        Input::Module { image, name } => count_in_image(image, Some(name)),
    };
    inputs.iter().map(in_input).sum()
}

fn count_in(path: &Path, named: bool) -> usize {
    let shown = path.to_string_lossy();
    if path.is_dir() {
        let inside = std::fs::read_dir(path).into_iter().flatten().flatten().map(|e| e.path());
        let inside = inside.filter(|p| !(p.is_symlink() && p.is_dir()));
        return inside.map(|p| count_in(&p, false)).sum();
    }
    if is_class(&shown) {
        return 1;
    }
    match magic(path) {
        Ok(magic) if named && is_image(magic) => count_in_image(path, None),
        Ok(_) if named || is_archive(&shown) => count_in_archive(path).unwrap_or_default(),
        Ok(_) | Err(_) => 0,
    }
}

fn count_in_archive(path: &Path) -> Option<usize> {
    let zip = ZipArchive::new(std::io::BufReader::new(File::open(path).ok()?)).ok()?;
    let names = zip.file_names().flatten();
    Some(names.filter(|n| is_class(n) && !is_other_version(n)).count())
}

fn count_in_image(path: &Path, module: Option<&String>) -> usize {
    Image::open(path).map_or(0, |image| image.classes(module.map(String::as_str)).count())
}

fn is_class(name: &str) -> bool {
    name.ends_with(".class")
}

fn is_archive(name: &str) -> bool {
    let ending = name.rsplit('.').next().unwrap_or_default();
    ["jar", "war", "ear", "jmod", "zip", "aar", "rar"]
        .contains(&ending.to_ascii_lowercase().as_str())
}

/// Multi-release jars: the version for the oldest JDK is the one that is scanned.
fn is_other_version(name: &str) -> bool {
    name.starts_with("META-INF/versions/")
}

fn magic(path: &Path) -> std::io::Result<[u8; 4]> {
    let mut magic = [0; 4];
    let mut file = File::open(path)?;
    let mut read = 0;
    while read < 4 {
        match file.read(&mut magic[read..])? {
            0 => break,
            n => read += n,
        }
    }
    Ok(magic)
}
