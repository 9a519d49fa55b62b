//! Loom's names, so that tests written for Loom run here: `use raddle::loom;`, or a crate of the name `loom` that says
//! `pub use raddle::loom::*;` and is put in Loom's place in `Cargo.toml`.
//!
//! [`model`](model()) runs a test once for each partial order of its operations, by DPOR, however many that are, as Loom does.
//!
//! What differs. Memory is sequentially consistent, so what only weaker memory lets a program read is not explored, and a
//! weak exchange fails only where the values differ; data races by missing orders are found (see [`cell`]). There is no limit
//! to the number of threads. [`Arc`](sync::Arc) is std's: its counts are no operations and order nothing, and leaks are not
//! reported.
//!
//! Not here: `alloc::Track`, `cell::UnsafeCell::get` and `get_mut` as guards, `sync::Notify`, `unsync_load` of atomics, and `explore`,
//! `stop_exploring` and `skip_branch`, for everything is explored.

pub mod alloc;
pub mod future;
pub mod model;

pub use crate::{cell, hint, lazy_static, sync, thread, thread_local};
pub use model::model;
