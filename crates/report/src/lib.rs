//! How it is shown: one file per output. Renderers hold no logic: what they show is a
//! [`model::Report`], plain data with names, made by [`compose`] from what the analyses found.

pub mod compose;
pub mod model;
pub mod stats;
mod table;
pub mod text;
