//! Lazily initialized statics, under the names of the `lazy_static` crate.
//!
//! They are initialized again in each run. New code should use [`LazyLock`].

pub use crate::lazy_static;
use crate::sync::LazyLock;
#[doc(hidden)] // Loom's names.
pub use crate::thread::{AccessError, panicking, yield_now};
use std::fmt;

/// A lazily initialized value; see [`lazy_static!`](crate::lazy_static!).
pub struct Lazy<T: Sync>(LazyLock<T>);

impl<T: Sync> Lazy<T> {
    /// Creates a value that `make` initializes once in each run.
    #[track_caller]
    pub const fn new(make: fn() -> T) -> Lazy<T> {
        Lazy(LazyLock::new(make))
    }

    /// Returns the value, and initializes it first if necessary. Waits if another thread is initializing it.
    #[track_caller]
    pub fn get(&'static self) -> &'static T {
        let _lasting = crate::runtime::Lasting::begin();
        LazyLock::force(&self.0)
    }
}

impl<T: Sync> fmt::Debug for Lazy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lazy").finish_non_exhaustive()
    }
}

/// The common trait of the types that [`lazy_static!`](crate::lazy_static!) declares.
pub trait LazyStatic {
    /// Implements [`initialize`].
    #[doc(hidden)]
    fn initialize(lazy: &Self);
}

/// Initializes the value, if necessary.
pub fn initialize<T: LazyStatic>(lazy: &T) {
    T::initialize(lazy);
}

/// Declares lazily initialized statics: `static ref NAME: Type = value;`, as the crate of that name does.
/// They are initialized again in each run.
#[macro_export]
macro_rules! lazy_static {
    ($($(#[$attribute:meta])* $visibility:vis static ref $name:ident: $type:ty = $value:expr;)*) => {$(
        #[expect(non_camel_case_types, reason = "the type has the name of the static")]
        $(#[$attribute])*
        #[derive(Debug)]
        $visibility struct $name {
            _private: (),
        }

        #[doc(hidden)]
        $visibility static $name: $name = $name { _private: () };

        impl ::std::ops::Deref for $name {
            type Target = $type;

            fn deref(&self) -> &$type {
                static LAZY: $crate::lazy_static::Lazy<$type> = $crate::lazy_static::Lazy::new(|| $value);
                LAZY.get()
            }
        }

        impl $crate::lazy_static::LazyStatic for $name {
            fn initialize(lazy: &Self) {
                _ = &**lazy;
            }
        }
    )*};
}
