//! The image of a JDK (`lib/modules`): an index, and the resources of all modules after it.
//!
//! The format is that of OpenJDK's `imageFile.hpp`, in the byte order of its machine: a header of
//! seven numbers, a hash table with an offset for each resource, the attributes of each resource,
//! the strings that they refer to, and the resources. Only the list of all resources is needed
//! here, so that the hash itself plays no role. (The crate that reads images brings a command line
//! with it, which no library should.)

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use flate2::read::ZlibDecoder;

/// How an image begins.
const MAGIC: u32 = 0xcafe_dada;
/// How a compressed resource begins.
const COMPRESSED: u32 = 0xcafe_fafa;
/// Seven numbers of four bytes.
const HEADER: usize = 28;
/// Magic, two sizes of eight bytes, two offsets of strings, and a flag.
const COMPRESSED_HEADER: usize = 29;
/// Much larger than the index of any JDK (3 MB): a damaged header must not fill the memory.
const LARGEST_INDEX: u64 = 1 << 28;

/// More layers of compression than any tool makes; there is data that unpacks to itself.
const LAYERS: usize = 4;

/// An open image.
pub struct Image {
    file: File,
    order: Order,
    strings: Vec<u8>,
    /// Where the resources begin.
    data: u64,
    classes: Vec<ImageClass>,
}

/// A class in an image.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImageClass {
    /// The module that it belongs to.
    pub module: String,
    /// Its path in the image: `/java.base/java/lang/Object.class`.
    pub path: String,
    offset: u64,
    /// How many bytes there are; fewer than the class has if it is compressed.
    stored: u64,
    is_compressed: bool,
}

/// The byte order of an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Order {
    Little,
    Big,
}

impl Order {
    /// The order in which these bytes are the magic number of an image.
    fn of(magic: [u8; 4]) -> Option<Order> {
        match magic {
            _ if u32::from_le_bytes(magic) == MAGIC => Some(Order::Little),
            _ if u32::from_be_bytes(magic) == MAGIC => Some(Order::Big),
            _ => None,
        }
    }

    /// The number at `at`; none if the bytes end before.
    fn number(self, bytes: &[u8], at: usize) -> Option<u32> {
        let word = *bytes.get(at..)?.first_chunk()?;
        Some(match self {
            Order::Little => u32::from_le_bytes(word),
            Order::Big => u32::from_be_bytes(word),
        })
    }

    fn long(self, bytes: &[u8], at: usize) -> Option<u64> {
        let [first, second] = [self.number(bytes, at)?, self.number(bytes, at + 4)?].map(u64::from);
        Some(match self {
            Order::Little => first | second << 32,
            Order::Big => first << 32 | second,
        })
    }
}

/// Whether a file that begins like this is an image.
pub fn is_image(magic: [u8; 4]) -> bool {
    Order::of(magic).is_some()
}

impl Image {
    /// Opens an image and reads its index.
    pub fn open(path: &Path) -> Result<Image, String> {
        let file = File::open(path).map_err(|e| e.to_string())?;
        let mut header = [0; HEADER];
        file.read_exact_at(&mut header, 0).map_err(|e| e.to_string())?;
        let order = header.first_chunk().and_then(|magic| Order::of(*magic));
        let order = order.ok_or("is no image")?;
        let field = |i: usize| order.number(&header, 4 * i).unwrap_or_default() as usize;
        let (entries, locations, strings) = (field(4), field(5), field(6));
        let size = entries as u64 * 8 + locations as u64 + strings as u64;
        if size > LARGEST_INDEX {
            return Err("is damaged: its index is too large".to_owned());
        }
        let mut index = vec![0; size as usize];
        let cut_off = |_| "is damaged: its index is cut off".to_owned();
        file.read_exact_at(&mut index, HEADER as u64).map_err(cut_off)?;
        // The first table is for the hash.
        let offsets = &index[4 * entries..8 * entries];
        let (locations, strings) = index[8 * entries..].split_at(locations);
        let each = (0..entries).filter_map(|i| order.number(offsets, 4 * i));
        let classes = each.filter_map(|at| class(locations.get(at as usize..)?, strings)).collect();
        let (strings, data) = (strings.to_vec(), HEADER as u64 + size);
        Ok(Image { file, order, strings, data, classes })
    }

    /// The classes, of one module or of all.
    pub fn classes(&self, module: Option<&str>) -> impl Iterator<Item = &ImageClass> {
        self.classes.iter().filter(move |class| module.is_none_or(|name| class.module == name))
    }

    /// Reads a class file of at most `limit` bytes.
    pub fn read(&self, class: &ImageClass, limit: u64) -> Result<Vec<u8>, String> {
        if class.stored > limit {
            return Err(format!("is larger than {limit} bytes"));
        }
        let mut bytes = vec![0; class.stored as usize];
        let at = self.data.checked_add(class.offset).ok_or("is damaged")?;
        self.file.read_exact_at(&mut bytes, at).map_err(|e| e.to_string())?;
        for _ in 0..LAYERS {
            if !class.is_compressed || self.order.number(&bytes, 0) != Some(COMPRESSED) {
                return Ok(bytes);
            }
            bytes = self.unpack(&bytes, limit)?;
        }
        Err("is compressed too often".to_owned())
    }

    /// Takes one layer of compression away.
    fn unpack(&self, bytes: &[u8], limit: u64) -> Result<Vec<u8>, String> {
        let damaged = || "is damaged".to_owned();
        let size = self.order.long(bytes, 4).ok_or_else(damaged)? as usize;
        let name = self.order.number(bytes, 20).ok_or_else(damaged)?;
        let name = string(&self.strings, name.into()).ok_or_else(damaged)?;
        if name != "zip" {
            return Err(format!("is compressed by `{name}`, which is not supported"));
        }
        let packed = bytes.get(COMPRESSED_HEADER..).and_then(|rest| rest.get(..size));
        let mut unpacked = Vec::new();
        let mut zip = ZlibDecoder::new(packed.ok_or_else(damaged)?).take(limit + 1);
        zip.read_to_end(&mut unpacked).map_err(|e| e.to_string())?;
        if unpacked.len() as u64 > limit {
            return Err(format!("is larger than {limit} bytes"));
        }
        Ok(unpacked)
    }
}

/// The attributes of a resource: for each kind (1 to 7) a number, offsets of strings first.
fn attributes(mut location: &[u8]) -> Option<[u64; 8]> {
    let mut values = [0; 8];
    loop {
        let (&first, rest) = location.split_first()?;
        let (kind, length) = (usize::from(first >> 3), usize::from(first & 7) + 1);
        if kind == 0 {
            return Some(values);
        }
        let (value, rest) = rest.split_at_checked(length)?;
        *values.get_mut(kind)? = value.iter().fold(0, |all, &byte| all << 8 | u64::from(byte));
        location = rest;
    }
}

/// The resource with these attributes, if it is a class.
fn class(location: &[u8], strings: &[u8]) -> Option<ImageClass> {
    let [_, module, parent, base, extension, offset, compressed, size] = attributes(location)?;
    let text = |at| string(strings, at);
    if text(extension)? != "class" {
        return None;
    }
    let (module, parent, base) = (text(module)?, text(parent)?, text(base)?);
    let slash = if parent.is_empty() { "" } else { "/" };
    Some(ImageClass {
        module: module.to_owned(),
        path: format!("/{module}/{parent}{slash}{base}.class"),
        offset,
        stored: if compressed == 0 { size } else { compressed },
        is_compressed: compressed != 0,
    })
}

/// The string at `at`, which ends with a zero byte.
fn string(strings: &[u8], at: u64) -> Option<&str> {
    let rest = strings.get(usize::try_from(at).ok()?..)?;
    let end = rest.iter().position(|&byte| byte == 0)?;
    std::str::from_utf8(&rest[..end]).ok()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// An image with one class, `/m/p/C.class`, and one other resource.
    fn image(order: Order, compress: bool) -> Vec<u8> {
        let word = |n: u32| match order {
            Order::Little => n.to_le_bytes(),
            Order::Big => n.to_be_bytes(),
        };
        let long = |n: u32| match order {
            Order::Little => [word(n), word(0)].concat(),
            Order::Big => [word(0), word(n)].concat(),
        };
        let strings = b"\0m\0p\0C\0class\0zip\0txt\0";
        let mut data = b"the class".to_vec();
        if compress {
            let mut zip = flate2::write::ZlibEncoder::new(Vec::new(), Default::default());
            zip.write_all(&data).unwrap();
            let zip = zip.finish().unwrap();
            let sizes = [long(zip.len() as u32), long(9)].concat();
            data = [&word(COMPRESSED)[..], &sizes, &word(13), &word(0), &[1], &zip].concat();
        }
        let stored = data.len() as u8;
        let packed = if compress { stored } else { 0 };
        // Kind times eight plus the length less one, and the value.
        let first = [8, 1, 16, 3, 24, 5, 32, 7, 40, 0, 48, packed, 57, 0, 9, 0];
        let second = [8, 1, 16, 3, 24, 5, 32, 17, 40, 0, 0];
        let locations = [&first[..], &second].concat();
        let sizes = [1 << 16, 0, 2, 2, locations.len() as u32, strings.len() as u32];
        let header = [MAGIC].into_iter().chain(sizes).chain([0, 0, 0, first.len() as u32]);
        let mut bytes: Vec<u8> = header.flat_map(word).collect();
        bytes.extend(locations.into_iter().chain(*strings).chain(data));
        bytes
    }

    fn open(bytes: &[u8]) -> Result<Image, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, bytes).unwrap();
        Image::open(file.path())
    }

    #[test]
    fn the_classes_of_an_image() {
        for order in [Order::Little, Order::Big] {
            for compress in [false, true] {
                let image = open(&image(order, compress)).unwrap();
                let [class] = &image.classes(None).collect::<Vec<_>>()[..] else { panic!() };
                assert_eq!((class.module.as_str(), class.path.as_str()), ("m", "/m/p/C.class"));
                assert_eq!(image.read(class, 100).unwrap(), b"the class");
                assert!(image.read(class, 3).unwrap_err().contains("larger than 3"));
                assert_eq!(image.classes(Some("other")).count(), 0);
            }
        }
    }

    #[test]
    fn a_damaged_image_is_an_error_and_no_panic() {
        let whole = image(Order::Little, true);
        let mut opened = 0;
        for end in 0..whole.len() {
            let Ok(image) = open(&whole[..end]) else { continue };
            opened += 1;
            image.classes(None).for_each(|class| assert!(image.read(class, 100).is_err()));
        }
        assert!(opened > 0);
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0xff;
            if let Ok(image) = open(&bytes) {
                image.classes(None).for_each(|class| drop(image.read(class, 100)));
            }
        }
        let huge = [&whole[..16], &[0xff; 12]].concat();
        assert!(open(&huge).is_err_and(|e| e.contains("too large")));
    }
}
