//! `raddle::cell` without control: std's types, plus the additional methods of the controlled ones.

pub use std::cell::Cell;

/// An `UnsafeCell` of std, with access by closure.
#[derive(Default, Debug)]
#[repr(transparent)]
pub struct UnsafeCell<T: ?Sized>(std::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    /// Creates a cell with this value.
    #[inline]
    pub const fn new(value: T) -> UnsafeCell<T> {
        UnsafeCell(std::cell::UnsafeCell::new(value))
    }

    /// Returns the value.
    #[inline]
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// Calls `f` with a pointer for reading.
    #[inline]
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        f(self.0.get())
    }

    /// Calls `f` with a pointer for writing.
    #[inline]
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }

    /// Returns a pointer to the value.
    #[inline]
    pub const fn get(&self) -> *mut T {
        self.0.get()
    }

    /// Returns the value, which has no other user.
    #[inline]
    pub const fn get_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }
}

impl<T> From<T> for UnsafeCell<T> {
    #[inline]
    fn from(value: T) -> UnsafeCell<T> {
        UnsafeCell::new(value)
    }
}
