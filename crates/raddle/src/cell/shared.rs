//! `UnsafeCell`, with accesses visible to the checker.

use super::Memory;
use crate::runtime;
use raddle_model::Access;
use std::fmt;
use std::panic::Location;

/// Memory that is accessed through raw pointers, with the methods of std and of Loom.
///
/// [`with`](UnsafeCell::with) is a read and [`with_mut`](UnsafeCell::with_mut) is a write. They last as long
/// as their closure: if it executes other operations, the access counts at its beginning and again at its
/// end. The pointer must not outlive the closure. Accesses through the pointer of [`get`](UnsafeCell::get)
/// are invisible to the checker.
///
/// Loom's `get` and `get_mut`, which return guards, would hide std's methods of these names and are not
/// provided; `with` and `with_mut` do the same.
pub struct UnsafeCell<T: ?Sized> {
    memory: Memory,
    value: std::cell::UnsafeCell<T>,
}

impl<T> UnsafeCell<T> {
    /// Creates a cell with an initial value.
    #[track_caller]
    pub const fn new(value: T) -> UnsafeCell<T> {
        UnsafeCell { memory: Memory::new(), value: std::cell::UnsafeCell::new(value) }
    }

    /// Returns the value; not an operation.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// Reads the cell: `f` may only read through its pointer.
    #[inline]
    #[track_caller]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        self.during(Access::Read, Location::caller(), || f(self.value.get()))
    }

    /// Writes the cell: `f` may read and write through its pointer.
    #[inline]
    #[track_caller]
    pub fn with_mut<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        self.during(Access::Write, Location::caller(), || f(self.value.get()))
    }

    fn during<R>(&self, access: Access, location: &'static Location<'static>, f: impl FnOnce() -> R) -> R {
        super::step(&self.memory, access, location);
        let before = runtime::steps();
        let result = f();
        // If no thread took a step, the end of the access coincides with its beginning.
        if runtime::steps() != before {
            super::step(&self.memory, access, location);
        }
        result
    }

    /// Returns a pointer to the value, as in std. This is not an operation, and accesses through the pointer
    /// are invisible: their races are not found, and no thread is stopped before them. Counting every call as
    /// a write would report programs that only read.
    pub const fn get(&self) -> *mut T {
        self.value.get()
    }

    /// Returns the value, which has no other user; not an operation.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
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
