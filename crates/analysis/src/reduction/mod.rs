//! Reduction: warnings from what locks protect, whatever the schedule was. [`eraser`] checks the
//! lockset discipline of variables, [`atomizer`] uses it to check blocks by Lipton's reduction.
//! Both may warn falsely.

pub mod atomizer;
pub mod eraser;
mod lockset;

pub use atomizer::{Atomizer, AtomizerWarning};
pub use eraser::{Eraser, EraserWarning};
