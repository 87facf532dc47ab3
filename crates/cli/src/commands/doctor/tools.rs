//! Which build tools and compilers are here.

use std::path::PathBuf;

use super::{Finding, Section};

/// Build tools whose tests can be observed.
const BUILDS: [&str; 4] = ["mvn", "gradle", "ant", "sbt"];

/// Compilers of languages whose programs cannot be observed yet.
const COMPILERS: [&str; 3] = ["gcc", "clang", "rustc"];

/// Where a program is.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

fn look_for(names: &[&str]) -> Vec<Finding> {
    let look = |name: &&str| match on_path(name) {
        Some(path) => Finding::good(*name, path.display().to_string()),
        None => Finding::absent(*name, "not on the path"),
    };
    names.iter().map(look).collect()
}

/// The build tools.
pub fn builds() -> Section {
    let mut then = "Tests can be observed in the same way: paceline run -- mvn test".to_owned();
    if std::env::var_os("JAVA_TOOL_OPTIONS").is_some() {
        then.push_str("\n  JAVA_TOOL_OPTIONS is set already: what it holds is kept");
    }
    Section { title: "Builds", findings: look_for(&BUILDS), then }
}

/// Other languages.
pub fn native() -> Section {
    let then = "C, C++ and Rust are not observed yet: their programs can write a trace themselves.";
    Section { title: "Other languages", findings: look_for(&COMPILERS), then: then.to_owned() }
}
