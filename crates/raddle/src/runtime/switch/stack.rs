//! Captures the stack of another OS thread with a signal: locates a hanging check.
//!
//! The handler runs on the stack of the hanging fiber. It allocates, which is not async-signal-safe in
//! general: the thread may hold the allocator's lock. It is used only for a thread without a step for
//! seconds, and the caller has a timeout.

use std::backtrace::Backtrace;
use std::sync::{Mutex, Once, PoisonError};
use std::time::Duration;
use std::{mem, ptr};

/// The latest captured stack.
static CAPTURED: Mutex<Option<Backtrace>> = Mutex::new(None);

/// Programs rarely use it, and it is ignored without a handler.
const SIGNAL: libc::c_int = libc::SIGURG;

/// Returns the number of the current OS thread, for [`capture`].
pub(crate) fn thread_number() -> i32 {
    // SAFETY: the call has no arguments and cannot fail.
    unsafe { libc::gettid() }
}

/// Returns the stack of the OS thread `number` of this process; `None` if the thread does not respond.
pub(crate) fn capture(number: i32) -> Option<Backtrace> {
    static ONCE: Once = Once::new();
    ONCE.call_once(install);
    drop(take());
    // SAFETY: the arguments are this process, a thread that belonged to it, and a signal with a handler.
    let sent = unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), number, SIGNAL) };
    if sent != 0 {
        return None;
    }
    (0..200).find_map(|_| {
        std::thread::sleep(Duration::from_millis(10));
        take()
    })
}

fn take() -> Option<Backtrace> {
    CAPTURED.lock().unwrap_or_else(PoisonError::into_inner).take()
}

fn install() {
    // SAFETY: all-zero bits are a valid `sigaction`: the default action, with no flags and no blocked
    // signals.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    let handler: extern "C" fn(libc::c_int) = on_signal;
    action.sa_sigaction = handler as usize;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: the action is complete and its handler has the signature required without SA_SIGINFO.
    unsafe { libc::sigaction(SIGNAL, &action, ptr::null_mut()) };
}

extern "C" fn on_signal(_signal: libc::c_int) {
    let stack = Backtrace::force_capture();
    if let Ok(mut captured) = CAPTURED.try_lock() {
        *captured = Some(stack);
    }
}
