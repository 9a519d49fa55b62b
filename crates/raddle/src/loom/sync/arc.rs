//! `Arc`, whose count is part of the model.

use crate::loom::alloc::Leak;
use crate::runtime::{self, Object};
use raddle_engine::Resource;
use raddle_model::{Access, Kind, MemoryOrder, Operation};
use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc as Counted;

/// A value with several owners.
///
/// Dropping an owner and looking at the count are operations: what an owner did before its drop happens before what the last
/// one does. Cloning is none, for nobody can tell when it happened. A run fails if the value is leaked.
pub struct Arc<T: ?Sized> {
    /// Absent only after the owner has given it away.
    value: Option<Counted<T>>,
    count: Counted<Count>,
}

struct Count {
    object: Object,
    _leak: Leak,
}

impl<T> Arc<T> {
    /// Creates the first owner of a value.
    #[track_caller]
    pub fn new(value: T) -> Arc<T> {
        Arc::from_std(Counted::new(value))
    }

    /// Creates the first owner of a value that does not move.
    #[track_caller]
    pub fn pin(value: T) -> Pin<Arc<T>>
    where
        T: Unpin,
    {
        Pin::new(Arc::new(value))
    }

    /// Returns the value, if there is no other owner.
    ///
    /// # Errors
    ///
    /// If there is one; then the error is this owner.
    #[track_caller]
    pub fn try_unwrap(mut this: Arc<T>) -> Result<T, Arc<T>> {
        this.step(Kind::ReadModifyWrite, Access::Write, Location::caller());
        match this.value.take().map(Counted::try_unwrap) {
            Some(Ok(value)) => Ok(value),
            other => {
                this.value = other.and_then(Result::err);
                Err(this)
            }
        }
    }
}

impl<T: ?Sized> Arc<T> {
    /// Takes the place of an owner of std's, of which there must be no other. This is how a value without a known size gets
    /// here.
    #[track_caller]
    pub fn from_std(mut std: Counted<T>) -> Arc<T> {
        assert!(Counted::get_mut(&mut std).is_some(), "Arc provided to `from_std` is not unique");
        let count = Count { object: Object::new(), _leak: Leak::watch("an Arc") };
        Arc { value: Some(std), count: Counted::new(count) }
    }

    fn value(&self) -> &Counted<T> {
        self.value.as_ref().expect("an owner has the value until it is dropped")
    }

    fn step(&self, kind: Kind, access: Access, place: &'static Location<'static>) {
        if runtime::epoch().is_some() {
            let order = if kind == Kind::Read { MemoryOrder::Acquire } else { MemoryOrder::AcquireRelease };
            runtime::step(|runtime| {
                let count = self.count.object.id(runtime, |_| Resource::Memory);
                Operation::new(kind, runtime.location(place)).on(count, access).ordered(order)
            });
        }
    }

    /// Returns the number of owners.
    #[track_caller]
    pub fn strong_count(this: &Arc<T>) -> usize {
        this.step(Kind::Read, Access::Read, Location::caller());
        Counted::strong_count(this.value())
    }

    /// Returns the value, to change it, if there is no other owner.
    #[track_caller]
    pub fn get_mut(this: &mut Arc<T>) -> Option<&mut T> {
        this.step(Kind::Read, Access::Read, Location::caller());
        this.value.as_mut().and_then(Counted::get_mut)
    }

    /// Says whether both own the same value.
    pub fn ptr_eq(this: &Arc<T>, other: &Arc<T>) -> bool {
        Counted::ptr_eq(this.value(), other.value())
    }

    /// Returns a pointer to the value.
    pub fn as_ptr(this: &Arc<T>) -> *const T {
        Counted::as_ptr(this.value())
    }
}

/// An owner that is known by its pointer is kept until the pointer is turned into an owner again.
impl<T: 'static> Arc<T> {
    /// Turns the owner into a pointer, for [`Arc::from_raw`].
    pub fn into_raw(this: Arc<T>) -> *const T {
        let pointer = Arc::as_ptr(&this);
        runtime::keep(pointer.addr(), Box::new(this));
        pointer
    }

    /// Turns a pointer of [`Arc::into_raw`] into the owner that it was.
    ///
    /// # Panics
    ///
    /// If the pointer is of none, or was turned into an owner already.
    ///
    /// # Safety
    ///
    /// None is needed; Loom's function is unsafe too.
    #[expect(unsafe_code, reason = "as in Loom")]
    pub unsafe fn from_raw(pointer: *const T) -> Arc<T> {
        let kept = runtime::take_kept(pointer.addr()).and_then(|owner| owner.downcast().ok());
        *kept.expect("the pointer is of no Arc that `into_raw` was called with")
    }

    /// Adds an owner to those that [`Arc::from_raw`] returns for a pointer of [`Arc::into_raw`].
    ///
    /// # Safety
    ///
    /// None is needed; Loom's function is unsafe too.
    #[expect(unsafe_code, reason = "as in Loom")]
    pub unsafe fn increment_strong_count(pointer: *const T) {
        // SAFETY: the function needs no promise.
        let owner = unsafe { Arc::from_raw(pointer) };
        _ = Arc::into_raw(owner.clone());
        _ = Arc::into_raw(owner);
    }

    /// Drops one of the owners that [`Arc::from_raw`] returns for a pointer of [`Arc::into_raw`].
    ///
    /// # Safety
    ///
    /// None is needed; Loom's function is unsafe too.
    #[expect(unsafe_code, reason = "as in Loom")]
    pub unsafe fn decrement_strong_count(pointer: *const T) {
        // SAFETY: the function needs no promise.
        drop(unsafe { Arc::from_raw(pointer) });
    }
}

impl<T: ?Sized> Clone for Arc<T> {
    fn clone(&self) -> Arc<T> {
        Arc { value: self.value.clone(), count: Counted::clone(&self.count) }
    }
}

impl<T: ?Sized> Drop for Arc<T> {
    fn drop(&mut self) {
        // The place of a drop is where the value was made: a destructor does not know its caller.
        if self.value.is_some() {
            self.step(Kind::ReadModifyWrite, Access::Write, self.count.object.made_at());
            drop_last_owner(self.value.take());
        }
    }
}

/// Drops an owner whose count is under control. The name is looked for where a data race is judged.
#[inline(never)]
fn drop_last_owner<T: ?Sized>(owner: Option<Counted<T>>) {
    drop(owner);
}

impl<T: ?Sized> Deref for Arc<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value()
    }
}

impl<T: ?Sized> AsRef<T> for Arc<T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T: ?Sized> Borrow<T> for Arc<T> {
    fn borrow(&self) -> &T {
        self
    }
}

impl<T: Default> Default for Arc<T> {
    #[track_caller]
    fn default() -> Arc<T> {
        Arc::new(T::default())
    }
}

impl<T> From<T> for Arc<T> {
    #[track_caller]
    fn from(value: T) -> Arc<T> {
        Arc::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
