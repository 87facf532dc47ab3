//! A property that does not come with Paceline: *released*.
//!
//! **Definition.** A trace is released if every lock that is acquired is released again before the
//! trace ends. An acquire is `acq`, or the end of a `wait`; a release is `rel`, or the beginning of
//! a `wait`. Shared acquires do not count: it is a toy.
//!
//! ```
//! use paceline::Check;
//! use toy_property::Released;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("t.std");
//! std::fs::write(&path, "T1|acq(m)|1\nT1|w(x)|2\n")?;
//! let report = Check::new().property(Released).file(&path).run()?;
//! assert_eq!(report.findings[0].title, "m is never released");
//! # Ok(())
//! # }
//! ```

mod held;
mod property;
#[cfg(test)]
mod reference;

pub use held::Held;
pub use property::Released;
