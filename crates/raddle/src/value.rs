//! A value with at most one user at a time, without waiting.

#![expect(
    unsafe_code,
    reason = "std's mutex has a second atomic operation, which is a tenth of the time of a step"
)]

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicBool, Ordering};

/// A value that one user at a time may take. The engine decides who does, so it is almost always free: only destructors
/// after the end of a run find it taken.
#[derive(Default)]
pub(crate) struct Value<T: ?Sized> {
    is_taken: AtomicBool,
    value: UnsafeCell<T>,
}

/// Access to a [`Value`], until this is dropped.
pub(crate) struct Taken<'a, T: ?Sized> {
    value: &'a Value<T>,
    /// Not `Send`, and `Sync` if `T` is, as the guard of std.
    guard: PhantomData<MutexGuard<'a, T>>,
}

// SAFETY: threads that share it get at the value only through `Taken`, one at a time, so it moves from thread to thread.
unsafe impl<T: ?Sized + Send> Sync for Value<T> {}

/// A panic of its user leaves a value that the next one sees, as with std's mutexes; poisoning is a matter of the callers.
impl<T: ?Sized> UnwindSafe for Value<T> {}
impl<T: ?Sized> RefUnwindSafe for Value<T> {}

impl<T> Value<T> {
    pub(crate) const fn new(value: T) -> Value<T> {
        Value { is_taken: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    pub(crate) fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> Value<T> {
    /// Returns access to the value, unless it is taken.
    #[inline]
    pub(crate) fn take(&self) -> Option<Taken<'_, T>> {
        let was_taken = self.is_taken.swap(true, Ordering::Acquire);
        (!was_taken).then_some(Taken { value: self, guard: PhantomData })
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

impl<T: ?Sized> Drop for Taken<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.value.is_taken.store(false, Ordering::Release);
    }
}

impl<T: ?Sized> Deref for Taken<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this is the only `Taken` of the value: `take` created it when `is_taken` was false, and the flag stays true
        // until this is dropped. Other references to the value need an exclusive one to the `Value`.
        unsafe { &*self.value.value.get() }
    }
}

impl<T: ?Sized> DerefMut for Taken<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`, and this reference is exclusive.
        unsafe { &mut *self.value.value.get() }
    }
}

impl<T: ?Sized> fmt::Debug for Value<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Value").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_one_user_at_a_time() {
        let value = Value::new(1);
        let mut taken = value.take().unwrap();
        assert!(value.take().is_none());
        *taken += 1;
        drop(taken);
        assert_eq!(*value.take().unwrap(), 2);
        assert_eq!(value.into_inner(), 2);
    }

    #[test]
    fn threads_that_take_turns_see_all_changes() {
        let value = Value::new(0);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut left = 1_000;
                    while left > 0 {
                        if let Some(mut taken) = value.take() {
                            *taken += 1;
                            left -= 1;
                        }
                    }
                });
            }
        });
        assert_eq!(value.into_inner(), 2_000);
    }
}
