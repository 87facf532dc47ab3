//! Source maps in class files (JSR-45): where a line of inlined code comes from.
//!
//! Kotlin copies inline functions into their callers and gives the copies line numbers behind the
//! end of the file. Its map has two strata: `Kotlin` says which file and line such a line was
//! copied from, `KotlinDebug` which line of this file made the call. A warning belongs to the
//! latter.

/// Ranges of lines that stand for a line of the file.
pub struct SourceMap(Vec<Range>);

/// `count` lines from `from` on.
struct Range {
    from: u32,
    count: u32,
    to: u32,
    /// Whether each of them stands for the next line, too.
    moves: bool,
}

impl SourceMap {
    /// Reads the text of a map. None when it says nothing about lines of this file.
    pub fn parse(content: &[u8]) -> Option<SourceMap> {
        let text = String::from_utf8_lossy(content);
        let debug = ranges(&text, "KotlinDebug");
        let ranges = if debug.is_empty() { first_file(&text) } else { debug };
        (!ranges.is_empty()).then_some(SourceMap(ranges))
    }

    /// The line that a line of the class file stands for.
    pub fn line(&self, line: u16) -> u16 {
        let wide = u32::from(line);
        let range = self.0.iter().find(|r| r.from <= wide && wide - r.from < r.count);
        let to = range.map(|r| if r.moves { r.to + (wide - r.from) } else { r.to });
        to.and_then(|to| u16::try_from(to).ok()).unwrap_or(line)
    }
}

/// The lines of a stratum: `InputStart#File,Repeat:OutputStart,Increment`.
fn section<'t>(text: &'t str, stratum: &str) -> Vec<&'t str> {
    let lines = text.lines().map(str::trim);
    let in_stratum = lines.skip_while(|l| l.strip_prefix("*S ") != Some(stratum)).skip(1);
    let own = in_stratum.take_while(|l| !l.starts_with("*S ") && *l != "*E");
    own.skip_while(|l| *l != "*L").skip(1).take_while(|l| !l.starts_with('*')).collect()
}

fn ranges(text: &str, stratum: &str) -> Vec<Range> {
    section(text, stratum).into_iter().filter_map(|l| range(l).map(|r| r.1)).collect()
}

/// Without the stratum for debuggers: what comes from the first file is this file's own.
fn first_file(text: &str) -> Vec<Range> {
    let all = section(text, "Kotlin").into_iter().filter_map(range);
    all.filter(|(file, r)| *file == Some(1) && r.from != r.to).map(|r| r.1).collect()
}

fn range(line: &str) -> Option<(Option<u32>, Range)> {
    let (input, output) = line.split_once(':')?;
    let (start, count) =
        split_number(input.split_once(',').map_or((input, None), |(a, b)| (a, Some(b))));
    let (to, file) = match start.split_once('#') {
        Some((to, file)) => (to.parse().ok()?, file.parse().ok()),
        None => (start.parse().ok()?, None),
    };
    let (from, step) = match output.split_once(',') {
        Some((from, step)) => (from.parse().ok()?, step.parse().unwrap_or(1)),
        None => (output.parse().ok()?, 1),
    };
    // One input line may stand for several output lines, or each for its own.
    let range = if count > 1 {
        Range { from, count, to, moves: true }
    } else {
        Range { from, count: step, to, moves: false }
    };
    Some((file, range))
}

fn split_number<'t>((start, count): (&'t str, Option<&str>)) -> (&'t str, u32) {
    (start, count.and_then(|c| c.parse().ok()).unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAP: &str = "SMAP\nA.kt\nKotlin\n*S Kotlin\n*F\n+ 1 A.kt\na/A\n+ 2 Maps.kt\nk/Maps\n*L\n\
        1#1,40:1\n361#2,7:41\n*S KotlinDebug\n*F\n+ 1 A.kt\na/A\n*L\n12#1:41,7\n*E\n";

    #[test]
    fn a_line_of_inlined_code_is_the_line_of_its_call() {
        let map = SourceMap::parse(MAP.as_bytes()).unwrap();
        assert_eq!((map.line(41), map.line(47), map.line(48)), (12, 12, 48));
        assert_eq!(map.line(7), 7);
    }

    #[test]
    fn damaged_maps_say_nothing() {
        for text in ["", "SMAP", "*S KotlinDebug\n*L\nx#1:y\n", "*S KotlinDebug\n*L\n"] {
            assert!(SourceMap::parse(text.as_bytes()).is_none(), "{text:?}");
        }
    }
}
