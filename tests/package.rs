//! What users install: `./package` makes it, it is unpacked into a fresh root, and works there with a
//! fresh home and nothing else of ours on the path.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// The root of the repository.
fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Whether a command is there; said loudly if not.
fn has(command: &str) -> bool {
    if Command::new(command).arg("--version").output().is_ok() {
        return true;
    }
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{command} is not installed");
    let _ = writeln!(std::io::stderr(), "SKIPPED: no {command}, packages NOT tested");
    false
}

#[track_caller]
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}\n{}", said(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// The packages, made of the binary that is tested.
struct Packages(TempDir);

impl Packages {
    fn make() -> Packages {
        let folder = tempfile::tempdir().unwrap();
        let mut package = Command::new(top().join("package"));
        package.args(["--binary", env!("CARGO_BIN_EXE_paceline"), "--to"]).arg(folder.path());
        let made = run(&mut package);
        assert!(made.lines().all(|line| Path::new(line).is_file()), "{made}");
        Packages(folder)
    }

    /// The one whose name ends like this.
    fn one(&self, ending: &str) -> PathBuf {
        let files = std::fs::read_dir(self.0.path()).unwrap().map(|file| file.unwrap().path());
        files.into_iter().find(|file| file.to_str().unwrap().ends_with(ending)).unwrap()
    }
}

/// A command in a fresh home, with only the system and the package on the path.
fn fresh(program: impl AsRef<Path>, home: &Path) -> Command {
    let mut command = Command::new(program.as_ref());
    command.env_clear().env("HOME", home).current_dir(home);
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin");
    command
}

/// The binary finds its bug, and the bug of a Java program.
fn assert_works(paceline: &Path) {
    let home = tempfile::tempdir().unwrap();
    let demo = fresh(paceline, home.path()).arg("demo").output().unwrap();
    assert_eq!(demo.status.code(), Some(1), "{}", said(&demo));
    assert!(said(&demo).contains("violation: Set.add"), "{}", said(&demo));
    if !has("java") {
        return;
    }
    run(fresh(paceline, home.path()).args(["demo", "--write", "Bank.java"]));
    let java = fresh(paceline, home.path()).args(["run", "--", "java", "Bank.java"]).output();
    let java = java.unwrap();
    assert_eq!(java.status.code(), Some(1), "{}", said(&java));
    assert!(said(&java).contains("violation: Bank.deposit"), "{}", said(&java));
    assert!(home.path().join(".cache/paceline").is_dir(), "the agent was unpacked there");
}

#[test]
fn the_packages_work_in_a_fresh_root() {
    if !has("dpkg-deb") {
        return;
    }
    let packages = Packages::make();
    debian_package_works(&packages.one(".deb"));
    archive_works(&packages.one(".tar.gz"));
}

fn debian_package_works(deb: &Path) {
    let root = tempfile::tempdir().unwrap();
    run(Command::new("dpkg-deb").arg("--extract").arg(deb).arg(root.path()));
    assert_works(&root.path().join("usr/bin/paceline"));
    for file in [
        "bash-completion/completions/paceline",
        "zsh/vendor-completions/_paceline",
        "fish/vendor_completions.d/paceline.fish",
        "doc/paceline/copyright",
        "man/man1/paceline-run.1.gz",
    ] {
        assert!(root.path().join("usr/share").join(file).is_file(), "{file}");
    }
    if has("man") {
        let mut man = Command::new("man");
        man.args(["-P", "cat", "-M"]).arg(root.path().join("usr/share/man")).arg("paceline-run");
        let page = run(&mut man);
        assert!(page.contains("Run a program under observation"), "{page}");
    }
    let fields = run(Command::new("dpkg-deb").arg("--field").arg(deb));
    assert!(fields.contains("\nDepends: libc6 (>= 2."), "{fields}");
    // Every file is listed with its checksum, and belongs to root.
    let listed = run(Command::new("dpkg-deb").arg("--contents").arg(deb));
    assert!(listed.lines().all(|line| line.contains(" root/root ")), "{listed}");
    let sums = run(Command::new("dpkg-deb").args(["--info"]).arg(deb).arg("md5sums"));
    assert!(sums.contains("usr/bin/paceline"), "{sums}");
}

fn archive_works(archive: &Path) {
    let folder = tempfile::tempdir().unwrap();
    run(Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(folder.path()));
    let name = archive.file_name().unwrap().to_str().unwrap().strip_suffix(".tar.gz").unwrap();
    assert_works(&folder.path().join(name).join("bin/paceline"));
    assert!(folder.path().join(name).join("share/man/man1/paceline.1.gz").is_file());
}
