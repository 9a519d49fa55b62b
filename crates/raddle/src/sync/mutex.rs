//! `std::sync::Mutex` under control.

use crate::runtime::{self, Object};
use raddle_engine::{MutexKind, Reply, Resource};
use raddle_model::{Access, Kind, Operation};
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

/// A mutex, as in std. The value lives in one of std's, which is never contended: the engine decides who gets it.
#[derive(Debug)]
pub struct Mutex<T: ?Sized> {
    object: Object,
    value: std::sync::Mutex<T>,
}

/// Access to the value of a [`Mutex`], which is unlocked when this is dropped.
#[derive(Debug)]
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    /// Present until the guard is dropped.
    value: Option<std::sync::MutexGuard<'a, T>>,
    locked_at: &'static Location<'static>,
}

impl<T> Mutex<T> {
    /// A mutex around `value`.
    #[track_caller]
    pub const fn new(value: T) -> Mutex<T> {
        Mutex { object: Object::new(), value: std::sync::Mutex::new(value) }
    }

    /// The value.
    pub fn into_inner(self) -> LockResult<T> {
        self.value.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    fn step(&self, kind: Kind, place: &'static Location<'static>) -> Reply {
        runtime::step(|runtime| {
            let object = self.object.id(runtime, || Resource::mutex(MutexKind::Normal));
            Operation::new(kind, runtime.location(place)).on(object, Access::Write)
        })
    }

    fn guard(&self, locked_at: &'static Location<'static>) -> LockResult<MutexGuard<'_, T>> {
        match self.value.try_lock() {
            Ok(value) => Ok(MutexGuard { mutex: self, value: Some(value), locked_at }),
            Err(TryLockError::Poisoned(error)) => {
                let value = Some(error.into_inner());
                Err(PoisonError::new(MutexGuard { mutex: self, value, locked_at }))
            }
            Err(TryLockError::WouldBlock) => unreachable!("the engine gives a mutex to one thread at a time"),
        }
    }

    /// Locks it, waiting if need be.
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let place = Location::caller();
        self.step(Kind::Lock, place);
        self.guard(place)
    }

    /// Locks it if it is free.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let place = Location::caller();
        match self.step(Kind::TryLock, place) {
            Reply::Acquired => self.guard(place).map_err(TryLockError::Poisoned),
            _ => Err(TryLockError::WouldBlock),
        }
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        self.value = None;
        self.mutex.step(Kind::Unlock, self.locked_at);
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
