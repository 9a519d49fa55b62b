//! Cancellation. A thread that is cancelled is woken from what it waits in, and is unwound by glibc as if it had called
//! `pthread_exit` there. Of the functions that glibc lets be cancelled, those that wait for threads, conditions, semaphores, files or a
//! time are. Asynchronous cancellation takes effect in these, too, and where the thread yields; a run that does not end because
//! of that is given up with a message.

use super::{cancellation_points, entries, thread};
use crate::control::enter;
use crate::real;
use crate::runtime::{Runtime, Thread, step_on, with};
use libc::ESRCH;
use raddle_model::{Access, Kind};
use std::ffi::c_int;
use std::sync::atomic::{AtomicU8, Ordering};

entries! {
    pthread_cancel + "rsi" => cancel;
}

cancellation_points! {
    pthread_testcancel + "rdi" => test;
}

/// Whether the function that is about to return unwinds its thread instead.
pub(super) static DUE: AtomicU8 = AtomicU8::new(0);

/// Unwinds the current thread. Jumped to in the place of returning to the program.
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
        sym thread::note_exit,
    )
}

/// Whether the current thread has to end here, because it was cancelled; then the caller returns at once.
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

/// As [`is_due`], where only a thread that can be cancelled everywhere is.
pub(super) fn is_due_here() {
    if with(|runtime| runtime.me().asynchronous) {
        is_due();
    }
}

/// Lets the function that is about to return do so.
pub(super) fn put_off() {
    DUE.store(0, Ordering::Relaxed);
}

unsafe extern "C" fn test(_: usize) {
    if enter(is_due).is_none() {
        // SAFETY: outside of a run the thread is glibc's own.
        unsafe { real::pthread_testcancel() };
    }
}

unsafe extern "C" fn cancel(handle: u64, place: usize) -> c_int {
    enter(|| {
        let Some(target) = with(|runtime| runtime.find_thread(handle)) else { return ESRCH };
        step_on(Kind::Write, place, Access::Write, |runtime| runtime.thread_object(target));
        with(|runtime| {
            let entry = &mut runtime.threads[target.index()];
            entry.cancelled = true;
            if !entry.uncancellable && target != runtime.current {
                runtime.engine.interrupt(target);
                runtime.interrupts.push((runtime.engine.step_count() as u32 - 1, target));
                runtime.wake_cancelled(target);
            }
        });
        0
    })
    // SAFETY: our caller's promise.
    .unwrap_or_else(|| unsafe { real::pthread_cancel(handle) })
}

/// Why a run without an end says nothing: a thread was to end wherever it was.
pub(crate) fn doubt(runtime: &Runtime) -> Option<&'static str> {
    let lives = |thread: &Thread| thread.asynchronous && thread.cancelled && !thread.ended;
    runtime.threads.iter().any(lives).then_some(
        "a thread is cancelled asynchronously (PTHREAD_CANCEL_ASYNCHRONOUS) while it runs, which raddle does not control; it ends where \
         it waits, sleeps, yields or calls pthread_testcancel",
    )
}

/// `pthread_setcanceltype`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_setcanceltype(kind: c_int, old: *mut c_int) -> c_int {
    /// `PTHREAD_CANCEL_ASYNCHRONOUS`.
    const ASYNCHRONOUS: c_int = 1;
    let before =
        enter(|| with(|runtime| std::mem::replace(&mut runtime.me().asynchronous, kind == ASYNCHRONOUS)));
    let Some(before) = before else {
        // SAFETY: our caller's promise.
        return unsafe { real::pthread_setcanceltype(kind, old) };
    };
    if !old.is_null() {
        // SAFETY: our caller promises room for a number.
        unsafe { *old = c_int::from(before) };
    }
    0
}

/// `pthread_setcancelstate`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int {
    /// `PTHREAD_CANCEL_DISABLE`.
    const DISABLE: c_int = 1;
    enter(|| with(|runtime| runtime.me().uncancellable = state == DISABLE));
    // SAFETY: our caller's promise.
    unsafe { real::pthread_setcancelstate(state, old) }
}
