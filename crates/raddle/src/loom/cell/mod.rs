//! Loom's `cell`: memory with visible accesses, and data races on it. See [`raddle::cell`](crate::cell).

mod pointers;

pub use crate::cell::Cell;
pub use pointers::{ConstPtr, MutPtr};

use pointers::State;
use std::fmt;
use std::sync::Arc;

/// Memory that is accessed through raw pointers, with Loom's methods.
///
/// Each access is a read or a write, at its beginning and, if it executes other operations meanwhile, at its
/// end. Overlapping accesses to the cell fail if one of them writes, even within one thread.
pub struct UnsafeCell<T: ?Sized> {
    state: Arc<State>,
    value: std::cell::UnsafeCell<T>,
}

impl<T> UnsafeCell<T> {
    /// Creates a cell with an initial value.
    #[track_caller]
    pub fn new(value: T) -> UnsafeCell<T> {
        UnsafeCell { state: Arc::new(State::new()), value: std::cell::UnsafeCell::new(value) }
    }

    /// Returns the value; not an operation.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// Reads the cell: `f` may only read through its pointer.
    #[track_caller]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        self.get().with(f)
    }

    /// Writes the cell: `f` may read and write through its pointer.
    #[track_caller]
    pub fn with_mut<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        self.get_mut().with(f)
    }

    /// Begins to read the cell; the read ends when the pointer is dropped.
    #[track_caller]
    pub fn get(&self) -> ConstPtr<T> {
        ConstPtr::new(&self.state, self.value.get())
    }

    /// Begins to write the cell; the write ends when the pointer is dropped.
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
