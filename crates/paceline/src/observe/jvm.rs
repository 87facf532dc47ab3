//! How the agent gets into a JVM. `java` itself is given one more option, which is quiet; to the
//! JVMs that a script or a build tool starts it comes by an environment variable, which each of them
//! mentions on its standard error.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::options::ObserveOptions;
use crate::Error;

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
pub(super) fn inject(
    command: &[OsString],
    args: &ObserveOptions,
    options: &Path,
) -> Result<Injection, Error> {
    let mut injection = Injection { command: command.to_vec(), variables: Vec::new(), hint: None };
    let is_java = command.first().is_some_and(|program| is_java(program));
    let Some(library) = library(args.jvm_agent.as_deref())? else {
        let why = "there is no agent to observe JVMs with";
        if is_java {
            return Err(Error::Usage(why.to_owned()));
        }
        injection.hint = Some(why.to_owned());
        return Ok(injection);
    };
    let option = format!("-agentpath:{}=options={}", text(&library)?, text(options)?);
    if is_java {
        let ours = [&option[..]].into_iter().chain(COMPILERS).map(OsString::from);
        injection.command.splice(1..1, ours);
    }
    if !is_java || args.children {
        let before = |name: &str| {
            let given = args.environment.iter().find(|(given, _)| given == name);
            given.map(|(_, value)| value.clone()).unwrap_or_default()
        };
        let ours = COMPILERS.iter().fold(before(VARIABLE), |all, it| joined(Some(&all), it));
        injection.variables.push((VARIABLE, joined(Some(&ours), &option)));
        injection.variables.push((GRADLE.0, joined(Some(&before(GRADLE.0)), GRADLE.1)));
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

/// The agent that was given, by a path that holds in every folder.
fn library(given: Option<&Path>) -> Result<Option<PathBuf>, Error> {
    let Some(given) = given else { return Ok(None) };
    if !given.is_file() {
        return Err(Error::Usage(format!("there is no file {}", given.display())));
    }
    let cannot_read = |source| Error::Read { path: given.to_owned(), source };
    given.canonicalize().map(Some).map_err(cannot_read)
}

/// The path of a file as text for an option.
fn text(path: &Path) -> Result<&str, Error> {
    path.to_str().ok_or_else(|| Error::Usage(format!("{} is not UTF-8", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn injected(command: &[&str], args: ObserveOptions) -> Injection {
        let agent = tempfile::NamedTempFile::new().unwrap();
        let args = ObserveOptions { jvm_agent: Some(agent.path().to_owned()), ..args };
        let command: Vec<OsString> = command.iter().map(OsString::from).collect();
        inject(&command, &args, Path::new("/tmp/o")).unwrap()
    }

    #[test]
    fn java_gets_an_option_and_others_a_variable() {
        let java = injected(&["/opt/bin/java", "-jar", "a.jar"], ObserveOptions::default());
        let option = java.command[1].to_str().unwrap();
        assert!(option.starts_with("-agentpath:/") && option.ends_with("=options=/tmp/o"));
        assert_eq!(java.command[2..5], COMPILERS);
        assert_eq!(java.command[5..], ["-jar", "a.jar"]);
        assert!(java.variables.is_empty());

        let maven = injected(&["mvn", "test"], ObserveOptions::default());
        assert_eq!(maven.command, ["mvn", "test"]);
        assert_eq!(maven.variables[0].0, VARIABLE);

        let both =
            injected(&["java", "A"], ObserveOptions { children: true, ..Default::default() });
        assert_eq!((both.command.len(), both.variables.len()), (6, 2));
    }

    #[test]
    fn options_that_are_there_stay() {
        assert_eq!(joined(None, "-a"), "-a");
        assert_eq!(joined(Some(OsStr::new("")), "-a"), "-a");
        assert_eq!(joined(Some(OsStr::new("-ea")), "-agentpath:/a b"), "-ea \"-agentpath:/a b\"");
    }
}
