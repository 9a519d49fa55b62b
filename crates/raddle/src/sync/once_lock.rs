//! `std::sync::OnceLock` under control.

use super::Once;
use super::per_run::PerRun;
use crate::runtime;
use std::fmt;
use std::mem;
use std::panic::Location;

/// A value that is set once, as in std. One that outlives a run, such as a static, is empty at the start of
/// the next.
pub struct OnceLock<T> {
    once: Once,
    value: PerRun<T>,
}

impl<T> OnceLock<T> {
    /// Creates a lock without a value.
    #[track_caller]
    #[must_use]
    pub const fn new() -> OnceLock<T> {
        OnceLock { once: Once::new(), value: PerRun::new() }
    }

    /// Returns the value, if it was set.
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        let location = Location::caller();
        let there = self.once.is_closing() || self.once.is_over(location);
        if there { self.value.slot().get() } else { None }
    }

    /// Returns the value, if it was set; it has no other user.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.value.slot_mut().get_mut()
    }

    /// Sets the value, or returns it if there already is one.
    ///
    /// # Errors
    ///
    /// If there already is a value.
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        self.initialise(Location::caller(), || value.take().expect("a value is set once"));
        value.map_or(Ok(()), Err)
    }

    /// Returns the value, and initializes it with `f` first if necessary. Waits if another thread is
    /// initializing it.
    #[track_caller]
    pub fn get_or_init<F: FnOnce() -> T>(&self, f: F) -> &T {
        self.initialise(Location::caller(), f)
    }

    /// Returns the value, after waiting until a thread has set it.
    #[track_caller]
    pub fn wait(&self) -> &T {
        self.once.wait_force();
        if runtime::is_closing() && self.value.slot().get().is_none() {
            runtime::close_others();
        }
        self.value.slot().get().expect("a lock that was waited for has a value, unless the run is over")
    }

    #[track_caller]
    fn initialise(&self, location: &'static Location<'static>, f: impl FnOnce() -> T) -> &T {
        if self.once.is_closing() {
            return self.value.slot().get_or_init(f);
        }
        // As in std, other threads may retry after a closure panicked.
        self.once.call_at(true, location, || {
            let value = f();
            assert!(self.value.slot().set(value).is_ok(), "the engine lets one thread set the value");
        });
        self.value.slot().get().expect("a completed initialization has set the value")
    }

    /// Returns the value, if it was set.
    pub fn into_inner(mut self) -> Option<T> {
        self.value.slot_mut().take()
    }

    /// Takes the value, if it was set, and resets the lock.
    #[track_caller]
    pub fn take(&mut self) -> Option<T> {
        mem::take(self).into_inner()
    }
}

impl<T> Default for OnceLock<T> {
    #[track_caller]
    fn default() -> OnceLock<T> {
        OnceLock::new()
    }
}

impl<T> From<T> for OnceLock<T> {
    #[track_caller]
    fn from(value: T) -> OnceLock<T> {
        let lock = OnceLock::new();
        assert!(lock.set(value).is_ok(), "a new lock is empty");
        lock
    }
}

impl<T: Clone> Clone for OnceLock<T> {
    #[track_caller]
    fn clone(&self) -> OnceLock<T> {
        self.get().cloned().map_or_else(OnceLock::new, OnceLock::from)
    }
}

impl<T: PartialEq> PartialEq for OnceLock<T> {
    #[track_caller]
    fn eq(&self, other: &OnceLock<T>) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for OnceLock<T> {}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_tuple("OnceLock");
        match self.value.peek() {
            Some(value) => text.field(value),
            None => text.field(&format_args!("<uninit>")),
        };
        text.finish()
    }
}
