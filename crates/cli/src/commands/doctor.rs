//! `paceline doctor`: what is here, what would work, and what is missing.
//!
//! Each finding of the doctor is tried out, not guessed: the agent is unpacked, and every JDK loads
//! it once.

mod jdks;
mod tools;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use owo_colors::OwoColorize as _;

use crate::cache::cache_folder;
use crate::status::Status;

/// Say what is here, what would work and what is missing
///
/// Looks for JDKs, build tools and compilers, unpacks the agent and lets every JDK load it.
///
/// Exit status: 0 if Java programs can be observed, 1 if something for that is missing.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  paceline doctor")]
pub struct Args {}

/// How something is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Health {
    Good,
    /// Not there, and only needed for some things.
    Absent,
    /// Needed, and does not work.
    Bad,
}

/// One line of the answer.
#[derive(Debug)]
struct Finding {
    health: Health,
    what: String,
    detail: String,
}

impl Finding {
    fn good(what: impl Into<String>, detail: impl Into<String>) -> Finding {
        Finding { health: Health::Good, what: what.into(), detail: detail.into() }
    }

    fn absent(what: impl Into<String>, detail: impl Into<String>) -> Finding {
        Finding { health: Health::Absent, ..Finding::good(what, detail) }
    }

    fn bad(what: impl Into<String>, detail: impl Into<String>) -> Finding {
        Finding { health: Health::Bad, ..Finding::good(what, detail) }
    }

    fn show(&self) -> String {
        let Finding { health, what, detail } = self;
        let mark = match health {
            Health::Good => "ok     ".green().to_string(),
            Health::Absent => "absent ".yellow().to_string(),
            Health::Bad => "BAD    ".red().bold().to_string(),
        };
        format!("  {mark} {what:<14} {detail}")
    }
}

/// What is looked at together.
struct Section {
    title: &'static str,
    findings: Vec<Finding>,
    /// What follows from it for the user.
    then: String,
}

pub fn run(_args: &Args) -> anyhow::Result<Status> {
    let agent = cache_folder().and_then(|cache| Ok(paceline_agents::JVM.unpack(&cache)?));
    let sections = [itself(&agent), java(agent.as_deref().ok()), tools::builds(), tools::native()];
    let mut out = anstream::stdout();
    for Section { title, findings, then } in &sections {
        writeln!(out, "{}", title.bold())?;
        for finding in findings {
            writeln!(out, "{}", finding.show())?;
        }
        writeln!(out, "  {then}\n")?;
    }
    let is_bad = |section: &Section| section.findings.iter().any(|f| f.health == Health::Bad);
    let bad = sections.iter().any(is_bad);
    writeln!(out, "{}", if bad { "Something is missing: see BAD above." } else { "All is well." })?;
    Ok(if bad { Status::Findings } else { Status::Clean })
}

/// This program and the places that it writes to.
fn itself(agent: &anyhow::Result<PathBuf>) -> Section {
    let program = std::env::current_exe().map(|p| p.display().to_string()).unwrap_or_default();
    let version = format!("version {}, {program}", env!("CARGO_PKG_VERSION"));
    let agent = match agent {
        Ok(path) => Finding::good("agent", format!("unpacked to {}", path.display())),
        Err(error) => Finding::bad(
            "agent",
            format!("{error:#}; set XDG_CACHE_HOME to a folder that is yours"),
        ),
    };
    let temporary = std::env::temp_dir();
    let socket = match tempfile_works(&temporary) {
        Ok(()) => Finding::good("temporary", format!("{} can be written", temporary.display())),
        Err(error) => Finding::bad(
            "temporary",
            format!("{}: {error}; set TMPDIR to a folder that is yours", temporary.display()),
        ),
    };
    Section {
        title: "Paceline",
        findings: vec![Finding::good("paceline", version), agent, socket],
        then: "Traces can be checked: paceline check TRACE. Try paceline demo.".to_owned(),
    }
}

/// Whether sockets for observed programs can be made there.
fn tempfile_works(folder: &Path) -> std::io::Result<()> {
    let path = folder.join(format!("paceline-doctor-{}", std::process::id()));
    let made = std::os::unix::net::UnixListener::bind(&path);
    let _ = std::fs::remove_file(&path);
    made.map(drop)
}

/// The virtual machines.
fn java(agent: Option<&Path>) -> Section {
    let mut findings: Vec<Finding> =
        jdks::found().iter().map(|jdk| jdks::examine(jdk, agent)).collect();
    let is_good = |f: &Finding| f.health == Health::Good;
    let works = findings.iter().any(is_good);
    // One JDK that works is enough; the others then only cannot be used.
    if works {
        let bad = findings.iter_mut().filter(|f| f.health == Health::Bad);
        bad.for_each(|finding| finding.health = Health::Absent);
    } else if findings.is_empty() {
        let where_ = "neither on the path, nor in JAVA_HOME, nor in /usr/lib/jvm";
        findings.push(Finding::bad("java", format!("{where_}; install a JDK, 17 or newer")));
    }
    let then = match works {
        true => "Java programs can be observed: paceline run -- java -jar app.jar",
        false => "No Java program can be observed. paceline scan works without a JDK.",
    };
    Section { title: "Java", findings, then: then.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_java_is_not_well() {
        let cannot = anyhow::anyhow!("no room");
        assert!(itself(&Err(cannot)).findings.iter().any(|f| f.health == Health::Bad));
        assert!(itself(&Ok("/a".into())).findings.iter().all(|f| f.health == Health::Good));
        assert!(tempfile_works(Path::new("/does/not/exist")).is_err());
    }

    #[test]
    fn a_line_says_how_it_is() {
        let line = anstream::adapter::strip_str(&Finding::absent("mvn", "no").show()).to_string();
        assert_eq!(line, "  absent  mvn            no");
    }
}
