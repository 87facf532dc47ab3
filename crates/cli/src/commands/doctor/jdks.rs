//! Which virtual machines are here, and whether each can be observed.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::Finding;
use super::tools::on_path;

/// The agent needs what this version of the tool interface has (docs/jvm.md).
const OLDEST: u32 = 17;

/// Where distributions install virtual machines.
const INSTALLED: &str = "/usr/lib/jvm";

/// A virtual machine: its home, and how it is reached.
pub struct Jdk {
    home: PathBuf,
    /// Whether it is the `java` that a command line without a path means.
    is_on_path: bool,
}

/// All that can be found, the one on the path first, each once.
pub fn found() -> Vec<Jdk> {
    let on_path = on_path("java").and_then(|java| home_of(&java));
    let variable = std::env::var_os("JAVA_HOME").map(PathBuf::from);
    let installed = std::fs::read_dir(INSTALLED).into_iter().flatten().flatten();
    let mut installed: Vec<PathBuf> = installed.map(|entry| entry.path()).collect();
    installed.sort();
    let mut all: Vec<Jdk> = Vec::new();
    for home in on_path.iter().cloned().chain(variable).chain(installed) {
        let Ok(home) = home.canonicalize() else { continue };
        let is_new = all.iter().all(|jdk| jdk.home != home);
        if is_new && home.join("bin/java").is_file() {
            all.push(Jdk { is_on_path: on_path.as_ref() == Some(&home), home });
        }
    }
    all
}

/// The home of the virtual machine that a link such as `/usr/bin/java` leads to.
fn home_of(java: &Path) -> Option<PathBuf> {
    Some(java.canonicalize().ok()?.parent()?.parent()?.to_owned())
}

/// Lets it load the agent.
pub fn examine(jdk: &Jdk, agent: Option<&Path>) -> Finding {
    let release = std::fs::read_to_string(jdk.home.join("release")).unwrap_or_default();
    let version = entry(&release, "JAVA_VERSION").unwrap_or("of unknown version");
    let name = if jdk.is_on_path { "java" } else { "another java" };
    let what = format!("{version}, {}", jdk.home.display());
    if major(version).is_some_and(|major| major < OLDEST) {
        return Finding::bad(name, format!("{what}: too old, {OLDEST} or newer is needed"));
    }
    let Some(agent) = agent else { return Finding::bad(name, format!("{what}: no agent")) };
    let compiler = match jdk.home.join("bin/javac").is_file() {
        true => "",
        false => "; no javac: it runs classes and jars, not A.java",
    };
    match loads(&jdk.home.join("bin/java"), agent) {
        Ok(()) => Finding::good(name, format!("{what}{compiler}")),
        Err(why) => Finding::bad(name, format!("{what}: {why}")),
    }
}

/// Whether a run that does nothing is recorded.
fn loads(java: &Path, agent: &Path) -> Result<(), String> {
    let stream = std::env::temp_dir().join(format!("paceline-doctor-{}.s", std::process::id()));
    let mut option = std::ffi::OsString::from("-agentpath:");
    option.extend([agent.as_os_str(), OsStr::new("=file="), stream.as_os_str()]);
    let output = Command::new(java)
        .arg(option)
        .arg("-version")
        .env_remove("JAVA_TOOL_OPTIONS")
        .stdin(Stdio::null())
        .output();
    let recorded = std::fs::metadata(&stream).is_ok_and(|file| file.len() > 0);
    let _ = std::fs::remove_file(&stream);
    match output {
        Ok(output) if output.status.success() && recorded => Ok(()),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let first = said.lines().next().unwrap_or("it says nothing");
            Err(format!("does not load the agent: {first}"))
        }
        Err(error) => Err(format!("does not start: {error}")),
    }
}

/// The value of an entry in the file `release` of a JDK.
fn entry<'a>(release: &'a str, key: &str) -> Option<&'a str> {
    let value = release.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    value.map(|value| value.trim().trim_matches('"'))
}

/// 17 of `17.0.15`, 8 of `1.8.0_392`.
fn major(version: &str) -> Option<u32> {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    match (numbers.next()?.ok()?, numbers.next()) {
        (1, Some(Ok(minor))) => Some(minor),
        (major, _) => Some(major),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_understood() {
        let release = "IMPLEMENTOR=\"Debian\"\nJAVA_VERSION=\"17.0.15\"\nJAVA_VERSION_DATE=\"x\"\n";
        assert_eq!(entry(release, "JAVA_VERSION"), Some("17.0.15"));
        assert_eq!(entry(release, "JAVA"), None);
        assert_eq!(major("17.0.15"), Some(17));
        assert_eq!(major("1.8.0_392"), Some(8));
        assert_eq!(major("25"), Some(25));
        assert_eq!(major("of unknown version"), None);
    }

    #[test]
    fn one_that_is_too_old_or_broken_is_bad() {
        let folder = tempfile::tempdir().unwrap();
        let old = Jdk { home: folder.path().to_owned(), is_on_path: true };
        std::fs::write(folder.path().join("release"), "JAVA_VERSION=\"1.8.0_1\"").unwrap();
        assert!(examine(&old, None).detail.contains("too old"));
        std::fs::write(folder.path().join("release"), "JAVA_VERSION=\"21\"").unwrap();
        let broken = examine(&old, Some(Path::new("/no/agent"))).detail;
        assert!(broken.contains("does not start"), "{broken}");
    }
}
