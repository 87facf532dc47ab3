//! Determinism (SingleTrack, Sadowski, Freund and Flanagan 2009): a block declared deterministic
//! yields one result, however its threads are scheduled. A trace is deterministic when it has both
//! halves of the property: [`conflict_freedom`] inside of transactions, and external
//! serializability ([`external`]) between them.

pub mod conflict_freedom;
pub mod external;

pub use conflict_freedom::{Conflict, ConflictFreedom};
pub use external::External;
