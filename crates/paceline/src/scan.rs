//! Finding suspicious locking in Java class files, without running them.

use std::path::{Path, PathBuf};

use paceline_report::outcome::Outcome;
use paceline_scan::{Confidence, Input, Options, Progress, Report, Rule};

use crate::scanning;
use crate::sources::Sources;
use crate::trace_input::{ReadOptions, TraceInput};
use crate::{Error, Status};

/// A scan of class files, jars, jmods, JDK images, and folders of such.
///
/// ```no_run
/// use paceline::Scan;
///
/// # fn main() -> Result<(), paceline::Error> {
/// let scanned = Scan::new().path("app.jar").library("lib/guava.jar").run()?;
/// for finding in scanned.outcomes.iter().flat_map(|outcome| outcome.findings()) {
///     println!("{}", finding.title);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct Scan {
    /// What is scanned, by the paths as they are shown.
    inputs: Vec<(PathBuf, Input)>,
    libraries: Vec<Input>,
    options: Options,
    sources: Option<Sources>,
    confirming: Vec<PathBuf>,
}

/// What came of a scan.
pub struct Scanned {
    /// Its report, if any class was read, and what could not be read.
    pub outcomes: Vec<Outcome>,
    /// How well the input could be read, whatever was found in it.
    pub read: Status,
    /// The traces that confirm no warning.
    pub confirmed_nothing: Vec<PathBuf>,
    /// Pairs of different locks that were not followed further, to bound the work.
    pub cut: usize,
}

impl Scan {
    /// A scan with every option at its default.
    pub fn new() -> Scan {
        Scan::default()
    }

    /// Also scans this file or folder.
    #[must_use]
    pub fn path(mut self, path: impl Into<PathBuf>) -> Scan {
        let path = path.into();
        self.inputs.push((path.clone(), Input::Path(path)));
        self
    }

    /// Also scans a module of the JDK whose image (`lib/modules`) this is.
    #[must_use]
    pub fn module(mut self, image: impl Into<PathBuf>, name: &str) -> Scan {
        let input = Input::Module { image: image.into(), name: name.to_owned() };
        self.inputs.push((PathBuf::from(format!("jrt:/{name}")), input));
        self
    }

    /// Code that is called, but in which nothing is reported.
    #[must_use]
    pub fn library(mut self, path: impl Into<PathBuf>) -> Scan {
        self.libraries.push(Input::Path(path.into()));
        self
    }

    /// A module of the JDK that is called, but in which nothing is reported.
    #[must_use]
    pub fn library_module(mut self, image: impl Into<PathBuf>, name: &str) -> Scan {
        self.libraries.push(Input::Module { image: image.into(), name: name.to_owned() });
        self
    }

    /// Whether to report two different locks that are taken in turn.
    #[must_use]
    pub fn pairs(mut self, pairs: bool) -> Scan {
        self.options.pairs = pairs;
        self
    }

    /// How sure a warning must be to be reported.
    #[must_use]
    pub fn confidence(mut self, least: Confidence) -> Scan {
        self.options.min_confidence = least;
        self
    }

    /// All options at once.
    #[must_use]
    pub fn options(mut self, options: Options) -> Scan {
        self.options = options;
        self
    }

    /// Where the source is: the report then has the paths of the files found there.
    #[must_use]
    pub fn sources(mut self, sources: Sources) -> Scan {
        self.sources = Some(sources);
        self
    }

    /// A trace of the same program: warnings that it shows to happen are marked.
    #[must_use]
    pub fn confirm(mut self, trace: impl Into<PathBuf>) -> Scan {
        self.confirming.push(trace.into());
        self
    }

    /// Scans.
    pub fn run(&self) -> Result<Scanned, Error> {
        self.run_with(&mut |_| {})
    }

    /// Scans, and reports its progress.
    pub fn run_with(&self, progress: &mut dyn FnMut(Progress)) -> Result<Scanned, Error> {
        let inputs: Vec<Input> = self.inputs.iter().map(|(_, input)| input.clone()).collect();
        let mut report =
            paceline_scan::scan(&inputs, &self.libraries, &self.options, &mut |p| progress(p));
        let mut confirmed_nothing = Vec::new();
        for trace in &self.confirming {
            if confirm(&mut report, trace)? == 0 {
                confirmed_nothing.push(trace.clone());
            }
        }
        let paths: Vec<PathBuf> = self.inputs.iter().map(|(path, _)| path.clone()).collect();
        let outcomes = scanning::outcomes(&report, &paths, &self.rules(), self.sources.as_ref());
        let cut = report.counts.cut;
        Ok(Scanned { outcomes, read: how_it_was_read(&report), confirmed_nothing, cut })
    }

    /// The rules that are looked for.
    fn rules(&self) -> Vec<Rule> {
        let wanted = |rule: &Rule| self.options.pairs || *rule != Rule::LockedInTurn;
        Rule::ALL.iter().copied().filter(wanted).collect()
    }
}

impl Scanned {
    /// How the scan ended.
    pub fn status(&self) -> Status {
        let found = self.outcomes.iter().any(|outcome| !outcome.findings().is_empty());
        self.read.and(if found { Status::Findings } else { Status::Clean })
    }

    /// The report, if any class was read.
    pub fn report(&self) -> Option<&crate::Report> {
        self.outcomes.iter().find_map(Outcome::report)
    }
}

/// How well the input could be read.
fn how_it_was_read(report: &Report) -> Status {
    match (report.counts.classes, report.errors.is_empty()) {
        (0, true) => Status::Nothing,
        (0, false) => Status::Error,
        (_, true) => Status::Clean,
        (_, false) => Status::Incomplete,
    }
}

/// Marks the warnings that a trace shows to happen; how many these are.
fn confirm(report: &mut Report, trace: &Path) -> Result<usize, Error> {
    let name = trace.display().to_string();
    let in_trace = |source| Error::TraceAt { path: trace.to_owned(), source };
    let mut open =
        TraceInput::new(trace, ReadOptions::default()).open_unselected().map_err(in_trace)?;
    paceline_scan::confirm(&mut report.warnings, &name, &mut open).map_err(in_trace)
}
