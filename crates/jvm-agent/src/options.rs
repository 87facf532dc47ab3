//! The agent's options: `options=FILE`, or `file=PATH` and `socket=PATH` themselves.

use std::path::PathBuf;

use paceline_wire::select::{Blocks, Selection, glob};

use crate::hook::Redundant;
use crate::rewrite::Detail;
use crate::rewrite::names::simple;
use crate::rewrite::site::MethodFacts;
use crate::tools::{build_tool, is_test_annotation, is_test_framework};

/// The smallest buffer: the longest record, and a word.
const LEAST_WORDS: usize = 4;
const NOT_CHOSEN: &[u8] = b"in classes that are not observed";

const SWITCH: &[(&str, bool)] = &[("on", true), ("off", false)];
const REDUNDANT: &[(&str, Redundant)] =
    &[("keep", Redundant::Keep), ("block", Redundant::Block), ("epoch", Redundant::Epoch)];

/// The value of an option that is one of several words.
fn choice<T: Copy>(key: &str, value: &str, among: &[(&str, T)]) -> Result<T, String> {
    let found = among.iter().find(|(word, _)| *word == value);
    found.map(|&(_, chosen)| chosen).ok_or_else(|| {
        let words: Vec<_> = among.iter().map(|(word, _)| format!("`{word}`")).collect();
        format!("`{key}` is {}, not `{value}`", words.join(" or "))
    })
}

/// Where the stream goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Destination {
    /// To the listener at a Unix socket.
    Socket(PathBuf),
    /// Into a file; `%p` in its name is the number of the process.
    File(PathBuf),
}

/// Everything that can be chosen.
#[derive(Clone, Default, Debug)]
pub struct Options {
    /// Where the stream goes.
    pub destination: Option<Destination>,
    atomic: Vec<Vec<u8>>,
    except: Vec<Vec<u8>>,
    /// All methods are blocks: the reader of the stream selects.
    pub all_methods: bool,
    yields: Vec<Vec<u8>>,
    atomic_annotations: Vec<Vec<u8>>,
    yield_annotations: Vec<Vec<u8>>,
    instrument: Vec<Vec<u8>>,
    ignore: Vec<Vec<u8>>,
    /// How much of each method is observed, at most.
    pub detail: Detail,
    /// Which redundant accesses are left out.
    pub redundant: Redundant,
    /// Threads that record very much are throttled.
    pub throttled: bool,
    /// The size of every buffer; for tests.
    pub buffer_words: Option<usize>,
    /// A page that must not be touched follows every buffer; for tests.
    pub guard_pages: bool,
    /// The agent fails when a buffer is drained for that time; for tests.
    pub panic_at_drain: Option<u64>,
    /// A folder for the classes as they were rewritten, to look into.
    pub dump: Option<PathBuf>,
    selection: Selection,
    yield_selection: Selection,
}

impl Options {
    /// Reads the argument of the agent. `read` opens a file of options.
    pub fn parse(
        argument: &str,
        pid: u32,
        read: impl Fn(&str) -> std::io::Result<String>,
    ) -> Result<Options, String> {
        let mut options = Options::default();
        for part in argument.split(',').filter(|part| !part.is_empty()) {
            match part.split_once('=') {
                Some(("options", file)) => {
                    let text = read(file).map_err(|e| format!("{file}: {e}"))?;
                    text.lines().try_for_each(|line| options.line(line, pid))?;
                }
                Some((key, value)) => options.set(key, value, pid)?,
                None => return Err(format!("unknown option `{part}`")),
            }
        }
        if options.destination.is_none() {
            return Err("no `file` or `socket` to write to".to_owned());
        }
        if options.throttled && options.redundant != Redundant::Block {
            // Monitors that are not recorded would be missing orders, and races that are none.
            return Err(
                "`throttle on` needs `redundant block`: it is for atomicity alone".to_owned()
            );
        }
        options.selection = Selection::new(options.atomic.clone(), options.except.clone());
        options.yield_selection = Selection::new(options.yields.clone(), []);
        Ok(options)
    }

    fn line(&mut self, line: &str, pid: u32) -> Result<(), String> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        let (key, value) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        self.set(key, value.trim(), pid)
    }

    fn set(&mut self, key: &str, value: &str, pid: u32) -> Result<(), String> {
        let pattern = || value.as_bytes().to_vec();
        match key {
            "socket" => self.destination = Some(Destination::Socket(value.into())),
            "file" => {
                let path = value.replace("%p", &pid.to_string());
                self.destination = Some(Destination::File(path.into()));
            }
            "atomic" => self.atomic.push(pattern()),
            "except" => self.except.push(pattern()),
            "methods" => {
                self.all_methods = choice(key, value, &[("all", true), ("selected", false)])?;
            }
            "yield" => self.yields.push(pattern()),
            "atomic-annotation" => self.atomic_annotations.push(pattern()),
            "yield-annotation" => self.yield_annotations.push(pattern()),
            "instrument" => self.instrument.push(pattern()),
            "ignore" => self.ignore.push(pattern()),
            "detail" => {
                let details =
                    [("all", Detail::All), ("fields", Detail::Fields), ("locks", Detail::Locks)];
                self.detail = choice(key, value, &details)?;
            }
            "redundant" | "repeats" => self.redundant = choice(key, value, REDUNDANT)?,
            "throttle" => self.throttled = choice(key, value, SWITCH)?,
            "busy" => self.throttled = choice(key, value, &[("part", true), ("all", false)])?,
            "dump" => self.dump = Some(value.into()),
            _ => return self.set_for_tests(key, value),
        }
        Ok(())
    }

    fn set_for_tests(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "buffer-words" => {
                let words = value.parse().ok().filter(|&words| words >= LEAST_WORDS);
                let wrong = || format!("`buffer-words` is {LEAST_WORDS} or more, not `{value}`");
                self.buffer_words = Some(words.ok_or_else(wrong)?);
            }
            "guard-pages" => self.guard_pages = choice(key, value, SWITCH)?,
            "panic-at-drain" => {
                let wrong = |_| format!("`panic-at-drain` is a number, not `{value}`");
                self.panic_at_drain = Some(value.parse().map_err(wrong)?);
            }
            _ => return Err(format!("unknown option `{key}`")),
        }
        Ok(())
    }

    /// Why a class is not observed, by its dotted name; nothing if it is.
    pub fn leaves_out(&self, class: &[u8]) -> Option<&'static [u8]> {
        let matches = |patterns: &[Vec<u8>]| patterns.iter().any(|p| class_matches(p, class));
        match () {
            () if matches(&self.ignore) => Some(NOT_CHOSEN),
            () if matches(&self.instrument) => None,
            () if !self.instrument.is_empty() => Some(NOT_CHOSEN),
            () if is_test_framework(class) => Some(b"in classes of test frameworks"),
            () => None,
        }
    }

    /// The build tool that this process is, if it is left alone: no classes were asked for by
    /// name, which could be in it.
    pub fn leaves_alone(&self, command: &str) -> Option<&'static str> {
        build_tool(command).filter(|_| self.instrument.is_empty())
    }

    /// Whether a method is a block.
    pub fn is_block(&self, method: &MethodFacts) -> bool {
        if has_one_of(method, &self.atomic_annotations) {
            return true;
        }
        let by_default = self.atomic.is_empty();
        // A test is where threads are started and waited for, as `main` is.
        if by_default && method.annotations.iter().any(|name| is_test_annotation(name)) {
            return false;
        }
        if self.all_methods {
            return !method.synthetic;
        }
        // What the programmer wrote as a lambda is the body of a thread as often as not, and has
        // no name to declare it by.
        if by_default && (method.synthetic || !self.atomic_annotations.is_empty()) {
            return false;
        }
        self.selection.selects(method.label, Blocks::Methods)
    }

    /// Whether every method of this name is a block: only where all are, by default.
    pub fn is_surely_block(&self, label: &[u8]) -> bool {
        let by_default = self.atomic.is_empty() && self.except.is_empty();
        let facts = MethodFacts { label, synthetic: false, annotations: &[] };
        by_default && !self.all_methods && self.is_block(&facts)
    }

    /// Whether the entry of a method is a yield.
    pub fn is_yield(&self, method: &MethodFacts) -> bool {
        has_one_of(method, &self.yield_annotations)
            || !self.yields.is_empty()
                && self.yield_selection.selects(method.label, Blocks::Methods)
    }
}

/// Whether a method has an annotation that is named, in full or by its last part.
fn has_one_of(method: &MethodFacts, wanted: &[Vec<u8>]) -> bool {
    method.annotations.iter().any(|found| {
        wanted.iter().any(|name| {
            let last = simple(found).rsplit(|&b| b == b'$').next().unwrap_or_default();
            name == found || name.as_slice() == simple(found) || name.as_slice() == last
        })
    })
}

/// A pattern for classes matches all of the name, or a package that it is in.
fn class_matches(pattern: &[u8], class: &[u8]) -> bool {
    let pattern: Vec<u8> = pattern.iter().map(|&b| if b == b'/' { b'.' } else { b }).collect();
    let inside = class.strip_prefix(&pattern[..]).is_some_and(|rest| rest.starts_with(b"."));
    glob(&pattern, class) || inside
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(lines: &str) -> Result<Options, String> {
        Options::parse("options=f", 7, |_| Ok(lines.to_owned()))
    }

    fn facts<'a>(label: &'a [u8], annotations: &'a [Vec<u8>]) -> MethodFacts<'a> {
        MethodFacts { label, synthetic: false, annotations }
    }

    #[test]
    fn the_process_is_in_the_name_of_the_file() {
        let options = Options::parse("file=a%p.stream", 7, |_| unreachable!()).expect("options");
        assert_eq!(options.destination, Some(Destination::File("a7.stream".into())));
    }

    #[test]
    fn what_is_unknown_or_missing_is_an_error() {
        assert!(parse("file x\nnonsense 1").is_err());
        assert!(parse("# nothing\n").is_err());
        assert!(parse("file x\nmethods some").is_err());
        assert!(parse("file x\nredundant some").is_err());
        assert!(parse("file x\nthrottle few").is_err());
        assert!(parse("file x\nthrottle on\nredundant epoch").is_err());
        assert!(parse("file x\nthrottle on\nredundant block").is_ok());
        assert!(parse("file x\nbuffer-words 3").is_err());
    }

    #[test]
    fn names_of_earlier_versions_are_understood() {
        let options = parse("file x\nbusy part\nrepeats block").expect("options");
        assert!(options.throttled && options.redundant == Redundant::Block);
    }

    #[test]
    fn all_methods_but_main_and_run_are_blocks() {
        let options = parse("file x").expect("options");
        assert!(options.is_block(&facts(b"p.C.add", &[])));
        assert!(!options.is_block(&facts(b"p.C.main", &[])));
        assert!(!options.is_block(&MethodFacts { synthetic: true, ..facts(b"p.C.l", &[]) }));
    }

    #[test]
    fn annotations_count_by_name() {
        let options = parse("file x\natomic-annotation Atomic").expect("options");
        let annotated = [b"some.where.Atomic".to_vec()];
        assert!(options.is_block(&facts(b"p.C.add", &annotated)));
        assert!(!options.is_block(&facts(b"p.C.add", &[])));
    }

    #[test]
    fn classes_are_chosen_by_name_or_package() {
        let options = parse("file x\ninstrument p\nignore p.C*").expect("options");
        let observes = |class: &[u8]| options.leaves_out(class).is_none();
        assert!(observes(b"p.q.D"));
        assert!(!observes(b"p.C1"));
        assert!(!observes(b"q.D"));
    }

    #[test]
    fn tests_are_observed_but_neither_their_framework_nor_the_build_tool() {
        let maven = "org.codehaus.plexus.classworlds.launcher.Launcher test";
        let options = parse("file x").expect("options");
        assert!(options.leaves_out(b"org.junit.Assert").is_some());
        assert!(options.leaves_out(b"p.Test").is_none());
        assert_eq!(options.leaves_alone(maven), Some("Maven"));
        assert_eq!(options.leaves_alone("p.Main"), None);

        let asked = parse("file x\ninstrument org.junit").expect("options");
        assert!(asked.leaves_out(b"org.junit.Assert").is_none());
        assert_eq!(asked.leaves_alone(maven), None);
    }

    #[test]
    fn what_a_framework_calls_is_atomic_only_if_an_option_says_so() {
        let test = [b"org.junit.jupiter.api.Test".to_vec()];
        for (lines, is_block) in [
            ("file x", false),
            ("file x\nmethods all", false),
            ("file x\natomic p.*", true),
            ("file x\natomic-annotation Test", true),
        ] {
            let options = parse(lines).expect("options");
            assert_eq!(options.is_block(&facts(b"p.C.adds", &test)), is_block, "{lines}");
        }
    }
}
