//! `Cell`.

use super::Memory;
use raddle_model::{Access, Kind, MemoryOrder, Operation};
use std::fmt;
use std::panic::Location;

/// Memory that is copied in and out, as in std. Threads cannot share it, unless it is part of a type that is
/// declared `Sync`; then each method is one plain access, and accesses of different threads may race.
pub struct Cell<T: ?Sized> {
    memory: Memory,
    value: std::cell::Cell<T>,
}

impl<T> Cell<T> {
    /// Creates a cell with an initial value.
    #[track_caller]
    pub const fn new(value: T) -> Cell<T> {
        Cell { memory: Memory::new(), value: std::cell::Cell::new(value) }
    }

    /// Writes the value.
    #[track_caller]
    pub fn set(&self, value: T) {
        super::step(&self.memory, Access::Write, Location::caller());
        self.value.set(value);
    }

    /// Writes the value and returns the previous one.
    #[track_caller]
    pub fn replace(&self, value: T) -> T {
        super::step(&self.memory, Access::Write, Location::caller());
        self.value.replace(value)
    }

    /// Swaps the values of two cells: one write of both.
    #[track_caller]
    pub fn swap(&self, other: &Cell<T>) {
        let location = Location::caller();
        super::step_plain(|runtime| {
            let (mine, theirs) = (self.memory.id(runtime), other.memory.id(runtime));
            let operation = Operation::new(Kind::ReadModifyWrite, runtime.location(location));
            let operation = operation.on(mine, Access::Write).ordered(MemoryOrder::Plain);
            if mine == theirs { operation } else { operation.on(theirs, Access::Write) }
        });
        self.value.swap(&other.value);
    }

    /// Returns the value; not an operation.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: Copy> Cell<T> {
    /// Reads the value.
    #[track_caller]
    pub fn get(&self) -> T {
        super::step(&self.memory, Access::Read, Location::caller());
        self.value.get()
    }

    /// Reads the value and writes the result of `f`: two accesses.
    #[track_caller]
    pub fn update(&self, f: impl FnOnce(T) -> T) {
        let value = f(self.get());
        self.set(value);
    }
}

impl<T: Default> Cell<T> {
    /// Returns the value and leaves the default: one write.
    #[track_caller]
    pub fn take(&self) -> T {
        self.replace(T::default())
    }
}

impl<T: ?Sized> Cell<T> {
    /// Returns a pointer to the value, as in std. Accesses through it are invisible to the checker.
    pub const fn as_ptr(&self) -> *mut T {
        self.value.as_ptr()
    }

    /// Returns the value, which has no other user; not an operation.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

impl<T: Default> Default for Cell<T> {
    #[track_caller]
    fn default() -> Cell<T> {
        Cell::new(T::default())
    }
}

impl<T> From<T> for Cell<T> {
    #[track_caller]
    fn from(value: T) -> Cell<T> {
        Cell::new(value)
    }
}

impl<T: Copy> Clone for Cell<T> {
    #[track_caller]
    fn clone(&self) -> Cell<T> {
        Cell::new(self.get())
    }
}

impl<T: Copy + PartialEq> PartialEq for Cell<T> {
    #[track_caller]
    fn eq(&self, other: &Cell<T>) -> bool {
        self.get() == other.get()
    }
}

impl<T: Copy + Eq> Eq for Cell<T> {}

impl<T: Copy + PartialOrd> PartialOrd for Cell<T> {
    #[track_caller]
    fn partial_cmp(&self, other: &Cell<T>) -> Option<std::cmp::Ordering> {
        self.get().partial_cmp(&other.get())
    }
}

impl<T: Copy + Ord> Ord for Cell<T> {
    #[track_caller]
    fn cmp(&self, other: &Cell<T>) -> std::cmp::Ordering {
        self.get().cmp(&other.get())
    }
}

impl<T: Copy + fmt::Debug> fmt::Debug for Cell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Formatting is not an operation.
        f.debug_struct("Cell").field("value", &self.value.get()).finish()
    }
}
