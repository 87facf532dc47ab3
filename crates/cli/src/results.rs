//! How results are shown: the options that every command has that decides, and what they do.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::ValueHint;
use paceline_report::outcome::Outcome;

use crate::also::Also;
use crate::extra_files::{ExtraFiles, ExtraFilesArgs};
use crate::filters::{FilterArgs, Filters};
use crate::formats::{Analysed, ReportFormat};
use crate::output::{Output, cannot_write, print};
use crate::source_folders::SourceFolders;
use crate::status::Status;

/// How to show it, and what not to show.
#[derive(clap::Args, Clone)]
pub struct ShowArgs {
    /// How to show the result
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
    /// Write the result to a file
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
    /// Write it in another format, too (`sarif=paceline.sarif`); may be repeated
    #[arg(long, value_name = "FORMAT=FILE", value_hint = ValueHint::FilePath)]
    also: Vec<Also>,
    #[command(flatten)]
    extra: ExtraFilesArgs,
    #[command(flatten)]
    filter: FilterArgs,
}

/// Where results go that have no file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    Stdout,
    /// Standard output belongs to the program under observation.
    Stderr,
}

/// What else is to be analysed about a result when it is known which findings are left.
type Then<'a> = Box<dyn FnOnce(&Outcome) -> anyhow::Result<()> + 'a>;

/// Shows results as they come, or all at once where that is how they are shown.
pub struct Results<'a> {
    args: &'a ShowArgs,
    filters: Filters,
    output: Option<Output>,
    extra: ExtraFiles<'a>,
    sources: SourceFolders<'a>,
    /// All results, if there are further reports to write.
    shown: Vec<Analysed>,
    destination: Destination,
    quiet: bool,
    waiting: Vec<Analysed>,
    then: Vec<Then<'a>>,
    ending: Ending,
    has_something: bool,
}

/// How it all ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Ending {
    /// The worst of all.
    pub status: Status,
    /// Whether anything was found, even if something worse happened.
    pub has_findings: bool,
}

impl<'a> Results<'a> {
    /// Reads what is needed, and makes sure that there is somewhere to write to.
    pub fn new(
        args: &'a ShowArgs,
        max_findings: usize,
        destination: Destination,
        quiet: bool,
    ) -> anyhow::Result<Results<'a>> {
        Ok(Results {
            args,
            filters: Filters::load(&args.filter, max_findings)?,
            output: args.output.as_deref().map(Output::create).transpose()?,
            extra: ExtraFiles::new(&args.extra),
            sources: SourceFolders::new(&args.extra.source),
            shown: Vec::new(),
            destination,
            quiet,
            waiting: Vec::new(),
            then: Vec::new(),
            ending: Ending { status: Status::Clean, has_findings: false },
            has_something: false,
        })
    }

    /// How many findings to look for, so that there are enough left to show.
    pub fn findings_wanted(&self) -> usize {
        self.filters.findings_wanted()
    }

    /// What came of a trace.
    pub fn add(&mut self, analysed: Analysed) -> anyhow::Result<()> {
        self.add_and(analysed, |_| Ok(()))
    }

    /// What came of a trace, and what else to do about it.
    pub fn add_and(
        &mut self,
        analysed: Analysed,
        then: impl FnOnce(&Outcome) -> anyhow::Result<()> + 'a,
    ) -> anyhow::Result<()> {
        self.waiting.push(analysed);
        self.then.push(Box::new(then));
        let all_at_once = self.args.format.is_one_document() || self.filters.need_all();
        if all_at_once { Ok(()) } else { self.show() }
    }

    fn show(&mut self) -> anyhow::Result<()> {
        let mut analysed = std::mem::take(&mut self.waiting);
        self.filters.apply(&mut analysed)?;
        for (then, analysed) in self.then.drain(..).zip(&analysed) {
            then(&analysed.outcome)?;
        }
        analysed.iter().for_each(|d| self.extra.add(&d.outcome));
        for Analysed { outcome, status, .. } in &analysed {
            self.ending.status = self.ending.status.and(*status);
            self.ending.has_findings |= !outcome.findings().is_empty();
        }
        if !self.args.also.is_empty() {
            self.shown.extend(analysed.iter().cloned());
        }
        if self.args.format.has_paths() {
            self.sources.locate(&mut analysed)?;
        }
        let text = self.args.format.show(&mut analysed, self.quiet)?;
        self.has_something |= !text.is_empty();
        self.put(&text)
    }

    /// Shows the rest.
    pub fn finish(mut self) -> anyhow::Result<Ending> {
        if !self.waiting.is_empty() {
            self.show()?;
        }
        // An empty result must not take the place of an earlier one.
        if let Some(output) = self.output.filter(|_| self.has_something) {
            output.commit()?;
        }
        self.extra.write()?;
        for also in &self.args.also {
            also.write(&self.shown, &mut self.sources, self.quiet)?;
        }
        Ok(self.ending)
    }

    fn put(&mut self, text: &str) -> anyhow::Result<()> {
        match (&mut self.output, self.destination) {
            (Some(file), _) => {
                let plain = anstream::adapter::strip_str(text).to_string();
                Ok(file.write_all(plain.as_bytes())?)
            }
            (None, Destination::Stdout) => print(text),
            (None, Destination::Stderr) => {
                let mut err = anstream::stderr();
                let shown = err.write_all(text.as_bytes()).and_then(|()| err.flush());
                shown.map_err(|e| anyhow::Error::new(e).context(cannot_write(Path::new("stderr"))))
            }
        }
    }
}
