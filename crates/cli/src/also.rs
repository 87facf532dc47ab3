//! Further reports of the same results: `--also sarif=paceline.sarif`. A program under observation
//! is run once, and a build server wants more than one format of what came of it.

use std::io::Write as _;
use std::path::PathBuf;

use clap::ValueEnum as _;

use crate::formats::{Analysed, ReportFormat};
use crate::output::Output;
use crate::source_folders::SourceFolders;

/// A format and the file for it.
#[derive(Clone)]
pub struct Also {
    format: ReportFormat,
    file: PathBuf,
}

impl std::str::FromStr for Also {
    type Err = String;

    fn from_str(text: &str) -> Result<Also, String> {
        let (format, file) = text.split_once('=').ok_or("it is FORMAT=FILE, as sarif=out.sarif")?;
        if file.is_empty() {
            return Err("the name of the file is missing".to_owned());
        }
        let format = ReportFormat::from_str(format, false).map_err(|_| {
            let names = ReportFormat::value_variants().iter().filter_map(|f| f.to_possible_value());
            let names: Vec<String> = names.map(|name| name.get_name().to_owned()).collect();
            format!("`{format}` is not one of {}", names.join(", "))
        })?;
        Ok(Also { format, file: PathBuf::from(file) })
    }
}

impl Also {
    /// Writes these results.
    pub fn write(
        &self,
        analysed: &[Analysed],
        sources: &mut SourceFolders<'_>,
        quiet: bool,
    ) -> anyhow::Result<()> {
        let mut analysed = analysed.to_vec();
        if self.format.has_paths() {
            sources.locate(&mut analysed)?;
        }
        let text = self.format.show(&mut analysed, quiet)?;
        // An empty result must not take the place of an earlier one.
        if text.is_empty() {
            return Ok(());
        }
        let mut output = Output::create(&self.file)?;
        output.write_all(anstream::adapter::strip_str(&text).to_string().as_bytes())?;
        output.commit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_and_a_file() {
        let also: Also = "sarif=a=b.sarif".parse().unwrap();
        assert_eq!(also.file, PathBuf::from("a=b.sarif"));
        for (text, why) in [("sarif", "FORMAT=FILE"), ("sarif=", "missing"), ("x=y", "markdown")] {
            let error = text.parse::<Also>().err().expect(text);
            assert!(error.contains(why), "{error}");
        }
    }
}
