//! Distinguishes functions from closures: a function can be called in each run.

#![expect(unsafe_code, reason = "an equivalent trait bound would be one that std does not require")]

use std::any::TypeId;
use std::marker::PhantomData;
use std::mem;
use std::ptr;

/// Returns a copy of `f`, if its type is that of a function pointer, `fn() -> T`.
pub(super) fn copy<T, F: FnOnce() -> T>(f: &F) -> Option<F> {
    if identity::<F>() != identity::<fn() -> T>() {
        return None;
    }
    // SAFETY: `F` and `fn() -> T` differ at most in lifetimes. A function pointer is `Copy` whatever
    // lifetimes its signature has, so its bits may be duplicated.
    Some(unsafe { ptr::read(f) })
}

/// Returns a type id that is the same for types that differ only in lifetimes.
fn identity<X>() -> TypeId {
    trait Identity {
        fn identity(&self) -> TypeId
        where
            Self: 'static;
    }

    impl<X> Identity for PhantomData<X> {
        fn identity(&self) -> TypeId
        where
            Self: 'static,
        {
            TypeId::of::<X>()
        }
    }

    let of: &dyn Identity = &PhantomData::<X>;
    // SAFETY: only the lifetime in the type is changed. The value has no content, the reference does not
    // leave this function, and the method called with it only returns the type id, which does not depend on
    // lifetimes.
    let of = unsafe { mem::transmute::<&dyn Identity, &(dyn Identity + 'static)>(of) };
    of.identity()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seven() -> u8 {
        7
    }

    /// Returns a copy of a function whose type has a lifetime that ends before the program.
    fn of_reference<'a>(f: fn() -> &'a str) -> Option<fn() -> &'a str> {
        copy(&f)
    }

    #[test]
    fn only_function_pointers_are_copied() {
        let pointer: fn() -> u8 = seven;
        assert_eq!(copy(&pointer).map(|f| f()), Some(7));
        assert_eq!(of_reference(|| "text").map(|f| f()), Some("text"));
        let (text, mut count) = (String::from("moved"), 0);
        assert!(copy(&move || text).is_none());
        assert!(copy(&|| count += 1).is_none());
        assert!(copy(&seven).is_none() && copy(&|| 7).is_none(), "these have types of their own");
        count += 1;
        assert_eq!(count, 1);
    }
}
