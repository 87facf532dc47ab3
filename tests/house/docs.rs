//! What the documentation names exists: files, sections, modules, commands and their options.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{assert_none, files, text, top};

/// A document, read once.
struct Document {
    path: PathBuf,
    /// Text outside of fenced blocks, by line.
    prose: Vec<(usize, String)>,
    /// Lines of fenced blocks that a reader types in.
    typed: Vec<(usize, String)>,
}

impl Document {
    fn read(path: PathBuf) -> Document {
        let (mut prose, mut typed) = (Vec::new(), Vec::new());
        let mut fence: Option<String> = None;
        for (number, line) in (1..).zip(text(&path).lines()) {
            match (line.trim_start().strip_prefix("```"), &fence) {
                (Some(language), None) => fence = Some(language.to_owned()),
                (Some(_), Some(_)) => fence = None,
                (None, None) => prose.push((number, line.to_owned())),
                (None, Some(language)) => typed.extend(
                    typed_command(language, line).map(|command| (number, command.to_owned())),
                ),
            }
        }
        Document { path, prose, typed }
    }

    fn complaint(&self, line: usize, what: &str) -> String {
        format!("{}:{line}: {what}", self.path.display())
    }

    /// What stands between single backquotes, with the line that it begins in.
    fn code(&self) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        for (line, text) in &self.prose {
            found.extend(text.split('`').skip(1).step_by(2).map(|code| (*line, code.to_owned())));
        }
        found
    }

    /// The targets of links.
    fn links(&self) -> impl Iterator<Item = (usize, &str)> {
        self.prose.iter().flat_map(|(line, text)| {
            let after = text.split("](").skip(1);
            after.filter_map(|rest| rest.split(')').next()).map(|target| (*line, target))
        })
    }
}

/// The command in a line of a fenced block, if the block is one of commands.
fn typed_command<'a>(language: &str, line: &'a str) -> Option<&'a str> {
    match language {
        "console" => line.strip_prefix("$ "),
        "sh" | "bash" => Some(line),
        _ => None,
    }
}

fn documents() -> Vec<Document> {
    let all: Vec<Document> = files(&[".md"]).into_iter().map(Document::read).collect();
    assert!(all.len() >= 10, "only {} documents found", all.len());
    all
}

/// The anchor that a heading of Markdown gets.
fn anchor(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || " -_".contains(*c);
    heading.trim().to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")
}

fn anchors(path: &Path) -> HashSet<String> {
    let document = Document::read(path.to_owned());
    let headings = document.prose.iter().filter(|(_, line)| line.starts_with('#'));
    headings.map(|(_, line)| anchor(line.trim_start_matches('#'))).collect()
}

#[test]
fn links_lead_somewhere() {
    let mut complaints = Vec::new();
    for document in documents() {
        for (line, target) in document.links().filter(|(_, target)| !target.contains(':')) {
            let (file, section) = target.split_once('#').unwrap_or((target, ""));
            let folder = document.path.parent().unwrap();
            let path = if file.is_empty() { document.path.clone() } else { folder.join(file) };
            let exists = top().join(&path).exists();
            if !exists || !section.is_empty() && !anchors(&path).contains(section) {
                complaints.push(document.complaint(line, &format!("no such link: {target}")));
            }
        }
    }
    assert_none(&complaints);
}

/// The words that the glossary explains: the first column of its tables.
fn glossary() -> HashSet<String> {
    let text = text(Path::new("docs/glossary.md"));
    let cells = text.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    cells.flat_map(|cell| cell.split(", ")).map(str::to_lowercase).collect()
}

#[test]
fn terms_that_lead_to_the_glossary_are_there() {
    let known = glossary();
    assert!(known.contains("conflict") && known.len() > 40, "{known:?}");
    let mut complaints = Vec::new();
    for document in documents() {
        for (line, text) in &document.prose {
            let before = text.split("](").zip(text.split("](").skip(1));
            let to_glossary = before.filter(|(_, target)| target.starts_with("glossary.md)"));
            for (before, _) in to_glossary {
                let term = before.rsplit('[').next().unwrap_or_default().to_lowercase();
                if term != "glossary" && !known.contains(&term) {
                    complaints.push(document.complaint(*line, &format!("not explained: {term}")));
                }
            }
        }
    }
    assert_none(&complaints);
}

/// `a/{b,c}/d` as `a/b/d` and `a/c/d`.
fn expand(path: &str) -> Vec<String> {
    let Some((before, rest)) = path.split_once('{') else { return vec![path.to_owned()] };
    let Some((choices, after)) = rest.split_once('}') else { return vec![path.to_owned()] };
    choices.split(',').flat_map(|choice| expand(&format!("{before}{choice}{after}"))).collect()
}

/// Whether this stands for a name that the reader chooses: `NAME`, `*`, `…`.
fn is_placeholder(part: &str) -> bool {
    part.contains(['*', '…', '<']) || {
        let stem = part.split('.').next().unwrap_or(part);
        stem.len() > 1
            && stem.chars().all(|c| c.is_ascii_uppercase())
            && !["README", "ARCHITECTURE", "CONTRIBUTING", "CHANGELOG"].contains(&stem)
    }
}

/// The path in a piece of code, if it begins in a folder of the repository.
fn path_in(code: &str) -> Option<&str> {
    const FOLDERS: [&str; 7] = ["crates", "docs", "tests", "benches", "fuzz", "examples", ".ci"];
    let word = code.split_whitespace().next()?;
    let path = word.strip_prefix("./").unwrap_or(word);
    let (first, _) = path.split_once('/')?;
    FOLDERS.contains(&first).then_some(path)
}

#[test]
fn paths_exist() {
    let mut complaints = Vec::new();
    let mut found = 0;
    for document in documents() {
        for (line, code) in document.code() {
            let Some(path) = path_in(&code) else { continue };
            found += 1;
            for path in expand(path) {
                let known: PathBuf = path.split('/').take_while(|p| !is_placeholder(p)).collect();
                if !top().join(known).exists() {
                    complaints.push(document.complaint(line, &format!("no such path: {path}")));
                }
            }
        }
    }
    assert!(found > 20, "only {found} paths found");
    assert_none(&complaints);
}

/// The source of a module below `folder`, if there is one.
fn module(folder: &Path, name: &str) -> Option<(PathBuf, String)> {
    let inner = folder.join(name);
    let files = [folder.join(format!("{name}.rs")), inner.join("mod.rs")];
    let source = files.iter().find_map(|file| std::fs::read_to_string(file).ok());
    source.map(|source| (inner, source))
}

/// Whether `analysis::engine::frontier` or `trace::pipeline::Reading` can be found in `crates`.
fn is_module_path(path: &str) -> bool {
    let mut parts = path.split("::");
    let first = parts.next().unwrap_or_default().replace('_', "-");
    let name = first.strip_prefix("paceline-").unwrap_or(&first);
    let mut folder = top().join("crates").join(name).join("src");
    let mut source = ["lib.rs", "main.rs"]
        .iter()
        .find_map(|file| std::fs::read_to_string(folder.join(file)).ok())
        .unwrap_or_default();
    for part in parts {
        let part = part.trim_end_matches("()");
        match module(&folder, part) {
            Some((inner, text)) => (folder, source) = (inner, text),
            // An item of the module: its name has to stand there.
            None => {
                return source.split(|c: char| !c.is_alphanumeric() && c != '_').any(|w| w == part);
            }
        }
    }
    true
}

#[test]
fn modules_exist() {
    const CRATES: [&str; 9] =
        ["wire", "trace", "analysis", "report", "scan", "paceline", "agents", "cli", "jvm_agent"];
    let mut complaints = Vec::new();
    for document in documents() {
        for (line, code) in document.code() {
            let is_path = |c: char| c.is_alphanumeric() || "_:()".contains(c);
            let (first, rest) = code.split_once("::").unwrap_or((&code, ""));
            let is_ours = CRATES.contains(&first.strip_prefix("paceline_").unwrap_or(first));
            if is_ours && !rest.is_empty() && code.chars().all(is_path) && !is_module_path(&code) {
                complaints.push(document.complaint(line, &format!("no such module: {code}")));
            }
        }
    }
    assert_none(&complaints);
}

/// The long options of a command, as its help has them; none for a command that does not exist.
fn options_of(command: &str) -> Option<HashSet<String>> {
    let help = Command::new(env!("CARGO_BIN_EXE_paceline")).args([command, "--help"]).output();
    let help = help.ok().filter(|output| output.status.success())?;
    let help = String::from_utf8(help.stdout).unwrap();
    let word = |c: char| !(c.is_alphanumeric() || c == '-');
    Some(help.split(word).filter(|w| w.starts_with("--")).map(str::to_owned).collect())
}

/// What is wrong with a command line that begins with `paceline`, up to a pipe or `--`.
fn wrong_with(line: &str, known: &mut HashMap<String, Option<HashSet<String>>>) -> Option<String> {
    let mut words = line.strip_prefix("paceline ")?.split_whitespace();
    let command = words.next().filter(|c| c.chars().all(|c| c.is_ascii_lowercase()))?;
    let options = known.entry(command.to_owned()).or_insert_with(|| options_of(command));
    let Some(options) = options else { return Some(format!("no such command: {command}")) };
    let given = words.take_while(|word| !["--", "|", ">", "&&"].contains(word));
    let names = given
        .filter(|w| w.starts_with("--"))
        .map(|word| word.split(['=', '|', ',', ']', ')', '…']).next().unwrap_or(word).to_owned());
    let unknown: Vec<String> = names.filter(|name| !options.contains(name)).collect();
    (!unknown.is_empty()).then(|| format!("paceline {command} has no {}", unknown.join(", ")))
}

#[test]
fn commands_and_options_exist() {
    let mut known = HashMap::new();
    let mut complaints = Vec::new();
    for document in documents() {
        for (line, command) in document.code().iter().chain(&document.typed) {
            if let Some(wrong) = wrong_with(command.trim(), &mut known) {
                complaints.push(document.complaint(*line, &wrong));
            }
        }
    }
    assert!(known.len() > 5, "only {} commands found", known.len());
    assert_none(&complaints);
}

#[test]
fn what_does_not_exist_is_noticed() {
    assert!(is_module_path("analysis::Cycle"));
    assert!(!is_module_path("analysis::no_such_module"));
    assert_eq!(expand("a/{b,c}/d"), ["a/b/d", "a/c/d"]);
    assert!(is_placeholder("NAME.rs") && !is_placeholder("README.md"));
    let wrong = |line| wrong_with(line, &mut HashMap::new());
    assert_eq!(wrong("paceline check --property all t.std"), None);
    assert_eq!(wrong("paceline run -- java --version"), None);
    assert_eq!(wrong("paceline chekc t.std"), Some("no such command: chekc".to_owned()));
    assert_eq!(wrong("paceline check --nope"), Some("paceline check has no --nope".to_owned()));
}
