//! `paceline.toml` in the folder where the command is run: the same options as on the command line,
//! under the same names. What the command line says takes the place of what the file says.
//!
//! The file is turned into arguments, so that there is one place that knows what an option means.
//! An option that only other commands have is none of this one's business; one that no command has
//! is a mistake.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context as _, bail};
use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, Command};
use toml::{Table, Value};

/// The name of the file.
const FILE: &str = "paceline.toml";

/// The arguments together with what the file in `folder` adds to them.
pub fn arguments(
    command: &Command,
    given: Vec<OsString>,
    folder: &Path,
) -> anyhow::Result<Vec<OsString>> {
    let path = folder.join(FILE);
    if !path.is_file() {
        return Ok(given);
    }
    // What is wrong with the command line is reported when it is parsed for good.
    let Ok(matches) = command.clone().try_get_matches_from(&given) else { return Ok(given) };
    let Some((name, matches)) = matches.subcommand() else { return Ok(given) };
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {FILE}"))?;
    let table: Table = text.parse().with_context(|| format!("{FILE} is not TOML"))?;
    let added = added(command, name, matches, &table)?;
    Ok(insert(given, name, added))
}

/// The arguments go right after the name of the command.
fn insert(mut given: Vec<OsString>, name: &str, added: Vec<OsString>) -> Vec<OsString> {
    let place = given.iter().position(|word| word == name).map_or(given.len(), |at| at + 1);
    given.splice(place..place, added);
    given
}

fn added(
    command: &Command,
    name: &str,
    matches: &ArgMatches,
    table: &Table,
) -> anyhow::Result<Vec<OsString>> {
    let chosen = command.find_subcommand(name);
    let mut words = Vec::new();
    for (key, value) in table {
        let option = chosen.and_then(|c| option(c, key)).or_else(|| option(command, key));
        match option {
            Some(option) if is_given(matches, option.get_id().as_str()) => {}
            Some(option) => put(option, key, value, &mut words)?,
            None if command.get_subcommands().any(|c| self::option(c, key).is_some()) => {}
            None => bail!("{FILE}: no command has an option --{key}"),
        }
    }
    Ok(words)
}

fn option<'a>(command: &'a Command, key: &str) -> Option<&'a clap::Arg> {
    let not_here = ["help", "version"].contains(&key);
    command.get_arguments().find(|arg| arg.get_long() == Some(key) && !not_here)
}

fn is_given(matches: &ArgMatches, id: &str) -> bool {
    matches.ids().any(|known| known == id)
        && matches.value_source(id) == Some(ValueSource::CommandLine)
}

fn put(
    option: &clap::Arg,
    key: &str,
    value: &Value,
    words: &mut Vec<OsString>,
) -> anyhow::Result<()> {
    let is_flag = matches!(option.get_action(), ArgAction::SetTrue);
    match value {
        Value::Boolean(on) if is_flag => words.extend(on.then(|| format!("--{key}").into())),
        Value::Array(values) if matches!(option.get_action(), ArgAction::Append) => {
            for value in values {
                put(option, key, value, words)?;
            }
        }
        Value::String(text) if !is_flag => words.push(format!("--{key}={text}").into()),
        Value::Integer(number) if !is_flag => words.push(format!("--{key}={number}").into()),
        Value::Boolean(_)
        | Value::Array(_)
        | Value::String(_)
        | Value::Integer(_)
        | Value::Float(_)
        | Value::Datetime(_)
        | Value::Table(_) => {
            let wanted = if is_flag { "true or false" } else { "a text, a number or a list" };
            bail!("{FILE}: `{key}` takes {wanted}")
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::args::Cli;

    /// The arguments of `line` with this file beside.
    fn with(file: &str, line: &str) -> Result<String, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), file).unwrap();
        let given = line.split(' ').map(OsString::from).collect();
        let words = arguments(&Cli::command(), given, folder.path());
        let words = words.map_err(|error| error.to_string())?;
        Ok(words.join(&OsString::from(" ")).into_string().unwrap())
    }

    #[test]
    fn options_of_the_file_come_after_the_command() {
        let file = "atomic = [\"A.*\", \"B.f\"]\nlenient = true\nfirst = false\nmax-findings = 7\n";
        assert_eq!(
            with(file, "paceline --quiet check t.std").unwrap(),
            "paceline --quiet check --atomic=A.* --atomic=B.f --lenient --max-findings=7 t.std"
        );
        assert_eq!(
            with(file, "paceline run -- java check").unwrap(),
            "paceline run --atomic=A.* --atomic=B.f --lenient --max-findings=7 -- java check"
        );
    }

    #[test]
    fn the_command_line_takes_the_place_of_the_file() {
        let file = "atomic = [\"A.*\"]\nmax-findings = 7\n";
        assert_eq!(
            with(file, "paceline check --atomic C t.std").unwrap(),
            "paceline check --max-findings=7 --atomic C t.std"
        );
    }

    #[test]
    fn options_of_other_commands_do_not_matter_here() {
        assert_eq!(with("linger = 9", "paceline stats t.std").unwrap(), "paceline stats t.std");
        assert_eq!(with("linger = 9", "paceline demo").unwrap(), "paceline demo");
        assert_eq!(with("linger = 9", "paceline").unwrap(), "paceline");
    }

    #[test]
    fn mistakes_are_reported() {
        for (file, what) in [
            ("atomics = []", "no command has an option --atomics"),
            ("help = true", "no command has an option --help"),
            ("lenient = 1", "`lenient` takes true or false"),
            ("max-findings = [1]", "`max-findings` takes a text"),
            ("atomic = [[1.5]]", "`atomic` takes a text"),
            ("= 1", "is not TOML"),
        ] {
            let error = with(file, "paceline check t.std").expect_err(file);
            assert!(error.contains(what), "{file}: {error}");
        }
    }
}
