//! `AtomicPtr`.

use super::shared::{self, common, pointed};
use crate::runtime::{self, Object, Past, ValueUses, Word};
use raddle_model::{Access, Kind};
use std::fmt;
use std::panic::Location;
use std::ptr;
use std::sync::atomic::Ordering;

/// A pointer that threads share, as in std.
pub struct AtomicPtr<T> {
    object: Object,
    value: std::sync::atomic::AtomicPtr<T>,
    /// The initial value of the first run.
    first: std::sync::atomic::AtomicPtr<T>,
}

pointed!([<T>] AtomicPtr<T>, *mut T);
// An address differs in every process, so reports do not show it.
common!([<T>] AtomicPtr<T>, *mut T, std::sync::atomic::AtomicPtr<T>, |first| first.is_null(), |_| None, |value| value.expose_provenance() as u128, |bits| ptr::with_exposed_provenance_mut(bits as usize));

impl<T> AtomicPtr<T> {
    /// Advances it by `count` values, wrapping around; returns the previous pointer.
    #[track_caller]
    pub fn fetch_ptr_add(&self, count: usize, order: Ordering) -> *mut T {
        self.modify(order, |before| before.wrapping_add(count))
    }

    /// Moves it back by `count` values, wrapping around; returns the previous pointer.
    #[track_caller]
    pub fn fetch_ptr_sub(&self, count: usize, order: Ordering) -> *mut T {
        self.modify(order, |before| before.wrapping_sub(count))
    }

    /// Advances it by `count` bytes, wrapping around; returns the previous pointer.
    #[track_caller]
    pub fn fetch_byte_add(&self, count: usize, order: Ordering) -> *mut T {
        self.modify(order, |before| before.wrapping_byte_add(count))
    }

    /// Moves it back by `count` bytes, wrapping around; returns the previous pointer.
    #[track_caller]
    pub fn fetch_byte_sub(&self, count: usize, order: Ordering) -> *mut T {
        self.modify(order, |before| before.wrapping_byte_sub(count))
    }

    /// Bitwise or of the address; returns the previous pointer.
    #[track_caller]
    pub fn fetch_or(&self, value: usize, order: Ordering) -> *mut T {
        self.modify(order, |before| before.map_addr(|address| address | value))
    }

    /// Bitwise and of the address; returns the previous pointer.
    #[track_caller]
    pub fn fetch_and(&self, value: usize, order: Ordering) -> *mut T {
        self.modify(order, |before| before.map_addr(|address| address & value))
    }

    /// Bitwise exclusive or of the address; returns the previous pointer.
    #[track_caller]
    pub fn fetch_xor(&self, value: usize, order: Ordering) -> *mut T {
        self.modify(order, |before| before.map_addr(|address| address ^ value))
    }
}

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
