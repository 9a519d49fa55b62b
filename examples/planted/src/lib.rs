//! Ten bugs in ordinary Rust: std, parking_lot, crossbeam and tokio, without references to Raddle. Lines that
//! must be in a report are marked at their end. With the feature `fixed` the bugs are gone.

/// True if the bugs are fixed.
#[cfg(test)]
const FIXED: bool = cfg!(feature = "fixed");

#[cfg(test)]
mod controlled;
#[cfg(test)]
mod crates;
#[cfg(test)]
mod plain;
