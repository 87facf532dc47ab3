//! The long comparison of predictions with the definition: random traces of up to 4 threads and 20
//! events, against the exhaustive search.
//!
//! ```text
//! cargo run --release -p paceline-analysis --features testing --example predict_reference [TRACES] [SEED]
//! ```
//!
//! Prints, for traces with every operation and for traces of lock sections, how many blocks the
//! definition refutes, how many of them the observed order does, and what the search found, missed or
//! (never) invented. Exit status 1 if anything was invented, or more than one block in a thousand was
//! missed.

use std::process::ExitCode;

use paceline_analysis::predict::comparison::Tally;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).map(|it| it.parse::<u64>().unwrap_or(1));
    let (wanted, seed) = (arguments.next().unwrap_or(100_000), arguments.next().unwrap_or(1));
    let tallies = [Tally::of_everything(wanted, seed), Tally::of_sections(wanted, seed)];
    println!("every operation: {:#?}\nlock sections: {:#?}", tallies[0], tallies[1]);
    if tallies.iter().all(Tally::is_fine) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
