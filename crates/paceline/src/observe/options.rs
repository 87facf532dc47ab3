//! What a recorder is asked to do: a file with one option a line, so that nothing needs quoting.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::property::RedundantAccesses;

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
    /// The library that observes JVMs; the package `paceline-agents` carries it.
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

/// As recorders know it.
fn name(redundant: RedundantAccesses) -> &'static [u8] {
    match redundant {
        RedundantAccesses::Keep => b"keep",
        RedundantAccesses::Block => b"block",
        RedundantAccesses::Epoch => b"epoch",
    }
}

/// What recorders are asked to do.
pub(super) struct RecorderOptions<'a> {
    /// Patterns of methods that are blocks.
    pub atomic: &'a [Vec<u8>],
    /// Patterns of methods that are not.
    pub except: &'a [Vec<u8>],
    /// Whether all methods are recorded as blocks, to be selected later.
    pub all_methods: bool,
    /// What may be left out.
    pub redundant: RedundantAccesses,
    /// The rest, as it was given.
    pub observe: &'a ObserveOptions,
}

impl RecorderOptions<'_> {
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
        put("repeats", name(self.redundant));
        let all = self.observe.unlimited || self.redundant != RedundantAccesses::Block;
        put("busy", if all { b"all" } else { b"part" });
        self.atomic.iter().for_each(|pattern| put("atomic", pattern));
        self.except.iter().for_each(|pattern| put("except", pattern));
        let observe = self.observe;
        for (key, values) in [
            ("atomic-annotation", &observe.atomic_annotations),
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
    fn options_are_lines() {
        let observe = ObserveOptions {
            atomic_annotations: vec!["p.Atomic".to_owned()],
            yields: vec!["Pool.pause".to_owned()],
            ..ObserveOptions::default()
        };
        let options = RecorderOptions {
            atomic: &[b"Set.add(int, int)".to_vec()],
            except: &[b"*.close".to_vec()],
            all_methods: false,
            redundant: RedundantAccesses::Block,
            observe: &observe,
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
