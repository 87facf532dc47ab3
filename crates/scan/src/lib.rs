//! What could happen: finds code in Java class files that is meant to be atomic and is not,
//! without running anything.
//!
//! The method is that of the paper "A Static Analysis for Automatic Detection of Atomicity
//! Violations in Java Programs": while a lock A is held, a lock B is taken and released twice.
//! A says that the block is meant to be atomic; between the two times others may change what B
//! protects. `docs/scan.md` says how it works and what it does not do.
//!
//! | module | what | paper |
//! |---|---|---|
//! | `archive`, `image`, `class`, `smap`, `tables`, `bytecode` | class files are found and read | |
//! | `expr` | locking expressions, DEPENDS, TRANSLATELOCK | 4.1, figure 7 |
//! | `cfg`, `machine`, `values`, `flow` | statements and control flow from bytecode | 4.1 |
//! | `program`, `hierarchy`, `settle`, `calls` | the call graph, CALLEES | 4.1 |
//! | `summaries`, `aliases` | getters, factories, escape, fields with two names | beyond |
//! | `held` | LOCKSHELD | 4.3, figure 7 |
//! | `state`, `facts` | R, T, P and their transfer functions | 4.2, 4.6, figures 6 and 9 |
//! | `finals` | FINAL_T, FINAL_P | 4.4, figures 8 and 10 |
//! | `link`, `guarded`, `stale` | values that flow from one use of a lock to the next | beyond |
//! | `roles`, `composite`, `helpers`, `arguments` | thread-safe objects that are asked and then changed | beyond |
//! | `report`, `merge`, `callers`, `suppress`, `show` | warnings | 4.5, 5.2 |

mod aliases;
mod archive;
mod arguments;
mod body;
mod bytecode;
mod callers;
mod calls;
mod cfg;
mod class;
mod composite;
mod confirm;
mod expr;
mod facts;
mod finals;
mod finding;
mod flow;
mod guarded;
mod held;
mod helpers;
mod hierarchy;
mod image;
mod link;
mod machine;
mod merge;
mod program;
mod report;
mod roles;
mod rules;
mod scan;
mod settle;
mod show;
mod smap;
mod stale;
mod state;
mod summaries;
mod suppress;
mod tables;
mod values;

pub use archive::{Input, Limits, ScanError};
pub use confirm::confirm;
pub use finding::{Confidence, Confirmation, Counts, Lock, Outer, Report, Site, Warning};
pub use link::Link;
pub use rules::{Rule, RuleText};
pub use scan::{Options, Progress, scan};
pub use suppress::Suppressions;
