//! The JDKs of the machine, and processes that are run to their end.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Where the programs are.
pub const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs/java");

/// Far more than any program needs: one that hangs must not hang the tests.
const LIMIT: Duration = Duration::from_secs(300);

/// A JDK.
pub struct Jdk {
    pub home: PathBuf,
    pub version: u32,
}

impl Jdk {
    fn at(home: &Path) -> Option<Jdk> {
        let home = home.canonicalize().ok()?;
        let release = fs::read_to_string(home.join("release")).ok()?;
        let version = release.lines().find_map(|line| line.strip_prefix("JAVA_VERSION=\""))?;
        let version = version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()?;
        home.join("bin/javac").is_file().then_some(Jdk { home, version })
    }

    /// Compiles these files into a folder.
    pub fn javac(&self, to: &Path, sources: impl Iterator<Item = PathBuf>) {
        let mut javac = Command::new(self.home.join("bin/javac"));
        javac.args(["-nowarn", "-d"]).arg(to).args(sources);
        let output = javac.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// The JDK of `JAVA_HOME` or of the path, and those beside it.
pub fn jdks(programs: usize) -> Vec<Jdk> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let home = std::env::var_os("JAVA_HOME").map(|home| Path::new(&home).join("bin"));
    let folders = home.into_iter().chain(std::env::split_paths(&path));
    let javac = folders.map(|it| it.join("javac")).find_map(|javac| javac.canonicalize().ok());
    let Some(beside) = javac.as_deref().and_then(|javac| javac.ancestors().nth(3)) else {
        skip(programs);
        return Vec::new();
    };
    let homes = fs::read_dir(beside).unwrap().map(|file| file.unwrap().path());
    let mut jdks: Vec<_> = homes.filter_map(|home| Jdk::at(&home)).collect();
    jdks.sort_by(|a, b| (a.version, &a.home).cmp(&(b.version, &b.home)));
    jdks.dedup_by(|a, b| a.home == b.home);
    assert!(!jdks.is_empty(), "javac is there, but no JDK");
    jdks
}

/// Without Java the tests are skipped, loudly; in CI that is a failure.
fn skip(programs: usize) {
    assert!(std::env::var("CI").as_deref() != Ok("true"), "javac is not installed");
    // Not by `eprintln!`, which is only shown of tests that fail.
    let _ = writeln!(std::io::stderr(), "SKIPPED: no javac, {programs} Java programs NOT tested");
}

/// What a process has printed, and how it ended.
pub struct Output {
    pub status: ExitStatus,
    pub out: String,
    pub err: String,
}

/// Runs a command to its end. Output goes through files, so that a full pipe stops nothing.
pub fn finish(command: &mut Command) -> Output {
    let [out, err] = [(); 2].map(|()| tempfile::NamedTempFile::new().unwrap());
    command.stdin(Stdio::null()).stdout(out.reopen().unwrap()).stderr(err.reopen().unwrap());
    let status = wait(command.spawn().unwrap(), command);
    let [out, err] = [out, err].map(|file| fs::read(file.path()).unwrap());
    let [out, err] = [out, err].map(|text| String::from_utf8_lossy(&text).into_owned());
    Output { status, out, err }
}

/// Waits for a process to end, but not for ever.
pub fn wait(mut child: Child, command: &Command) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if start.elapsed() > LIMIT {
            let _ = child.kill();
            panic!("{command:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
