//! How it is shown: one file per output. Renderers hold no logic: what they show is a
//! [`model::Report`], plain data with names, made by [`compose`] from what the analyses found.

pub mod compose;
pub mod dot;
pub mod graph;
pub mod html;
pub mod model;
pub mod stats;
pub mod svg;
mod table;
#[cfg(test)]
mod testing;
pub mod text;
