//! Loom's names, from Raddle.

pub use raddle::loom::*;
