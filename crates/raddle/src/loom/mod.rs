//! Loom's names, so that tests written for Loom run here: `use raddle::loom;`, or a crate named `loom` that says
//! `pub use raddle::loom::*;` and takes Loom's place in `Cargo.toml`.
//!
//! [`model`](model()) runs a test once for each partial order of its operations, by DPOR, however many that are, as Loom does.
//!
//! # Differences from Loom
//!
//! * Memory is sequentially consistent, so what only weaker memory lets a program read is not explored, and a weak exchange
//!   fails only where the values differ. Data races by missing orders are found; see [`cell`].
//! * There is no limit to the number of threads.
//! * A model fails if it leaks an [`Arc`](sync::Arc) or a [`Track`](alloc::Track). Allocations by
//!   [`alloc::alloc`] are not watched.
//! * Everything is explored: [`explore`], [`stop_exploring`] and [`skip_branch`] have no effect.

pub mod alloc;
pub mod cell;
pub mod future;
pub mod model;
pub mod sync;
pub mod thread;

pub use crate::{hint, lazy_static, thread_local};
pub use model::model;

/// Loom's limit to the number of threads. Here is none.
pub const MAX_THREADS: usize = usize::MAX;

/// Begins to explore, in Loom. Without an effect: everything is explored.
pub fn explore() {}

/// Stops exploring, in Loom. Without an effect: everything is explored.
pub fn stop_exploring() {}

/// Skips what this branch would explore, in Loom. Without an effect: everything is explored.
pub fn skip_branch() {}
