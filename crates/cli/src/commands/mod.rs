//! One file per sub-command.

pub mod check;
pub mod completions;
pub mod convert;
pub mod man;
