//! Loom's `cell`: memory whose accesses are seen, and the data races on it. See [`raddle::cell`](crate::cell).

mod pointers;

pub use crate::cell::Cell;
pub use pointers::{ConstPtr, MutPtr};

use pointers::State;
use std::fmt;
use std::sync::Arc;

/// Memory that is accessed through raw pointers, with Loom's methods.
///
/// Each access is a read or a write, at its beginning and, if it executes other operations meanwhile, at its end. An access
/// that begins while another one of the cell has not ended fails if one of them writes, whoever makes them.
pub struct UnsafeCell<T: ?Sized> {
    state: Arc<State>,
    value: std::cell::UnsafeCell<T>,
}

impl<T> UnsafeCell<T> {
    /// Creates a cell with a first value.
    #[track_caller]
    pub fn new(value: T) -> UnsafeCell<T> {
        UnsafeCell { state: Arc::new(State::new()), value: std::cell::UnsafeCell::new(value) }
    }

    /// Returns the value; no operation.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// Reads the cell: `f` may read what its pointer points to, and nothing else.
    #[track_caller]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        self.get().with(f)
    }

    /// Writes the cell: `f` may read and write what its pointer points to.
    #[track_caller]
    pub fn with_mut<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        self.get_mut().with(f)
    }

    /// Begins to read the cell, until the pointer is dropped.
    #[track_caller]
    pub fn get(&self) -> ConstPtr<T> {
        ConstPtr::new(&self.state, self.value.get())
    }

    /// Begins to write the cell, until the pointer is dropped.
    #[track_caller]
    pub fn get_mut(&self) -> MutPtr<T> {
        MutPtr::new(&self.state, self.value.get())
    }
}

impl<T: Default> Default for UnsafeCell<T> {
    #[track_caller]
    fn default() -> UnsafeCell<T> {
        UnsafeCell::new(T::default())
    }
}

impl<T> From<T> for UnsafeCell<T> {
    #[track_caller]
    fn from(value: T) -> UnsafeCell<T> {
        UnsafeCell::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for UnsafeCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnsafeCell").finish_non_exhaustive()
    }
}
