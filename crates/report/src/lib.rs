//! How it is shown: one file per output. Renderers hold no logic: what they show is a
//! [`model::Report`], plain data with names, made by [`compose`] from what the analyses found.

pub mod baseline;
pub mod compose;
pub mod dot;
#[cfg(test)]
mod formats_agree;
pub mod github;
pub mod graph;
pub mod html;
pub mod junit;
pub mod model;
pub mod outcome;
pub mod perfetto;
pub mod place;
pub mod rules;
#[cfg(test)]
mod samples;
pub mod sarif;
pub mod scope;
pub mod stats;
pub mod suppress;
pub mod svg;
mod table;
#[cfg(test)]
mod testing;
pub mod text;
