//! Ten bugs in ordinary Rust: std, parking_lot, crossbeam and tokio, without a word of Raddle in them. Lines that have to be in a
//! report say so at their end. With the feature `fixed` the bugs are gone.

/// Whether the bugs are gone.
#[cfg(test)]
const FIXED: bool = cfg!(feature = "fixed");

#[cfg(test)]
mod controlled;
#[cfg(test)]
mod crates;
#[cfg(test)]
mod plain;
