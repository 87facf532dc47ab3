//! No file over 600 lines. (Functions are measured by Clippy's `too_many_lines`; `clippy.toml` has
//! the limit.)

use crate::{assert_none, files, text};

/// A reader who opens a longer file gives up, or reads the wrong half of it.
const MOST_LINES: usize = 600;

/// A longer file says why in its first lines, with these words.
const REASON: &str = "Longer than 600 lines because";

#[test]
fn no_file_is_longer_than_a_reader_likes() {
    let code = files(&[".rs", ".java", ".jasm", ".js", ".css", ".py"]);
    assert!(code.len() > 300, "only {} files found", code.len());
    let complaints = code.iter().filter_map(|path| {
        let text = text(path);
        let lines = text.lines().count();
        let has_reason = text.lines().take(20).any(|line| line.contains(REASON));
        let is_long = lines > MOST_LINES && !has_reason;
        is_long.then(|| format!("{}: {lines} lines", path.display()))
    });
    assert_none(&complaints.collect::<Vec<_>>());
}
