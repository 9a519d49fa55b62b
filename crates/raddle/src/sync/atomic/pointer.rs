//! `AtomicPtr`.

use super::shared::{self, common};
use crate::runtime::{self, Object, Past};
use raddle_model::{Access, Kind};
use std::fmt;
use std::panic::Location;
use std::ptr;
use std::sync::atomic::Ordering;

/// A pointer that threads share, as in std.
pub struct AtomicPtr<T> {
    object: Object,
    value: std::sync::atomic::AtomicPtr<T>,
    /// The value that the first run began with.
    first: std::sync::atomic::AtomicPtr<T>,
}

common!([<T>] AtomicPtr<T>, *mut T, AtomicPtr, |first| first.is_null());

impl<T> Default for AtomicPtr<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(ptr::null_mut())
    }
}

impl<T> fmt::Pointer for AtomicPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.value, f)
    }
}
