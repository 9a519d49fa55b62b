//! The lab: small abstract programs, sampled under any strategy or computed exactly.
//!
//! [`syntax`] is the language of the programs, [`Machine`] runs a compiled one on the engine, [`sample`] runs
//! it many times on all cores, [`exact`] computes the limits of sampling. [`micro`] is the benchmark of the
//! POS paper. [`axioms`] enumerates the outcomes that the memory model allows, and [`litmus`] compares them
//! with those of runs. The examples of the papers are the files under `figures/`.

pub mod axioms;
pub mod exact;
pub mod litmus;
mod machine;
pub mod micro;
mod orders;
mod runs;
mod sample;
mod straight;
pub mod syntax;

pub use machine::Machine;
pub use orders::{SeenOrder, SeenOrders};
pub use runs::{Lab, assignment, compile};
pub use sample::{Job, Sampled, sample, sample_all, sample_part};
pub use straight::{Straight, StraightError};
