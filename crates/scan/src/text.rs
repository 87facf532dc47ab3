//! A plain listing of warnings.

use std::fmt::{self, Display, Formatter};

use crate::finding::{Report, Site, Warning};

impl Display for Site {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "{file}:{line}"),
            (Some(file), None) => write!(f, "{file}"),
            (None, _) => f.write_str(&self.method),
        }
    }
}

impl Display for Warning {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let confidence = format!("{:?}", self.confidence).to_lowercase();
        writeln!(
            f,
            "{}: {} [{}, {confidence} confidence]",
            self.site(),
            self.message,
            self.rule.id()
        )?;
        if let Some(outer) = &self.outer {
            writeln!(
                f,
                "  outer lock `{}` taken at {} in {}",
                outer.expression, outer.site, outer.site.method
            )?;
        }
        chain(f, "which calls", &self.path)?;
        chain(f, "first use", &self.first)?;
        chain(f, "second use", &self.second)?;
        for site in &self.also {
            writeln!(f, "  also at {site}")?;
        }
        for lock in &self.also_locks {
            writeln!(f, "  also the lock `{}` taken in {}", lock.expression, lock.taken_in)?;
        }
        for outer in &self.also_held {
            writeln!(f, "  also while `{}` is held in {}", outer.expression, outer.site.method)?;
        }
        for doubt in &self.doubts {
            writeln!(f, "  but {doubt}")?;
        }
        match &self.confirmed {
            Some(c) => {
                writeln!(f, "  confirmed by {}: lock {}, events {:?}", c.trace, c.lock, c.events)
            }
            None => Ok(()),
        }
    }
}

fn chain(f: &mut Formatter<'_>, what: &str, sites: &[Site]) -> fmt::Result {
    for (i, site) in sites.iter().enumerate() {
        let what = if i == 0 { what } else { "  calls" };
        writeln!(f, "  {what} {site} in {}", site.method)?;
    }
    Ok(())
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.warnings.iter().try_for_each(|w| writeln!(f, "{w}"))?;
        for error in &self.errors {
            writeln!(f, "error: {}: {}", error.path, error.message)?;
        }
        let (counts, warnings) = (&self.counts, self.warnings.len());
        let (classes, unsure, suppressed) = (counts.classes, counts.unsure, counts.suppressed);
        writeln!(
            f,
            "{warnings} warnings in {classes} classes ({unsure} unsure and {suppressed} suppressed not shown)"
        )
    }
}
