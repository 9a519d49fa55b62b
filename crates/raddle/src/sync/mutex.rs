//! `std::sync::Mutex` under control.

use super::poison::Poison;
use crate::runtime::{self, Object, Runtime};
use crate::value::{Taken, Value};
use raddle_engine::{MutexKind, Reply, Resource};
use raddle_model::{Access, Kind, ObjectId, Operation};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

/// A mutex, as in std. The engine decides which thread gets it. The value of a mutex that outlives a run, such as a static, is kept (see
/// [statics](crate#statics)).
pub struct Mutex<T: ?Sized> {
    object: Object,
    poison: Poison,
    value: Value<T>,
}

/// Access to the value of a [`Mutex`], which is unlocked when this is dropped.
#[must_use = "if unused the Mutex will immediately unlock"]
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    /// `Some` until the guard is dropped, except while it waits for a condition.
    value: Option<Taken<'a, T>>,
    locked_at: &'static Location<'static>,
    /// True if the thread was panicking when it locked the mutex; then it does not poison it.
    panicking: bool,
}

impl<T> Mutex<T> {
    /// Creates a mutex around `value`.
    #[track_caller]
    pub const fn new(value: T) -> Mutex<T> {
        Mutex { object: Object::new(), poison: Poison::new(), value: Value::new(value) }
    }

    /// Returns the value.
    pub fn into_inner(self) -> LockResult<T> {
        let poisoned = self.poison.is_set();
        let value = self.value.into_inner();
        if poisoned { Err(PoisonError::new(value)) } else { Ok(value) }
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Returns its number in this run.
    pub(super) fn id(&self, runtime: &mut Runtime) -> ObjectId {
        self.object.id(runtime, |_| Resource::mutex(MutexKind::Normal))
    }

    #[track_caller]
    fn step(&self, kind: Kind, location: &'static Location<'static>) -> Reply {
        let operation = |runtime: &mut Runtime| {
            let object = self.id(runtime);
            let access = if kind == Kind::Read { Access::Read } else { Access::Write };
            Operation::new(kind, runtime.location(location)).on(object, access)
        };
        runtime::step_or(operation, |runtime| self.object.use_closing(runtime, |_| {}))
    }

    /// Returns the value of a mutex that the engine gave to the current thread.
    #[inline]
    fn value(&self) -> Taken<'_, T> {
        self.value.take().unwrap_or_else(|| self.wait_for_value())
    }

    /// Waits in a destructor for the value of a mutex that another thread holds after the end of the run.
    #[cold]
    fn wait_for_value(&self) -> Taken<'_, T> {
        loop {
            assert!(runtime::is_closing(), "the engine gives a mutex to one thread at a time");
            runtime::make_way();
            if let Some(value) = self.value.take() {
                return value;
            }
        }
    }

    fn guard(&self, locked_at: &'static Location<'static>) -> LockResult<MutexGuard<'_, T>> {
        let (value, panicking) = (Some(self.value()), runtime::panicking());
        self.checked(MutexGuard { mutex: self, value, locked_at, panicking })
    }

    fn checked<'a>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        if self.poison.is_set() { Err(PoisonError::new(guard)) } else { Ok(guard) }
    }

    /// Locks the mutex, and waits if necessary.
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let location = Location::caller();
        self.step(Kind::Lock, location);
        self.guard(location)
    }

    /// Locks the mutex if it is free.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let location = Location::caller();
        match self.step(Kind::TryLock, location) {
            Reply::Acquired => self.guard(location).map_err(TryLockError::Poisoned),
            // After the end of the run the engine does not answer.
            Reply::Go if self.value.take().is_some() => self.guard(location).map_err(TryLockError::Poisoned),
            _ => Err(TryLockError::WouldBlock),
        }
    }

    /// Returns true if a thread panicked while it held the mutex.
    #[track_caller]
    pub fn is_poisoned(&self) -> bool {
        if !runtime::is_closing() {
            self.step(Kind::Read, Location::caller());
        }
        self.poison.is_set()
    }

    /// Clears the poison flag.
    #[track_caller]
    pub fn clear_poison(&self) {
        if !runtime::is_closing() {
            self.step(Kind::Write, Location::caller());
        }
        self.poison.clear();
    }

    /// Returns the value, which has no other user.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        let poisoned = self.poison.is_set();
        let value = self.value.get_mut();
        if poisoned { Err(PoisonError::new(value)) } else { Ok(value) }
    }
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// Returns the mutex.
    pub(super) fn mutex(&self) -> &'a Mutex<T> {
        self.mutex
    }

    /// Releases the value, before the engine gives the mutex to others while this thread waits for a
    /// condition.
    pub(super) fn release(&mut self) {
        self.value = None;
    }

    /// Takes the value again, after the engine returned the mutex.
    pub(super) fn retake(mut self) -> LockResult<MutexGuard<'a, T>> {
        self.value = Some(self.mutex.value());
        self.mutex.checked(self)
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        let poisons = !self.panicking && self.value.is_some() && runtime::panicking();
        self.value = None;
        self.mutex.step(Kind::Unlock, self.locked_at);
        // Other threads see it after the unlock, which is an operation.
        if poisons {
            self.mutex.poison.set();
        }
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_deref().expect("a guard has its value until it is dropped")
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_deref_mut().expect("a guard has its value until it is dropped")
    }
}

impl<T: Default> Default for Mutex<T> {
    #[track_caller]
    fn default() -> Mutex<T> {
        Mutex::new(T::default())
    }
}

impl<T> From<T> for Mutex<T> {
    #[track_caller]
    fn from(value: T) -> Mutex<T> {
        Mutex::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("Mutex");
        match self.value.take() {
            Some(value) => text.field("data", &&*value),
            None => text.field("data", &format_args!("<locked>")),
        };
        text.field("poisoned", &self.poison.is_set()).finish_non_exhaustive()
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
