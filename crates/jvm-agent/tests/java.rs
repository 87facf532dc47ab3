//! Java programs under the agent, with full verification: they behave as without it, and what they
//! do is in the stream. Needs a JDK (`javac` and `java` on the path).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use paceline_wire::{Frame, FrameReader, Kind, Next, is_stamped, unpack};

/// The library is built together with its tests, and lies beside them.
fn agent() -> PathBuf {
    let test = std::env::current_exe().expect("this test");
    let folders = test.ancestors().skip(1).take(2).map(Path::to_path_buf);
    let found = folders.map(|f| f.join("libpaceline_jvm.so")).find(|file| file.exists());
    found.expect("the agent beside its tests")
}

fn run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|e| panic!("{command:?}: {e}; is there a JDK?"))
}

/// Compiles a program of `tests/java` into a folder.
fn compile(name: &str, folder: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/java/{name}.java"));
    let output = run(Command::new("javac").arg("-nowarn").arg("-d").arg(folder).arg(source));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn java(name: &str, folder: &Path, options: Option<&str>) -> Output {
    let mut command = Command::new("java");
    command.arg("-Xverify:all").arg("-XX:-UsePerfData").arg("-cp").arg(folder);
    if let Some(options) = options {
        command.arg(format!("-agentpath:{}={options}", agent().display()));
    }
    run(command.arg(name))
}

#[test]
fn programs_behave_as_without_the_agent() {
    let folder = tempfile::tempdir().expect("a folder");
    compile("Shapes", folder.path());
    let stream = folder.path().join("s.stream");
    let plain = java("Shapes", folder.path(), None);
    assert!(plain.status.success());
    for options in ["", ",detail=locks", ",ignore=*"] {
        let options = format!("file={}{options}", stream.display());
        let observed = java("Shapes", folder.path(), Some(&options));
        assert_eq!(
            String::from_utf8_lossy(&observed.stdout),
            String::from_utf8_lossy(&plain.stdout),
            "{options}: {}",
            String::from_utf8_lossy(&observed.stderr)
        );
        assert_eq!(observed.stderr, plain.stderr);
        assert_eq!(observed.status.code(), plain.status.code());
    }
}

/// What a stream says, in short.
#[derive(Default)]
struct Recorded {
    /// How many events of each kind, on which target.
    events: BTreeMap<(String, String), u32>,
    notes: Vec<String>,
    threads: Vec<String>,
    ended: bool,
}

impl Recorded {
    fn count(&self, kind: &str, target: &str) -> u32 {
        self.events.get(&(kind.to_owned(), target.to_owned())).copied().unwrap_or(0)
    }
}

fn read(stream: &Path) -> Recorded {
    let bytes = std::fs::read(stream).expect("a stream");
    let mut reader = FrameReader::new(&bytes[..]).expect("a stream");
    let mut recorded = Recorded::default();
    let (mut names, mut sites) = (vec![String::new()], vec![]);
    while let Next::Frame(frame) = reader.read().expect("a frame") {
        match frame {
            Frame::Name { name, .. } => names.push(String::from_utf8_lossy(name).into_owned()),
            Frame::Site(site) => sites.push(site),
            Frame::Thread { name, .. } => {
                recorded.threads.push(String::from_utf8_lossy(name).into());
            }
            Frame::Note(note) => {
                let [key, text] = [note.key, note.text].map(String::from_utf8_lossy);
                recorded.notes.push(format!("{key}: {text}"));
            }
            Frame::Chunk { records, .. } => {
                let mut words = records
                    .chunks_exact(8)
                    .map(|w| u64::from_le_bytes(w.try_into().expect("eight bytes")));
                while let Some(first) = words.next() {
                    let site = sites[unpack(first).0 as usize - 1];
                    let more = usize::from(site.kind.is_none_or(is_stamped))
                        + usize::from(site.flags.is_indexed());
                    assert_eq!(words.by_ref().take(more).count(), more, "whole records");
                    let kind = site.kind.map_or("order", Kind::name).to_owned();
                    let target = names[site.target as usize].clone();
                    *recorded.events.entry((kind, target)).or_default() += 1;
                }
            }
            Frame::End => recorded.ended = true,
            Frame::Hello(_) | Frame::Object { .. } => {}
        }
    }
    recorded
}

#[test]
fn what_threads_do_is_in_the_stream() {
    let folder = tempfile::tempdir().expect("a folder");
    compile("Events", folder.path());
    let stream = folder.path().join("e.stream");
    let output = java("Events", folder.path(), Some(&format!("file={}", stream.display())));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "2 2 2 2\n");
    let recorded = read(&stream);
    assert!(recorded.ended);
    assert!(["worker0", "worker1"].iter().all(|name| recorded.threads.iter().any(|t| t == name)));
    // Both workers' accesses; main reads each field once more.
    assert_eq!((recorded.count("r", "Events.plain"), recorded.count("w", "Events.plain")), (5, 2));
    assert_eq!((recorded.count("ar", "Events.loud"), recorded.count("aw", "Events.loud")), (1, 2));
    assert_eq!((recorded.count("r", "Events.count"), recorded.count("w", "Events.count")), (3, 2));
    assert_eq!((recorded.count("r", ""), recorded.count("w", "")), (3, 2));
    // Of a lock taken twice, the outer half: `locked` and the ReentrantLock.
    assert_eq!((recorded.count("acq", ""), recorded.count("rel", "")), (4, 4));
    // The virtual machine may start a thread of its own.
    assert!(recorded.count("fork", "") >= 2);
    assert_eq!(recorded.count("join", ""), 2);
    for label in ["Events.locked", "Events.again", "Events.mixed"] {
        assert_eq!(
            (recorded.count("begin", label), recorded.count("end", label)),
            (2, 2),
            "{label}"
        );
    }
    assert_eq!(recorded.count("begin", "Events.main"), 0);
    assert!(recorded.notes.contains(&"observed: classes".to_owned()), "{:?}", recorded.notes);
}

#[test]
fn chosen_methods_only_are_blocks() {
    let folder = tempfile::tempdir().expect("a folder");
    compile("Events", folder.path());
    let stream = folder.path().join("e.stream");
    let options = format!("file={},atomic=Events.mixed,yield=locked", stream.display());
    assert!(java("Events", folder.path(), Some(&options)).status.success());
    let recorded = read(&stream);
    assert_eq!(recorded.count("begin", "Events.mixed"), 2);
    assert_eq!(recorded.count("begin", "Events.locked"), 0);
    assert_eq!(recorded.count("yield", ""), 2);
}

#[test]
fn redundant_accesses_can_be_left_out() {
    let folder = tempfile::tempdir().expect("a folder");
    compile("Redundant", folder.path());
    let recorded = |redundant: &str| {
        let stream = folder.path().join(redundant);
        let options = format!("file={},redundant={redundant}", stream.display());
        let output = java("Redundant", folder.path(), Some(&options));
        assert_eq!(String::from_utf8_lossy(&output.stdout), "4950\n");
        read(&stream)
    };
    let counts = |recorded: &Recorded| {
        let plain =
            ["read", "written", "count"].map(|f| recorded.count("r", &format!("Redundant.{f}")));
        let writes = ["written", "locked"].map(|f| recorded.count("w", &format!("Redundant.{f}")));
        // What has no name is an element, or the atomic object.
        let others = [("r", ""), ("ar", ""), ("ar", "Redundant.loud")];
        (plain, writes, others.map(|(kind, target)| recorded.count(kind, target)))
    };
    let [keep, block, epoch] = ["keep", "block", "epoch"].map(recorded);
    // The main thread reads the sum, which is an element, in the end.
    assert_eq!(counts(&keep), ([100, 100, 100], [100, 20], [101, 100, 100]));
    assert_eq!(counts(&block), ([1, 0, 1], [1, 1], [2, 1, 1]));
    // Each release begins an epoch, and so does each acquire; what orders threads is recorded.
    assert_eq!(counts(&epoch), ([1, 0, 1], [1, 20], [2, 100, 100]));

    let often = |recorded: &Recorded| {
        (recorded.count("begin", "Redundant.inside"), recorded.count("w", "Redundant.often"))
    };
    assert_eq!(often(&keep), (5000, 10_000));
    let (blocks, writes) = often(&block);
    assert!((257..1000).contains(&blocks), "{blocks} times");
    // One for each block that is recorded, and now and then one that is not inside of any.
    assert!((blocks..=2 * blocks + 1).contains(&writes), "{writes} writes in {blocks} blocks");
    assert_eq!(block.count("end", "Redundant.inside"), blocks);
    assert!(block.notes.iter().any(|note| note.contains("redundant")), "{:?}", block.notes);
}

#[test]
fn a_wrong_option_leaves_the_program_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    compile("Events", folder.path());
    let output = java("Events", folder.path(), Some("nonsense=1"));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "2 2 2 2\n");
    assert!(String::from_utf8_lossy(&output.stderr).contains("unknown option `nonsense`"));
}
