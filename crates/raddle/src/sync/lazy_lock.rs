//! `std::sync::LazyLock` under control.

use super::Once;
use super::per_run::PerRun;
use std::fmt;
use std::ops::Deref;
use std::panic::Location;

/// A value that is made when it is first needed, as in std. One that outlives a run, as a static does, is made anew in
/// the next; therefore the closure must be `Clone`, which std does not ask for.
pub struct LazyLock<T, F = fn() -> T> {
    once: Once,
    value: PerRun<T>,
    make: std::sync::Mutex<F>,
}

impl<T, F: FnOnce() -> T + Clone> LazyLock<T, F> {
    /// A value that `f` will make.
    #[track_caller]
    pub const fn new(f: F) -> LazyLock<T, F> {
        LazyLock { once: Once::new(), value: PerRun::new(), make: std::sync::Mutex::new(f) }
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
            return this.value.slot().get_or_init(this.maker());
        }
        this.once.call_at(false, place, || {
            let value = this.maker()();
            assert!(this.value.slot().set(value).is_ok(), "the engine lets one thread make the value");
        });
        this.value.slot().get().expect("an initialisation that is over has made the value")
    }

    fn maker(&self) -> F {
        self.make.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }
}

impl<T, F: FnOnce() -> T + Clone> Deref for LazyLock<T, F> {
    type Target = T;

    #[track_caller]
    fn deref(&self) -> &T {
        LazyLock::force(self)
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
