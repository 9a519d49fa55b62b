//! Unwinding of a thread that was cancelled, or has called `pthread_exit`.

use crate::child::control::enter;
use crate::child::runtime::with;
use crate::platform::real;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU8, Ordering};

/// True if the function that is about to return unwinds its thread instead.
pub(super) static DUE: AtomicU8 = AtomicU8::new(0);

/// Unwinds the current thread. Jumped to instead of returning to the program.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn leave() {
    std::arch::naked_asm!(
        "mov byte ptr [rip + {}], 0",
        // The value of a cancelled thread.
        "mov rdi, -1",
        "push rdi",
        "call {}",
        "pop rdi",
        "jmp rax",
        sym DUE,
        sym note_exit,
    )
}

/// Forgets the state of the previous run.
pub(crate) fn forget() {
    DUE.store(0, Ordering::Relaxed);
}

/// Returns true if the current thread must end here, because it was cancelled; the caller then returns at
/// once.
pub(super) fn is_due() -> bool {
    let due = with(|runtime| {
        let me = runtime.me();
        me.cancelled && !me.uncancellable
    });
    if due {
        DUE.store(1, Ordering::Relaxed);
    }
    due
}

/// Like [`is_due`], for a thread with asynchronous cancellation only.
pub(super) fn is_due_here() {
    if with(|runtime| runtime.me().asynchronous) {
        is_due();
    }
}

/// Lets the function that is about to return do so.
pub(super) fn put_off() {
    DUE.store(0, Ordering::Relaxed);
}

/// Records the exit value of the current thread, and returns the function that unwinds it.
pub(super) unsafe extern "C" fn note_exit(value: *mut c_void) -> usize {
    enter(|| {
        with(|runtime| {
            runtime.me().result = value;
            runtime.me().uncancellable = true;
        });
    });
    real::pthread_exit()
}
