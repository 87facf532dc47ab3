//! What was predicted: orders of the observed events that did not happen, but could have.

use serde::{Deserialize, Serialize};

use super::{Block, Site};

/// What a new order is about, and how it differs from the observed one.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Reordering {
    /// Pairs of events of different threads: the first comes before the second now. A hunt can use
    /// them as gates.
    pub goal: Vec<(u64, u64)>,
    /// Lock sections that changed places, by their acquires: the first was observed before the
    /// second, and comes after it now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reversed: Vec<(u64, u64)>,
    /// Reads that see another write than observed; nothing of their threads follows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diverging: Vec<u64>,
}

/// The new order in full.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Witness {
    /// The events from 1 to this one come first, as observed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub after: u64,
    /// What follows: events of the observed trace in their new order.
    pub witness: Vec<u64>,
    /// How it differs.
    #[serde(flatten)]
    pub how: Reordering,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A block that the new order refutes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PredictedBlock {
    /// The block.
    #[serde(flatten)]
    pub block: Block,
    /// The order.
    #[serde(flatten)]
    pub order: Witness,
}

/// Two accesses that race in the new order.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PredictedRace {
    /// What they access.
    pub variable: String,
    /// The accesses.
    pub events: (u64, u64),
    /// The order; its last two events are the accesses.
    #[serde(flatten)]
    pub order: Witness,
}

/// A yield that is missing in the new order.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PredictedYield {
    /// The event before which it is missing.
    pub event: u64,
    /// Where that is.
    pub site: Site,
    /// The order.
    #[serde(flatten)]
    pub order: Witness,
}

/// A block that only values forbid to refute: no finding, but a target for a hunt.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PredictionTarget {
    /// The block.
    #[serde(flatten)]
    pub block: Block,
    /// The order to aim at.
    pub goal: Vec<(u64, u64)>,
}

/// How the search for predictions went.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct PredictionSearch {
    /// Windows of the trace that were searched.
    pub windows: u64,
    /// Candidates that were tried.
    pub tried: u64,
    /// Of those: a reordering was found and certified.
    pub certified: u64,
    /// Of those: proved impossible.
    pub impossible: u64,
    /// Of those: impossible only because a read would see another value.
    pub other_value: u64,
    /// Of those: neither found nor proved impossible.
    pub undecided: u64,
    /// Not tried, because several from the same sites were.
    pub alike: u64,
    /// Not tried, because the budget was spent.
    pub not_tried: u64,
    /// What only values forbid.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<PredictionTarget>,
}
