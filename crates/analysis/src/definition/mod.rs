//! The definitions of `docs/semantics.md` as code: which events conflict ([`conflict`]), and the
//! graph of transactions that follows ([`plain`]). Quadratic and obviously right. The references
//! that test the analyses are built on them.

pub mod conflict;
pub mod plain;
