//! Statics that are made when they are first used, under the names of the `lazy_static` crate.
//!
//! They are made anew in each run. New code has [`LazyLock`].

pub use crate::lazy_static;
use crate::sync::LazyLock;
#[doc(hidden)] // Loom's names.
pub use crate::thread::{AccessError, panicking, yield_now};
use std::fmt;

/// A value that is made when it is first used; see [`lazy_static!`](crate::lazy_static!).
pub struct Lazy<T: Sync>(LazyLock<T>);

impl<T: Sync> Lazy<T> {
    /// A value that `make` will make, once in each run.
    #[track_caller]
    pub const fn new(make: fn() -> T) -> Lazy<T> {
        Lazy(LazyLock::new(make))
    }

    /// The value, which is made if there is none. If another thread makes it now, waits for that.
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

/// What the types that [`lazy_static!`](crate::lazy_static!) declares have in common.
pub trait LazyStatic {
    /// For [`initialize`].
    #[doc(hidden)]
    fn initialize(lazy: &Self);
}

/// Makes the value, if there is none.
pub fn initialize<T: LazyStatic>(lazy: &T) {
    T::initialize(lazy);
}

/// Declares statics that are made when they are first used: `static ref NAME: Type = value;`, as the crate of that name does.
/// They are made anew in each run.
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
