//! How it is shown: one file per output. Renderers hold no logic: they turn findings, which are
//! data, into text or JSON, and look up the names.

pub mod stats;
