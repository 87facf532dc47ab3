//! Paths of source files as a repository has them.
//!
//! A virtual machine names the file of a class without its folder: `Account.java`. To show a
//! report beside the source takes the path. The package of the class says the end of it, and the
//! file that is found there says the rest.

use std::path::{Path, PathBuf};

use paceline_report::model::{Event, Finding, Report, Site};

use crate::sources::Sources;

/// Makes the findings of a report name files by the paths under which they were found. What was not
/// found, or is not certain, stays as it is.
pub fn locate(report: &mut Report, sources: &Sources) {
    report.findings.iter_mut().for_each(|finding| locate_finding(finding, sources));
}

fn locate_finding(finding: &mut Finding, sources: &Sources) {
    if let Some(blame) = &mut finding.blame {
        locate_site(&mut blame.site, blame.label.text(), sources);
    }
    for transaction in &mut finding.cycle {
        locate_site(&mut transaction.site, transaction.label.text(), sources);
        locate_event(&mut transaction.edge.from, sources);
        locate_event(&mut transaction.edge.to, sources);
    }
    finding.threads.iter_mut().for_each(|event| locate_event(event, sources));
}

fn locate_event(event: &mut Event, sources: &Sources) {
    let innermost = event.stack.first().and_then(|frame| frame.label.text());
    locate_site(&mut event.site, innermost, sources);
    for frame in &mut event.stack {
        locate_site(&mut frame.site, frame.label.text(), sources);
    }
}

/// `block` stands for the method where the site does not say it.
fn locate_site(site: &mut Site, block: Option<&str>, sources: &Sources) {
    let Site::Source { file: Some(file), method, .. } = site else { return };
    let package = method.as_deref().or(block).and_then(package);
    let found = find(Path::new(file), package.as_deref(), sources).and_then(Path::to_str);
    if let Some(path) = found.map(str::to_owned) {
        *file = path;
    }
}

/// The one file that is meant. Java wants the folders of a package, so a file of this name elsewhere
/// is another one; other languages only recommend them.
fn find<'a>(file: &Path, package: Option<&Path>, sources: &'a Sources) -> Option<&'a Path> {
    let is_java = file.extension().is_some_and(|ending| ending == "java");
    match package {
        Some(package) => {
            let exact = sources.path(&package.join(file));
            exact.or_else(|| sources.path(file).filter(|_| !is_java))
        }
        None => sources.path(file),
    }
}

/// The package of `com.example.Bank.deposit(I)V` as a path; none if the name has no package.
fn package(method: &str) -> Option<PathBuf> {
    let name = method.split('(').next().unwrap_or(method);
    let mut parts: Vec<&str> = name.split(['.', '/']).collect();
    parts.truncate(parts.len().saturating_sub(2));
    (!parts.is_empty()).then(|| parts.iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_folders() {
        let of = |method| package(method).map(|path| path.display().to_string());
        assert_eq!(of("com.example.Bank.deposit(I)V"), Some("com/example".to_owned()));
        assert_eq!(of("com/example/Bank$Account.deposit"), Some("com/example".to_owned()));
        assert_eq!(of("Bank.deposit(Ljava/lang/String;)V"), None);
        assert_eq!(of("add"), None);
    }

    #[test]
    fn the_file_of_the_package_is_found() {
        let folder = tempfile::tempdir().unwrap();
        for file in ["src/a/Bank.java", "test/b/Bank.java", "src/c/Only.java", "src/Top.kt"] {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let sources = Sources::find(folder.path()).unwrap();
        let located = |file: &str, method: &str| {
            let mut site = Site::line(file, 3);
            locate_site(&mut site, Some(method), &sources);
            let (path, _) = site.file_line().unwrap();
            let path = Path::new(path);
            path.strip_prefix(folder.path()).unwrap_or(path).display().to_string()
        };
        assert_eq!(located("Bank.java", "a.Bank.f"), "src/a/Bank.java");
        assert_eq!(located("Bank.java", "b.Bank.f"), "test/b/Bank.java");
        assert_eq!(located("Bank.java", "x.Bank.f"), "Bank.java", "a class of a library");
        assert_eq!(located("Bank.java", "Bank.f"), "Bank.java", "there are two");
        assert_eq!(located("Only.java", "Only.f"), "src/c/Only.java");
        assert_eq!(located("Only.java", "x.Only.f"), "Only.java");
        assert_eq!(located("Top.kt", "com.example.Top.f"), "src/Top.kt");
    }
}
