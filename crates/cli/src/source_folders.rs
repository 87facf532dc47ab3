//! Where the source is: reports for other programs name files by their paths, as seen from here.

use std::path::{Path, PathBuf};

use paceline::located::locate;
use paceline::sources::Sources;

use crate::formats::Analysed;

/// The folders that the user named, or else the current one; looked into when there is a finding.
pub struct SourceFolders<'a> {
    given: &'a [PathBuf],
    found: Option<Sources>,
}

impl<'a> SourceFolders<'a> {
    /// These folders; none for the current one.
    pub fn new(given: &'a [PathBuf]) -> SourceFolders<'a> {
        SourceFolders { given, found: None }
    }

    /// Makes the findings name files by their paths.
    pub fn locate(&mut self, analysed: &mut [Analysed]) -> anyhow::Result<()> {
        let reports = analysed.iter_mut().filter_map(|it| it.outcome.report_mut());
        for report in reports.filter(|report| !report.findings.is_empty()) {
            locate(report, self.sources()?);
        }
        Ok(())
    }

    fn sources(&mut self) -> anyhow::Result<&Sources> {
        let found = match self.found.take() {
            Some(found) => found,
            None if self.given.is_empty() => Sources::of_project(Path::new("."))?,
            None => Sources::find_all(self.given)?,
        };
        Ok(self.found.insert(found))
    }
}
