//! Signal masks and handlers. They are the program's, except for the signal by which the kernel forwards
//! system calls ([`crate::child::trap`]): while forwarding is active, that signal is neither blocked nor
//! handled by the program.

use super::alarm;
use super::entry::exported;
use crate::child::control::enter;
use crate::child::runtime::{Runtime, with};
use crate::child::{loss, pending, trap};
use crate::platform::{raw, real};
use libc::{c_int, sigset_t, stack_t};
use std::ffi::c_void;

exported! {
    sigprocmask pthread_sigmask sigaction signal sigaltstack
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

/// Records the mask of the current thread if `new` may have changed it, and runs handlers that it held back.
fn note(new: *const sigset_t) {
    if !new.is_null() {
        enter(|| {
            with(Runtime::note_mask);
            pending::deliver();
        });
    }
}

/// Handles `sigprocmask`.
#[unsafe(no_mangle)]
unsafe extern "C" fn sigprocmask(how: c_int, new: *const sigset_t, old: *mut c_void) -> c_int {
    // SAFETY: the program has called `sigprocmask` with these arguments.
    let result = with_spared(new, |new| unsafe { real::sigprocmask(how, new, old) });
    note(new);
    result
}

/// Handles `pthread_sigmask`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_sigmask(how: c_int, new: *const sigset_t, old: *mut c_void) -> c_int {
    // SAFETY: the program has called `pthread_sigmask` with these arguments.
    let result = with_spared(new, |new| unsafe { real::pthread_sigmask(how, new, old) });
    note(new);
    result
}

/// Handles `sigaction`.
#[unsafe(no_mangle)]
unsafe extern "C" fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut c_void) -> c_int {
    // SAFETY: the program has called `sigaction` with these arguments.
    let result = unsafe { act(signal, new, old) };
    enter(alarm::begin_handled);
    result
}

/// Handles `signal`.
#[unsafe(no_mangle)]
unsafe extern "C" fn signal(signal: c_int, handler: usize) -> usize {
    // SAFETY: the program has called `signal` with these arguments.
    let result = unsafe { real::signal(signal, handler) };
    enter(alarm::begin_handled);
    result
}

/// Sets the action of a signal.
///
/// # Safety
/// As for `sigaction`.
unsafe fn act(signal: c_int, new: *const libc::sigaction, old: *mut c_void) -> c_int {
    if new.is_null() || !trap::is_on() {
        // SAFETY: per the contract of this function.
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

/// Handles `sigaltstack`. Handlers of signals that threads send to each other, and of timers, run on the stack of
/// the thread; those of crashes run on that of the carrier, which has room for a report.
#[unsafe(no_mangle)]
unsafe extern "C" fn sigaltstack(new: *const stack_t, old: *mut stack_t) -> c_int {
    let here = std::ptr::from_ref(&new) as usize;
    enter(|| {
        let is_mapped =
            |stack: *const stack_t| stack.is_null() || raw::is_readable(stack as usize, size_of::<stack_t>());
        if !is_mapped(new) || !is_mapped(old) {
            return -(libc::EFAULT as isize);
        }
        let none = stack_t { ss_sp: std::ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
        let mut before = with(|runtime| runtime.me().signals.stack).unwrap_or(none);
        let is_on = (before.ss_sp as usize..before.ss_sp as usize + before.ss_size).contains(&here);
        if !new.is_null() {
            // SAFETY: POSIX requires a valid stack if the pointer is not null.
            let wanted = unsafe { new.read_unaligned() };
            let is_disabled = wanted.ss_flags & libc::SS_DISABLE != 0;
            if is_on {
                return -(libc::EPERM as isize);
            }
            if wanted.ss_flags & !(libc::SS_DISABLE | libc::SS_ONSTACK | pending::AUTODISARM) != 0 {
                return -(libc::EINVAL as isize);
            }
            if !is_disabled && wanted.ss_size < libc::MINSIGSTKSZ {
                return -(libc::ENOMEM as isize);
            }
            with(|runtime| runtime.me().signals.stack = (!is_disabled).then_some(wanted));
        }
        if !old.is_null() {
            before.ss_flags |= if is_on { libc::SS_ONSTACK } else { 0 };
            // SAFETY: POSIX requires room for the previous stack if the pointer is not null.
            unsafe { old.write_unaligned(before) };
        }
        0
    })
    .map_or_else(
        // SAFETY: the program has called `sigaltstack` with these arguments.
        || unsafe { real::sigaltstack(new, old) },
        |result| raw::errno_result(result) as c_int,
    )
}
