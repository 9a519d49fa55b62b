//! `std::sync::LazyLock` under control.

use super::Once;
use super::function;
use super::per_run::PerRun;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location;

/// A lazily initialized value, as in std. One that outlives a run, such as a static, is initialized again in
/// the next. This needs a function, as statics have; a closure is called once, and one that outlives its run
/// panics.
pub struct LazyLock<T, F = fn() -> T> {
    once: Once,
    value: PerRun<T>,
    /// `None` after a closure was called.
    make: std::sync::Mutex<Option<F>>,
}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    /// Creates a value that `f` will initialize.
    #[track_caller]
    pub const fn new(f: F) -> LazyLock<T, F> {
        LazyLock { once: Once::new(), value: PerRun::new(), make: std::sync::Mutex::new(Some(f)) }
    }

    /// Returns the value, and initializes it first if necessary. Waits if another thread is initializing it.
    ///
    /// # Panics
    ///
    /// If the closure has panicked.
    #[track_caller]
    pub fn force(this: &LazyLock<T, F>) -> &T {
        let location = Location::caller();
        if this.once.is_closing() {
            return this.value.slot().get_or_init(|| this.make());
        }
        this.once.call_at(false, location, || {
            let value = this.make();
            assert!(this.value.slot().set(value).is_ok(), "the engine lets one thread initialize the value");
        });
        this.value.slot().get().expect("a completed initialization has set the value")
    }

    /// Like [`LazyLock::force`], for a value without other users.
    #[track_caller]
    pub fn force_mut(this: &mut LazyLock<T, F>) -> &mut T {
        LazyLock::force(this);
        this.value.slot_mut().get_mut().expect("the value was just initialized")
    }

    fn make(&self) -> T {
        let make = {
            let mut make = self.make.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            make.as_ref().and_then(function::copy).or_else(|| make.take())
        };
        make.expect("a LazyLock with a closure was used in an earlier run; use a function instead")()
    }
}

impl<T, F> LazyLock<T, F> {
    /// Returns the value, if it is initialized.
    #[track_caller]
    pub fn get(this: &LazyLock<T, F>) -> Option<&T> {
        let location = Location::caller();
        let there = this.once.is_closing() || this.once.is_over(location);
        if there { this.value.slot().get() } else { None }
    }

    /// Returns the value, if it is initialized; it has no other user.
    pub fn get_mut(this: &mut LazyLock<T, F>) -> Option<&mut T> {
        this.value.slot_mut().get_mut()
    }
}

impl<T, F: FnOnce() -> T> Deref for LazyLock<T, F> {
    type Target = T;

    #[track_caller]
    fn deref(&self) -> &T {
        LazyLock::force(self)
    }
}

impl<T, F: FnOnce() -> T> DerefMut for LazyLock<T, F> {
    #[track_caller]
    fn deref_mut(&mut self) -> &mut T {
        LazyLock::force_mut(self)
    }
}

impl<T: Default> Default for LazyLock<T> {
    #[track_caller]
    fn default() -> LazyLock<T> {
        LazyLock::new(T::default)
    }
}

impl<T: fmt::Debug, F> fmt::Debug for LazyLock<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_tuple("LazyLock");
        match self.value.peek() {
            Some(value) => text.field(value),
            None => text.field(&format_args!("<uninit>")),
        };
        text.finish()
    }
}
