//! Cancellation. A cancelled thread is woken from its wait, and glibc unwinds it as if it had called
//! `pthread_exit` there. Of glibc's cancellation points, those that wait for threads, conditions, semaphores,
//! files or a time are supported. Asynchronous cancellation also takes effect only in these, and where the
//! thread yields; a run that does not end because of that is abandoned with a message.

use super::entry::{cancellation_points, entries, exported};
use super::{identity, unwind};
use crate::child::control::enter;
use crate::child::runtime::with;
use crate::child::scheduling::step_on;
use crate::platform::real;
use raddle_model::{Access, Kind};
use std::ffi::c_int;

exported! {
    pthread_setcanceltype pthread_setcancelstate
}

entries! {
    pthread_cancel => cancel;
}

cancellation_points! {
    pthread_testcancel => test;
}

unsafe extern "C" fn test(place: usize) {
    let tests = || {
        step_on(Kind::Read, place, Access::Read, |runtime| runtime.thread_object(runtime.current));
        unwind::is_due()
    };
    if enter(tests).is_none() {
        // SAFETY: outside a run the thread is glibc's own.
        unsafe { real::pthread_testcancel() };
    }
}

unsafe extern "C" fn cancel(handle: u64, place: usize) -> c_int {
    enter(|| {
        let Some(target) = with(|runtime| runtime.find_thread(handle)) else {
            return identity::of_no_thread(handle, place);
        };
        step_on(Kind::Write, place, Access::Write, |runtime| runtime.thread_object(target));
        with(|runtime| {
            let entry = &mut runtime.threads[target.index()];
            entry.cancelled = true;
            if !entry.uncancellable && target != runtime.current {
                runtime.interrupt(target);
            }
        });
        0
    })
    // SAFETY: the program has called `pthread_cancel` with these arguments.
    .unwrap_or_else(|| unsafe { real::pthread_cancel(handle) })
}

/// Handles `pthread_setcanceltype`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_setcanceltype(kind: c_int, old: *mut c_int) -> c_int {
    /// Handles `PTHREAD_CANCEL_ASYNCHRONOUS`.
    const ASYNCHRONOUS: c_int = 1;
    let before =
        enter(|| with(|runtime| std::mem::replace(&mut runtime.me().asynchronous, kind == ASYNCHRONOUS)));
    let Some(before) = before else {
        // SAFETY: the program has called `pthread_setcanceltype` with these arguments.
        return unsafe { real::pthread_setcanceltype(kind, old) };
    };
    if !old.is_null() {
        // SAFETY: POSIX requires room for a number if `old` is not null.
        unsafe { *old = c_int::from(before) };
    }
    0
}

/// Handles `pthread_setcancelstate`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int {
    /// Handles `PTHREAD_CANCEL_DISABLE`.
    const DISABLE: c_int = 1;
    enter(|| with(|runtime| runtime.me().uncancellable = state == DISABLE));
    // SAFETY: the program has called `pthread_setcancelstate` with these arguments.
    unsafe { real::pthread_setcancelstate(state, old) }
}
