//! The switch by corosensei, for all its processors, and for AddressSanitizer, which it informs of switches.
//!
//! A coroutine can only suspend to the one that resumed it. So all are resumed from outside, and a switch
//! between two of them passes through there.

use super::STACK;
use corosensei::stack::{DefaultStack, Stack};
use corosensei::{Coroutine, Yielder};
use std::cell::{Cell, UnsafeCell};
use std::ptr;

thread_local! {
    /// The computation that is resumed next, or that runs.
    static TURN: Cell<*const Computation> = const { Cell::new(ptr::null()) };
}

/// A suspended computation, and its stack.
pub(super) struct Computation {
    /// `None` for the computation outside all fibers. Used only by the loop in `switch`.
    coroutine: UnsafeCell<Option<Coroutine<(), (), (), DefaultStack>>>,
    /// Set when the coroutine begins.
    yielder: Cell<*const Yielder<(), ()>>,
    left: Cell<bool>,
    end: usize,
}

impl Computation {
    /// Returns the computation outside all fibers.
    pub(super) fn outside() -> Computation {
        let (coroutine, yielder) = (UnsafeCell::new(None), Cell::new(ptr::null()));
        Computation { coroutine, yielder, left: Cell::new(false), end: 0 }
    }

    /// Returns the beginning of `body` on a new stack.
    pub(super) fn on_stack(_number: usize, body: extern "C" fn() -> !) -> Computation {
        let stack = DefaultStack::new(STACK).expect("there is memory for a stack");
        let end = stack.limit().get();
        let coroutine = Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| {
            // SAFETY: `TURN` points to the computation with this coroutine, which was just resumed for the
            // first time.
            unsafe { (*TURN.get()).yielder.set(yielder) };
            body()
        });
        let (coroutine, yielder) = (UnsafeCell::new(Some(coroutine)), Cell::new(ptr::null()));
        Computation { coroutine, yielder, left: Cell::new(true), end }
    }

    /// Returns true if it is suspended or has not begun.
    pub(super) fn is_suspended(&self) -> bool {
        self.left.get()
    }

    /// Returns the lowest address of its stack; 0 outside all fibers.
    pub(super) fn end(&self) -> usize {
        self.end
    }

    /// Suspends `self` and continues `to`; returns when another computation continues `self`.
    ///
    /// # Safety
    ///
    /// `self` runs on this OS thread, and `to` was suspended on it or has not begun. Both live until `self`
    /// is continued, or forever if it is not.
    pub(super) unsafe fn switch(&self, to: &Computation) {
        self.left.set(true);
        to.left.set(false);
        TURN.set(to);
        if !self.yielder.get().is_null() {
            // SAFETY: the yielder is on the stack of the running coroutine, which is that of `self`.
            unsafe { (*self.yielder.get()).suspend(()) };
            return;
        }
        while !ptr::eq(TURN.get(), self) {
            // SAFETY: `TURN` was passed to this function, here or on a fiber, and is alive. No other
            // reference to its coroutine exists: only this loop creates one, and it ends before the next is
            // created.
            let coroutine = unsafe { &mut *(*TURN.get()).coroutine.get() };
            coroutine.as_mut().expect("the resumed computation has a coroutine").resume(());
        }
    }

    /// Leaks the stack without dropping its contents.
    pub(super) fn forget(self) {
        std::mem::forget(self);
    }
}

impl Drop for Computation {
    fn drop(&mut self) {
        if let Some(coroutine) = self.coroutine.get_mut() {
            // SAFETY: a computation is dropped only when nothing on its stack will be used.
            unsafe { coroutine.force_reset() };
        }
    }
}
