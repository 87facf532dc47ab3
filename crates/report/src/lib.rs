//! How it is shown: one file per output. Renderers hold no logic: what they show is a
//! [`model::Report`], plain data with names, made by [`compose`] from what the analyses found.
//!
//! | modules | what |
//! |---|---|
//! | [`model`] | a report as typed data, which is the JSON output |
//! | [`compose`], [`recording`] | makes it of what the analyses found and the recorder reported |
//! | [`rules`], [`verdicts`] | what the rules and properties that come with Paceline mean to a reader |
//! | [`outcome`], `v1` | saved reports are read back, those of earlier versions too |
//! | [`baseline`], [`suppress`] | what is known already is taken out |
//! | [`text`], `table`, [`scope`], [`code`] | for people, in a terminal |
//! | [`html`], [`graph`], [`svg`], [`dot`] | for people, as a page and as pictures |
//! | [`sarif`], [`junit`], [`github`], [`perfetto`] | for other tools; [`paths`] leads to the sources |
//! | [`stats`] | the counts of a trace |

pub mod baseline;
pub mod code;
pub mod compose;
pub mod dot;
pub mod github;
pub mod gitlab;
pub mod graph;
pub mod html;
pub mod junit;
pub mod markdown;
pub mod model;
pub mod outcome;
mod paint;
pub mod paths;
pub mod perfetto;
pub mod recording;
pub mod rules;
pub mod sarif;
pub mod scope;
pub mod stats;
pub mod suppress;
pub mod svg;
mod table;
pub mod text;
mod v1;
pub mod verdicts;

/// The tests in here and those of the whole share their samples, which know this library by name.
#[cfg(test)]
extern crate self as paceline_report;
#[cfg(test)]
#[allow(dead_code, reason = "others need the rest")]
#[path = "../tests/outputs/samples.rs"]
mod samples;
