//! How the agent gets into a JVM. `java` itself is given one more option, which is quiet; to the
//! JVMs behind a script or a build tool it comes by an environment variable, which each of them
//! mentions on its standard error.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use anyhow::bail;

use super::options::ObserveArgs;
use super::text;

const LIBRARY: &str = "libpaceline_jvm.so";
const VARIABLE: &str = "JAVA_TOOL_OPTIONS";

/// Observed code is larger and full of calls, and takes the compilers two to three times as long; in programs that
/// run for seconds that is most of the cost. So less of it is put together into large methods, and only what runs
/// twice as often as usual is compiled. Options of the user come later and count.
pub const COMPILERS: [&str; 3] =
    ["-XX:CompileThresholdScaling=2", "-XX:FreqInlineSize=100", "-XX:InlineSmallCode=600"];

/// A daemon of Gradle that is there already would not pass the variable on to the processes that
/// run the tests; a build of its own does.
const GRADLE: (&str, &str) = ("GRADLE_OPTS", "-Dorg.gradle.daemon=false");

/// The command as it is run.
pub struct Injection {
    pub command: Vec<OsString>,
    pub variables: Vec<(&'static str, OsString)>,
    /// Why no JVM can be observed.
    pub hint: Option<String>,
}

/// Makes the JVMs of a command load the agent with this file of options.
pub fn inject(
    command: &[OsString],
    args: &ObserveArgs,
    options: &Path,
) -> anyhow::Result<Injection> {
    let mut injection = Injection { command: command.to_vec(), variables: Vec::new(), hint: None };
    let is_java = command.first().is_some_and(|program| is_java(program));
    let Some(library) = library(args.jvm_agent.as_deref())? else {
        let hint = format!("{LIBRARY} was not found beside this program: no JVM was observed");
        if is_java {
            bail!("{LIBRARY} is not beside this program; --jvm-agent says where it is");
        }
        injection.hint = Some(hint);
        return Ok(injection);
    };
    let option = format!("-agentpath:{}=options={}", text(&library)?, text(options)?);
    if is_java {
        let ours = [&option[..]].into_iter().chain(COMPILERS).map(OsString::from);
        injection.command.splice(1..1, ours);
    }
    if !is_java || args.children {
        let before = std::env::var_os(VARIABLE);
        let ours =
            COMPILERS.iter().fold(before.unwrap_or_default(), |all, it| joined(Some(&all), it));
        injection.variables.push((VARIABLE, joined(Some(&ours), &option)));
        let before = std::env::var_os(GRADLE.0);
        injection.variables.push((GRADLE.0, joined(before.as_deref(), GRADLE.1)));
    }
    Ok(injection)
}

fn is_java(program: &OsStr) -> bool {
    Path::new(program).file_name().is_some_and(|name| name == "java")
}

/// The option after those that are there already. Blanks would cut it in two.
fn joined(before: Option<&OsStr>, option: &str) -> OsString {
    let mut all = before.filter(|b| !b.is_empty()).map(OsStr::to_owned).unwrap_or_default();
    if !all.is_empty() {
        all.push(" ");
    }
    let quoted = option.contains(char::is_whitespace);
    all.push(if quoted { format!("\"{option}\"") } else { option.to_owned() });
    all
}

/// Where the agent is: beside the program as built or unpacked, or where packages put libraries.
/// `cargo test` builds it in `deps` only, and may leave an old one beside the program.
fn library(given: Option<&Path>) -> anyhow::Result<Option<PathBuf>> {
    if let Some(given) = given {
        if !given.is_file() {
            bail!("there is no file {}", given.display());
        }
        return Ok(Some(given.canonicalize()?));
    }
    let program = std::env::current_exe()?.canonicalize()?;
    let dir = program.parent().unwrap_or(Path::new("."));
    let places =
        [dir.join("deps").join(LIBRARY), dir.join(LIBRARY), dir.join("../lib").join(LIBRARY)];
    Ok(places.into_iter().find(|place| place.is_file()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn injected(command: &[&str], args: ObserveArgs) -> Injection {
        let agent = tempfile::NamedTempFile::new().unwrap();
        let args = ObserveArgs { jvm_agent: Some(agent.path().to_owned()), ..args };
        let command: Vec<OsString> = command.iter().map(OsString::from).collect();
        inject(&command, &args, Path::new("/tmp/o")).unwrap()
    }

    #[test]
    fn java_gets_an_option_and_others_a_variable() {
        let java = injected(&["/opt/bin/java", "-jar", "a.jar"], ObserveArgs::default());
        let option = java.command[1].to_str().unwrap();
        assert!(option.starts_with("-agentpath:/") && option.ends_with("=options=/tmp/o"));
        assert_eq!(java.command[2..5], COMPILERS);
        assert_eq!(java.command[5..], ["-jar", "a.jar"]);
        assert!(java.variables.is_empty());

        let maven = injected(&["mvn", "test"], ObserveArgs::default());
        assert_eq!(maven.command, ["mvn", "test"]);
        assert_eq!(maven.variables[0].0, VARIABLE);

        let both = injected(&["java", "A"], ObserveArgs { children: true, ..Default::default() });
        assert_eq!((both.command.len(), both.variables.len()), (6, 2));
    }

    #[test]
    fn options_that_are_there_stay() {
        assert_eq!(joined(None, "-a"), "-a");
        assert_eq!(joined(Some(OsStr::new("")), "-a"), "-a");
        assert_eq!(joined(Some(OsStr::new("-ea")), "-agentpath:/a b"), "-ea \"-agentpath:/a b\"");
    }
}
