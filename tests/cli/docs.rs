//! What README and docs/ show is what the command prints. `docs/make-examples` brings them up to
//! date.

use crate::{Folder, kept};

/// The commands in the blocks marked `console`, each with what is printed below it.
fn examples(text: &str) -> Vec<(String, String)> {
    let mut examples: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if let Some(command) = line.strip_prefix("$ paceline ").filter(|_| inside) {
            examples.push((command.to_owned(), String::new()));
        } else if inside {
            let (_, printed) = examples.last_mut().unwrap();
            printed.push_str(line);
            printed.push('\n');
        }
    }
    examples
}

/// The time, and how fast that was, differ from run to run.
fn stable(text: &str) -> String {
    let lines = text.lines().map(|line| match line.rsplit_once("; ") {
        Some((before, after))
            if after.starts_with(|c: char| c.is_ascii_digit()) && after.contains(" s") =>
        {
            format!("{before}; 0.00 s\n")
        }
        _ => format!("{line}\n"),
    });
    lines.collect()
}

#[track_caller]
fn assert_current(document: &str, at_least: usize) {
    let text = std::fs::read_to_string(kept(document)).unwrap();
    let folder = Folder::new()
        .with_copy("bank.rr", &kept("docs/example/bank.rr"))
        .with_copy("known.txt", &kept("docs/example/known.txt"));
    let examples = examples(&text);
    assert!(examples.len() >= at_least, "{document} has {} examples", examples.len());
    for (command, shown) in examples {
        let run = folder.run(&command);
        let printed = stable(&(run.err.clone() + run.text()));
        assert_eq!(
            printed, shown,
            "{document}: `{command}` prints something else today; docs/make-examples"
        );
    }
}

#[test]
fn the_readme_is_current() {
    assert_current("README.md", 1);
}

#[test]
fn the_examples_of_reports_are_current() {
    assert_current("docs/reports.md", 7);
}
