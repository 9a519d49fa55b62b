//! Signal masks and handlers. They are the program's, except for the signal by which the kernel forwards
//! system calls ([`crate::child::trap`]): while forwarding is active, that signal is neither blocked nor
//! handled by the program.

use super::entry::exported;
use crate::child::control::enter;
use crate::child::{loss, trap};
use crate::platform::real;
use libc::{c_int, sigset_t};
use std::ffi::c_void;

exported! {
    sigprocmask pthread_sigmask sigaction
}

/// Calls `function` with a copy of the set without that signal, if there is a set.
fn with_spared(new: *const sigset_t, function: impl FnOnce(*const sigset_t) -> c_int) -> c_int {
    if new.is_null() || !trap::is_on() {
        return function(new);
    }
    // SAFETY: POSIX requires a valid set, which begins with the part that the kernel uses.
    let set = unsafe {
        let mut set = *new;
        trap::spare((&raw mut set).cast());
        set
    };
    function(&raw const set)
}

/// Handles `sigprocmask`.
#[unsafe(no_mangle)]
unsafe extern "C" fn sigprocmask(how: c_int, new: *const sigset_t, old: *mut c_void) -> c_int {
    // SAFETY: the program has called `sigprocmask` with these arguments.
    with_spared(new, |new| unsafe { real::sigprocmask(how, new, old) })
}

/// Handles `pthread_sigmask`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_sigmask(how: c_int, new: *const sigset_t, old: *mut c_void) -> c_int {
    // SAFETY: the program has called `pthread_sigmask` with these arguments.
    with_spared(new, |new| unsafe { real::pthread_sigmask(how, new, old) })
}

/// Handles `sigaction`.
#[unsafe(no_mangle)]
unsafe extern "C" fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut c_void) -> c_int {
    if new.is_null() || !trap::is_on() {
        // SAFETY: the program has called `sigaction` with these arguments.
        return unsafe { real::sigaction(signal, new, old) };
    }
    if signal == libc::SIGSYS {
        enter(|| {
            loss::lose(
                "it handles SIGSYS and uses OpenMP, which raddle controls by that signal\nhelp: do not handle SIGSYS, or build without OpenMP",
            )
        });
    }
    // SAFETY: POSIX requires a valid action, and its set begins with the part that the kernel uses.
    unsafe {
        let mut action = *new;
        trap::spare((&raw mut action.sa_mask).cast());
        real::sigaction(signal, (&raw const action), old)
    }
}
