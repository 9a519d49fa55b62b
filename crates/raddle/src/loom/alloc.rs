//! Loom's `alloc`: std's functions, whose allocations are not tracked, and values that must not be leaked.

use crate::runtime;
use std::panic::Location;

pub use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, realloc};

/// A value that must be dropped before the end of the run. The run fails if it is leaked.
#[derive(Debug)]
pub struct Track<T> {
    value: T,
    leak: Leak,
}

/// Reports when dropped that the value was not leaked.
#[derive(Debug)]
pub(super) struct Leak(Option<u64>);

impl Leak {
    /// Tracks a value. Outside runs nothing is tracked.
    #[track_caller]
    pub(super) fn watch(what: &'static str) -> Leak {
        let location = Location::caller();
        Leak(runtime::epoch().map(|_| runtime::track(what, location)))
    }
}

impl Drop for Leak {
    fn drop(&mut self) {
        if let Some(number) = self.0 {
            runtime::untrack(number);
        }
    }
}

impl<T> Track<T> {
    /// Tracks a value.
    #[track_caller]
    pub fn new(value: T) -> Track<T> {
        Track { value, leak: Leak::watch("a tracked value") }
    }

    /// Returns a reference to the value.
    pub fn get_ref(&self) -> &T {
        &self.value
    }

    /// Returns a mutable reference to the value.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// Returns the value and stops tracking it.
    pub fn into_inner(self) -> T {
        drop(self.leak);
        self.value
    }
}
