//! `std::sync::RwLock` under control. It prefers neither readers nor writers: every order that std allows is
//! possible. A thread that already reads and asks again may have to wait behind a writer, which is a
//! deadlock; the strategy chooses whether it does.

use super::poison::Poison;
use crate::runtime::{self, Freedom, Object, Runtime};
use raddle_engine::{Reply, Resource};
use raddle_model::{Access, Kind, LockMode, Operation};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

/// A lock for many readers or one writer, as in std. The value is stored in one of std's, which is never
/// contended. The value of a lock that outlives a run, such as a static, is kept (see
/// [statics](crate#statics)).
pub struct RwLock<T: ?Sized> {
    object: Object,
    poison: Poison,
    value: std::sync::RwLock<T>,
}

/// Shared access to the value of an [`RwLock`], which is unlocked when this is dropped.
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    /// `Some` until the guard is dropped.
    value: Option<std::sync::RwLockReadGuard<'a, T>>,
    locked_at: &'static Location<'static>,
}

/// Exclusive access to the value of an [`RwLock`], which is unlocked when this is dropped.
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    /// `Some` until the guard is dropped or downgraded.
    value: Option<std::sync::RwLockWriteGuard<'a, T>>,
    locked_at: &'static Location<'static>,
    /// True if the thread was panicking when it locked; then it does not poison the lock.
    panicking: bool,
}

impl<T> RwLock<T> {
    /// Creates a lock around `value`.
    #[track_caller]
    pub const fn new(value: T) -> RwLock<T> {
        RwLock { object: Object::new(), poison: Poison::new(), value: std::sync::RwLock::new(value) }
    }

    /// Returns the value.
    pub fn into_inner(self) -> LockResult<T> {
        let poisoned = self.poison.is_set();
        let value = self.value.into_inner().unwrap_or_else(PoisonError::into_inner);
        if poisoned { Err(PoisonError::new(value)) } else { Ok(value) }
    }
}

impl<T: ?Sized> RwLock<T> {
    #[track_caller]
    fn step(&self, kind: Kind, location: &'static Location<'static>) -> Reply {
        // Acquiring the lock for reading commutes with the same; releasing it may let a writer in.
        let reads = kind == Kind::Read || kind.info().holding.takes() == Some(LockMode::Shared);
        let access = if reads { Access::Read } else { Access::Write };
        let operation = |runtime: &mut Runtime| {
            let object = self.object.id(runtime, |_| Resource::read_write_lock());
            let again = kind == Kind::ReadLock
                && runtime.free != Freedom::None
                && runtime.engine.reads_beside_others(runtime.current(), object);
            let kind = if again { Kind::ReadLockAgain } else { kind };
            Operation::new(kind, runtime.location(location)).on(object, access)
        };
        runtime::step_or(operation, |runtime| self.object.use_closing(runtime, |_| {}))
    }

    fn read_guard(&self, locked_at: &'static Location<'static>) -> LockResult<RwLockReadGuard<'_, T>> {
        let value = loop {
            match self.value.try_read() {
                Ok(value) => break value,
                Err(TryLockError::Poisoned(error)) => break error.into_inner(),
                Err(TryLockError::WouldBlock) => make_way(),
            }
        };
        let guard = RwLockReadGuard { lock: self, value: Some(value), locked_at };
        if self.poison.is_set() { Err(PoisonError::new(guard)) } else { Ok(guard) }
    }

    fn write_guard(&self, locked_at: &'static Location<'static>) -> LockResult<RwLockWriteGuard<'_, T>> {
        let value = loop {
            match self.value.try_write() {
                Ok(value) => break value,
                Err(TryLockError::Poisoned(error)) => break error.into_inner(),
                Err(TryLockError::WouldBlock) => make_way(),
            }
        };
        let panicking = runtime::panicking();
        let guard = RwLockWriteGuard { lock: self, value: Some(value), locked_at, panicking };
        if self.poison.is_set() { Err(PoisonError::new(guard)) } else { Ok(guard) }
    }

    /// Locks it for reading, and waits if necessary.
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        let location = Location::caller();
        if runtime::is_shuttle() {
            self.assert_not_mine();
        }
        self.step(Kind::ReadLock, location);
        self.read_guard(location)
    }

    /// Panics if the current thread holds it, as Shuttle does. Waiting would never end if a writer comes in
    /// between.
    #[cold]
    fn assert_not_mine(&self) {
        let mine = runtime::with(|runtime| {
            let object = self.object.id(runtime, |_| Resource::read_write_lock());
            !runtime.is_closing() && runtime.engine.has_read_write_lock(runtime.current(), object)
        });
        assert!(!mine, "deadlock! the task tried to acquire a RwLock it already holds");
    }

    /// Locks it for reading if no thread writes.
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        let location = Location::caller();
        match self.step(Kind::TryReadLock, location) {
            Reply::Acquired => self.read_guard(location).map_err(TryLockError::Poisoned),
            // After the end of the run the engine does not answer.
            Reply::Go if !matches!(self.value.try_read(), Err(TryLockError::WouldBlock)) => {
                self.read_guard(location).map_err(TryLockError::Poisoned)
            }
            _ => Err(TryLockError::WouldBlock),
        }
    }

    /// Locks it for writing, and waits if necessary.
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        let location = Location::caller();
        self.step(Kind::WriteLock, location);
        self.write_guard(location)
    }

    /// Locks it for writing if it is free.
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        let location = Location::caller();
        match self.step(Kind::TryWriteLock, location) {
            Reply::Acquired => self.write_guard(location).map_err(TryLockError::Poisoned),
            Reply::Go if !matches!(self.value.try_write(), Err(TryLockError::WouldBlock)) => {
                self.write_guard(location).map_err(TryLockError::Poisoned)
            }
            _ => Err(TryLockError::WouldBlock),
        }
    }

    /// Returns true if a thread panicked while it held the lock for writing.
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
        let value = self.value.get_mut().unwrap_or_else(PoisonError::into_inner);
        if poisoned { Err(PoisonError::new(value)) } else { Ok(value) }
    }
}

/// Makes others release a lock that a destructor needs while the run is closing.
fn make_way() {
    assert!(runtime::is_closing(), "the engine gives a lock to readers or to one writer");
    runtime::make_way();
}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// Converts this into a guard for reading; no other writer gets the lock in between.
    #[track_caller]
    pub fn downgrade(mut this: RwLockWriteGuard<'a, T>) -> RwLockReadGuard<'a, T> {
        let location = Location::caller();
        let lock = this.lock;
        lock.step(Kind::Downgrade, location);
        this.value = None;
        lock.read_guard(location).unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        self.value = None;
        self.lock.step(Kind::ReadWriteUnlock, self.locked_at);
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        // Without the value, a guard for reading now holds the lock.
        if self.value.is_none() {
            return;
        }
        let poisons = !self.panicking && runtime::panicking();
        self.value = None;
        self.lock.step(Kind::ReadWriteUnlock, self.locked_at);
        // Other threads see it after the unlock, which is an operation.
        if poisons {
            self.lock.poison.set();
        }
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_deref().expect("a guard has its value until it is dropped")
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_deref().expect("a guard has its value until it is dropped")
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_deref_mut().expect("a guard has its value until it is dropped")
    }
}

impl<T: Default> Default for RwLock<T> {
    #[track_caller]
    fn default() -> RwLock<T> {
        RwLock::new(T::default())
    }
}

impl<T> From<T> for RwLock<T> {
    #[track_caller]
    fn from(value: T) -> RwLock<T> {
        RwLock::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("RwLock");
        match self.value.try_read() {
            Ok(value) => text.field("data", &&*value),
            Err(TryLockError::Poisoned(error)) => text.field("data", &&**error.get_ref()),
            Err(TryLockError::WouldBlock) => text.field("data", &format_args!("<locked>")),
        };
        text.field("poisoned", &self.poison.is_set()).finish_non_exhaustive()
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
