//! Thread-local variables.

use crate::runtime::{self, Local};
use std::cell::{Cell, RefCell};
use std::error::Error;
use std::fmt;
use std::marker::PhantomData;
use std::ptr;
use std::rc::Rc;

/// Declares thread-local variables, as in std. They are initialized at their first use by a thread, dropped
/// at its end, the youngest first, and new in each run.
#[macro_export]
macro_rules! thread_local {
    ($($(#[$attribute:meta])* $visibility:vis static $name:ident: $type:ty = $value:expr);* $(;)?) => {
        $($(#[$attribute])* $visibility static $name: $crate::thread::LocalKey<$type> =
            $crate::thread::LocalKey::new(|| $value);)*
    };
}

/// A thread-local variable; see [`thread_local!`](crate::thread_local).
pub struct LocalKey<T: 'static> {
    /// The initializer. Public as in Shuttle and Loom, for their macros.
    #[doc(hidden)]
    pub init: fn() -> T,
    #[doc(hidden)]
    pub _p: PhantomData<fn(T)>,
}

/// The variable was already dropped, because the thread ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccessError;

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("already destroyed")
    }
}

impl Error for AccessError {}

impl<T> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalKey").finish_non_exhaustive()
    }
}

impl<T: 'static> LocalKey<T> {
    /// Implements [`thread_local!`](crate::thread_local).
    #[doc(hidden)]
    pub const fn new(first: fn() -> T) -> LocalKey<T> {
        LocalKey { init: first, _p: PhantomData }
    }

    /// Returns the current thread's value; if there is none, `first` creates it from `input`.
    #[track_caller]
    fn value<I>(
        &'static self,
        input: I,
        first: impl FnOnce(I) -> T,
    ) -> Result<(Rc<T>, Option<I>), AccessError> {
        let key = ptr::from_ref(self) as usize;
        match runtime::with(|runtime| runtime.locals().get(key)) {
            Local::Value(value) => {
                let value = value.downcast().unwrap_or_else(|_| unreachable!("a key has values of one type"));
                Ok((value, Some(input)))
            }
            Local::Dropped => Err(AccessError),
            Local::Absent => {
                let value = Rc::new(first(input));
                let kept = Rc::clone(&value);
                let before = runtime::with(|runtime| runtime.locals().set(key, kept));
                drop(before);
                Ok((value, None))
            }
        }
    }

    /// Calls `f` with the value. Panics if it was already dropped.
    #[track_caller]
    pub fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        self.try_with(f).expect("cannot access a Thread Local Storage value during or after destruction")
    }

    /// Calls `f` with the value, unless it was already dropped.
    #[track_caller]
    pub fn try_with<R>(&'static self, f: impl FnOnce(&T) -> R) -> Result<R, AccessError> {
        let (value, _) = self.value((), |()| (self.init)())?;
        Ok(f(&value))
    }

    /// Creates the initial value from `input`, or returns `input` with the existing value.
    #[track_caller]
    fn begin_with<I>(&'static self, input: I, first: impl FnOnce(I) -> T) -> (Rc<T>, Option<I>) {
        self.value(input, first)
            .expect("cannot access a Thread Local Storage value during or after destruction")
    }
}

impl<T: 'static> LocalKey<Cell<T>> {
    /// Sets the value; it need not be initialized.
    #[track_caller]
    pub fn set(&'static self, value: T) {
        if let (cell, Some(value)) = self.begin_with(value, Cell::new) {
            cell.set(value);
        }
    }

    /// Returns the value.
    #[track_caller]
    pub fn get(&'static self) -> T
    where
        T: Copy,
    {
        self.with(Cell::get)
    }

    /// Takes the value and leaves the default.
    #[track_caller]
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(Cell::take)
    }

    /// Sets the value, and returns the previous one.
    #[track_caller]
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> LocalKey<RefCell<T>> {
    /// Calls `f` with the value.
    #[track_caller]
    pub fn with_borrow<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        self.with(|cell| f(&cell.borrow()))
    }

    /// Calls `f` with a mutable reference to the value.
    #[track_caller]
    pub fn with_borrow_mut<R>(&'static self, f: impl FnOnce(&mut T) -> R) -> R {
        self.with(|cell| f(&mut cell.borrow_mut()))
    }

    /// Sets the value; it need not be initialized.
    #[track_caller]
    pub fn set(&'static self, value: T) {
        if let (cell, Some(value)) = self.begin_with(value, RefCell::new) {
            *cell.borrow_mut() = value;
        }
    }

    /// Takes the value and leaves the default.
    #[track_caller]
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(RefCell::take)
    }

    /// Sets the value, and returns the previous one.
    #[track_caller]
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}
