//! The agents that observe other processes, carried inside this program and unpacked when they are
//! needed.
//!
//! A virtual machine loads its agent from a file. So the agent is put into the cache folder of the
//! user, under a name that holds version and checksum: programs of different versions do not meet.
//! Only the user can look into the folder or write to it, the file appears there whole or not at
//! all, and before each use it is compared with what this program carries.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// An agent.
#[derive(Clone, Copy)]
pub struct Agent {
    file: &'static str,
    checksum: &'static str,
    bytes: &'static [u8],
}

/// The agent for JVMs.
pub const JVM: Agent = Agent {
    file: env!("PACELINE_JVM_FILE"),
    checksum: env!("PACELINE_JVM_CHECKSUM"),
    bytes: include_bytes!(env!("PACELINE_JVM_LIBRARY")),
};

/// Agents and the program that carries them have the same version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Why an agent could not be unpacked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system said no.
    #[error("cannot unpack the agent into {}", path.display())]
    Io {
        /// A file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another user could change the agent after it was compared.
    #[error("{} belongs to another user: no agent is unpacked there", path.display())]
    Foreign {
        /// The folder.
        path: PathBuf,
    },
}

impl Agent {
    /// How large it is, in bytes.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Where it is unpacked to below `cache`.
    pub fn path(&self, cache: &Path) -> PathBuf {
        cache.join("paceline").join(format!("{VERSION}-{}", self.checksum)).join(self.file)
    }

    /// Makes sure that it is in the folder `cache`, the user's own for what can be made again.
    /// Returns the file.
    pub fn unpack(&self, cache: &Path) -> Result<PathBuf, Error> {
        let path = self.path(cache);
        // The folder of this version, and the one of all versions.
        let ours: Vec<&Path> = path.ancestors().skip(1).take(2).collect();
        ours.iter().rev().try_for_each(|folder| make_private(folder))?;
        if self.is_at(&path) {
            return Ok(path);
        }
        let failed = |source| Error::Io { path: path.clone(), source };
        // Readable and writable by the user alone, which is the default of temporary files.
        let mut file = tempfile::NamedTempFile::new_in(ours[0]).map_err(failed)?;
        file.write_all(self.bytes).map_err(failed)?;
        file.persist(&path).map_err(|e| failed(e.error))?;
        Ok(path)
    }

    /// Whether the file is there, whole and unchanged.
    fn is_at(&self, path: &Path) -> bool {
        let is_private = |m: fs::Metadata| m.is_file() && m.permissions().mode() & 0o777 == 0o600;
        fs::symlink_metadata(path).is_ok_and(is_private)
            && fs::read(path).is_ok_and(|found| found == self.bytes)
    }
}

/// Makes a folder that is the user's alone, or sees to it that it is.
fn make_private(folder: &Path) -> Result<(), Error> {
    let failed = |source| Error::Io { path: folder.to_owned(), source };
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    let found = fs::symlink_metadata(folder).map_err(failed)?;
    if !found.is_dir() || found.uid() != rustix::process::geteuid().as_raw() {
        return Err(Error::Foreign { path: folder.to_owned() });
    }
    if found.permissions().mode() & 0o777 != 0o700 {
        fs::set_permissions(folder, Permissions::from_mode(0o700)).map_err(failed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn it_is_unpacked_once_and_for_the_user_alone() {
        let cache = tempfile::tempdir().unwrap();
        let deep = cache.path().join("not/there/yet");
        let path = JVM.unpack(&deep).unwrap();
        assert_eq!(fs::read(&path).unwrap(), JVM.bytes);
        assert_eq!([0o600, 0o700], [mode(&path), mode(path.parent().unwrap())]);
        assert!(path.to_str().unwrap().contains(&format!("paceline/{VERSION}-{}", JVM.checksum)));
        let first = fs::metadata(&path).unwrap().ino();
        assert_eq!(JVM.unpack(&deep).unwrap(), path);
        assert_eq!(fs::metadata(&path).unwrap().ino(), first, "it was written again");
    }

    /// A library is a file of the format that the system loads, not an empty placeholder.
    #[test]
    fn it_is_a_library() {
        assert!(JVM.size() > 100_000, "{} bytes", JVM.size());
        assert!(JVM.bytes.starts_with(b"\x7fELF") || JVM.file.ends_with(".dylib"));
        let agent_entry = b"Agent_OnLoad";
        assert!(JVM.bytes.windows(agent_entry.len()).any(|name| name == agent_entry));
    }

    #[test]
    fn what_was_changed_is_replaced() {
        let cache = tempfile::tempdir().unwrap();
        let path = JVM.unpack(cache.path()).unwrap();
        let folder = path.parent().unwrap();
        fs::write(&path, b"something else").unwrap();
        fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
        JVM.unpack(cache.path()).unwrap();
        assert_eq!(fs::read(&path).unwrap(), JVM.bytes);
        assert_eq!(mode(folder), 0o700);
        fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
        JVM.unpack(cache.path()).unwrap();
        assert_eq!(mode(&path), 0o600);
        assert_eq!(fs::read_dir(folder).unwrap().count(), 1, "something was left behind");
    }

    #[test]
    fn a_link_of_someone_else_is_not_followed() {
        let (cache, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::os::unix::fs::symlink(elsewhere.path(), cache.path().join("paceline")).unwrap();
        let error = JVM.unpack(cache.path()).unwrap_err();
        assert!(matches!(error, Error::Foreign { .. }), "{error}");
    }

    #[test]
    fn a_file_in_the_way_is_reported() {
        let cache = tempfile::tempdir().unwrap();
        fs::write(cache.path().join("paceline"), "").unwrap();
        let error = JVM.unpack(cache.path()).unwrap_err().to_string();
        assert!(error.starts_with("cannot unpack the agent into /"), "{error}");
    }
}
