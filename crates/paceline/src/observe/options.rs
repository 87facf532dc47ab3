//! What a recorder is told: a file with one option a line, so that nothing needs quoting.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::checking::Property;

/// How a program is observed.
#[derive(Clone, Debug)]
pub struct ObserveOptions {
    /// Patterns of methods that are yields.
    pub yields: Vec<String>,
    /// Annotations of methods that are atomic.
    pub atomic_annotations: Vec<String>,
    /// Annotations of methods that are yields.
    pub yield_annotations: Vec<String>,
    /// Only classes that match are observed; none given: all.
    pub instrument: Vec<String>,
    /// Classes that match are not observed.
    pub ignore: Vec<String>,
    /// Do not throttle threads that record much.
    pub unlimited: bool,
    /// Also observe the JVMs that a `java` command starts.
    pub children: bool,
    /// How long to wait for processes that the program leaves behind.
    pub linger: Duration,
    /// The library that observes JVMs; see [`agent_beside`](super::agent_beside).
    pub jvm_agent: Option<PathBuf>,
    /// Variables of the environment. The command inherits those of this process in any case, but
    /// what `JAVA_TOOL_OPTIONS` and `GRADLE_OPTS` already hold is only kept if it is given here.
    pub environment: Vec<(OsString, OsString)>,
}

impl Default for ObserveOptions {
    fn default() -> ObserveOptions {
        ObserveOptions {
            yields: Vec::new(),
            atomic_annotations: Vec::new(),
            yield_annotations: Vec::new(),
            instrument: Vec::new(),
            ignore: Vec::new(),
            unlimited: false,
            children: false,
            linger: Duration::from_secs(5),
            jvm_agent: None,
            environment: Vec::new(),
        }
    }
}

/// Which accesses recorders may leave out because the same block has recorded the like before.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Repeats {
    /// None.
    #[default]
    Keep,
    /// Those with no conflicting access of another thread in between: enough for atomicity.
    Block,
    /// Those with nothing in between that orders threads, besides: enough for races, too.
    Epoch,
}

impl Repeats {
    /// What makes no difference for any of these. Reduction counts repetitions, and for
    /// cooperability the analysis decides where transactions begin.
    pub fn for_properties(properties: &[Property]) -> Repeats {
        let least = properties.iter().map(|property| match property {
            Property::Atomicity => 2,
            Property::Determinism | Property::Race => 1,
            Property::Cooperability | Property::Reduction | Property::All => 0,
        });
        match least.min() {
            None | Some(2..) => Repeats::Block,
            Some(1) => Repeats::Epoch,
            Some(..=0) => Repeats::Keep,
        }
    }

    fn name(self) -> &'static [u8] {
        match self {
            Repeats::Keep => b"keep",
            Repeats::Block => b"block",
            Repeats::Epoch => b"epoch",
        }
    }
}

/// What recorders are told about blocks.
#[derive(Clone, Default)]
pub struct RecorderOptions {
    /// Patterns of methods that are blocks.
    pub atomic: Vec<Vec<u8>>,
    /// Patterns of methods that are not.
    pub except: Vec<Vec<u8>>,
    /// Annotations of methods that are blocks.
    pub atomic_annotations: Vec<String>,
    /// Whether all methods are recorded as blocks, to be selected later.
    pub all_methods: bool,
    /// What may be left out.
    pub repeats: Repeats,
    /// The rest, as it was given.
    pub observe: ObserveOptions,
}

impl RecorderOptions {
    /// The file.
    pub fn encode(&self, socket: &Path) -> Vec<u8> {
        let mut lines = Vec::new();
        let mut put = |key: &str, value: &[u8]| {
            lines.extend_from_slice(key.as_bytes());
            lines.push(b' ');
            lines.extend_from_slice(value);
            lines.push(b'\n');
        };
        put("socket", socket.as_os_str().as_bytes());
        put("methods", if self.all_methods { b"all" } else { b"selected" });
        put("repeats", self.repeats.name());
        let all = self.observe.unlimited || self.repeats != Repeats::Block;
        put("busy", if all { b"all" } else { b"part" });
        self.atomic.iter().for_each(|pattern| put("atomic", pattern));
        self.except.iter().for_each(|pattern| put("except", pattern));
        let observe = &self.observe;
        for (key, values) in [
            ("atomic-annotation", &self.atomic_annotations),
            ("yield", &observe.yields),
            ("yield-annotation", &observe.yield_annotations),
            ("instrument", &observe.instrument),
            ("ignore", &observe.ignore),
        ] {
            values.iter().for_each(|value| put(key, value.as_bytes()));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_property_that_needs_most_decides_what_is_left_out() {
        use Property::{All, Atomicity, Race, Reduction};
        assert_eq!(Repeats::for_properties(&[Atomicity]), Repeats::Block);
        assert_eq!(Repeats::for_properties(&[Atomicity, Race]), Repeats::Epoch);
        assert_eq!(Repeats::for_properties(&[Race, Reduction]), Repeats::Keep);
        assert_eq!(Repeats::for_properties(&[All]), Repeats::Keep);
    }

    #[test]
    fn options_are_lines() {
        let options = RecorderOptions {
            atomic: vec![b"Set.add(int, int)".to_vec()],
            except: vec![b"*.close".to_vec()],
            atomic_annotations: vec!["p.Atomic".to_owned()],
            all_methods: false,
            repeats: Repeats::Block,
            observe: ObserveOptions { yields: vec!["Pool.pause".to_owned()], ..Default::default() },
        };
        let file = String::from_utf8(options.encode(Path::new("/tmp/a b/socket"))).unwrap();
        assert_eq!(
            file.lines().collect::<Vec<_>>(),
            [
                "socket /tmp/a b/socket",
                "methods selected",
                "repeats block",
                "busy part",
                "atomic Set.add(int, int)",
                "except *.close",
                "atomic-annotation p.Atomic",
                "yield Pool.pause",
            ]
        );
    }
}
