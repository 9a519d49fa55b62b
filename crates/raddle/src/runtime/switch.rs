//! Switching stacks: the only unsafe code of this crate.
//!
//! A [`Fiber`] is a coroutine that runs task after task, so that its stack is set up once and used in many runs.

#![expect(unsafe_code, reason = "a fiber finds its yielder through a pointer")]

#[cfg(target_os = "linux")]
pub(crate) mod overflow;
#[cfg(not(target_os = "linux"))]
#[path = "switch/overflow_unknown.rs"]
pub(crate) mod overflow;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, Yielder};
use std::cell::Cell;
use std::ptr;

thread_local! {
    /// The yielder of the fiber that runs on this OS thread; null outside of fibers.
    static YIELDER: Cell<*const Yielder<(), ()>> = const { Cell::new(ptr::null()) };
}

/// The size of a stack, without the page that guards its end.
const STACK: usize = 1024 * 1024;

/// A stack that runs one task at a time.
pub(super) struct Fiber {
    coroutine: Coroutine<(), (), (), DefaultStack>,
    /// Whether a task has begun on it and not ended.
    busy: bool,
}

impl Fiber {
    pub(super) fn new() -> Fiber {
        Fiber::on(DefaultStack::new(STACK).expect("there is memory for a stack"))
    }

    fn on(stack: DefaultStack) -> Fiber {
        let coroutine = Coroutine::with_stack(stack, |yielder: &Yielder<(), ()>, ()| {
            loop {
                YIELDER.set(ptr::from_ref(yielder));
                super::run_task();
                yielder.suspend(());
            }
        });
        Fiber { coroutine, busy: false }
    }

    /// Goes on with the task, or begins the next one, until it suspends or ends.
    #[inline]
    pub(super) fn resume(&mut self) {
        self.busy = true;
        self.coroutine.resume(());
    }

    /// Ends the task, if one has begun, by unwinding it; the stack can then be used again.
    pub(super) fn unwind(mut self) -> Fiber {
        if !self.busy {
            return self;
        }
        self.coroutine.force_unwind();
        Fiber::on(self.coroutine.into_stack())
    }
}

/// Suspends the fiber that runs, until it is resumed.
#[inline]
pub(super) fn suspend() {
    let yielder = YIELDER.get();
    assert!(!yielder.is_null(), "only a fiber can be suspended");
    // SAFETY: the pointer was set by the fiber that is running: at its start, or below when it was resumed last. Its
    // yielder lives on its own stack for as long as the fiber does, and a fiber that runs has not been dropped.
    unsafe { (*yielder).suspend(()) };
    YIELDER.set(yielder);
}
