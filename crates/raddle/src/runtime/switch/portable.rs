//! The switch by corosensei, for all its processors, and for AddressSanitizer, which it tells what it does.
//!
//! A coroutine can only suspend to the one who resumed it. So all are resumed from outside, and the way from one to another goes by
//! there.

use super::STACK;
use corosensei::stack::{DefaultStack, Stack};
use corosensei::{Coroutine, Yielder};
use std::cell::{Cell, UnsafeCell};
use std::ptr;

thread_local! {
    /// The place that is resumed next, or that runs.
    static TURN: Cell<*const Place> = const { Cell::new(ptr::null()) };
}

/// Where a computation goes on, and its stack.
pub(super) struct Place {
    /// None for what runs outside of all fibers. Used only by the loop in `switch`.
    coroutine: UnsafeCell<Option<Coroutine<(), (), (), DefaultStack>>>,
    /// Set when the coroutine begins.
    yielder: Cell<*const Yielder<(), ()>>,
    left: Cell<bool>,
    end: usize,
}

impl Place {
    /// What runs outside of all fibers.
    pub(super) fn outside() -> Place {
        let (coroutine, yielder) = (UnsafeCell::new(None), Cell::new(ptr::null()));
        Place { coroutine, yielder, left: Cell::new(false), end: 0 }
    }

    /// The beginning of `body` on a stack of its own.
    pub(super) fn on_stack(_number: usize, body: extern "C" fn() -> !) -> Place {
        let stack = DefaultStack::new(STACK).expect("there is memory for a stack");
        let end = stack.limit().get();
        let coroutine = Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| {
            // SAFETY: the turn is that of the place with this coroutine, which was just resumed for the first time.
            unsafe { (*TURN.get()).yielder.set(yielder) };
            body()
        });
        let (coroutine, yielder) = (UnsafeCell::new(Some(coroutine)), Cell::new(ptr::null()));
        Place { coroutine, yielder, left: Cell::new(true), end }
    }

    /// Whether it was left, or has not begun.
    pub(super) fn is_left(&self) -> bool {
        self.left.get()
    }

    /// The lowest address of its stack; 0 outside of all fibers.
    pub(super) fn end(&self) -> usize {
        self.end
    }

    /// Leaves `self` and goes on with `to`; returns when somebody goes on with `self`.
    ///
    /// # Safety
    ///
    /// `self` is what runs on this OS thread, and `to` was left on it or has not begun. Both live until `self` is gone on with, or
    /// for ever if it is not.
    pub(super) unsafe fn switch(&self, to: &Place) {
        self.left.set(true);
        to.left.set(false);
        TURN.set(to);
        if !self.yielder.get().is_null() {
            // SAFETY: the yielder is on the stack of the coroutine that runs, which is that of `self`.
            unsafe { (*self.yielder.get()).suspend(()) };
            return;
        }
        while !ptr::eq(TURN.get(), self) {
            // SAFETY: whose turn it is was handed to this function, here or on a fiber, and lives. No other reference to its
            // coroutine exists: nobody else makes one, and this one ends before the next is made.
            let coroutine = unsafe { &mut *(*TURN.get()).coroutine.get() };
            coroutine.as_mut().expect("a turn is that of a fiber or of what runs outside").resume(());
        }
    }

    /// Gives up the stack without a look at what is on it, as if it was used for ever.
    pub(super) fn forget(self) {
        std::mem::forget(self);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(coroutine) = self.coroutine.get_mut() {
            // SAFETY: a place is dropped only where its stack has nothing on it that anyone will use.
            unsafe { coroutine.force_reset() };
        }
    }
}
