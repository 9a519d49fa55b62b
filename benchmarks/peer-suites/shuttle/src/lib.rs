//! Shuttle's names, from Raddle.

pub use raddle::shuttle::*;
