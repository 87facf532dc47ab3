//! The `paceline` command.
fn main() {}
