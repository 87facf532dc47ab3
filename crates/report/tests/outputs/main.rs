//! All outputs together: the same finding reads the same in each, no name can break out of any, and
//! each is what those who read it expect.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod agree;
mod contract;
mod earlier;
mod hostile;
mod json_schema;
mod limits;
mod reading;
mod recording;
#[allow(dead_code, reason = "others need the rest")]
mod samples;
mod schema;
mod snapshots;
