//! Reports a stack overflow of a fiber as such, and not as a bare SIGSEGV.
//!
//! The lowest page of a fiber's stack cannot be accessed. std's own handler knows only the stacks of OS
//! threads. Our handler runs first, checks whether the fault is near the end of the current fiber's stack,
//! and forwards everything else. It runs on the alternate stack that std provides for every thread it starts.

use super::fiber::running_end;
use std::sync::{Once, OnceLock};
use std::{mem, process, ptr};

/// The maximum distance from the end of a stack at which a fault is reported as overflow: the guard page may
/// be as large.
const NEAR: usize = 64 * 1024;

const MESSAGE: &str = "\nerror: a thread of the test overflowed its stack of 1 MiB\nhelp: reduce the recursion depth or the size of local variables; raddle's stacks have a fixed size\n";

/// The previous action for SIGSEGV.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// Installs the handler, once per process.
pub(crate) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: all-zero bits are a valid `sigaction`: the default action, with no flags and no blocked
        // signals.
        let (mut before, mut action): (libc::sigaction, libc::sigaction) = unsafe { mem::zeroed() };
        // SAFETY: null stands for no new action, and `before` is valid for writes.
        if unsafe { libc::sigaction(libc::SIGSEGV, ptr::null(), &mut before) } != 0 {
            return;
        }
        let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = on_fault;
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        _ = BEFORE.set(before);
        // SAFETY: the action is complete, its handler has the signature that SA_SIGINFO requires and calls
        // only async-signal-safe functions, and BEFORE is set.
        unsafe { libc::sigaction(libc::SIGSEGV, &action, ptr::null_mut()) };
    });
}

extern "C" fn on_fault(_signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid description to a handler with SA_SIGINFO, and for SIGSEGV it has an
    // address.
    let address = unsafe { (*info).si_addr() } as usize;
    let end = running_end();
    if end > NEAR && (end - NEAR..end + NEAR).contains(&address) {
        // SAFETY: the pointer and the length are those of the message, and `write` is async-signal-safe.
        unsafe { libc::write(libc::STDERR_FILENO, MESSAGE.as_ptr().cast(), MESSAGE.len()) };
        process::abort();
    }
    if let Some(before) = BEFORE.get() {
        // The fault occurs again when this returns, and then reaches the previous action. SAFETY: `before` is
        // the action that `sigaction` returned at installation.
        unsafe { libc::sigaction(libc::SIGSEGV, before, ptr::null_mut()) };
    }
}
