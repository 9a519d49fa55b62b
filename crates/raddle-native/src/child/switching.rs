//! Switches threads: by switching stacks on one carrier ([`fiber`](crate::child::fiber)) or, if
//! [`use_os_threads`] was called, by passing a turn from OS thread to OS thread ([`os_thread`]).
#![expect(unsafe_code, reason = "fibers are switched")]

use crate::child::fiber::{Fiber, park_stack, switch_stacks};
use crate::child::os_thread;
use std::sync::atomic::{AtomicBool, Ordering};

/// True if threads stay on their OS threads.
static OS_THREADS: AtomicBool = AtomicBool::new(false);

/// Makes threads stay on their own OS threads. Called before there is a run.
pub(crate) fn use_os_threads() {
    OS_THREADS.store(true, Ordering::Relaxed);
}

/// Returns true if threads stay on their own OS threads.
pub(crate) fn uses_os_threads() -> bool {
    OS_THREADS.load(Ordering::Relaxed)
}

/// Suspends the current context in `from` and continues the one in `to`.
///
/// # Safety
/// Only the carrier calls this. `to` holds a suspended context, whose stack and thread descriptor exist.
#[inline]
pub(crate) unsafe fn switch(from: *mut Fiber, to: *const Fiber) {
    if uses_os_threads() {
        // SAFETY: fibers are never freed, and only their atomics are used.
        let (from, to) = unsafe { (&*from, &*to) };
        return os_thread::switch(from, to);
    }
    // SAFETY: per the contract of this function, this is the carrier, and `to` holds a suspended context
    // whose stack and thread descriptor exist.
    unsafe { switch_stacks(from, to) }
}

/// Suspends the current context in `fiber` and parks the OS thread until it is released. Returns twice: on
/// the carrier when it switches to the fiber, and, if the carrier has left the fiber by [`switch`], from that
/// call on this OS thread.
///
/// # Safety
/// Called once, by the OS thread of `fiber`, with all signals blocked.
pub(crate) unsafe fn park(fiber: *mut Fiber) {
    if uses_os_threads() {
        // SAFETY: fibers are never freed, and only its atomics are used.
        return os_thread::park(unsafe { &*fiber });
    }
    // SAFETY: per the contract of this function, this is the OS thread of `fiber`, which parks once and has
    // all signals blocked.
    unsafe { park_stack(fiber) }
}
