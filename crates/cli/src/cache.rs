//! Where what can be made again is kept: the agents that this program unpacks.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

/// The user's cache folder, as the XDG specification has it.
pub fn cache_folder() -> anyhow::Result<PathBuf> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    chosen(variable("XDG_CACHE_HOME"), variable("HOME"))
        .context("there is no cache folder: neither XDG_CACHE_HOME nor HOME is set")
}

/// Relative paths do not count: they would mean another folder for each process.
fn chosen(cache: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    let is_absolute = |path: &PathBuf| Path::is_absolute(path);
    let below = |home: PathBuf| home.join(".cache");
    cache.filter(is_absolute).or_else(|| home.filter(is_absolute).map(below))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_where_the_specification_has_it() {
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(chosen(path("/c"), path("/home/a")), path("/c"));
        assert_eq!(chosen(path("c"), path("/home/a")), path("/home/a/.cache"));
        assert_eq!(chosen(path(""), path("/home/a")), path("/home/a/.cache"));
        assert_eq!(chosen(None, path("")), None);
        assert_eq!(chosen(None, None), None);
    }
}
