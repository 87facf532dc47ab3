//! One file per sub-command.

pub mod check;
pub mod completions;
pub mod convert;
pub mod demo;
pub mod doctor;
pub mod explain;
pub mod generate;
pub mod man;
pub mod record;
pub mod run;
pub mod scan;
pub mod stats;
pub mod yields;
