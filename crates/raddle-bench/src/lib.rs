//! Suites of programs with known bugs, measured under strategies.
//!
//! A [`Suite`] is a folder of manifests. A cell is one program under one strategy; [`measure_all`] measures them all.

mod cells;
mod manifest;
mod measure;

pub use cells::{Store, measure_all};
pub use manifest::{Program, Suite};
pub use measure::Measure;
