//! What could happen: finds code in Java class files that is meant to be atomic and is not,
//! without running anything.
//!
//! The method is that of the paper "A Static Analysis for Automatic Detection of Atomicity
//! Violations in Java Programs": while a lock A is held, a lock B is taken and released twice.
//! A says that the block is meant to be atomic; between the two times others may change what B
//! protects. `docs/scan.md` tells how it works and what it does not do.
//!
//! | module | what | paper |
//! |---|---|---|
//! | `archive`, `image`, `class`, `tables`, `bytecode` | class files are found and read | |
//! | `place` | locking expressions, DEPENDS, TRANSLATELOCK | 4.1, figure 7 |
//! | `cfg`, `machine`, `values`, `flow` | statements and control flow from bytecode | 4.1 |
//! | `program`, `hierarchy`, `settle`, `calls` | the call graph, CALLEES | 4.1 |
//! | `summaries`, `aliases` | getters, factories, escape, fields with two names | beyond |
//! | `held` | LOCKSHELD | 4.3, figure 7 |
//! | `state`, `facts` | R, T, P and their transfer functions | 4.2, 4.6, figures 6 and 9 |
//! | `finals` | FINAL_T, FINAL_P | 4.4, figures 8 and 10 |
//! | `composite`, `callers` | collections that are asked and then changed | beyond |
//! | `report`, `suppress` | warnings | 4.5, 5.2 |

mod aliases;
mod archive;
mod body;
mod bytecode;
mod callers;
mod calls;
mod cfg;
mod class;
mod composite;
mod confirm;
mod facts;
mod finals;
mod finding;
mod flow;
mod held;
mod hierarchy;
mod image;
mod machine;
mod place;
mod program;
mod report;
mod rules;
mod scan;
mod settle;
mod show;
mod state;
mod summaries;
mod suppress;
mod tables;
mod values;

pub use archive::{Input, Limits, ScanError};
pub use confirm::confirm;
pub use finding::{Confidence, Confirmation, Counts, Lock, Outer, Report, Site, Warning};
pub use rules::Rule;
pub use scan::{Options, Progress, scan};
pub use suppress::Suppressions;
