//! Recorded streams: how what several threads have sent becomes one trace. Their bytes are
//! described in `paceline-wire`, and so is the order that their stamps stand for.

mod mend;
pub mod merge;
mod reader;
mod targets;

pub use reader::StreamReader;

use crate::error::{Error, Position};

/// What is wrong with a stream.
fn damaged(message: String) -> Error {
    Error::damaged(Position::default(), message)
}
