//! Finds the source lines that a report names.
//!
//! A trace names files as its program knew them: `Account.java`, `src/bank.rs`, or a path on another
//! machine. A file is taken for it if the two paths have the same end; the longest agreement wins, and if
//! several agree equally well none is shown. Only files that are found under the given folder are
//! ever read, so a trace cannot make a report show anything else.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use paceline_report::compose;
use paceline_report::html::{Snippet, Snippets};
use paceline_report::model::Site;

use crate::Error;

/// Lines shown on each side.
const AROUND: usize = 5;
/// Larger files are not written by people.
const LARGEST: u64 = 4 << 20;
const LONGEST_LINE: usize = 240;
/// Folders of what build tools make and fetch.
const BUILT: [&str; 3] = ["target", "build", "node_modules"];
/// So many files of a project are listed: more than twice those of the Linux kernel.
const MOST_OF_PROJECT: usize = 200_000;

/// The files under a folder, by their last name.
#[derive(Clone)]
pub struct Sources(HashMap<OsString, Vec<PathBuf>>);

impl Sources {
    /// Lists the files under `dir`; links and hidden folders are not followed.
    pub fn find(dir: &Path) -> Result<Sources, Error> {
        Sources::find_all(&[dir])
    }

    /// Lists the files under all of these folders.
    pub fn find_all(dirs: &[impl AsRef<Path>]) -> Result<Sources, Error> {
        let mut sources = Sources(HashMap::new());
        for dir in dirs {
            sources.add(dir.as_ref(), usize::MAX, &[])?;
        }
        Ok(sources)
    }

    /// Lists the files of a project: what is built there does not count, and of a folder that is
    /// far too large for a project only a part is listed.
    pub fn of_project(dir: &Path) -> Result<Sources, Error> {
        let mut sources = Sources(HashMap::new());
        sources.add(dir, MOST_OF_PROJECT, &BUILT)?;
        Ok(sources)
    }

    fn add(&mut self, dir: &Path, mut most: usize, except: &[&str]) -> Result<(), Error> {
        let cannot_read = |source| Error::Read { path: dir.to_owned(), source };
        let mut folders = vec![fs::read_dir(dir).map_err(cannot_read)?];
        while let Some(folder) = folders.pop() {
            for entry in folder.flatten() {
                let Ok(kind) = entry.file_type() else { continue };
                let name = entry.file_name();
                let skipped = name.as_encoded_bytes().starts_with(b".")
                    || except.iter().any(|except| name == *except);
                if kind.is_dir() && !skipped {
                    folders.extend(fs::read_dir(entry.path()));
                } else if kind.is_file() {
                    self.0.entry(name).or_default().push(entry.path());
                    most = most.saturating_sub(1);
                }
            }
            if most == 0 {
                break;
            }
        }
        Ok(())
    }

    /// The lines around these sites, as far as they are known.
    pub fn around<'a>(&self, sites: impl Iterator<Item = &'a Site>) -> Snippets {
        let sites: BTreeSet<&Site> = sites.collect();
        let mut read: HashMap<PathBuf, Vec<String>> = HashMap::new();
        let each = sites.into_iter().filter_map(|site| {
            let (name, line) = site.file_line()?;
            let path = self.file(Path::new(name))?;
            let lines = read.entry(path.to_owned()).or_insert_with(|| lines(path));
            Some((site.to_string(), snippet(lines, line.try_into().ok()?)?))
        });
        each.collect()
    }

    /// The one file whose path ends with all of this.
    pub fn path(&self, named: &Path) -> Option<&Path> {
        let whole = |found: &&Path| agreement(found, named) == named.components().count();
        self.file(named).filter(whole)
    }

    /// The one file whose path ends most like this.
    fn file(&self, named: &Path) -> Option<&Path> {
        let candidates = self.0.get(named.file_name()?)?;
        let best = candidates.iter().map(|c| agreement(c, named)).max()?;
        let mut winners = candidates.iter().filter(|c| agreement(c, named) == best);
        let winner = winners.next()?;
        winners.next().is_none().then_some(winner)
    }
}

/// How many names at their ends are the same.
fn agreement(a: &Path, b: &Path) -> usize {
    let pairs = a.components().rev().zip(b.components().rev());
    pairs.take_while(|(a, b)| a == b).count()
}

/// The lines of a file, without anything but text; none if it cannot be read.
fn lines(path: &Path) -> Vec<String> {
    let small = fs::metadata(path).is_ok_and(|m| m.len() <= LARGEST);
    let bytes = if small { fs::read(path).unwrap_or_default() } else { Vec::new() };
    bytes.split(|&b| b == b'\n').map(clean).collect()
}

fn clean(line: &[u8]) -> String {
    let line = String::from_utf8_lossy(line).replace('\t', "    ");
    let line: String = line.trim_end().chars().take(LONGEST_LINE).collect();
    compose::name(line.as_bytes())
}

fn snippet(lines: &[String], line: usize) -> Option<Snippet> {
    let at = line.checked_sub(1).filter(|&at| at < lines.len())?;
    let first = at.saturating_sub(AROUND);
    let end = lines.len().min(at + AROUND + 1);
    let shown = lines[first..end].to_vec();
    Some(Snippet { first: first as u64 + 1, line: line as u64, lines: shown })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        dir
    }

    fn around(dir: &Path, sites: &[(&str, u64)]) -> Snippets {
        let sites: Vec<Site> = sites.iter().map(|&(file, line)| Site::line(file, line)).collect();
        Sources::find(dir).unwrap().around(sites.iter())
    }

    #[test]
    fn the_lines_around_a_site() {
        let text: String = (1..=20).map(|i| format!("\tline {i}\r\n")).collect();
        let dir = folder(&[("a/Bank.java", &text)]);
        let lines = [9, 1, 99, 0].map(|line| ("Bank.java", line));
        let found = around(dir.path(), &lines);
        assert_eq!(found.len(), 2);
        let snippet = &found["Bank.java:9"];
        assert_eq!((snippet.first, snippet.line, snippet.lines.len()), (4, 9, 11));
        assert_eq!(snippet.lines[5], "    line 9");
        assert_eq!(found["Bank.java:1"].first, 1);
    }

    #[test]
    fn the_path_with_the_same_end_is_taken() {
        let dir = folder(&[("a/x/m.rs", "ax"), ("b/x/m.rs", "bx"), ("b/y/m.rs", "by")]);
        let found = around(
            dir.path(),
            &["/build/b/x/m.rs", "m.rs", "x/m.rs", "y/m.rs"].map(|file| (file, 1)),
        );
        let first = |site: &str| found.get(site).map(|s| s.lines[0].as_str());
        assert_eq!(first("/build/b/x/m.rs:1"), Some("bx"));
        assert_eq!(first("y/m.rs:1"), Some("by"));
        assert_eq!((first("m.rs:1"), first("x/m.rs:1")), (None, None));
    }

    #[test]
    fn nothing_outside_the_folder_is_read() {
        let dir = folder(&[("secret", "secret"), ("src/ok.rs", "fine\n")]);
        let secret = dir.path().join("secret");
        let sites = ["../secret", &secret.display().to_string(), "ok.rs", "?", ""];
        assert_eq!(around(&dir.path().join("src"), &sites.map(|file| (file, 1))).len(), 1);
    }

    #[test]
    fn control_characters_do_not_get_through() {
        let dir = folder(&[("a.c", "a\x1b[31mb")]);
        assert_eq!(around(dir.path(), &[("a.c", 1)])["a.c:1"].lines, ["a\\u{1b}[31mb"]);
    }
}
