//! The value of an atomic for which the processor may have no instructions.

use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

/// A value with the part of the interface of std's atomics that the controlled ones need.
pub(super) struct Wide<T>(Mutex<T>);

impl<T: Copy> Wide<T> {
    pub(super) const fn new(value: T) -> Wide<T> {
        Wide(Mutex::new(value))
    }

    pub(super) fn load(&self, _order: Ordering) -> T {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn store(&self, value: T, _order: Ordering) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = value;
    }

    pub(super) fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Copy + fmt::Debug> fmt::Debug for Wide<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.load(Ordering::Relaxed).fmt(f)
    }
}
