//! `std::sync::LazyLock` under control.

use super::Once;
use super::function;
use super::per_run::PerRun;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location;

/// A value that is made when it is first needed, as in std. One that outlives a run, as a static does, is made anew in
/// the next. This needs a function, as statics have; a closure is called once, and one that outlives its run panics.
pub struct LazyLock<T, F = fn() -> T> {
    once: Once,
    value: PerRun<T>,
    /// Absent if it was a closure and was called.
    make: std::sync::Mutex<Option<F>>,
}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    /// A value that `f` will make.
    #[track_caller]
    pub const fn new(f: F) -> LazyLock<T, F> {
        LazyLock { once: Once::new(), value: PerRun::new(), make: std::sync::Mutex::new(Some(f)) }
    }

    /// The value, which is made if there is none. If another thread makes it now, waits for that.
    ///
    /// # Panics
    ///
    /// If the closure has panicked.
    #[track_caller]
    pub fn force(this: &LazyLock<T, F>) -> &T {
        let place = Location::caller();
        if this.once.is_closing() {
            return this.value.slot().get_or_init(|| this.make());
        }
        this.once.call_at(false, place, || {
            let value = this.make();
            assert!(this.value.slot().set(value).is_ok(), "the engine lets one thread make the value");
        });
        this.value.slot().get().expect("an initialisation that is over has made the value")
    }

    /// As [`LazyLock::force`], for a value that nobody else can have.
    #[track_caller]
    pub fn force_mut(this: &mut LazyLock<T, F>) -> &mut T {
        LazyLock::force(this);
        this.value.slot_mut().get_mut().expect("the value was made a moment ago")
    }

    fn make(&self) -> T {
        let make = {
            let mut make = self.make.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            make.as_ref().and_then(function::copy).or_else(|| make.take())
        };
        make.expect("a LazyLock with a closure was used in an earlier run; give it a function")()
    }
}

impl<T, F> LazyLock<T, F> {
    /// The value, if it was made.
    #[track_caller]
    pub fn get(this: &LazyLock<T, F>) -> Option<&T> {
        let place = Location::caller();
        let there = this.once.is_closing() || this.once.is_over(place);
        if there { this.value.slot().get() } else { None }
    }

    /// The value, if it was made; nobody else can have it.
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
