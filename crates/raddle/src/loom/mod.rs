//! Loom's names, so that tests written for Loom run here: `use raddle::loom;`, or a crate named `loom` that
//! contains `pub use raddle::loom::*;` and replaces Loom in `Cargo.toml`.
//!
//! [`model`](model()) runs a test once for each partial order of its operations, by DPOR, however many there
//! are, as Loom does.
//!
//! # Differences from Loom
//!
//! * Memory is sequentially consistent. Values that a program can read only under weaker memory models are
//!   not explored, and a weak exchange fails only if the values differ. Data races caused by missing
//!   orderings are found; see [`cell`].
//! * The number of threads is unlimited.
//! * A model fails if it leaks an [`Arc`](sync::Arc) or a [`Track`](alloc::Track). Allocations by
//!   [`alloc::alloc`] are not tracked.
//! * Everything is explored: [`explore`], [`stop_exploring`] and [`skip_branch`] have no effect.

pub mod alloc;
pub mod cell;
pub mod future;
pub mod model;
pub mod sync;
pub mod thread;

pub use crate::{hint, lazy_static, thread_local};
pub use model::model;

/// Loom's limit on the number of threads. Raddle has none.
pub const MAX_THREADS: usize = usize::MAX;

/// Begins to explore, in Loom. No effect: everything is explored.
pub fn explore() {}

/// Stops exploring, in Loom. No effect: everything is explored.
pub fn stop_exploring() {}

/// Skips the current branch, in Loom. No effect: everything is explored.
pub fn skip_branch() {}
