//! Masks and handlers of signals. They are the program's, but for the signal by which the kernel hands system calls over
//! ([`crate::child::trap`]): while it does, that one is neither blocked nor handled by anybody else.

use super::entry::exported;
use crate::child::control::enter;
use crate::child::{loss, trap};
use crate::platform::real;
use libc::{c_int, sigset_t};
use std::ffi::c_void;

exported! {
    sigprocmask pthread_sigmask sigaction
}

/// Calls `function` with a set without that signal, if there is a set.
fn with_spared(new: *const sigset_t, function: impl FnOnce(*const sigset_t) -> c_int) -> c_int {
    if new.is_null() || !trap::is_on() {
        return function(new);
    }
    // SAFETY: the program promises a set, which begins with what the kernel knows of it.
    let set = unsafe {
        let mut set = *new;
        trap::spare((&raw mut set).cast());
        set
    };
    function(&raw const set)
}

/// `sigprocmask`.
#[unsafe(no_mangle)]
unsafe extern "C" fn sigprocmask(how: c_int, new: *const sigset_t, old: *mut c_void) -> c_int {
    // SAFETY: the program has called `sigprocmask` with these arguments.
    with_spared(new, |new| unsafe { real::sigprocmask(how, new, old) })
}

/// `pthread_sigmask`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_sigmask(how: c_int, new: *const sigset_t, old: *mut c_void) -> c_int {
    // SAFETY: the program has called `pthread_sigmask` with these arguments.
    with_spared(new, |new| unsafe { real::pthread_sigmask(how, new, old) })
}

/// `sigaction`.
#[unsafe(no_mangle)]
unsafe extern "C" fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut c_void) -> c_int {
    if new.is_null() || !trap::is_on() {
        // SAFETY: the program has called `sigaction` with these arguments.
        return unsafe { real::sigaction(signal, new, old) };
    }
    if signal == libc::SIGSYS {
        enter(|| {
            loss::lose(
                "it handles SIGSYS by itself, and uses OpenMP, which raddle controls by that signal; leave one of the two out",
            )
        });
    }
    // SAFETY: our caller promises an action, and its set begins with what the kernel knows of it.
    unsafe {
        let mut action = *new;
        trap::spare((&raw mut action.sa_mask).cast());
        real::sigaction(signal, (&raw const action), old)
    }
}
