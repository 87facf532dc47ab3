//! The engine: the graph of transactions and the tables that feed it. The properties are built on
//! it; nothing here is visible outside the crate.
//!
//! | part | what it does |
//! |---|---|
//! | [`driver`] | runs a property over batches of events, on one graph or the other |
//! | [`precedence`] | what a graph of transactions can be asked |
//! | [`ordered`] | the graph while it has no cycle: a topological order |
//! | [`ancestors`] | the graph when it may have cycles: sets of running ancestors |
//! | [`slots`] | the bit sets of [`ancestors`] |
//! | [`frontier`] | which earlier events the next event conflicts with |
//! | [`edges`] | how these conflicts become edges |
//! | [`rounds`] | rounds of barriers |
//! | [`cycles`] | the cycles that were found, grouped |
//! | [`clock`], [`history`] | vector clocks, and what FastTrack keeps of accesses |
//! | [`by_thread`] | a small map from threads to values |
//! | [`channel`] | conflicts as messages, for second passes |

pub mod ancestors;
pub mod by_thread;
pub mod channel;
pub mod clock;
pub mod cycles;
pub mod driver;
pub mod edges;
pub mod frontier;
pub mod history;
pub mod ordered;
pub mod precedence;
pub mod rounds;
pub mod slots;
