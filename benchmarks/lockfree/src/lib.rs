//! Lock-free structures, right and wrong, under the linearizability check.
//!
//! Each wrong one has one mistake, which its description names. [`CASES`] lists them with the models that they are compared with.

pub mod arena;
pub mod cases;
pub mod chase_lev;
pub mod counter;
pub mod elimination;
pub mod harris;
pub mod michael_scott;
pub mod pairs;
pub mod rings;
pub mod skip_list;
pub mod treiber;

pub use cases::{CASES, Case, Effort};
