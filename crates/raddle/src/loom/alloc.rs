//! Loom's `alloc`: std's functions. Allocations are not watched.

pub use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, realloc};
