//! `UnsafeCell`, with accesses that can be seen.

use crate::runtime::{self, Object};
use raddle_model::Access;
use std::fmt;
use std::panic::Location;

/// Memory that is accessed through raw pointers, as in std, and through the methods that Loom gives it.
///
/// [`with`](UnsafeCell::with) and [`with_mut`](UnsafeCell::with_mut) are a read and a write. They last as long as their
/// closure: if it executes other operations, the access counts at its beginning and again at its end. The pointer
/// must not be kept. What is done through the pointer of [`get`](UnsafeCell::get) is not seen.
///
/// Loom's `get` and `get_mut`, which give guards, would hide std's methods of these names and are not here; `with` and
/// `with_mut` do the same.
pub struct UnsafeCell<T: ?Sized> {
    object: Object,
    value: std::cell::UnsafeCell<T>,
}

impl<T> UnsafeCell<T> {
    /// A cell with a first value.
    #[track_caller]
    pub const fn new(value: T) -> UnsafeCell<T> {
        UnsafeCell { object: Object::new(), value: std::cell::UnsafeCell::new(value) }
    }

    /// The value; no operation.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// Reads the cell: `f` may read what its pointer points to, and nothing else.
    #[inline]
    #[track_caller]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        self.during(Access::Read, Location::caller(), || f(self.value.get()))
    }

    /// Writes the cell: `f` may read and write what its pointer points to.
    #[inline]
    #[track_caller]
    pub fn with_mut<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        self.during(Access::Write, Location::caller(), || f(self.value.get()))
    }

    fn during<R>(&self, access: Access, place: &'static Location<'static>, f: impl FnOnce() -> R) -> R {
        super::step(&self.object, access, place);
        let before = runtime::steps();
        let result = f();
        // If nobody took a step, the end of the access is its beginning.
        if runtime::steps() != before {
            super::step(&self.object, access, place);
        }
        result
    }

    /// A pointer to the value, as in std. This is no operation, and what is done with the pointer is not seen: races of such
    /// accesses are not found, and no thread is stopped before them. Counting every call as a write would report
    /// programs that only read.
    pub const fn get(&self) -> *mut T {
        self.value.get()
    }

    /// The value, of which there can be no other user; no operation.
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
