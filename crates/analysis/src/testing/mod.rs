//! What the tests of several analyses share: random traces ([`random`]), and a check that the
//! property tests notice faults (`faults`).

#[cfg(test)]
mod faults;
pub mod random;
