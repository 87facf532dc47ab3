//! Prediction: from one observed run, certain violations of runs that were not observed.
//!
//! A *correct reordering* of a trace is one that the same program can produce, whatever it computes:
//! of each thread a prefix, every read that the thread goes on after sees the write that it saw, locks
//! exclude each other, and the kept orders of the other operations hold. `docs/predict.md` defines it for
//! every operation and says why each rule is sound. A block is predicted when some correct reordering
//! refutes it.
//!
//! The search: `candidate` lists ways out of a block and back; for each, `cut` finds which events
//! it needs, `order` and `saturate` what follows from the goal, and `linearise` a sequence.
//! It is quick and may miss something; it cannot be wrong, because [`certify`], which shares no
//! code with it, checks the sequence, and the exact analyses (`judge`) say what it shows.
//! `windows` cuts long traces into pieces.

mod build;
mod candidate;
pub mod certify;
#[cfg(any(test, feature = "testing"))]
pub mod comparison;
mod cut;
mod judge;
mod linearise;
mod order;
mod races;
#[cfg(any(test, feature = "testing"))]
pub mod reference;
mod reordering;
mod saturate;
mod search;
mod spans;
mod standing;
mod table;
#[cfg(test)]
mod tests;
mod windows;

pub use reordering::{Block, Counts, Predicted, Shown, Stretch, Target};
pub use search::Goal;
pub use windows::{Options, Predictor, Sharing};
