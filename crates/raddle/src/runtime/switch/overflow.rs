//! A stack overflow of a fiber is told as such, and not as a bare SIGSEGV.
//!
//! The lowest page of a fiber's stack cannot be accessed. std's own handler knows only the stacks of OS threads, so ours
//! comes before it, looks whether the fault is near the end of the stack of the fiber that runs, and hands everything
//! else on. It runs on the alternative stack that std gives to every thread it starts.

use super::fiber::running_end;
use std::sync::{Once, OnceLock};
use std::{mem, process, ptr};

/// How far from the end of a stack a fault is told as its overflow: the page that guards it may be as large.
const NEAR: usize = 64 * 1024;

const MESSAGE: &str = "\nraddle: a thread of the test has overflowed its stack of 1 MiB\n";

/// What was done on a fault before.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// Puts the handler in place, once in a process.
pub(crate) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: all bits zero are an action: the default one, with no flags and no signals blocked.
        let (mut before, mut action): (libc::sigaction, libc::sigaction) = unsafe { mem::zeroed() };
        // SAFETY: both pointers are as the function wants them: null for no new action, and a place for the old one.
        if unsafe { libc::sigaction(libc::SIGSEGV, ptr::null(), &mut before) } != 0 {
            return;
        }
        let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = on_fault;
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        _ = BEFORE.set(before);
        // SAFETY: the action is complete, its handler has the signature that SA_SIGINFO asks for and calls nothing that a
        // signal handler must not, and BEFORE is there for it.
        unsafe { libc::sigaction(libc::SIGSEGV, &action, ptr::null_mut()) };
    });
}

extern "C" fn on_fault(_signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the kernel hands a handler with SA_SIGINFO a valid description, and for SIGSEGV it has an address.
    let address = unsafe { (*info).si_addr() } as usize;
    let end = running_end();
    if end > NEAR && (end - NEAR..end + NEAR).contains(&address) {
        // SAFETY: the message is as long as is said, and `write` may be called in a handler.
        unsafe { libc::write(libc::STDERR_FILENO, MESSAGE.as_ptr().cast(), MESSAGE.len()) };
        process::abort();
    }
    if let Some(before) = BEFORE.get() {
        // The fault happens again when this returns, and then to whom it belongs.
        // SAFETY: the action is the one that was in place before.
        unsafe { libc::sigaction(libc::SIGSEGV, before, ptr::null_mut()) };
    }
}
