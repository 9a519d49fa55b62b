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
/// Dropping an owner and reading the count are operations: what an owner did before its drop happens before
/// what the last owner does. Cloning is not, because no thread can observe when it happened. A run fails if
/// the value is leaked.
pub struct Arc<T: ?Sized> {
    /// `None` only after the owner has given it away.
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

    /// Creates the first owner of a pinned value.
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
    /// Converts an owner of std's, which must be the only one. This is how an unsized value gets here.
    #[track_caller]
    pub fn from_std(mut std: Counted<T>) -> Arc<T> {
        assert!(Counted::get_mut(&mut std).is_some(), "Arc provided to `from_std` is not unique");
        let count = Count { object: Object::new(), _leak: Leak::watch("an Arc") };
        Arc { value: Some(std), count: Counted::new(count) }
    }

    fn value(&self) -> &Counted<T> {
        self.value.as_ref().expect("an owner has the value until it is dropped")
    }

    fn step(&self, kind: Kind, access: Access, location: &'static Location<'static>) {
        if runtime::epoch().is_some() {
            let order = if kind == Kind::Read { MemoryOrder::Acquire } else { MemoryOrder::AcquireRelease };
            runtime::step(|runtime| {
                let count = self.count.object.id(runtime, |_| Resource::Memory);
                Operation::new(kind, runtime.location(location)).on(count, access).ordered(order)
            });
        }
    }

    /// Returns the number of owners.
    #[track_caller]
    pub fn strong_count(this: &Arc<T>) -> usize {
        this.step(Kind::Read, Access::Read, Location::caller());
        Counted::strong_count(this.value())
    }

    /// Returns a mutable reference to the value, if there is no other owner.
    #[track_caller]
    pub fn get_mut(this: &mut Arc<T>) -> Option<&mut T> {
        this.step(Kind::Read, Access::Read, Location::caller());
        this.value.as_mut().and_then(Counted::get_mut)
    }

    /// Returns true if both own the same value.
    pub fn ptr_eq(this: &Arc<T>, other: &Arc<T>) -> bool {
        Counted::ptr_eq(this.value(), other.value())
    }

    /// Returns a pointer to the value.
    pub fn as_ptr(this: &Arc<T>) -> *const T {
        Counted::as_ptr(this.value())
    }
}

/// An owner in the form of a pointer is stored until the pointer is converted back.
impl<T: 'static> Arc<T> {
    /// Converts the owner into a pointer, for [`Arc::from_raw`].
    pub fn into_raw(this: Arc<T>) -> *const T {
        let pointer = Arc::as_ptr(&this);
        runtime::store_value(pointer.addr(), Box::new(this));
        pointer
    }

    /// Converts a pointer of [`Arc::into_raw`] back into its owner.
    ///
    /// # Panics
    ///
    /// If the pointer has no owner, or was already converted.
    ///
    /// # Safety
    ///
    /// No requirements; Loom's function is unsafe too.
    #[expect(unsafe_code, reason = "as in Loom")]
    pub unsafe fn from_raw(pointer: *const T) -> Arc<T> {
        let kept = runtime::take_stored(pointer.addr()).and_then(|owner| owner.downcast().ok());
        *kept.expect("the pointer does not come from `into_raw`")
    }

    /// Adds an owner to those that [`Arc::from_raw`] returns for a pointer of [`Arc::into_raw`].
    ///
    /// # Safety
    ///
    /// No requirements; Loom's function is unsafe too.
    #[expect(unsafe_code, reason = "as in Loom")]
    pub unsafe fn increment_strong_count(pointer: *const T) {
        // SAFETY: the function has no requirements.
        let owner = unsafe { Arc::from_raw(pointer) };
        _ = Arc::into_raw(owner.clone());
        _ = Arc::into_raw(owner);
    }

    /// Drops one of the owners that [`Arc::from_raw`] returns for a pointer of [`Arc::into_raw`].
    ///
    /// # Safety
    ///
    /// No requirements; Loom's function is unsafe too.
    #[expect(unsafe_code, reason = "as in Loom")]
    pub unsafe fn decrement_strong_count(pointer: *const T) {
        // SAFETY: the function has no requirements.
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
        // A drop is located where the value was created: a destructor does not know its caller.
        if self.value.is_some() {
            self.step(Kind::ReadModifyWrite, Access::Write, self.count.object.created_at());
            drop_last_owner(self.value.take());
        }
    }
}

/// Drops an owner whose count is under control. The race judgment looks for this function's name on the
/// stack.
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
