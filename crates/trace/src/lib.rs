//! What happened: the events of an observed program, their names, the formats they are kept in,
//! and the rules that a trace must obey.
//!
//! An [`Event`] is a thread, an operation and a [`Site`]; all names are ids into [`Symbols`]. A
//! [`Source`] gives events batch by batch, whatever [`format`](mod@format) they are in;
//! [`select`] leaves out the blocks that are not meant to be atomic, [`validate`] checks the rules,
//! and [`pipeline`] is the loop that does all of it. [`generate`] makes traces for tests.
//!
//! What runs inside an observed process is in `paceline-wire`; this crate reads what it sends
//! ([`format::stream`]).

mod composed;
mod error;
mod event;
pub mod format;
pub mod generate;
mod id_table;
mod ids;
pub mod input;
mod interner;
mod lines;
mod listed;
mod notation;
mod op_groups;
pub mod pipeline;
mod recording;
pub mod select;
mod sites;
mod source;
mod symbols;
pub mod validate;
mod variables;

pub use error::{Error, ErrorKind, Position, Rule, show_bytes, show_name};
pub use event::{Access, Event, EventNo, Kind, NameSpace, Op};
pub use ids::{
    BarrierId, IdCounts, LabelId, LockId, SemaphoreId, Site, SiteKind, TextId, ThreadId, VarId,
};
pub use interner::{Interner, Key};
pub use notation::Trace;
pub use recording::{Note, NoteKind, Recording};
pub use sites::{SiteInfo, SiteView};
pub use source::{BATCH, Batch, Blocks, Lines, Skipped, Source};
pub use symbols::Symbols;
pub use variables::Variables;
