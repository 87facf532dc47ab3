//! What happened: the events of an observed program, their names, the formats they are kept in,
//! and the rules that a trace must obey.
//!
//! This crate also runs inside other people's processes (the recorders), so it depends on little;
//! reading files is behind the feature `files`.

mod composed;
mod error;
mod event;
pub mod format;
#[cfg(feature = "files")]
pub mod generate;
mod ids;
#[cfg(feature = "files")]
pub mod input;
#[cfg(feature = "files")]
mod lines;
mod listed;
#[cfg(feature = "files")]
mod notation;
#[cfg(feature = "files")]
pub mod pipeline;
pub mod record;
mod recording;
pub mod select;
mod source;
mod symbols;
#[cfg(feature = "files")]
pub mod validate;
mod variables;

pub use error::{Error, ErrorKind, Place, Rule, show_bytes, show_name};
pub use event::{Access, Event, EventNo, Kind, Op};
pub use ids::{
    BarrierId, IdCounts, LabelId, LockId, SemaphoreId, Site, SiteKind, TextId, ThreadId, VarId,
};
#[cfg(feature = "files")]
pub use notation::Trace;
pub use recording::{Note, NoteKind, Recording};
pub use source::{BATCH, Batch, Blocks, Lines, Skipped, Source};
pub use symbols::{Interner, Key, SiteInfo, Symbols};
pub use variables::Variables;
