//! `paceline run java Hello`: the command that is to be observed comes after `--`. Who forgets that
//! sees what to type.

use std::ffi::{OsStr, OsString};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};

/// The commands that take another command.
const OBSERVERS: [&str; 2] = ["run", "record"];

/// The error, or a kinder one if two dashes are what is missing.
pub fn explain(error: Error, arguments: &[OsString], command: &mut Command) -> Error {
    match corrected(&error, arguments) {
        Some(line) => {
            let why = "the command to observe comes after `--`";
            command.error(ErrorKind::UnknownArgument, format!("{why}. Type:\n\n  {line}"))
        }
        None => error,
    }
}

/// The line as it should be.
fn corrected(error: &Error, arguments: &[OsString]) -> Option<String> {
    let unexpected = match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(argument))) => argument,
        _ => return None,
    };
    let observer = arguments.iter().position(|a| OBSERVERS.iter().any(|name| a == name))?;
    let at = observer + arguments[observer..].iter().position(|a| a == OsStr::new(unexpected))?;
    if unexpected.starts_with('-') || arguments[..at].iter().any(|a| a == "--") {
        return None;
    }
    let (ours, theirs) = arguments[1..].split_at(at - 1);
    let words = ours.iter().map(|word| quoted(word)).chain(["--".to_owned()]);
    let words: Vec<String> = words.chain(theirs.iter().map(|word| quoted(word))).collect();
    Some(format!("paceline {}", words.join(" ")))
}

/// The word as a shell takes it.
fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=,+@%".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.into_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser as _};

    use super::*;
    use crate::args::Cli;

    /// What is printed for a line that is wrong.
    fn answer(line: &[&str]) -> String {
        let arguments: Vec<OsString> = line.iter().map(OsString::from).collect();
        let error = Cli::try_parse_from(&arguments).err().expect("it is wrong");
        explain(error, &arguments, &mut Cli::command()).to_string()
    }

    #[test]
    fn two_dashes_are_put_in() {
        let plain = answer(&["paceline", "run", "java", "Hello"]);
        assert!(plain.contains("\n  paceline run -- java Hello\n"), "{plain}");
        let options = ["paceline", "-q", "record", "-o", "t.pace", "java", "-jar", "my app.jar"];
        let options = answer(&options);
        let line = "\n  paceline -q record -o t.pace -- java -jar 'my app.jar'\n";
        assert!(options.contains(line), "{options}");
    }

    #[test]
    fn other_mistakes_stay_what_they_are() {
        for line in [&["paceline", "run", "--htlm", "r", "--", "java"][..], &["paceline", "run"]] {
            assert!(!answer(line).contains("comes after"), "{line:?}");
        }
    }
}
